/** Which new lines are told as a block that stands twice; each case says which lines of the result are new. */
import { expect, test } from '@jest/globals';
import { guardFindings } from '../../../src/edits/guards/index.js';
import { decodeFile } from '../../../src/edits/text/codec.js';
import { DOUBLED_UP_TO_LINES, DOUBLED_FINDINGS } from '../../../src/edits/guards/doubled.js';

/** Lines of the result; those that begin with `+` are new. Told: `from-to` of each finding. */
const doubled = (lines: readonly string[]): readonly string[] =>
  findings(lines).map(({ lines: at }) => at?.join('-') ?? '');
const findings = (lines: readonly string[]) => {
  const bytes = (all: readonly string[]): Buffer =>
    Buffer.from(all.map((line) => `${line}\n`).join(''));
  const old = bytes(lines.filter((line) => !line.startsWith('+')));
  const decoded = decodeFile(old);
  if (!decoded.ok) throw new Error(decoded.problem.message);
  const changes: { from: number; to: number; lines: string[] }[] = [];
  let kept = 0;
  let isOpen = false;
  for (const line of lines) {
    if (!line.startsWith('+')) kept += 1;
    else if (isOpen) changes.at(-1)?.lines.push(line.slice(1));
    else changes.push({ from: kept, to: kept, lines: [line.slice(1)] });
    isOpen = line.startsWith('+');
  }
  const result = bytes(lines.map((line) => line.replace(/^\+/, '')));
  const made = { base: decoded.text, changes };
  return guardFindings([{ path: 'f', base: old, result, made }]).filter(
    ({ guard }) => guard === 'doubled_block',
  );
};
const plus = (lines: readonly string[]): string[] => lines.map((line) => `+${line}`);
const block = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${name} line ${i}`);
const B = block('b', 4);
const SEVEN = block('s', 7);

test.each<[string, readonly string[], readonly string[]]>([
  ['behind it', ['x', ...B, ...plus(B), 'y'], ['6-9']],
  ['before it', ['x', ...plus(B), ...B, 'y'], ['2-5']],
  ['both new', ['x', ...plus(B), ...plus(B), 'y'], ['2-5', '6-9']],
  ['at the head of the file', [...plus(B), ...B], ['1-4']],
  ['at its end', [...B, ...plus(B)], ['5-8']],
  ['seven lines', ['x', ...SEVEN, ...plus(SEVEN), 'y'], ['9-15']],
  ['among other new lines', [...B, ...plus(B), '+z1', '+z2'], ['5-8']],
  ['blank lines between the two', [...B, '', '', ...plus(B)], ['7-10']],
  [
    'new blank lines between them, and in one of them',
    [...B, '+', ...plus(B.slice(0, 2)), '+', ...plus(B.slice(2))],
    ['6-10'],
  ],
  [
    'a blank line of the base within the new ones',
    [...B, ...plus(B.slice(0, 2)), '', ...plus(B.slice(2))],
    ['5-9'],
  ],
  ['another line between them', [...B, 'x', ...plus(B)], []],
  [
    'another line within the new ones',
    [...B, ...plus(B.slice(0, 2)), 'x', ...plus(B.slice(2))],
    [],
  ],
  ['one line that differs, the first', [...B, '+other 1', ...plus(B.slice(1))], []],
  ['one line that differs, the last', [...B, ...plus(B.slice(0, 3)), '+other 1'], []],
  ['one that differs in white space', [...B, ...plus(B.slice(0, 3)), `+ ${B[3] ?? ''}`], []],
  ['three lines', [...B.slice(0, 3), ...plus(B.slice(0, 3)), 'y'], []],
  ['three of four new', [...B, 'b line 0', ...plus(B.slice(1))], []],
  ['brackets and short words', ['{', 'a', 'b', '}', '+{', '+a', '+b', '+}'], []],
  ['one line again and again', ['word', ...plus(['word', 'word', 'word', 'word', 'word'])], []],
  ['it stood twice before', [...B, ...B, 'x', ...plus(B), ...plus(B)], []],
])('%s', (_name, lines, expected) => {
  expect(doubled(lines)).toEqual(expected);
});

test('the finding says which lines, and how they begin', () => {
  const long = ['  '.concat('w'.repeat(80)), ...B];
  expect(findings([...long, ...plus(long)])).toEqual([
    {
      guard: 'doubled_block',
      severity: 'ask',
      path: 'f',
      lines: [6, 10],
      message: `Lines 6 to 10 of the new f occur twice in a row, starting "${'w'.repeat(60)}".`,
    },
  ]);
});

test('as many lines as are looked for, and no more', () => {
  const most = block('m', DOUBLED_UP_TO_LINES);
  expect(doubled([...most, ...plus(most)])).toHaveLength(1);
  expect(doubled([...most, 'm last', ...plus(most), '+m last'])).toEqual([]);
});

test('so many findings are told', () => {
  const pairs = Array.from({ length: DOUBLED_FINDINGS + 2 }, (_, i) => block(`p${i}`, 4));
  expect(doubled(pairs.flatMap((each, i) => [`x ${i}`, ...each, ...plus(each)]))).toHaveLength(
    DOUBLED_FINDINGS,
  );
});
