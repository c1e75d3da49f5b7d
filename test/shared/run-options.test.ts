import { expect, test } from '@jest/globals';
import { runOptions } from '../../src/shared/run-options.js';

const summaryOf = (title: string): string =>
  runOptions({
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
])('F7: Markdown in the title %j is no markup in the static summary', (title, summary) => {
  expect(summaryOf(title)).toBe(summary);
});

test('F7: hidden characters in a title do not make the summary longer than the server takes', () => {
  expect(summaryOf('\u202e'.repeat(300)).length).toBeLessThan(250);
});
