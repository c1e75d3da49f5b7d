import { describe, expect, test } from '@jest/globals';
import { nextFallback, type FallbackState } from '../../../src/activities/step/refusals.js';

const stateOf = (changes: Partial<FallbackState>): FallbackState => ({
  format: 'whole-file',
  isNew: false,
  bucket: 'B',
  outputBudget_tokens: 64,
  maxOutputBudget_tokens: 64,
  isCut: true,
  wholeStep: false,
  ...changes,
});
const terser = { kind: 'format', format: 'structured-edit', outputBudget_tokens: 64 };

describe('nextFallback', () => {
  test.each([
    [
      'the whole step is split first',
      { wholeStep: true, outputBudget_tokens: 16 },
      { kind: 'split' },
    ],
    [
      'then the budget doubles',
      { outputBudget_tokens: 16 },
      { kind: 'budget', outputBudget_tokens: 32 },
    ],
    ['up to the most', { outputBudget_tokens: 40 }, { kind: 'budget', outputBudget_tokens: 64 }],
    [
      'more room does not help a model that ended its response itself',
      { isCut: false, outputBudget_tokens: 16 },
      { ...terser, outputBudget_tokens: 16 },
    ],
    ['then a terser format', {}, terser],
    ['from a diff', { format: 'unified-diff' }, terser],
    ['from blocks', { format: 'search-replace' }, terser],
    [
      'blocks for a large file become operations before the budget doubles',
      { format: 'search-replace', bucket: 'C', outputBudget_tokens: 16 },
      { ...terser, outputBudget_tokens: 16 },
    ],
    [
      'operations for a large file get a larger budget',
      { format: 'structured-edit', bucket: 'C', outputBudget_tokens: 16 },
      { kind: 'budget', outputBudget_tokens: 32 },
    ],
    [
      'a budget above the most is not raised',
      { outputBudget_tokens: 100 },
      { ...terser, outputBudget_tokens: 100 },
    ],
    ['nothing is terser than operations', { format: 'structured-edit' }, { kind: 'exhausted' }],
    ['a new file has no lines to name', { isNew: true }, { kind: 'exhausted' }],
    [
      'a format switched off is no fallback',
      {
        formats: {
          'whole-file': true,
          'unified-diff': true,
          'structured-edit': false,
          'search-replace': true,
        },
      },
      { kind: 'exhausted' },
    ],
  ] satisfies [string, Partial<FallbackState>, unknown][])('%s', (_, changes, wanted) => {
    expect(nextFallback(stateOf(changes))).toEqual(wanted);
  });

  test('the fallbacks end', () => {
    let now = stateOf({
      wholeStep: true,
      outputBudget_tokens: 1,
      maxOutputBudget_tokens: 1_000_000,
    });
    const kinds: string[] = [];
    for (
      let step = nextFallback(now);
      step.kind !== 'exhausted' && kinds.length < 100;
      step = nextFallback(now)
    ) {
      kinds.push(step.kind);
      now = { ...now, wholeStep: false };
      if (step.kind !== 'split') now = { ...now, outputBudget_tokens: step.outputBudget_tokens };
      if (step.kind === 'format') now = { ...now, format: step.format };
    }
    expect(kinds).toEqual(['split', ...Array<string>(20).fill('budget'), 'format']);
  });
});
