import { describe, expect, test } from '@jest/globals';
import type { ApplyOptions } from '../../../../src/edits/types.js';
import { unifiedDiff } from '../../../../src/edits/dialects/unified-diff/index.js';
import { read as readResponse } from '../../../../src/edits/settle.js';
import { contextOf, readOne, summary, whyNot, linesOf } from '../../locate-support.js';
import { told } from '../../told.js';

type Files = Readonly<Record<string, string | null>>;
interface Case {
  readonly name: string;
  readonly diff: string;
  readonly expected: string;
  readonly files?: Files;
  readonly options?: Partial<ApplyOptions>;
  readonly whole?: boolean;
}

const LETTERS = 'a\nb\nc\nd\ne\nf\ng\nh\n';
const AFTER = 'a|b|c|D|e|f|g|h';
const HUNK = '@@ -3,3 +3,3 @@\n c\n-d\n+D\n e\n';
const HEAD = '--- a/f\n+++ b/f\n';
const anywhere = { mayCreateUnder: [''] };
const off = (tolerance: string): Partial<ApplyOptions> => ({ tolerances: { [tolerance]: false } });

const run = ({ diff, files = { f: LETTERS }, options, whole }: Case): string =>
  summary(readOne(unifiedDiff, diff, contextOf(files, options, whole)), files);

