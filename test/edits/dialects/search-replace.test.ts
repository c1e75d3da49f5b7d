import { describe, expect, test } from '@jest/globals';
import { searchBlocks } from '../../../src/edits/dialects/search-blocks.js';
import { searchReplace } from '../../../src/edits/dialects/search-replace.js';
import { read } from '../../../src/edits/settle.js';
import type { ApplyOptions } from '../../../src/edits/types.js';
import { contextOf, readOne, summary, whyNot, linesOf } from '../locate-support.js';

interface Case {
  readonly name: string;
  readonly answer: string;
  readonly expected: string;
  readonly files?: Readonly<Record<string, string | null>>;
  readonly options?: Partial<ApplyOptions>;
  /** The answer is known to be whole. */
  readonly whole?: boolean;
}

const NONCE = 'n0nce';
const withNonce: Partial<ApplyOptions> = { nonce: NONCE };
const block = (
  find: string,
  replace: string,
  { path = 'f', hint = '', end = 'END' } = {},
): string =>
  `${path === '' ? '' : `FILE: ${path}\n`}FIND${hint}:\n${find}REPLACE:\n${replace}${end}\n`;
const marked = (find: string, replace: string, path = 'f'): string =>
  block(find, replace, { path, end: `END ${NONCE}` });

const run = ({ answer, files = { f: 'a\nb\nc\nd\n' }, options, whole }: Case): string =>
  summary(readOne(searchReplace, answer, contextOf(files, options, whole)), files);
const known: Partial<ApplyOptions> = { base: new Map([['f', '']]) };
const eliding: Partial<ApplyOptions> = { tolerances: { elision: true } };

