import { expect, test } from '@jest/globals';
import { runOptions } from '../../src/shared/run-options.js';

const summaryOf = (title: string, attempt?: number): string =>
  runOptions({
    ...(attempt === undefined ? {} : { attempt }),
    workflowId: 'w',
    taskQueue: 'q',
    input: {},
    title,
    memo: {},
    details: '',
    attributes: null,
  }).staticSummary;

test.each([
  ['![x](https://evil.example/p.png) <b>', '`![x](https://evil.example/p.png) <b>`'],
  ['a `b` | c\\d', '`a  b    c d`'],
  ['two\nlines', '`two lines`'],
  ['1. one', '`1. one`'],
  ['- one', '`- one`'],
  ['www.evil.example', '`www.evil.example`'],
  ['_a_ -- "b"', '`_a_ -- "b"`'],
])('F7: Markdown in the title %j is no markup in the static summary', (title, summary) => {
  expect(summaryOf(title)).toBe(summary);
});

test('F7: hidden characters in a title do not make the summary longer than the server takes', () => {
  expect(summaryOf('\u202e'.repeat(300)).length).toBeLessThan(250);
});

test.each([
  [1, 'Phase 4: Rest'],
  [2, 'Phase 4: Rest (run 2)'],
  [3, 'Phase 4: Rest (run 3)'],
])('the summary of run %i of a phase is %s', (attempt, summary) => {
  expect(summaryOf('Phase 4: Rest', attempt)).toBe(summary);
});

test('a long title does not cut off which run of the phase it is', () => {
  expect(summaryOf('x'.repeat(500), 12)).toMatch(/x \(run 12\)$/);
});