const applied: Case[] = [
  { name: 'a hunk at its line', diff: HEAD + HUNK, expected: `f=${AFTER}` },
  {
    name: 'one hunk of two that is there already',
    diff: `${HEAD}${HUNK}@@ -7,2 +7,2 @@\n g\n-h\n+H\n`,
    files: { f: LETTERS.replace('d', 'D') },
    expected: 'f=a|b|c|D|e|f|g|H',
  },
  {
    name: 'a last hunk that is short of its counts, as one before it that is whole',
    diff: `${HEAD}@@ -3,5 +3,5 @@\n c\n-d\n+D\n e\n--- a/g\n+++ b/g\n@@ -1,1 +1,3 @@\n x\n+y\n`,
    files: { f: LETTERS, g: 'x\n' },
    expected: `f=${AFTER}; g=x|y; [counts counts]`,
  },
  { name: 'no prefixes', diff: `--- f\n+++ f\n${HUNK}`, expected: `f=${AFTER}` },
  { name: 'mnemonic prefixes', diff: `--- i/f\n+++ w/f\n${HUNK}`, expected: `f=${AFTER}` },
  {
    name: 'a path that begins with a/',
    diff: `--- a/f\n+++ a/f\n${HUNK}`,
    files: { 'a/f': LETTERS },
    expected: `a/f=${AFTER}`,
  },
  {
    name: 'git header and index line',
    diff: `diff --git a/f b/f\nindex 1234567..89abcde 100644\n${HEAD}${HUNK}`,
    expected: `f=${AFTER}`,
  },
  {
    name: 'time stamps after a tab',
    diff: `--- a/f\t2026-01-01 00:00:00\n+++ b/f\t2026-01-02 00:00:00\n${HUNK}`,
    expected: `f=${AFTER}`,
  },
  {
    name: 'a heading after @@',
    diff: `${HEAD}@@ -3,3 +3,3 @@ function x() {\n c\n-d\n+D\n e\n`,
    expected: `f=${AFTER}`,
  },
  {
    name: 'answer in CRLF',
    diff: (HEAD + HUNK).replaceAll('\n', '\r\n'),
    expected: `f=${AFTER}; [line_endings]`,
  },
  {
    name: 'file in CRLF',
    diff: HEAD + HUNK,
    files: { f: LETTERS.replaceAll('\n', '\r\n') },
    expected: `f=${AFTER}`,
  },
  { name: 'a fence round it', diff: `\`\`\`diff\n${HEAD}${HUNK}\`\`\`\n`, expected: `f=${AFTER}` },
  {
    name: 'a fence and prose round it',
    diff: `Here it is:\n\n- one hunk\n\n~~~\n${HEAD}${HUNK}~~~\n\n- done\n`,
    expected: `f=${AFTER}`,
  },
  { name: 'a mail signature', diff: `${HEAD}${HUNK}-- \n2.39.5\n\n`, expected: `f=${AFTER}` },
  {
    name: 'no line end after the last line',
    diff: (HEAD + HUNK).trimEnd(),
    expected: `f=${AFTER}`,
  },
  {
    name: 'two hunks',
    diff: `${HEAD}@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -7,2 +8,1 @@\n g\n-h\n`,
    expected: 'f=a|x|b|c|d|e|f|g',
  },
  {
    name: 'a blank line between hunks',
    diff: `${HEAD}@@ -1,2 +1,3 @@\n a\n+x\n b\n\n@@ -7,2 +8,1 @@\n g\n-h\n`,
    expected: 'f=a|x|b|c|d|e|f|g',
  },
  {
    name: 'a replacement without context',
    diff: `${HEAD}@@ -4 +4 @@\n-d\n+D\n`,
    expected: `f=${AFTER}`,
  },
  {
    name: 'a hunk that changes nothing',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n b\n`,
    expected: 'f=a|b|c|d|e|f|g|h',
  },
  {
    name: 'removed and added lines that look like headers',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n x\n--- a/q\n+++ b/q\n`,
    files: { f: 'x\n-- a/q\n' },
    expected: 'f=x|++ b/q',
  },
  {
    name: 'the stated line among several',
    diff: `${HEAD}@@ -3,1 +3,1 @@\n-x\n+y\n`,
    files: { f: 'x\nx\nx\nx\n' },
    expected: 'f=x|x|y|x; [unchecked_lines]',
  },
  {
    name: 'the stated line among several in the file that the diff was made for',
    diff: `${HEAD}@@ -3,1 +3,1 @@\n-x\n+y\n`,
    files: { f: 'x\nx\nx\nx\n' },
    options: { base: new Map([['f', '']]) },
    expected: 'f=x|x|y|x',
  },
  {
    name: 'a new file',
    diff: '--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\n',
    files: { n: null },
    expected: 'n=1|2',
  },
  {
    name: 'a new file with its mode',
    diff: 'diff --git a/n b/n\nnew file mode 100755\nindex 0000000..1234567\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n',
    options: anywhere,
    expected: 'n=1 mode 755',
  },
  {
    name: 'a new empty file',
    diff: 'diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n',
    files: { n: null },
    expected: 'n= mode 644',
  },
  {
    name: 'a new file without final line end',
    diff: '--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n',
    files: { n: null },
    expected: 'n=1 end false',
  },
  {
    name: 'additions to an empty file',
    diff: `${HEAD}@@ -0,0 +1 @@\n+1\n`,
    files: { f: '' },
    expected: 'f=1',
  },
  {
    name: 'a deletion',
    diff: 'diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n',
    files: { f: 'x\ny\n' },
    expected: 'delete f',
  },
  {
    name: 'a deletion of an empty file',
    diff: 'diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n',
    files: { f: '' },
    expected: 'delete f',
  },
  {
    name: 'a rename alone',
    diff: 'diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n',
    options: anywhere,
    expected: 'move f g',
  },
  {
    name: 'a rename with a change',
    diff: `diff --git a/f b/g\nsimilarity index 80%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n${HUNK}`,
    files: { f: LETTERS, g: null },
    expected: `move f g; g=${AFTER}`,
  },
  {
    name: 'a mode alone',
    diff: 'diff --git a/f b/f\nold mode 100644\nnew mode 100755\n',
    files: { f: 'x\n' },
    expected: 'f=x mode 755',
  },
  {
    name: 'a quoted path',
    diff: '--- "a/caf\\303\\251 \\"x\\".txt"\n+++ "b/caf\\303\\251 \\"x\\".txt"\n@@ -1 +1 @@\n-1\n+2\n',
    files: { 'café "x".txt': '1\n' },
    expected: 'café "x".txt=2',
  },
  {
    name: 'a quoted path in the git line only',
    diff: 'diff --git "a/t\\303\\251" "b/t\\303\\251"\nold mode 100644\nnew mode 100755\n',
    files: { té: 'x\n' },
    expected: 'té=x mode 755',
  },
  {
    name: 'a path with blanks',
    diff: 'diff --git a/a b c b/a b c\nold mode 100644\nnew mode 100755\n',
    files: { 'a b c': 'x\n' },
    expected: 'a b c=x mode 755',
  },
  {
    name: 'two files',
    diff: `${HEAD}${HUNK}--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n`,
    files: { f: LETTERS, g: '1\n' },
    expected: `f=${AFTER}; g=2`,
  },
  {
    name: 'the final line end added',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n`,
    files: { f: 'x' },
    expected: 'f=x end true',
  },
  {
    name: 'the final line end taken',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n`,
    files: { f: 'x\n' },
    expected: 'f=y end false',
  },
  {
    name: 'no final line end on both sides',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n-x\n+z\n y\n\\ No newline at end of file\n`,
    files: { f: 'x\ny' },
    expected: 'f=z|y',
  },
  {
    name: 'a CR before the missing line end',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n-x\n+z\n y\r\n\\ No newline at end of file\n`,
    files: { f: 'x\ny\r' },
    expected: 'f=z|y\r',
  },
  {
    name: 'wrong line number',
    diff: `${HEAD}${HUNK.replace('-3,3 +3,3', '-30,3 +30,3')}`,
    expected: `f=${AFTER}; [line_drift]`,
  },
  {
    name: 'counts too small',
    diff: `${HEAD}${HUNK.replace('-3,3 +3,3', '-3,2 +3,2')}`,
    expected: `f=${AFTER}; [counts]`,
  },
  {
    name: 'counts too large before another hunk',
    diff: `${HEAD}@@ -1,9 +1,9 @@\n-a\n+A\n b\n@@ -7,2 +7,1 @@\n g\n-h\n`,
    expected: 'f=A|b|c|d|e|f|g; [counts]',
  },
  {
    name: 'counts too large before another file',
    diff: `${HEAD}@@ -1,9 +1,9 @@\n-a\n+A\n b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n`,
    files: { f: LETTERS, g: '1\n' },
    expected: 'f=A|b|c|d|e|f|g|h; g=2; [counts]',
  },
  {
    name: 'counts too large in a closed fence',
    diff: `\`\`\`diff\n${HEAD}@@ -3,9 +3,9 @@\n c\n-d\n+D\n e\n\`\`\`\n`,
    expected: `f=${AFTER}; [counts]`,
  },
  {
    name: 'counts too large at the end of a marked answer',
    diff: `${HEAD}@@ -3,9 +3,9 @@\n c\n-d\n+D\n e\n`,
    whole: true,
    expected: `f=${AFTER}; [counts]`,
  },
  {
    name: 'an empty context line without its blank',
    diff: `${HEAD}@@ -1,3 +1,3 @@\n x\n\n-y\n+z\n`,
    files: { f: 'x\n\ny\n' },
    expected: 'f=x||z; [lost_blank]',
  },
  {
    name: 'a context line without its blank',
    diff: `${HEAD}@@ -3,3 +3,3 @@\nc\n-d\n+D\n e\n`,
    expected: `f=${AFTER}; [lost_blank]`,
  },
  {
    name: 'an indented context line without its blank',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n  x\n-y\n+z\n`,
    files: { f: '  x\ny\n' },
    expected: 'f=  x|z; [lost_blank]',
  },
  {
    name: 'white space at line ends',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n x\n-y\n+z\n`,
    files: { f: 'x  \ny\t\n' },
    expected: 'f=x  |z; [trailing_space]',
  },
  {
    name: 'look-alikes, switched on',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n it's\n-y\n+z\n`,
    files: { f: 'it\u2019s\ny\n' },
    options: { tolerances: { lookalikes: true } },
    expected: 'f=it\u2019s|z; [lookalikes]',
  },
  {
    name: 'another indentation, switched on',
    diff: `${HEAD}@@ -1,2 +1,3 @@\n a\n-b\n+B\n+\n`,
    files: { f: '0\n  a\n  b\n' },
    options: { tolerances: { indent: true } },
    expected: 'f=0|  a|  B|; [line_drift indent]',
  },
  { name: 'hunks without names, of the one file', diff: HUNK, expected: `f=${AFTER}` },
  {
    name: 'such hunks with prose between them',
    diff: `First:\n\n${HUNK}\nThen:\n\n@@ -7,2 +7,1 @@\n g\n-h\n`,
    expected: 'f=a|b|c|D|e|f|g',
  },
  {
    name: 'items behind a hunk',
    diff: `${HEAD}${HUNK}\n- D\n- more\n  of it\n`,
    expected: `f=${AFTER}`,
  },
  ...['---', '---\n\nText', '- more\n  - of\n    - it'].flatMap((prose) => [
    {
      name: `${JSON.stringify(prose)} behind a hunk`,
      diff: `${HEAD}${HUNK}\n${prose}\n`,
      expected: `f=${AFTER}`,
    },
    {
      name: `${JSON.stringify(prose)} behind a fence and wrong counts`,
      diff: `\`\`\`diff\n${HEAD}@@ -3,9 +3,9 @@\n c\n-d\n+D\n e\n\`\`\`\n${prose}\n`,
      expected: `f=${AFTER}; [counts]`,
    },
    {
      name: `${JSON.stringify(prose)} behind prose, in a file with rules`,
      diff: `${HEAD}${HUNK}\nDone.\n\n${prose}\n\nBye.\n`,
      files: { f: `${LETTERS}---\n` },
      expected: `f=${AFTER}|---`,
    },
  ]),
  {
    name: 'items behind prose between hunks',
    diff: `${HEAD}${HUNK}\nThen:\n\n- the last\n\n@@ -7,2 +7,1 @@\n g\n-h\n`,
    expected: 'f=a|b|c|D|e|f|g',
  },
  {
    name: 'a hunk without numbers',
    diff: `${HEAD}@@\n c\n-d\n+D\n e\n`,
    expected: `f=${AFTER}; [line_drift]`,
  },
  {
    name: 'a hunk with words for numbers',
    diff: `${HEAD}@@ letters @@\n c\n-d\n+D\n e\n`,
    expected: `f=${AFTER}; [line_drift]`,
  },
  {
    name: 'svn diff',
    diff: `Index: f\n${'='.repeat(67)}\n--- f\t(revision 1)\n+++ f\t(working copy)\n${HUNK}`,
    expected: `f=${AFTER}`,
  },
  {
    name: 'hg diff',
    diff: `diff -r 123456789abc f\n--- a/f\tThu Jan 01 00:00:00 2026 +0000\n+++ b/f\tFri Jan 02 00:00:00 2026 +0000\n${HUNK}`,
    expected: `f=${AFTER}`,
  },
  { name: 'diff -u of a backup', diff: `--- f.orig\n+++ f\n${HUNK}`, expected: `f=${AFTER}` },
  {
    name: 'diff -ru of two folders',
    diff: `diff -ru old/f new/f\n--- old/f\n+++ new/f\n${HUNK}`,
    expected: `f=${AFTER}`,
  },
  {
    name: 'a new file by its time',
    diff: '--- n\t1970-01-01 00:00:00\n+++ n\t2026-01-01 00:00:00\n@@ -0,0 +1 @@\n+1\n',
    files: { n: null },
    expected: 'n=1',
  },
  {
    name: 'a deletion by its time',
    diff: '--- f\t2026-01-01 00:00:00\n+++ f\t1970-01-01 00:00:00\n@@ -1,2 +0,0 @@\n-x\n-y\n',
    files: { f: 'x\ny\n' },
    expected: 'delete f',
  },
  {
    name: 'such a time where lines are left',
    diff: '--- f\t2026-01-01 00:00:00\n+++ f\t1970-01-01 00:00:00\n@@ -1,2 +1 @@\n x\n-y\n',
    files: { f: 'x\ny\n' },
    expected: 'f=x',
  },
  {
    name: 'a deletion without its mode line',
    diff: 'diff --git a/f b/f\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n',
    files: { f: 'x\n' },
    expected: 'delete f',
  },
  {
    name: 'a mode taken away',
    diff: 'diff --git a/f b/f\nold mode 100755\nnew mode 100644\n',
    files: { f: 'x\n' },
    expected: 'f=x mode 644',
  },
  {
    name: 'the stated line among several, behind lines that came',
    diff: `${HEAD}@@ -1 +1,2 @@\n a\n+n\n@@ -4 +5 @@\n-x\n+y\n`,
    files: { f: 'a\nx\nb\nx\n' },
    expected: 'f=a|n|x|b|y; [unchecked_lines]',
  },
  {
    name: 'out of order',
    diff: `${HEAD}@@ -7,2 +7,1 @@\n g\n-h\n@@ -1,2 +1,1 @@\n a\n-b\n`,
    expected: 'f=a|c|d|e|f|g',
  },
  {
    name: 'that share context',
    diff: `${HEAD}@@ -1,3 +1,2 @@\n a\n-b\n c\n@@ -3,2 +2,1 @@\n c\n-d\n`,
    expected: 'f=a|c|e|f|g|h',
  },
  {
    name: 'in two sections of one file',
    diff: `${HEAD}@@ -1 +1 @@\n-a\n+A\n${HEAD}@@ -2 +2 @@\n-b\n+B\n`,
    expected: 'f=A|B|c|d|e|f|g|h',
  },
  {
    name: 'sent twice',
    diff: `${HEAD}@@ -1 +1 @@\n-a\n+A\n${HEAD}@@ -1 +1 @@\n-a\n+A\n`,
    expected: 'f=A|b|c|d|e|f|g|h',
  },
  {
    name: 'the last of several, which has no line end',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n`,
    files: { f: 'x\nx' },
    expected: 'f=x|y; [line_drift]',
  },
  {
    name: 'counts that no signed line explains',
    diff: `${HEAD}@@ -1,3 +1,3 @@\n a\n-b\n c\n@@ -7,2 +6,1 @@\n g\n-h\n`,
    expected: 'f=a|c|d|e|f|g; [counts]',
  },
  {
    name: 'prose with signs behind prose behind a fence, after wrong counts',
    diff: `\`\`\`diff\n${HEAD}@@ -3,9 +3,9 @@\n c\n-d\n+D\n e\n\`\`\`\nDone:\n- d\n`,
    expected: `f=${AFTER}; [counts]`,
  },
  {
    name: 'a blank line between hunks, where several files are offered',
    diff: `${HEAD}@@ -1,2 +1,3 @@\n a\n+x\n b\n\n\n@@ -7,2 +8,1 @@\n g\n-h\n`,
    files: { f: LETTERS, g: '' },
    expected: 'f=a|x|b|c|d|e|f|g',
  },
  {
    name: 'prose that speaks of headers',
    diff: `I ran diff --git a/f b/f here.\nSee --- a/f for it.\n\n${HEAD}${HUNK}`,
    expected: `f=${AFTER}`,
  },
  {
    name: 'all lines gone, the file not',
    diff: `${HEAD}@@ -1 +0,0 @@\n-x\n`,
    files: { f: 'x\n' },
    expected: 'f=',
  },
  {
    name: 'the time of no file, where lines are quoted',
    diff: '--- f\t1970-01-01 00:00:00\n+++ f\t2026-01-01 00:00:00\n@@ -1 +1 @@\n-x\n+y\n',
    files: { f: 'x\n' },
    expected: 'f=y',
  },
  {
    name: 'the first line of several that are the same',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n+y\n`,
    files: { f: 'x\nx\n' },
    expected: 'f=y|x; [unchecked_lines]',
  },
  {
    name: 'wrong counts and an empty line without its blank',
    diff: `${HEAD}@@ -1,9 +1,9 @@\n x\n\n-y\n+z\n`,
    files: { f: 'x\n\ny\n' },
    whole: true,
    expected: 'f=x||z; [counts lost_blank]',
  },
  {
    name: 'wrong counts of additions to an empty file',
    diff: `${HEAD}@@ -0,0 +1,9 @@\n+1\n`,
    files: { f: '' },
    whole: true,
    expected: 'f=1; [counts]',
  },
  {
    name: 'a line with a sign that stands in the file, among context alone by the counts',
    diff: `${HEAD}@@ -1,3 +1,3 @@\n a\n b\n`,
    files: { f: 'a\nb\n b\n' },
    whole: true,
    expected: 'f=a|b| b; [counts]',
  },
  {
    name: 'carriage returns in one of two files',
    diff: `${HEAD}${HUNK}--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\r\n+2\r\n`,
    files: { f: LETTERS, g: '1\r\n' },
    expected: `f=${AFTER}; g=2\r`,
  },
  {
    name: 'carriage returns in one of two hunks',
    diff: `${HEAD}@@ -1 +1 @@\n-a\r\n+A\r\n@@ -4 +4 @@\n-b\n+B\n`,
    files: { f: 'a\r\n0\n0\nb\n' },
    expected: 'f=A\r|0|0|B',
  },
  {
    name: 'line ends that are right where blanks are not',
    diff: `${HEAD}@@ -1,2 +1,3 @@\n a\r\n+n\r\n-b\r\n+B\r\n`,
    files: { f: 'a\r\nb  \r\n' },
    expected: 'f=a|n|B; [trailing_space]',
  },
  {
    name: 'a last line without end where blanks are not right',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\r\n-b\n+B\n`,
    files: { f: 'a\r\nb  ' },
    expected: 'f=a|B; [trailing_space]',
  },
  {
    name: 'a later line end that is not right',
    diff: `${HEAD}@@ -1,3 +1,3 @@\n a\r\n b\r\n-c\n+C\n`,
    files: { f: 'a\r\nb\nc\n' },
    expected: 'f=a|b|C; [line_endings]',
  },
  {
    name: 'a diff that is there already, of which numbers tell the place',
    diff: `${HEAD}@@ -1 +1,2 @@\n a\n+n\n@@ -4 +5 @@\n-x\n+y\n`,
    files: { f: 'a\nn\ny\nb\ny\n' },
    expected: '',
  },
  {
    name: 'a diff that is there already',
    diff: HEAD + HUNK,
    files: { f: LETTERS.replace('d', 'D') },
    expected: '',
  },
  {
    name: 'a new file that is there already',
    diff: 'diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\n',
    files: { n: '1\n2\n' },
    expected: '',
  },
  {
    name: 'one without a git line',
    diff: '--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\n',
    files: { n: '1\n2\n' },
    expected: '',
  },
  {
    name: 'a rename with a change that is there already',
    diff: `diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n${HUNK}`,
    files: { f: null, g: LETTERS.replace('d', 'D') },
    expected: '',
  },
  {
    name: 'lines that end in LF in a file of mixed ends',
    diff: `${HEAD}@@ -2,2 +2,2 @@\n b\n-c\n+C\n`,
    files: { f: 'a\r\nb\nc\n' },
    expected: 'f=a\r|b|C',
  },
  {
    name: 'others in a file of mixed ends',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+B\n`,
    files: { f: 'a\r\nb\nc\n' },
    expected: 'f=a|B|c',
  },
  {
    name: 'carriage returns that stand there',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\r\n-b\n+B\r\n`,
    files: { f: 'a\r\nb\nc\n' },
    expected: 'f=a\r|B\r|c',
  },
  {
    name: 'carriage returns that do not',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n-b\r\n+B\r\n`,
    files: { f: 'a\nb\nc\n' },
    expected: 'f=a|B|c; [line_endings]',
  },
];

const refusals: Case[] = [
  {
    name: 'context that stands nowhere',
    diff: `${HEAD}@@ -3,3 +3,3 @@\n c\n-D\n+x\n e\n`,
    expected: 'refused: context_mismatch',
  },
  {
    name: 'context in several places',
    diff: `${HEAD}@@ -9 +9 @@\n-x\n+y\n`,
    files: { f: 'x\nx\n' },
    expected: 'refused: context_repeated',
  },
  {
    name: 'several places, and the two line numbers disagree',
    diff: `${HEAD}@@ -2 +5 @@\n-x\n+y\n`,
    files: { f: 'x\nx\n' },
    expected: 'refused: context_repeated',
  },
  {
    name: 'several places, and wrong counts',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n-x\n+y\n`,
    files: { f: 'x\nx\n' },
    whole: true,
    expected: 'refused: context_repeated',
  },
  {
    name: 'several places but for white space',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n+y\n`,
    files: { f: 'x \nx \n' },
    expected: 'refused: context_repeated',
  },
  {
    name: 'a drifted hunk that fits elsewhere with a lost blank',
    diff: `${HEAD}@@ -2 +2,2 @@\n  a\n+n\n`,
    files: { f: ' a\n  a\n' },
    expected: 'refused: context_repeated',
  },
  {
    name: 'additions without context',
    diff: `${HEAD}@@ -3,0 +4 @@\n+x\n`,
    expected: 'refused: no_context',
  },
  {
    name: 'hunks that change the same line',
    diff: `${HEAD}@@ -1,3 +1,2 @@\n a\n-b\n c\n@@ -2,2 +1,1 @@\n-b\n c\n`,
    expected: 'refused: overlap',
  },
  {
    name: 'hunks that insert at the same place',
    diff: `${HEAD}@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -1,2 +2,3 @@\n a\n+y\n b\n`,
    expected: 'refused: overlap',
  },
  {
    name: 'a file that was not offered',
    diff: `--- a/g\n+++ b/g\n${HUNK}`,
    expected: 'refused: unknown_file',
  },
  {
    name: 'a new file that may not be made',
    diff: '--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n',
    expected: 'refused: unknown_file',
  },
  {
    name: 'a path out of the workspace',
    diff: `--- a/../f\n+++ b/../f\n${HUNK}`,
    expected: 'refused: bad_path',
  },
  {
    name: 'an absolute path',
    diff: `--- /etc/passwd\n+++ /etc/passwd\n${HUNK}`,
    expected: 'refused: bad_path',
  },
  {
    name: 'a path in .git',
    diff: `--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+1\n`,
    options: anywhere,
    expected: 'refused: bad_path',
  },
  {
    name: 'a quoted control character in a path',
    diff: '--- /dev/null\n+++ "b/x\\ny"\n@@ -0,0 +1 @@\n+1\n',
    options: anywhere,
    expected: 'refused: bad_path',
  },
  {
    name: 'a creation of a file that exists',
    diff: '--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+1\n',
    expected: 'refused: already_exists',
  },
  {
    name: 'a deletion that leaves lines',
    diff: '--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n',
    expected: 'refused: delete_leaves_text',
  },
  {
    name: 'a deletion of an absent file',
    diff: 'diff --git a/n b/n\ndeleted file mode 100644\n',
    files: { n: null },
    expected: 'refused: target_absent',
  },
  {
    name: 'a change of an absent file',
    diff: `--- a/n\n+++ b/n\n${HUNK}`,
    files: { n: null },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'a rename onto a file',
    diff: 'diff --git a/f b/g\nrename from f\nrename to g\n',
    files: { f: 'x\n', g: 'y\n' },
    expected: 'refused: already_exists',
  },
  {
    name: 'a rename of an absent file',
    diff: 'diff --git a/n b/g\nrename from n\nrename to g\n',
    files: { n: null, g: null },
    expected: 'refused: target_absent',
  },
  {
    name: 'a rename to a place that may not be written',
    diff: 'diff --git a/f b/g\nrename from f\nrename to g\n',
    expected: 'refused: unknown_file',
  },
  {
    name: 'half a rename',
    diff: `diff --git a/f b/g\nrename from f\n--- a/f\n+++ b/g\n${HUNK}`,
    expected: 'refused: bad_header',
  },
  {
    name: 'a rename without its lines',
    diff: `--- a/f\n+++ b/g\n${HUNK}`,
    files: { f: LETTERS, g: null },
    expected: 'refused: names_differ',
  },
  {
    name: 'names that differ from the git line',
    diff: `diff --git a/g b/g\n${HEAD}${HUNK}`,
    files: { f: LETTERS, g: 'x\n' },
    expected: 'refused: names_differ',
  },
  {
    name: 'rename lines that differ from the names',
    diff: `diff --git a/f b/g\nrename from f\nrename to g\n${HEAD}${HUNK}`,
    files: { f: LETTERS, g: null },
    expected: 'refused: names_differ',
  },
  {
    name: 'a mode line of a new file beside two names',
    diff: `diff --git a/f b/f\nnew file mode 100644\n${HEAD}${HUNK}`,
    expected: 'refused: names_differ',
  },
  {
    name: '/dev/null on both sides',
    diff: `--- /dev/null\n+++ /dev/null\n${HUNK}`,
    expected: 'refused: bad_header',
  },
  {
    name: 'a git line with several readings',
    diff: 'diff --git a b c d e\nold mode 100644\nnew mode 100755\n',
    expected: 'refused: bad_header',
  },
  {
    name: 'a copy',
    diff: 'diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n',
    options: anywhere,
    expected: 'refused: copy',
  },
  {
    name: 'a binary patch',
    diff: 'diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQzU|?i`U@!m-0ssI2\n\n',
    expected: 'refused: binary_patch',
  },
  {
    name: 'a note of a binary change',
    diff: 'diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n',
    expected: 'refused: binary_patch',
  },
  {
    name: 'a submodule',
    diff: 'diff --git a/f b/f\nindex 1234567..89abcde 160000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n',
    expected: 'refused: submodule',
  },
  {
    name: 'a symbolic link',
    diff: 'diff --git a/n b/n\nnew file mode 120000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+f\n',
    options: anywhere,
    expected: 'refused: symlink',
  },
  {
    name: 'a combined diff',
    diff: 'diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n',
    expected: 'refused: combined_diff',
  },
  {
    name: 'an unknown mode',
    diff: 'diff --git a/f b/f\nold mode 100644\nnew mode 104755\n',
    expected: 'refused: bad_mode',
  },
  {
    name: 'a final line end that is there',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n`,
    files: { f: 'x\n' },
    expected: 'refused: final_newline',
  },
  {
    name: 'no line end, but not at the end',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n`,
    files: { f: 'x\nz\n' },
    expected: 'refused: final_newline',
  },
  {
    name: 'a signed line that may be context',
    diff: `${HEAD}@@ -1,3 +1,3 @@\n a\n b\n+c\n@@ -9,1 +9,1 @@\n-z\n+y\n`,
    files: { f: 'a\nb\n+c\n0\n1\n2\n3\n4\nz\n' },
    expected: 'refused: ambiguous_sign',
  },
  {
    name: 'a removed line that stands there with its sign',
    diff: `${HEAD}@@ -1,3 +1,2 @@\n a\n-x\n b\n`,
    files: { f: 'a\n-x\nb\n' },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'an indented context line, tolerance lost_blank off',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n  x\n-y\n+z\n`,
    files: { f: '  x\ny\n' },
    options: off('lost_blank'),
    expected: 'refused: context_mismatch',
  },
  {
    name: 'another indentation at the end of a file without line end',
    diff: `${HEAD}@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n`,
    files: { f: '  a' },
    options: { tolerances: { indent: true } },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'another indentation elsewhere, tolerance line_drift off',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+B\n`,
    files: { f: '0\n  a\n  b\n' },
    options: { tolerances: { indent: true, line_drift: false } },
    expected: 'refused: line_drift',
  },
  {
    name: 'a byte order mark that the file has not',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n \ufeffx\n-y\n+z\n`,
    files: { f: 'x\ny\n' },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'a diff that is there but for its signs',
    diff: `${HEAD}@@ -3,3 +3,3 @@\nc\n-d\n+D\n e\n`,
    files: { f: LETTERS.replace('d', 'D') },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'a new file by its time that exists',
    diff: '--- n\t1970-01-01 00:00:00\n+++ n\t2026-01-01 00:00:00\n@@ -0,0 +1 @@\n+1\n',
    files: { n: '' },
    expected: 'refused: already_exists',
  },
  {
    name: 'the new name of a git line that differs',
    diff: `diff --git a/f b/g\n${HEAD}${HUNK}`,
    files: { f: LETTERS, g: null },
    expected: 'refused: names_differ',
  },
  {
    name: 'the old name of a git line that differs',
    diff: `diff --git a/g b/f\n${HEAD}${HUNK}`,
    files: { f: LETTERS, g: null },
    expected: 'refused: names_differ',
  },
  {
    name: 'the other half of a rename',
    diff: `diff --git a/f b/g\nrename to g\n--- a/f\n+++ b/g\n${HUNK}`,
    files: { f: LETTERS, g: null },
    expected: 'refused: bad_header',
  },
  ...[
    ['fewer new lines than stated', '@@ -1,2 +1,4 @@\n a\n b\n+c\n', 'a\nb\n+c\n'],
    ['fewer old ones, more new ones', '@@ -1,3 +1,1 @@\n a\n b\n+c\n', 'a\nb\n+c\n'],
    ['fewer old lines than stated', '@@ -1,4 +1,2 @@\n a\n-c\n b\n', 'a\nc\nb\na\n-c\nb\n'],
    ['fewer new ones, more old ones', '@@ -1,1 +1,3 @@\n a\n-c\n b\n', 'a\nc\nb\na\n-c\nb\n'],
    ['a header without numbers', '@@\n+0\n+c\n z\n', '+c\nz\n'],
  ].map(([name = '', hunk = '', f = '']) => ({
    name: `a signed line that stands in the file: ${name}`,
    diff: HEAD + hunk,
    files: { f },
    whole: true,
    expected: 'refused: ambiguous_sign',
  })),
  {
    name: 'a blank line alone, at another line than stated',
    diff: `${HEAD}@@ -4,1 +3,2 @@\n \n+n\n`,
    files: { f: 'a\n\nb\n\tc\n' },
    expected: 'refused: no_context',
  },
  {
    name: 'a line doubled at one of several places, though its reverse stands elsewhere',
    diff: `${HEAD}@@ -3,1 +3,2 @@\n a\n+a\n`,
    files: { f: 'a\na\na \n' },
    expected: 'refused: context_repeated',
  },
  {
    name: 'a quote that stands elsewhere, and at the stated line but for blanks',
    diff: `${HEAD}@@ -3,2 +3,3 @@\n a\n+n\n\n`,
    files: { f: 'a\n\na\n \n' },
    expected: 'refused: context_repeated',
  },
  {
    name: 'a removed line that may be context',
    diff: `${HEAD}@@ -1,3 +1,3 @@\n a\n-c\n b\n@@ -9,1 +9,1 @@\n-z\n+y\n`,
    files: { f: 'a\nc\nb\na\n-c\nb\n5\n6\nz\n' },
    expected: 'refused: ambiguous_sign',
  },
  {
    name: 'the stated line among several, tolerance unchecked_lines off',
    diff: `${HEAD}@@ -3,1 +3,1 @@\n-x\n+y\n`,
    files: { f: 'x\nx\nx\nx\n' },
    options: off('unchecked_lines'),
    expected: 'refused: context_repeated',
  },
  {
    name: 'a stated line that does not count the lines that came',
    diff: `${HEAD}@@ -1 +1,2 @@\n a\n+n\n@@ -4 +4 @@\n-x\n+y\n`,
    files: { f: 'a\nx\nb\nx\n' },
    expected: 'refused: context_repeated',
  },
  {
    name: 'another indentation in two places',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+B\n`,
    files: { f: '  a\n  b\n\ta\n\tb\n' },
    options: { tolerances: { indent: true } },
    expected: 'refused: context_repeated',
  },
  {
    name: 'another indentation that an added line has not',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n   a\n-  b\n+B\n`,
    files: { f: ' a\n b\n' },
    options: { tolerances: { indent: true } },
    expected: 'refused: indent',
  },
  {
    name: 'line ends that differ, tolerance line_endings off',
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n-b\r\n+B\r\n`,
    files: { f: 'a\nb\nc\n' },
    options: { tolerances: { line_endings: false } },
    expected: 'refused: line_endings',
  },
  {
    name: 'a diff that is there but for blanks',
    diff: HEAD + HUNK,
    files: { f: LETTERS.replace('d', 'D ') },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'a rename alone that is done already',
    diff: 'diff --git a/f b/g\nrename from f\nrename to g\n',
    files: { f: null, g: 'x\n' },
    expected: 'refused: target_absent',
  },
  {
    name: 'a mode line of a deleted file beside two names',
    diff: `diff --git a/f b/f\ndeleted file mode 100644\n${HEAD}${HUNK}`,
    expected: 'refused: names_differ',
  },
  {
    name: 'a new name that differs from the rename lines',
    diff: `diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/h\n${HUNK}`,
    files: { f: LETTERS, g: null, h: null },
    expected: 'refused: names_differ',
  },
  {
    name: 'a new name that differs from the git line',
    diff: `diff --git a/f b/f\n--- a/f\n+++ b/g\n${HUNK}`,
    files: { f: LETTERS, g: null },
    expected: 'refused: names_differ',
  },
  {
    name: 'a file that another was renamed to',
    diff: `diff --git a/f b/g\nrename from f\nrename to g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+A\n`,
    files: { f: LETTERS, g: null },
    expected: 'refused: names_differ',
  },
  {
    name: 'a binary patch before a good one',
    diff: `diff --git a/g b/g\nindex 1..2 100644\nGIT binary patch\n@@ -1 +1 @@\n--- a/x\n+++ b/x\ndiff --git a/f b/f\n${HEAD}${HUNK}`,
    files: { f: LETTERS, g: 'x' },
    expected: 'refused: binary_patch',
  },
  {
    name: 'a binary patch in a fence before prose',
    diff: '```diff\ndiff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n```\nDone.\n',
    expected: 'refused: binary_patch',
  },
  {
    name: 'wrong counts and a line without sign',
    diff: `${HEAD}@@ -1,3 +1,2 @@\n a\nb\n c\n@@ -7,2 +7,1 @@\n g\n-h\n`,
    expected: 'refused: counts',
  },
  {
    name: 'tolerance line_drift off',
    diff: `${HEAD}${HUNK.replace('-3,3 +3,3', '-30,3 +30,3')}`,
    options: off('line_drift'),
    expected: 'refused: line_drift',
  },
  {
    name: 'tolerance counts off',
    diff: `${HEAD}${HUNK.replace('-3,3 +3,3', '-3,2 +3,2')}`,
    options: off('counts'),
    expected: 'refused: counts',
  },
  {
    name: 'tolerance lost_blank off',
    diff: `${HEAD}@@ -3,3 +3,3 @@\nc\n-d\n+D\n e\n`,
    options: off('lost_blank'),
    expected: 'refused: lost_blank',
  },
  {
    name: 'tolerance trailing_space off',
    diff: `${HEAD}@@ -1 +1 @@\n-x\n+z\n`,
    files: { f: 'x  \n' },
    options: off('trailing_space'),
    expected: 'refused: context_mismatch',
  },
  {
    name: 'look-alikes, off by default',
    diff: `${HEAD}@@ -1 +1 @@\n-it's\n+z\n`,
    files: { f: 'it\u2019s\n' },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'another case of letters',
    diff: `${HEAD}@@ -1 +1 @@\n-X\n+z\n`,
    files: { f: 'x\n' },
    expected: 'refused: context_mismatch',
  },
  {
    name: 'every file or none',
    diff: `${HEAD}${HUNK}--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n`,
    files: { f: LETTERS, g: '3\n' },
    expected: 'refused: context_mismatch',
  },
];