const applied: Case[] = [
  { name: 'one block', answer: block('b\n', 'B\n'), expected: 'f=a|B|c|d' },
  { name: 'several lines', answer: block('b\nc\n', 'x\ny\nz\n'), expected: 'f=a|x|y|z|d' },
  { name: 'a deletion', answer: block('b\nc\n', ''), expected: 'f=a|d' },
  { name: 'all lines gone', answer: block('a\nb\nc\nd\n', ''), expected: 'f=' },
  {
    name: 'the answer in CRLF',
    answer: block('b\n', 'B\n').replaceAll('\n', '\r\n'),
    expected: 'f=a|B|c|d',
  },
  {
    name: 'the file in CRLF',
    answer: block('b\nc\n', 'B\n'),
    files: { f: 'a\r\nb\r\nc\r\nd\r\n' },
    expected: 'f=a|B|d',
  },
  {
    name: 'the last END without line end',
    answer: block('b\n', 'B\n').trimEnd(),
    expected: 'f=a|B|c|d',
  },
  {
    name: 'two blocks, the second without FILE',
    answer: block('b\n', 'B\n') + block('d\n', 'D\n', { path: '' }),
    expected: 'f=a|B|c|D',
  },
  {
    name: 'two blocks from the end to the start',
    answer: block('d\n', 'D\n') + block('a\n', 'A\n'),
    expected: 'f=A|b|c|D',
  },
  {
    name: 'two files, by turns',
    answer: block('b\n', 'B\n') + block('1\n', '2\n', { path: 'g' }) + block('c\n', 'C\n'),
    files: { f: 'a\nb\nc\n', g: '1\n' },
    expected: 'f=a|B|C; g=2',
  },
  {
    name: 'one file by two spellings',
    answer: block('b\n', 'B\n') + block('c\n', 'C\n', { path: './f' }),
    expected: 'f=a|B|C|d',
  },
  { name: 'a nonce', answer: marked('b\n', 'B\n'), options: withNonce, expected: 'f=a|B|c|d' },
  {
    name: 'markers in a body, with a nonce',
    answer: marked('b\n', 'END\nFIND:\nFILE: x\nEND other\n'),
    options: withNonce,
    expected: 'f=a|END|FIND:|FILE: x|END other|c|d',
  },
  {
    name: 'markers in FIND, with a nonce',
    answer: marked('END\nFILE: f\n', 'x\n'),
    files: { f: 'a\nEND\nFILE: f\n' },
    options: withNonce,
    expected: 'f=a|x',
  },
  {
    name: 'REPLACE: in REPLACE, with a nonce',
    answer: marked('b\n', 'x\nREPLACE:\ny\n'),
    options: withNonce,
    expected: 'f=a|x|REPLACE:|y|c|d',
  },
  {
    name: 'a fence round the blocks',
    answer: `\`\`\`\n${block('b\n', 'B\n')}\`\`\`\n`,
    expected: 'f=a|B|c|d',
  },
  {
    name: 'prose before',
    answer: `Here are the edits.\n\n${block('b\n', 'B\n')}`,
    expected: 'f=a|B|c|d',
  },
  {
    name: 'prose between, with a nonce',
    answer: `${marked('b\n', 'B\n')}And then:\n${marked('c\n', 'C\n')}`,
    options: withNonce,
    expected: 'f=a|B|C|d',
  },
  {
    name: 'a line hint',
    answer: block('x\n', 'y\n', { hint: ' @3' }),
    files: { f: 'x\n-\nx\n' },
    expected: 'f=x|-|y; [unchecked_lines]',
  },
  {
    name: 'a line hint for the file that the answer was made for',
    answer: block('x\n', 'y\n', { hint: ' @3' }),
    files: { f: 'x\n-\nx\n' },
    options: { base: new Map([['f', '']]) },
    expected: 'f=x|-|y',
  },
  {
    name: 'a line hint without @',
    answer: block('x\n', 'y\n', { hint: ' 1' }),
    files: { f: 'x\n-\nx\n' },
    expected: 'f=y|-|x; [unchecked_lines]',
  },
  {
    name: 'a line hint counts lines of the file as shown',
    answer: block('-\n', '-\n-\n-\n', { hint: ' @2' }) + block('x\n', 'y\n', { hint: ' @3' }),
    files: { f: 'x\n-\nx\n' },
    expected: 'f=x|-|-|-|y; [unchecked_lines]',
  },
  {
    name: 'a wrong hint where FIND stands once',
    answer: block('b\n', 'B\n', { hint: ' @4' }),
    expected: 'f=a|B|c|d',
  },
  {
    name: 'a new file',
    answer: block('', '1\n2\n', { path: 'n' }),
    files: { n: null },
    expected: 'n=1|2',
  },
  {
    name: 'a new file that may be made',
    answer: block('', '1\n', { path: 'dir/n' }),
    options: { mayCreateUnder: ['dir'] },
    expected: 'dir/n=1',
  },
  {
    name: 'a new empty file',
    answer: block('', '', { path: 'n' }),
    files: { n: null },
    expected: 'n=',
  },
  {
    name: 'a new file, changed by a later block',
    answer: block('', '1\n2\n', { path: 'n' }) + block('2\n', '3\n', { path: 'n' }),
    files: { n: null },
    expected: 'n=1|3; [earlier_block]',
  },
  {
    name: 'text of an earlier block',
    answer: block('b\n', 'x\ny\n') + block('y\nc\n', 'z\n'),
    expected: 'f=a|x|z|d; [earlier_block]',
  },
  {
    name: 'lines that an earlier block brought together',
    answer: block('b\nc\n', '') + block('a\nd\n', 'z\n'),
    expected: 'f=z; [earlier_block]',
  },
  {
    name: 'lines that an earlier block quoted and kept',
    answer: block('b\nc\n', 'x\nb\nc\n') + block('b\nc\nd\n', 'B\nc\nd\n'),
    expected: 'f=a|x|B|c|d',
  },
  {
    name: 'white space at line ends',
    answer: block('a\nb\n', 'a\nB\n'),
    files: { f: 'a  \nb\t\n' },
    expected: 'f=a  |B; [trailing_space]',
  },
  {
    name: 'a stray CR',
    answer: block('a\r\r\nb\n', 'a\r\r\nB\n'),
    files: { f: 'a\nb\n' },
    expected: 'f=a|B; [line_endings]',
  },
  {
    name: 'look-alikes, switched on',
    answer: block('"q"\nb\n', '"q"\nB\n'),
    files: { f: '\u201Cq\u201D\nb\n' },
    options: { tolerances: { lookalikes: true } },
    expected: 'f=\u201Cq\u201D|B; [lookalikes]',
  },
  {
    name: 'blanks behind END',
    answer: block('b\n', 'B\n', { end: 'END \t' }),
    expected: 'f=a|B|c|d',
  },
  {
    name: 'a line of blanks behind the last block',
    answer: `${block('b\n', 'B\n')}  \n`,
    expected: 'f=a|B|c|d',
  },
  {
    name: 'prose behind the last block of a whole answer',
    answer: `${block('b\n', 'B\n')}That is all.\n`,
    whole: true,
    expected: 'f=a|B|c|d',
  },
  {
    name: 'prose behind the last block, with a nonce',
    answer: `${marked('b\n', 'B\n')}That is all.\n`,
    options: withNonce,
    expected: 'f=a|B|c|d',
  },
  {
    name: 'eight REPLACE: lines, with a nonce',
    answer: marked('b\n', 'REPLACE:\n'.repeat(7)),
    options: withNonce,
    expected: `f=a${'|REPLACE:'.repeat(7)}|c|d`,
  },
  {
    name: 'a block that is sent again',
    answer: block('b\n', 'B\n').repeat(2),
    expected: 'f=a|B|c|d',
  },
  {
    name: 'one whose FIND is a part of another line',
    answer: block('a\n', 'X\n').repeat(2),
    files: { f: 'a\nabc\n' },
    expected: 'f=X|abc',
  },
  {
    name: 'a part of a line',
    answer: block('ell\n', 'i\n'),
    files: { f: 'h(ell)o\n' },
    expected: 'f=h(i)o; [part_of_line]',
  },
  {
    name: 'a part of a line of an earlier block',
    answer: block('b\n', 'h(ell)o\n') + block('ell\n', 'i\n'),
    expected: 'f=a|h(i)o|c|d; [part_of_line earlier_block]',
  },
  {
    name: 'a part of a line of a new file',
    answer: block('', '1\nh(ell)o\n', { path: 'n' }) + block('ell\n', 'i\n', { path: 'n' }),
    files: { n: null },
    expected: 'n=1|h(i)o; [part_of_line earlier_block]',
  },
  {
    name: 'a part of a line that is to stay, beside a change',
    answer: block('ell\n', 'ell\n') + block('b\n', 'B\n'),
    files: { f: 'hello\nb\n' },
    expected: 'f=hello|B',
  },
  {
    name: 'lines left out that are to stay, beside a change',
    answer: block('a\n...\nc\n', 'a\n...\nc\n') + block('d\n', 'D\n'),
    options: eliding,
    expected: 'f=a|b|c|D',
  },
  {
    name: 'lines left out below the first',
    answer: block('b\n...\nd\n', 'b\nX\n'),
    options: eliding,
    expected: 'f=a|b|X; [elision]',
  },
  {
    name: 'an empty FIND in an empty file',
    answer: block('', 'x\n'),
    files: { f: '' },
    expected: 'f=x',
  },
  {
    name: 'a new file whose folder looks like a prefix',
    answer: block('', 'x\n', { path: 'a/f' }),
    options: { mayCreateUnder: [''] },
    expected: 'a/f=x',
  },
  { name: 'FIND equal to REPLACE', answer: block('b\n', 'b\n'), expected: 'f=a|b|c|d' },
  { name: 'REPLACE there already', answer: block('x\n', 'b\n'), expected: 'f=a|b|c|d' },
];

