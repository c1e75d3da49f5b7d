import { describe, expect, test } from '@jest/globals';
import { eachNewLine, viewOf } from '../../../src/edits/guards/view.js';
import type { Change } from '../../../src/edits/text/changes.js';
import { indexOf } from '../../../src/edits/text/lines.js';
import { decodeFile } from '../../../src/edits/text/codec.js';

const index = (lines: readonly string[]) => {
  const decoded = decodeFile(Buffer.from(lines.map((line) => `${line}\n`).join('')));
  if (!decoded.ok) throw new Error(decoded.problem.message);
  return indexOf(decoded.text);
};
const BASE = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const change = (from: number, to: number, ...lines: string[]): Change => ({ from, to, lines });

/** The result's lines with their origins, and each change as `from-to@at: lines`. */
const told = (changes: readonly Change[]) => {
  const view = viewOf('f', index(BASE), null, changes);
  const numbers = Array.from({ length: view.result.length }, (_, at) => at);
  return {
    lines: numbers.map((at) => `${view.result.line(at)}${view.result.origin(at)}`).join(' '),
    changes: view.changes.map(({ from, to, at, lines }) =>
      `${from}-${to}@${at}: ${lines.join(' ')}`.trim(),
    ),
  };
};

describe('the result by base and changes, each line with its origin', () => {
  test.each<[string, Change[], string, string[]]>([
    ['no change', [], 'a0 b1 c2 d3 e4 f5 g6 h7', []],
    ['a line for a line', [change(2, 3, 'C')], 'a0 b1 C-1 d3 e4 f5 g6 h7', ['2-3@2: C']],
    [
      'put at the head',
      [change(0, 0, 'x', 'y')],
      'x-1 y-1 a0 b1 c2 d3 e4 f5 g6 h7',
      ['0-0@0: x y'],
    ],
    ['put at the end', [change(8, 8, 'x')], 'a0 b1 c2 d3 e4 f5 g6 h7 x-1', ['8-8@8: x']],
    ['lines that go', [change(1, 4)], 'a0 e4 f5 g6 h7', ['1-4@1:']],
    ['all lines go', [change(0, 8)], '', ['0-8@0:']],
    [
      'several, each shifts what follows',
      [change(1, 1, 'x'), change(3, 5), change(6, 7, 'G', 'H', 'I')],
      'a0 x-1 b1 c2 f5 G-1 H-1 I-1 h7',
      ['1-1@1: x', '3-5@4:', '6-7@5: G H I'],
    ],
    [
      'two that go and one that comes where they were',
      [change(0, 2, 'A'), change(4, 6, 'E')],
      'A-1 c2 d3 E-1 g6 h7',
      ['0-2@0: A', '4-6@3: E'],
    ],
  ])('%s', (_name, changes, lines, placed) => {
    expect(told(changes)).toEqual({ lines, changes: placed });
  });
});

describe('a change that says lines of the base again is looked at closer', () => {
  test.each<[string, Change, string[]]>([
    ['one in the middle', change(1, 4, 'B', 'c', 'D'), ['1-2@1: B', '3-4@3: D']],
    ['the first of them', change(1, 3, 'b', 'C'), ['2-3@2: C']],
    ['the last of them', change(1, 3, 'B', 'c'), ['1-2@1: B']],
    ['all of them, and one more', change(1, 3, 'b', 'c', 'x'), ['3-3@3: x']],
    ['all of them and nothing else', change(1, 3, 'b', 'c'), []],
    ['none of them', change(1, 3, 'x', 'y'), ['1-3@1: x y']],
    ['those of another place', change(1, 3, 'g', 'h'), ['1-3@1: g h']],
    ['in another order, where one can stay', change(1, 3, 'c', 'b'), ['1-2@1:', '3-3@2: b']],
  ])('%s', (_name, only, placed) => {
    expect(told([only]).changes).toEqual(placed);
  });
});

test('where the changes are not known, all lines are compared', () => {
  const view = viewOf('f', index(BASE), index(['a', 'x', 'c', 'd', 'f', 'g', 'h', 'y']), null);
  expect(view.changes.map(({ from, to, at, lines }) => [from, to, at, lines])).toEqual([
    [1, 2, 1, ['x']],
    [4, 5, 4, []],
    [8, 8, 7, ['y']],
  ]);
  expect(view.result.all).toEqual(['a', 'x', 'c', 'd', 'f', 'g', 'h', 'y']);
});

test('new lines are visited with their places, and no others', () => {
  const seen: string[] = [];
  eachNewLine(
    viewOf('f', index(BASE), null, [change(1, 1, 'x', 'y'), change(4, 6), change(7, 8, 'H')]),
    (line, at) => {
      seen.push(`${line}${at}`);
    },
  );
  expect(seen).toEqual(['x1', 'y2', 'H7']);
});