const invalid: Case[] = [
  { name: 'nothing', diff: '', expected: 'invalid: no_edits' },
  { name: 'prose alone', diff: 'I cannot do that.\n', expected: 'invalid: no_edits' },
  {
    name: 'a hunk of no file, of two',
    diff: HUNK,
    files: { f: LETTERS, g: LETTERS },
    expected: 'invalid: hunk_without_file',
  },
  {
    name: 'a cut hunk header',
    diff: `${HEAD}@@ -1,3 +1`,
    expected: 'invalid open: bad_hunk_header',
  },
  {
    name: 'a cut hunk',
    diff: `${HEAD}@@ -3,3 +3,3 @@\n c\n-d\n`,
    expected: 'invalid open: cut_hunk',
  },
  {
    name: 'a last hunk that is short as one before it, and whose last line is cut',
    diff: `${HEAD}@@ -3,5 +3,5 @@\n c\n-d\n+D\n e\n--- a/g\n+++ b/g\n@@ -1,1 +1,3 @@\n x\n+y`,
    files: { f: LETTERS, g: 'x\n' },
    expected: 'invalid open: cut_hunk',
  },
  {
    name: 'a hunk cut after its header',
    diff: `${HEAD}@@ -3,3 +3,3 @@\n`,
    expected: 'invalid open: cut_hunk',
  },
  { name: 'a header and no hunk', diff: HEAD, expected: 'invalid open: bare_header' },
  { name: 'half a header', diff: '--- a/f\n', expected: 'invalid open: stray_line' },
  { name: 'a git line alone', diff: 'diff --git a/f b/f\n', expected: 'invalid open: bare_header' },
  {
    name: 'an old mode alone',
    diff: 'diff --git a/f b/f\nold mode 100644\n',
    expected: 'invalid open: bare_header',
  },
  {
    name: 'half a rename at the end',
    diff: 'diff --git a/f b/g\nrename from f\n',
    expected: 'invalid open: bare_header',
  },
  {
    name: 'a second header and no hunk',
    diff: `${HEAD}${HUNK}diff --git a/g b/g\n`,
    expected: 'invalid open: bare_header',
  },
  {
    name: 'a fence not closed',
    diff: `\`\`\`diff\n${HEAD}${HUNK}`,
    expected: 'invalid open: cut_inside_fence',
  },
  {
    name: 'text right after a hunk',
    diff: `${HEAD}${HUNK}diff --gi`,
    expected: 'invalid open: bare_header',
  },
  {
    name: 'a removed line after prose',
    diff: `${HEAD}${HUNK}\nAnd also:\n- f\n`,
    expected: 'invalid open: stray_line',
  },
  {
    name: 'part of one',
    diff: `${HEAD}${HUNK}\nAnd:\n- lon`,
    files: { f: `${LETTERS}long\n` },
    expected: 'invalid open: stray_line',
  },
  {
    name: 'a context line after prose',
    diff: `${HEAD}${HUNK}\nAnd:\n- long\n`,
    files: { f: `${LETTERS}- long\n` },
    expected: 'invalid open: stray_line',
  },
  ...['- d', '---', '- lon'].map((line) => ({
    name: `"${line}" behind a fence and wrong counts`,
    diff: `\`\`\`diff\n${HEAD}@@ -3,9 +3,9 @@\n c\n-d\n+D\n e\n\`\`\`\n${line}`,
    files: { f: `${LETTERS}--\n---\nlong\n` },
    expected: 'invalid open: stray_line',
  })),
  {
    name: 'items and an added line',
    diff: `${HEAD}${HUNK}\nAnd:\n- x\n+ y\n`,
    expected: 'invalid open: stray_line',
  },
  {
    name: 'changed lines after prose',
    diff: `${HEAD}${HUNK}\nAnd also:\n+x\n y\n`,
    expected: 'invalid: stray_line',
  },
  {
    name: 'lines after `No newline`',
    diff: `${HEAD}@@ -1 +1,2 @@\n-x\n+y\n\\ No newline at end of file\n+z\n`,
    expected: 'invalid: stray_line',
  },
  {
    name: '`No newline` after no line',
    diff: `${HEAD}@@ -1 +1 @@\n\\ No newline at end of file\n-x\n+y\n`,
    expected: 'invalid: stray_line',
  },
  {
    name: 'a hunk behind the line of a file without names',
    diff: `Index: f\n${HUNK}`,
    expected: 'invalid: hunk_without_file',
  },
  {
    name: 'the line of a file and no more',
    diff: `${HEAD}${HUNK}Index: g\n`,
    expected: 'invalid open: bare_header',
  },
  {
    name: 'a header that is none',
    diff: `${HEAD}@@ -1 x @@\n a\n`,
    expected: 'invalid: bad_hunk_header',
  },
  {
    name: 'such a header behind a hunk',
    diff: `${HEAD}${HUNK}@@ -1\n a\n`,
    expected: 'invalid: bad_hunk_header',
  },
  {
    name: 'a signed line behind a fence, after wrong counts',
    diff: `\`\`\`diff\n${HEAD}@@ -3,9 +3,9 @@\n c\n-d\n+D\n e\n\`\`\`\n- d\nx\n`,
    expected: 'invalid: stray_line',
  },
  {
    name: 'half a header behind a fence',
    diff: `\`\`\`diff\n${HEAD}${HUNK}\`\`\`\n+++ g\nx\n`,
    expected: 'invalid: stray_line',
  },
  {
    name: 'a bare fence behind wrong counts',
    diff: `\`\`\`diff\n${HEAD}@@ -3,9 +3,9 @@\n c\n-d\n+D\n e\n\`\`\`\n\`\`\`\n`,
    expected: 'invalid open: cut_inside_fence',
  },
  {
    name: 'another edit behind a mode alone',
    diff: 'diff --git a/f b/f\nold mode 100644\nnew mode 100755\n\nThen:\n\n{"edits": []}\n',
    expected: 'invalid: stray_edit',
  },
  {
    name: 'signed lines in a fence of their own',
    diff: `${HEAD}${HUNK}\`\`\`\n- d\n\`\`\`\n`,
    expected: 'invalid: stray_line',
  },
  {
    name: 'half a header behind a git line',
    diff: `diff --git a/f b/f\n--- a/f\n${HUNK}`,
    expected: 'invalid: stray_line',
  },
  { name: 'a header and text', diff: `${HEAD}text\nmore\n`, expected: 'invalid: bad_hunk_header' },
  {
    name: 'a mode and a header without hunks',
    diff: `diff --git a/f b/f\nold mode 100644\nnew mode 100755\n${HEAD}`,
    expected: 'invalid open: bare_header',
  },
  {
    name: 'the other half of a rename',
    diff: 'diff --git a/f b/g\nrename to g\n',
    expected: 'invalid open: bare_header',
  },
  ...['-3,9 +3,3', '-3,3 +3,9'].map((counts) => ({
    name: `a signed line behind a fence, after ${counts}`,
    diff: `\`\`\`diff\n${HEAD}@@ ${counts} @@\n c\n-d\n+D\n e\n\`\`\`\n- d\nx\n`,
    expected: 'invalid: stray_line',
  })),
  {
    name: 'a broken old name',
    diff: `--- "a/f\\9"\n+++ b/f\n${HUNK}`,
    expected: 'invalid: bad_header',
  },
  {
    name: 'a broken new name',
    diff: `--- a/f\n+++ "b/f\\9"\n${HUNK}`,
    expected: 'invalid: bad_header',
  },
  {
    name: 'broken quotes',
    diff: `--- "a/f\\9"\n+++ "b/f\\9"\n${HUNK}`,
    expected: 'invalid: bad_header',
  },
];

