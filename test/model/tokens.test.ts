import { describe, expect, test } from '@jest/globals';
import { estimateTokens, isPromptCut } from '../../src/model/tokens.js';

test.each([
  ['', 0],
  ['abcd', 1],
  ['abcde', 2],
  ['éé', 1],
  ['日本', 2],
  ['😀', 1],
  [' '.repeat(1000), 1],
  ['ab'.repeat(1000), 500],
])('%j weighs %i tokens', (text, wanted) => {
  expect(estimateTokens(text)).toBe(wanted);
});

describe('isPromptCut', () => {
  const usage = (input: number, cacheRead = 0, cacheWrite = 0) => ({
    input_tokens: input,
    output_tokens: 9,
    cacheRead_tokens: cacheRead,
    cacheWrite_tokens: cacheWrite,
  });
  test.each([
    ['below half', 1000, usage(499), true],
    ['half', 1000, usage(500), false],
    ['most of it from the cache', 1000, usage(10, 400, 400), false],
    ['cached parts count, and are too few', 1000, usage(10, 400, 80), true],
    ['0 is not reported', 1000, usage(0), false],
    ['absent', 1000, null, false],
    ['a whole context, less than was sent', 3000, usage(2048), true],
    ['a whole context, as much as was sent', 2048, usage(2048), false],
    ['most of it', 3000, usage(2047), false],
    ['a round number, less by what rounding can do', 1025, usage(1024), false],
    ['a round number, less by the most that rounding can do', 2080, usage(2048), false],
    ['and more than that', 2081, usage(2048), true],
  ])('%s', (_, estimate, given, wanted) => {
    expect(isPromptCut(estimate, given)).toBe(wanted);
  });
});
