/** What a model reports as undone, in its response and in the message of a commit. */
import { describe, expect, test } from '@jest/globals';
import {
  claimedUnfinished,
  readUnfinished,
  unfinishedInAll,
  unfinishedText,
} from '../../src/shared/unfinished.js';

describe('what a response leaves undone', () => {
  test.each([
    ['nothing is said', 'FILE a.js\nx\nEMEND-COMPLETE n 1 1\n', []],
    [
      'before the answer, in any order, each task once',
      'Here it is.\nNOT DONE: 3: no room\nNOT DONE: 1\nNOT DONE: 3: again\n\nFILE a.js\nx\n',
      [
        { task: 1, why: '' },
        { task: 3, why: 'no room' },
      ],
    ],
    [
      'written a little otherwise',
      '  not done: Task 12 - later\r\n{"operations": []}',
      [{ task: 12, why: 'later' }],
    ],
    ['in a file of the answer it is text', 'FILE a.md\nNOT DONE: 1: x\n', []],
    ['in a diff, too', '--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n+x\nNOT DONE: 1: x\n', []],
    ['without a number it names no task', 'NOT DONE: the tests\nNOT DONE: 0: x\nFILE a\n', []],
  ])('%s', (_, answer, expected) => {
    expect(claimedUnfinished(answer)).toEqual(expected);
  });

  test('is what each of several responses leaves undone', () => {
    const [one, two] = [
      { task: 1, why: 'a' },
      { task: 2, why: 'b' },
    ] as const;
    expect(unfinishedInAll([[one, two], [two]])).toEqual([two]);
    expect(unfinishedInAll([[one], []])).toEqual([]);
    expect(unfinishedInAll([])).toEqual([]);
  });

  test('goes through the message of a commit', () => {
    const unfinished = [
      { task: 1, why: '' },
      { task: 3, why: 'no: room' },
    ] as const;
    expect(unfinishedText(unfinished)).toBe('Not done: task 1\nNot done: task 3: no: room');
    expect(
      readUnfinished(`Phase 2: Name\n\n${unfinishedText(unfinished)}\n\nEmend-Step: x\n`),
    ).toEqual(unfinished);
    expect(readUnfinished('Phase 2: Name\n\n  Not done: task 1\n')).toEqual([]);
  });
});