describe('unified-diff', () => {
  test.each(applied)('applies: $name', (c) => {
    expect(run(c)).toBe(c.expected);
  });
  test.each(refusals)('refuses: $name', (c) => {
    expect(run(c)).toBe(c.expected);
  });
  test.each(invalid)('does not read: $name', (c) => {
    expect(run(c)).toBe(c.expected);
  });

  test('kept lines carry their base line, also where a hunk removes and adds them again', () => {
    const diff = `${HEAD}@@ -1,4 +1,4 @@\n a\n-b\n-c\n+c\n+x\n d\n`;
    const reading = readOne(unifiedDiff, diff, contextOf({ f: LETTERS }));
    const changes = [
      { from: 1, to: 2, lines: [] },
      { from: 3, to: 3, lines: ['x'] },
    ];
    expect(reading).toMatchObject({ kind: 'plans', plans: [{ changes }] });
  });

  test('a refusal says the hunk, the nearest place, the first difference, and what to send', () => {
    const diff = `${HEAD}@@ -3,3 +3,3 @@\n c\n-dd\n+D\n e\n`;
    const message = whyNot(readOne(unifiedDiff, diff, contextOf({ f: LETTERS })));
    expect(message).toContain('Hunk 1 (f, line 3 of the answer)');
    expect(message).toContain(
      'nearest place is line 3; line 4 differs in text: expected "dd", found "d"',
    );
    expect(message).toContain('Send the hunk again');
  });

  test('hunks are counted over files, and told with their lines', () => {
    const diff = `${HEAD}${HUNK.replace('-3,3 +3,3', '-30,3 +30,3')}--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n@@ -3 +3 @@\n-3\n+4\n`;
    const read = (g: string) => readOne(unifiedDiff, diff, contextOf({ f: LETTERS, g }));
    expect(whyNot(read('1\n2\n5\n'))).toContain('Hunk 3 (g, line 13 of the answer): ');
    expect(read('1\n0\n0\n3\n')).toMatchObject({
      kind: 'plans',
      tolerances: [
        { tolerance: 'line_drift', path: 'f', index: 0, line: 3 },
        { tolerance: 'line_drift', path: 'g', index: 2, line: 4 },
      ],
    });
    expect(
      readOne(unifiedDiff, HEAD + HUNK, contextOf({ f: LETTERS.replace('d', 'D') })),
    ).toMatchObject({
      kind: 'plans',
      notes: [{ code: 'already_present', index: 0 }],
    });
  });

  test('at most ten refusals of a file are told', () => {
    const hunks = Array.from({ length: 12 }, (_, i) => `@@ -${i + 1} +${i + 1} @@\n-x\n+y\n`).join(
      '',
    );
    const reading = readOne(unifiedDiff, HEAD + hunks, contextOf({ f: LETTERS }));
    expect(reading.kind === 'refused' && reading.reasons).toHaveLength(10);
  });

  test.each<[string, string, string, Partial<ApplyOptions>]>([
    [
      'the line that the header states',
      HUNK.replace('-3', '-30'),
      'It matches at line 3, its header states line 30.',
      off('line_drift'),
    ],
    [
      'that it states none',
      HUNK.replace(/@@.*/, '@@'),
      'It matches at line 3, its header states no line.',
      off('line_drift'),
    ],
    [
      'counts',
      HUNK.replace('-3,3 +3,3', '-3,2 +3,2'),
      'its header states 2 old and 2 new lines, its body has 3 and 3',
      off('counts'),
    ],
    [
      'the line without sign',
      HUNK.replace(' c', 'c'),
      'The line "c" has lost its sign',
      off('lost_blank'),
    ],
    [
      'how far the hunk before reaches',
      `${HUNK}@@ -3,2 +3,1 @@\n c\n-d\n`,
      'It belongs at line 3, but the hunk before it reaches to line 5.',
      {},
    ],
  ])('a refusal tells %s', (_name, hunk, message, options) => {
    expect(whyNot(readOne(unifiedDiff, HEAD + hunk, contextOf({ f: LETTERS }, options)))).toContain(
      message,
    );
  });

  test('a repeated context is refused with all its places', () => {
    const diff = `${HEAD}@@ -9 +9 @@\n-x\n+y\n`;
    expect(whyNot(readOne(unifiedDiff, diff, contextOf({ f: 'x\n0\nx\nx\n' })))).toContain(
      'at lines 1, 3, 4.',
    );
  });

  test('files and hunks are counted, refused or not', () => {
    const diff = `${HEAD}${HUNK}@@ -7,2 +7,1 @@\n g\n-h\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n`;
    expect(readResponse(unifiedDiff, diff, contextOf({ f: LETTERS }))).toMatchObject({
      files: 2,
      edits: 3,
    });
    const binary =
      'diff --git a/g b/g\nGIT binary patch\nliteral 3\n@@ -1 +1 @@\n--- a/x\n+++ b/x\ndiff --git a/f b/f\n';
    expect(
      readResponse(unifiedDiff, binary + HEAD + HUNK, contextOf({ f: LETTERS })),
    ).toMatchObject({
      files: 2,
      edits: 1,
    });
  });

  test('1,000 hunks in 100,000 lines', () => {
    const base = Array.from({ length: 100_000 }, (_, i) => (i % 3 === 0 ? '' : `line ${i}`));
    const hunks = Array.from({ length: 1000 }, (_, i) => {
      const at = i * 100 + 51;
      return `@@ -${at + 7},3 +${at + 7},3 @@\n ${base[at] ?? ''}\n-${base[at + 1] ?? ''}\n+new ${i}\n ${base[at + 2] ?? ''}\n`;
    });
    const reading = readOne(
      unifiedDiff,
      HEAD + hunks.join(''),
      contextOf({ f: `${base.join('\n')}\n` }),
    );
    if (reading.kind !== 'plans') throw new Error(whyNot(reading));
    const [plan] = reading.plans;
    expect(
      plan?.kind === 'lines' &&
        linesOf(plan, `${base.join('\n')}\n`).filter((l) => l.startsWith('new ')).length,
    ).toBe(1000);
    expect(reading.tolerances).toHaveLength(1000);
  });

  test('in a file of mixed ends a diff is read line by line only where all of it stands so', () => {
    const diff = `${HEAD}@@ -1,2 +1,2 @@\n a\n-x\n+X\n@@ -4 +4 @@\n-b\n+B\n`;
    expect(told('unified-diff', diff, { f: 'a\r\nx\n0\nb\n' })).toEqual({ f: 'a\r\nX\r\n0\nB\n' });
    expect(told('unified-diff', diff, { f: 'a\nx\n0\nb\nc\r\n' })).toEqual({
      f: 'a\nX\n0\nB\nc\r\n',
    });
  });
});

