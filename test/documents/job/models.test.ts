import { describe, expect, test } from '@jest/globals';
import { parseConfig } from '../../../src/documents/job/config.js';
import { resolveLimits } from '../../../src/documents/job/limits.js';
import {
  fitLimits,
  inputBudget,
  mostOutput_tokens,
} from '../../../src/documents/job/token-budgets.js';
import { formatsOf, modelEntry } from '../../../src/documents/job/models.js';

const configOf = (yaml: string) => {
  const read = parseConfig(yaml);
  if (!read.ok) throw new Error(read.problems.map((problem) => problem.message).join('\n'));
  return read.value;
};
const small = configOf('models: { small: { context_tokens: 4096, maxOutput_tokens: 8192 } }');
const limits = resolveLimits(small, { limits: {} }, {});

describe('budgets fit the model', () => {
  test.each([
    ['half of a small context', 'small', 2048, 2048, 1536],
    ['what the model can write', 'claude-opus-4-1', 16_384, 32_000, 137_712],
    ['a model that nobody described', 'unknown', 16_384, 65_536, 137_712],
  ])('%s', (_, model, first, most, prompt) => {
    const entry = modelEntry(small, model);
    const fitted = fitLimits(limits, entry);
    expect(fitted).toEqual({ ...limits, outputBudget_tokens: first, maxOutputBudget_tokens: most });
    expect(inputBudget(fitted, entry, first)).toBe(prompt);
    expect(mostOutput_tokens(entry)).toBe(most);
  });

  test('a lower limit stands', () => {
    const low = {
      ...limits,
      inputBudget_tokens: 500,
      outputBudget_tokens: 100,
      maxOutputBudget_tokens: 200,
    };
    expect(fitLimits(low, modelEntry(small, 'small'))).toEqual(low);
    expect(inputBudget(low, modelEntry(small, 'small'), 100)).toBe(500);
  });
});

describe('formats that a model answers well in', () => {
  const formats = (yaml: string) =>
    Object.entries(formatsOf(configOf(yaml), 'm'))
      .filter(([, on]) => on)
      .map(([name]) => name);
  test.each([
    [
      'not said',
      'models: { m: { input_usd: 0 } }',
      ['whole-file', 'unified-diff', 'structured-edit', 'search-replace'],
    ],
    [
      'named',
      'models: { m: { formats: [search-replace, whole-file] } }',
      ['whole-file', 'search-replace'],
    ],
    [
      'switched off',
      '{ models: { m: { formats: [search-replace, whole-file] } }, formats: { whole-file: false } }',
      ['search-replace'],
    ],
    [
      'all of them switched off',
      '{ models: { m: { formats: [whole-file] } }, formats: { whole-file: false } }',
      ['unified-diff', 'structured-edit', 'search-replace'],
    ],
  ])('%s', (_, yaml, wanted) => {
    expect(formats(yaml)).toEqual(wanted);
  });

  test('a word that is no format is told with its line', () => {
    const read = parseConfig('models:\n  m:\n    formats: [json]\n');
    expect(read.ok ? '' : read.problems[0]?.message).toMatch(/^emend.yaml:3: .*whole-file/);
    const none = parseConfig('models:\n  m:\n    formats: []\n');
    expect(none.ok ? '' : none.problems[0]?.message).toMatch(
      /^emend.yaml:3: .*list of one or more/,
    );
  });
});
