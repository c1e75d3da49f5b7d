/** A diff in place of the text, and diffs that belong to a file. */
import { describe, expect, test } from '@jest/globals';
import { findingsOf, type GuardRow } from './findings.js';

const found = findingsOf('diff_as_text');

describe('a diff as the text', () => {
  const HUNK = '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n';
  test.each<GuardRow>([
    ['with headers', 'notes.txt', 'one\ntwo\nthree\n', `--- a/notes.txt\n+++ b/notes.txt\n${HUNK}`],
    [
      'of git',
      'notes.txt',
      'one\ntwo\nthree\n',
      `diff --git a/notes.txt b/notes.txt\nindex 1..2 100644\n--- a/notes.txt\n+++ b/notes.txt\n${HUNK}`,
    ],
    ['a hunk alone', 'notes.txt', 'one\ntwo\nthree\n', HUNK],
    [
      'a hunk in a part of the file',
      'notes.txt',
      'zero\none\ntwo\nthree\nfour\n',
      `zero\n${HUNK}four\n`,
    ],
    ['of a new file', 'src/a.py', null, '--- /dev/null\n+++ b/src/a.py\n@@ -0,0 +1,2 @@\n+a\n+b\n'],
    [
      'in the form of Codex',
      'a.py',
      'a\n',
      '*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch\n',
    ],
  ])('%s', (_name, path, base, result) => {
    expect(found(path, base, result)).toContainEqual(
      expect.stringMatching(/^diff_as_text refuse /),
    );
  });
  test.each<GuardRow>([
    ['a patch file', 'a.patch', null, `--- a/notes.txt\n+++ b/notes.txt\n${HUNK}`],
    [
      'a diff in a document',
      'a.md',
      '# A\n',
      `# A\n\n\`\`\`diff\n--- a/a.md\n+++ b/a.md\n${HUNK}\`\`\`\n`,
    ],
    ['a diff of another file', 'a.txt', 'x\n', `--- a/b.txt\n+++ b/b.txt\n${HUNK}`],
    ['a list', 'a.txt', 'x\n', '- a\n+ b\n'],
    ['front matter', 'a.md', 'x\n', '---\na: b\n---\nx\n'],
  ])('nothing: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
});