describe('a closed fence behind a hunk whose counts are wrong', () => {
  const bare = '```\nnpm test\n```\n';
  const again = '```\n\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n```\n';
  const cases: readonly (readonly [name: string, counts: string, tail: string, outcome: string])[] =
    [
      ['right counts, and another fence', '-1,3 +1,3', bare, 'applied'],
      ['more lines than told', '-1,2 +1,2', bare, 'applied'],
      ['more old lines than told', '-1,2 +1,3', bare, 'applied'],
      ['more new lines than told', '-1,3 +1,2', bare, 'applied'],
      ['fewer lines than told: the next fence could close a text', '-1,4 +1,4', bare, 'stray_line'],
      ['fewer old lines than told', '-1,4 +1,3', bare, 'stray_line'],
      ['fewer new lines than told', '-1,3 +1,4', bare, 'stray_line'],
      [
        'fewer lines, and a fence of another language',
        '-1,4 +1,4',
        bare.replace('```', '```sh'),
        'applied',
      ],
      ['fewer lines, and a fence round another diff', '-1,4 +1,4', again, 'applied'],
      [
        'fewer lines, and words like a header in a fence',
        '-1,4 +1,4',
        '```\nx diff -u\n```\n',
        'stray_line',
      ],
    ];
  test.each(cases)('%s', (_name, counts, tail, outcome) => {
    const diff = `\`\`\`diff\n${HEAD}@@ ${counts} @@\n a\n-b\n+B\n c\n\`\`\`\n\nThat is all.\n\n${tail}`;
    const reading = readOne(unifiedDiff, diff, contextOf({ f: LETTERS, g: '1\n' }));
    expect(reading.kind === 'plans' ? 'applied' : reading.reasons[0]?.code).toBe(outcome);
  });
});