const refusals: Case[] = [
  {
    name: 'FIND that stands nowhere',
    answer: block('x\n', 'y\n'),
    expected: 'refused: find_absent',
  },
  {
    name: 'a part of a line that stands twice',
    answer: block('a\n', 'x\n'),
    files: { f: 'abca\n' },
    expected: 'refused: find_repeated',
  },
  {
    name: 'another indentation of several lines',
    answer: block('a\nb\n', 'x\n'),
    files: { f: '  a\n  b\n' },
    expected: 'refused: find_absent',
  },
  {
    name: 'an indentation other than that of the line',
    answer: block('  b\n', 'a\n'),
    files: { f: '\t b\na\n' },
    expected: 'refused: find_absent',
  },
  {
    name: 'look-alikes, off by default',
    answer: block("it's\n", 'x\n'),
    files: { f: 'it\u2019s\n' },
    expected: 'refused: find_absent',
  },
  {
    name: 'FIND absent, REPLACE there twice',
    answer: block('x\n', 'b\n'),
    files: { f: 'b\nb\n' },
    expected: 'refused: find_absent',
  },
  {
    name: 'lines left out that stand nowhere',
    answer: block('a\n...\nz\n', 'x\n'),
    options: eliding,
    expected: 'refused: elision',
  },
  {
    name: 'lines left out that are to stay and stand nowhere, beside a change',
    answer: block('a\n...\nz\n', 'a\n...\nz\n') + block('d\n', 'D\n'),
    options: eliding,
    expected: 'refused: find_absent',
  },
  {
    name: 'blanks that are a part of a line',
    answer: block('  \n', 'y\n'),
    files: { f: '  x\n' },
    expected: 'refused: find_absent',
  },
  {
    name: 'FIND absent, REPLACE partly of another block',
    answer: block('a\n', 'x\n') + block('q\n', 'x\nb\n'),
    options: known,
    expected: 'refused: find_absent',
  },
  {
    name: 'nine REPLACE: lines, with a nonce',
    answer: marked('b\n', 'REPLACE:\n'.repeat(8)),
    options: withNonce,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'prose in a fence behind the last block',
    answer: `${block('b\n', 'B\n')}\`\`\`\nx\n\`\`\`\n`,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'FIND absent, REPLACE empty',
    answer: block('x\n', ''),
    expected: 'refused: find_absent',
  },
  {
    name: 'FIND in several places',
    answer: block('x\n', 'y\n'),
    files: { f: 'x\nx\n' },
    expected: 'refused: find_repeated',
  },
  {
    name: 'FIND in several places that overlap',
    answer: block('x\nx\n', 'y\n'),
    files: { f: 'x\nx\nx\n' },
    expected: 'refused: find_repeated',
  },
  {
    name: 'FIND again, in text of an earlier block',
    answer: block('b\n', 'a\n') + block('a\n', 'A\n'),
    expected: 'refused: find_repeated',
  },
  {
    name: 'a hint that fits none of several places',
    answer: block('x\n', 'y\n', { hint: ' @3' }),
    files: { f: 'x\nx\n' },
    expected: 'refused: find_repeated',
  },
  {
    name: 'several places but for white space',
    answer: block('x\n', 'y\n'),
    files: { f: 'x \nx \n' },
    expected: 'refused: find_repeated',
  },
  {
    name: 'several places but for white space, and a hint',
    answer: block('x\n', 'y\n', { hint: ' @1' }),
    files: { f: 'x \nx \n' },
    expected: 'refused: find_repeated',
  },
  {
    name: 'text that an earlier block took away',
    answer: block('b\nc\n', '') + block('b\n', 'x\n'),
    expected: 'refused: find_absent',
  },
  {
    name: 'text that an earlier block removed, replaced',
    answer: block('b\n', '') + block('b\n', 'x\n'),
    expected: 'refused: contradiction',
  },
  {
    name: 'an empty FIND in a file that exists',
    answer: block('', 'x\n'),
    expected: 'refused: file_exists',
  },
  {
    name: 'an empty form in a file that exists',
    answer: block('', ''),
    expected: 'refused: file_exists',
  },
  {
    name: 'an empty form in an empty file',
    answer: block('', ''),
    files: { f: '' },
    expected: 'refused: file_exists',
  },
  {
    name: 'a file made twice',
    answer: block('', '1\n', { path: 'n' }) + block('', '2\n', { path: 'n' }),
    files: { n: null },
    expected: 'refused: file_exists',
  },
  {
    name: 'FIND in a file that does not exist',
    answer: block('x\n', 'y\n', { path: 'n' }),
    files: { n: null },
    expected: 'refused: target_absent',
  },
  {
    name: 'a file that was not offered',
    answer: block('x\n', 'y\n', { path: 'g' }),
    expected: 'refused: unknown_file',
  },
  {
    name: 'a new file that may not be made',
    answer: block('', 'y\n', { path: 'g' }),
    options: { mayCreateUnder: ['dir'] },
    expected: 'refused: unknown_file',
  },
  {
    name: 'a path out of the workspace',
    answer: block('x\n', 'y\n', { path: '../f' }),
    expected: 'refused: bad_path',
  },
  {
    name: 'a path in .git',
    answer: block('', 'y\n', { path: '.git/config' }),
    options: { mayCreateUnder: [''] },
    expected: 'refused: bad_path',
  },
  {
    name: 'a path with a backslash',
    answer: block('', 'y\n', { path: 'a\\b' }),
    options: { mayCreateUnder: [''] },
    expected: 'refused: bad_path',
  },
  {
    name: 'END in REPLACE',
    answer: block('b\n', 'begin\nEND\nrest\n'),
    expected: 'refused: marker_in_body',
  },
  {
    name: 'END at the end of REPLACE',
    answer: block('b\n', 'begin\nEND\n'),
    expected: 'refused: marker_in_body',
  },
  { name: 'END in FIND', answer: block('b\nEND\n', 'x\n'), expected: 'refused: marker_in_body' },
  { name: 'FIND: in FIND', answer: block('FIND:\n', 'x\n'), expected: 'refused: marker_in_body' },
  {
    name: 'FILE: in REPLACE',
    answer: block('b\n', 'FILE: g\n'),
    expected: 'refused: marker_in_body',
  },
  {
    name: 'REPLACE: in REPLACE',
    answer: block('b\n', 'REPLACE:\n'),
    expected: 'refused: marker_in_body',
  },
  {
    name: 'a block without END before another',
    answer: `FILE: f\nFIND:\nb\nREPLACE:\nB\n${block('c\n', 'C\n')}`,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'prose after the last block, where nothing says that the answer is whole',
    answer: `${block('b\n', 'B\n')}And then:\n`,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'an END after prose',
    answer: `${block('b\n', 'B\n')}And then:\nEND\n${block('c\n', 'C\n')}`,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'REPLACE: that may stand in FIND, with a nonce',
    answer: marked('b\nREPLACE:\nx\n', 'y\n'),
    files: { f: 'b\nREPLACE:\nx\n' },
    options: withNonce,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'a bare END that runs on into the next block, with a nonce',
    answer: block('b\n', 'B\n') + marked('c\n', 'C\n'),
    options: withNonce,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'an END with another nonce that runs on',
    answer: block('b\n', 'B\n', { end: 'END n0nc' }) + marked('c\n', 'C\n'),
    options: withNonce,
    expected: 'refused: marker_in_body',
  },
  {
    name: 'tolerance earlier_block off',
    answer: block('b\n', 'x\n') + block('x\nc\n', 'z\n'),
    options: { tolerances: { earlier_block: false } },
    expected: 'refused: earlier_block',
  },
  {
    name: 'tolerance trailing_space off',
    answer: block('a\n', 'x\n'),
    files: { f: 'a \n' },
    options: { tolerances: { trailing_space: false } },
    expected: 'refused: find_absent',
  },
  {
    name: 'tolerance line_endings off',
    answer: block('a\r\r\n', 'x\n'),
    files: { f: 'a\n' },
    options: { tolerances: { line_endings: false, trailing_space: false } },
    expected: 'refused: find_absent',
  },
  {
    name: 'every file or none',
    answer: block('b\n', 'B\n') + block('x\n', 'y\n', { path: 'g' }),
    files: { f: 'b\n', g: '1\n' },
    expected: 'refused: find_absent',
  },
  {
    name: 'every refusal is told',
    answer: block('x\n', 'y\n') + block('c\n', 'C\n') + block('z\n', 'y\n'),
    expected: 'refused: find_absent find_absent',
  },
];

