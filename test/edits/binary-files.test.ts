/** Binary files can be moved and deleted as a whole, byte for byte. An edit of their content is refused. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer } from '../../src/edits/index.js';
import type { AnswerFormat } from '../../src/shared/formats.js';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\x00\x00\x01\x02\xff\xfe', 'latin1');
const OTHER = Buffer.from([0, 1, 2]);

const apply = (format: AnswerFormat, answer: string) =>
  applyAnswer({
    format,
    answer,
    files: new Map([
      ['logo.png', { bytes: PNG, mode: 0o644 }],
      ['icon.png', { bytes: OTHER, mode: 0o644 }],
      ['a.txt', { bytes: Buffer.from('a\n'), mode: 0o644 }],
    ]),
    options: { requireMarker: false, mayCreateUnder: [''], allowDelete: true },
  });

const HEADER = 'diff --git a/logo.png b/assets/logo.png\n';
const RENAME = `${HEADER}similarity index 100%\nrename from logo.png\nrename to assets/logo.png\n`;
const DELETED =
  'diff --git a/logo.png b/logo.png\ndeleted file mode 100644\nindex 1111111..0000000\n';
const patch = (...lines: readonly string[]): string =>
  ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n');

describe('a binary file', () => {
  test.each<[string, AnswerFormat, string]>([
    ['a diff', 'unified-diff', RENAME],
    ['a diff without the similarity', 'unified-diff', RENAME.replace(/similarity.*\n/, '')],
    ['a patch', 'begin-patch', patch('*** Update File: logo.png', '*** Move to: assets/logo.png')],
  ])('is moved byte for byte by %s', (_, format, answer) => {
    const outcome = apply(format, answer);
    expect(outcome).toMatchObject({
      outcome: 'edited',
      renames: [{ from: 'logo.png', to: 'assets/logo.png' }],
    });
    if (outcome.outcome !== 'edited') throw new Error('not edited');
    expect([...outcome.files]).toEqual([
      ['logo.png', 'absent'],
      ['assets/logo.png', { bytes: PNG, mode: 0o644 }],
    ]);
  });

  test.each<[string, AnswerFormat, string]>([
    ['a diff', 'unified-diff', DELETED],
    [
      'a diff that says so',
      'unified-diff',
      `${DELETED}Binary files a/logo.png and /dev/null differ\n`,
    ],
    [
      "a diff with git's bytes",
      'unified-diff',
      `${DELETED}GIT binary patch\nliteral 0\nHcmV?d00001\n\nliteral 4\nLc$\`x\n`,
    ],
    ['a patch', 'begin-patch', patch('*** Delete File: logo.png')],
    ['whole files', 'whole-file', 'DELETE logo.png\n'],
  ])('is deleted by %s', (_, format, answer) => {
    const outcome = apply(format, answer);
    expect(outcome).toMatchObject({
      outcome: 'edited',
      findings: [{ guard: 'deletion', path: 'logo.png' }],
    });
    if (outcome.outcome !== 'edited') throw new Error('not edited');
    expect([...outcome.files]).toEqual([['logo.png', 'absent']]);
  });

  test.each<[string, AnswerFormat, string, string]>([
    [
      'other bytes',
      'unified-diff',
      'diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n',
      'binary_patch',
    ],
    [
      'other bytes at another place',
      'unified-diff',
      `${RENAME}index 1..2 100644\nBinary files a/logo.png and b/assets/logo.png differ\n`,
      'binary_patch',
    ],
    [
      'lines',
      'unified-diff',
      '--- a/logo.png\n+++ b/logo.png\n@@ -1,1 +1,1 @@\n-PNG\n+GIF\n',
      'binary',
    ],
    [
      'lines of a moved file',
      'begin-patch',
      patch('*** Update File: logo.png', '*** Move to: b.png', '@@', '-PNG', '+GIF'),
      'binary',
    ],
    [
      'a place that another binary file has',
      'unified-diff',
      'diff --git a/logo.png b/icon.png\nsimilarity index 100%\nrename from logo.png\nrename to icon.png\n',
      'already_exists',
    ],
    ['a new text', 'begin-patch', patch('*** Add File: logo.png', '+x'), 'binary'],
  ])('does not get %s', (_, format, answer, code) => {
    expect(apply(format, answer)).toMatchObject({ outcome: 'refused', reasons: [{ code }] });
  });

  test('is not put onto a text, and no text is moved onto it', () => {
    const onto = (from: string, to: string) =>
      apply('begin-patch', patch(`*** Update File: ${from}`, `*** Move to: ${to}`));
    expect(onto('logo.png', 'a.txt')).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'move_onto_file' }],
    });
    expect(onto('a.txt', 'logo.png')).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'move_onto_file' }],
    });
  });
});