const invalid: Case[] = [
  { name: 'nothing', answer: '', expected: 'invalid: no_edits' },
  { name: 'prose alone', answer: 'I cannot do that.\n', expected: 'invalid: no_edits' },
  { name: 'FILE alone', answer: 'FILE: f\n', expected: 'invalid open: open_block' },
  { name: 'cut in FIND', answer: 'FILE: f\nFIND:\nb\n', expected: 'invalid open: open_block' },
  {
    name: 'cut in REPLACE',
    answer: 'FILE: f\nFIND:\nb\nREPLACE:\nB\n',
    expected: 'invalid open: open_block',
  },
  {
    name: 'cut in END',
    answer: 'FILE: f\nFIND:\nb\nREPLACE:\nB\nEN',
    expected: 'invalid open: open_block',
  },
  {
    name: 'cut in the nonce',
    answer: 'FILE: f\nFIND:\nb\nREPLACE:\nB\nEND n0nc',
    options: withNonce,
    expected: 'invalid open: open_block',
  },
  {
    name: 'a bare END, with a nonce',
    answer: block('b\n', 'B\n'),
    options: withNonce,
    expected: 'invalid open: open_block',
  },
  {
    name: 'cut after the second FILE',
    answer: `${block('b\n', 'B\n')}FILE: f\n`,
    expected: 'invalid open: open_block',
  },
  { name: 'cut in a line for FIND', answer: 'FILE: f\nFIN', expected: 'invalid open: no_find' },
  { name: 'cut in a second FILE', answer: 'FILE: f\nFILE: g', expected: 'invalid open: no_find' },
  {
    name: 'cut in a fence behind prose',
    answer: `${block('b\n', 'B\n')}So:\n\`\`\`\nx\n`,
    expected: 'invalid open: cut_inside_fence',
  },
  {
    name: 'FIND without FILE',
    answer: 'FIND:\nb\nREPLACE:\nB\nEND\n',
    expected: 'invalid: find_without_file',
  },
  {
    name: 'two FILE lines',
    answer: `FILE: f\n${block('b\n', 'B\n')}`,
    expected: 'invalid: no_find',
  },
  {
    name: 'text between FILE and FIND',
    answer: 'FILE: f\nplease\nFIND:\nb\nREPLACE:\nB\nEND\n',
    expected: 'invalid: no_find',
  },
  {
    name: 'REPLACE before FIND',
    answer: 'FILE: f\nREPLACE:\nB\nEND\n',
    expected: 'invalid: stray_line',
  },
  {
    name: 'no REPLACE, with a nonce',
    answer: `FILE: f\nFIND:\nb\nEND ${NONCE}\n`,
    options: withNonce,
    expected: 'invalid: no_replace',
  },
  {
    name: 'END twice, with a nonce',
    answer: `${marked('b\n', 'B\n')}END ${NONCE}\n\n\n`,
    options: withNonce,
    expected: 'invalid: stray_line',
  },
];

describe('search-replace', () => {
  test.each(applied)('applies: $name', (c) => {
    expect(run(c)).toBe(c.expected);
  });
  test.each(refusals)('refuses: $name', (c) => {
    expect(run(c)).toBe(c.expected);
  });
  test.each(invalid)('does not read: $name', (c) => {
    expect(run(c)).toBe(c.expected);
  });

  test('untouched and quoted lines keep their base line', () => {
    const reading = readOne(
      searchReplace,
      block('b\nc\n', 'b\nx\nc\n'),
      contextOf({ f: 'a\nb\nc\nd\n' }),
    );
    expect(reading).toMatchObject({
      kind: 'plans',
      plans: [{ changes: [{ from: 2, to: 2, lines: ['x'] }] }],
    });
  });

  test('skipped blocks are told in notes, with their number', () => {
    const reading = readOne(
      searchReplace,
      block('a\n', 'a\n') + block('x\n', 'b\n') + block('c\n', 'C\n'),
      contextOf({ f: 'a\nb\nc\n' }, { base: new Map([['f', '']]) }),
    );
    expect(reading).toMatchObject({
      kind: 'plans',
      notes: [
        { code: 'no_change', path: 'f', index: 0 },
        { code: 'already_present', path: 'f', index: 1 },
      ],
    });
  });

  test('a refusal says the block, the nearest place, the first difference, and what to send', () => {
    const message = whyNot(
      readOne(searchReplace, block('one\n  two\n', 'x\n'), contextOf({ f: 'zero\none\n\t two\n' })),
    );
    expect(message).toContain('Block 1 (f, line 2 of the answer)');
    expect(message).toContain(
      'nearest place is line 2; line 3 differs in indentation: expected "  two", found "\\t two"',
    );
    expect(message).toContain('Send FIND as whole lines');
  });

  test('a repeated FIND is refused with all its places, by the numbers of the file as shown', () => {
    const answer = block('a\n', '') + block('x\n', 'y\n');
    expect(whyNot(readOne(searchReplace, answer, contextOf({ f: 'a\nx\nb\nx\n' })))).toContain(
      'at lines 2, 4.',
    );
  });

  test('places in text of earlier blocks are told without a number', () => {
    const told = (answer: string, file: string) =>
      whyNot(readOne(searchReplace, answer, contextOf({ f: file })));
    expect(told(block('b\n', 'x\nx\n') + block('x\n', 'y\n'), 'a\nb\n')).toContain(
      'FIND occurs in several places: in text that an earlier block wrote. ',
    );
    expect(told(block('b\n', 'x\n') + block('x\n', 'y\n'), 'x\nb\n')).toContain(
      'FIND occurs in several places: at lines 1, and in text that an earlier block wrote. ',
    );
  });

  test('a part that stands in many places is refused with fifty of them', () => {
    const told = (count: number) =>
      whyNot(readOne(searchReplace, block('a\n', 'x\n'), contextOf({ f: 'ab\n'.repeat(count) })));
    expect(told(50)).toContain(', 49, 50. Part of a line must occur once');
    expect(told(51)).toContain(', 49, 50 and more. Part of a line must occur once');
    expect(told(60)).toContain(', 49, 50 and more. Part of a line must occur once');
  });

  test('a hundred parts of lines are looked for in a file', () => {
    const file = Array.from({ length: 101 }, (_, i) => `<${i}:>\n`).join('');
    const answer = Array.from({ length: 101 }, (_, i) => block(`<${i}:\n`, `(${i}\n`));
    const reading = (count: number) =>
      readOne(searchReplace, answer.slice(0, count).join(''), contextOf({ f: file }));
    expect(reading(100).kind).toBe('plans');
    expect(reading(101)).toMatchObject({
      kind: 'refused',
      reasons: [{ code: 'find_absent', index: 100 }],
    });
  });

  test('at most ten refusals are told', () => {
    const reasons = (answer: string, options: Partial<ApplyOptions> = {}) => {
      const reading = readOne(searchReplace, answer, contextOf({ f: 'a\n' }, options));
      return reading.kind === 'refused' ? reading.reasons.length : 0;
    };
    const many = (one: (i: number) => string) =>
      Array.from({ length: 12 }, (_, i) => one(i)).join('');
    expect(reasons(many((i) => block(`x${i}\n`, 'y\n')))).toBe(10);
    expect(reasons(many((i) => block('x\n', 'y\n', { path: `no/${i}` })))).toBe(10);
    expect(reasons(block('a\n', 'b\n') + many((i) => block(`x${i}\n`, `x${i}\n`)))).toBe(10);
  });

  test('what is told names the parts of a block, in any file', () => {
    const told = (answer: string) =>
      whyNot(readOne(searchReplace, answer, contextOf({ 'f.md': 'a\n' })));
    expect(told(block('x\n', 'y\n', { path: 'f.md' }))).toContain('FIND does not occur');
    expect(told('FILE: f.md\n')).toContain('The answer ends after FILE: f.md, before its FIND.');
    expect(told(block('a\n  // ...\nb\n', 'y\n', { path: 'f.md' }))).toContain(
      'omits lines: "// ..." stands',
    );
  });

  test('files and blocks are counted, refused or not', () => {
    const answer =
      block('x\n', 'y\n') +
      block('1\n', '2\n', { path: 'g' }) +
      block('z\n', 'y\n', { path: './f' });
    expect(read(searchReplace, answer, contextOf({ f: 'a\n', g: '1\n' }))).toMatchObject({
      files: 2,
      edits: 3,
    });
  });

  test('1,000 blocks in 100,000 lines, each after text that one before made', () => {
    const base = Array.from({ length: 100_000 }, (_, i) => (i % 3 === 0 ? '' : `line ${i}`));
    const answer = Array.from({ length: 1000 }, (_, i) => {
      const at = i * 100 + 1;
      return block(
        `${base[at] ?? ''}\n${base[at + 1] ?? ''}\n`,
        `new ${i}\n${base[at + 1] ?? ''}\n`,
      );
    });
    const reading = readOne(
      searchReplace,
      answer.join(''),
      contextOf({ f: `${base.join('\n')}\n` }),
    );
    if (reading.kind !== 'plans') throw new Error(whyNot(reading));
    const [plan] = reading.plans;
    expect(
      plan?.kind === 'lines' &&
        linesOf(plan, `${base.join('\n')}\n`).filter((l) => l.startsWith('new ')).length,
    ).toBe(1000);
  });
});

describe('search-blocks', () => {
  const conflict = (find: string, replace: string): string =>
    `f\n<<<<<<< SEARCH\n${find}=======\n${replace}>>>>>>> REPLACE\n`;
  const read = (answer: string, file: string) =>
    readOne(searchBlocks, answer, contextOf({ f: file }));
  const twice = 'x\n-\nx\n';
  test.each([
    [
      'a first line, not the last, decides',
      conflict(':start_line:3\n:end_line:4\n-------\nx\n', 'y\n'),
      twice,
      'f=x|-|y; [unchecked_lines]',
    ],
    [
      'the other way round',
      conflict(':end_line:4\n:start_line:3\nx\n', 'y\n'),
      twice,
      'f=x|-|y; [unchecked_lines]',
    ],
    [
      'a rule is text without them',
      conflict('-------\nb\n', '-------\nB\n'),
      '-------\nb\n',
      'f=-------|B',
    ],
    ['it alone, too', conflict('-------\nb\n', 'B\n'), '-------\nb\n', 'f=B'],
    [
      'a hundred dividers',
      conflict('=======\n'.repeat(99), 'b\n'),
      '=======\n'.repeat(99),
      'refused: marker_in_body',
    ],
    [
      'one more',
      conflict('=======\n'.repeat(100), 'b\n'),
      '=======\n'.repeat(100),
      'invalid: stray_line',
    ],
  ])('%s', (_name, answer, file, expected) => {
    expect(summary(read(answer, file), { f: file })).toBe(expected);
  });
  test('lines of blanks round a block are no prose', () => {
    const notes = (answer: string) => {
      const reading = read(answer, 'b\n');
      return reading.kind === 'plans' && reading.notes.map(({ code }) => code);
    };
    expect(notes(`  \n${conflict('b\n', 'B\n')} \n`)).toEqual([]);
    expect(notes(`So:\n${conflict('b\n', 'B\n')}`)).toEqual(['prose']);
  });
});
