import { describe, expect, test } from '@jest/globals';
import { parseConfig } from '../../../src/documents/job/config.js';
import {
  chooseFormat,
  complexity,
  jobFormatPolicy,
  splitDecision,
  type FormatChoiceInput,
  type SplitInput,
} from '../../../src/documents/job/format-choice.js';
import { resolveLimits } from '../../../src/documents/job/limits.js';
import type { Format } from '../../../src/shared/formats.js';

const limits = resolveLimits({ limits: {} }, { limits: {} }, {});
const plain: FormatChoiceInput['job'] = {
  mode: null,
  format: null,
  outputFiles: [],
  outputDir: null,
};
const on = (source: string | null): FormatChoiceInput['config'] => {
  const read = parseConfig(source);
  if (!read.ok) throw new Error('bad config');
  return read.value;
};
const choose = (input: Partial<FormatChoiceInput>) =>
  chooseFormat({
    lines: 1,
    bytes: 1,
    isNew: false,
    job: plain,
    config: on(null),
    limits,
    ...input,
  });

describe('chooseFormat', () => {
  test.each([
    [0, 0, 'whole-file', 'A'],
    [500, 32 * 1024, 'whole-file', 'A'],
    [501, 100, 'unified-diff', 'B'],
    [10, 32 * 1024 + 1, 'unified-diff', 'B'],
    [1000, 64 * 1024, 'unified-diff', 'B'],
    [1001, 100, 'search-replace', 'C'],
    [10, 64 * 1024 + 1, 'search-replace', 'C'],
    [1001, 300_000, 'search-replace', 'C'],
    [1001, 300_001, 'structured-edit', 'C'],
  ])('%i lines, %i bytes: %s', (lines, bytes, format, bucket) => {
    expect(choose({ lines, bytes })).toEqual({ format, bucket });
  });

  test('a file that no answer of the model can hold is not answered whole', () => {
    const small = { ...limits, maxOutputBudget_tokens: 1000 };
    expect(choose({ lines: 300, bytes: 3000, limits: small })).toEqual({
      format: 'whole-file',
      bucket: 'A',
    });
    expect(choose({ lines: 300, bytes: 3001, limits: small })).toEqual({
      format: 'unified-diff',
      bucket: 'B',
    });
    expect(
      choose({ lines: 300, bytes: 3001, limits: { ...limits, maxOutputBudget_tokens: null } })
        .bucket,
    ).toBe('A');
    expect(choose({ isNew: true, limits: small }).format).toBe('whole-file');
    const whole = { ...plain, format: 'whole-file' as const };
    expect(choose({ lines: 300, bytes: 3001, limits: small, job: whole }).format).toBe(
      'whole-file',
    );
  });

  test('a new file is answered whole', () => {
    expect(choose({ isNew: true, lines: 0, bytes: 0 })).toEqual({
      format: 'whole-file',
      bucket: 'A',
    });
  });

  test('the thresholds are limits', () => {
    expect(choose({ lines: 11, limits: { ...limits, maxLinesFullFile: 10 } }).format).toBe(
      'unified-diff',
    );
    expect(choose({ lines: 2000, limits: { ...limits, maxLinesDiff: null } }).format).toBe(
      'unified-diff',
    );
  });

  test.each([
    ['whole-file: false', 10, 'unified-diff'],
    ['whole-file: false, unified-diff: false', 10, 'structured-edit'],
    ['unified-diff: false', 700, 'structured-edit'],
    ['structured-edit: false', 2000, 'search-replace'],
    ['search-replace: false', 2000, 'structured-edit'],
    ['structured-edit: false, search-replace: false', 2000, 'whole-file'],
  ])('formats {%s}, %i lines: %s', (formats, lines, wanted) => {
    expect(choose({ lines, config: on(`formats: {${formats}}`) }).format).toBe(wanted);
  });

  test('a new file never falls to search-replace', () => {
    const config = on('formats: {whole-file: false, unified-diff: false, structured-edit: false}');
    expect(choose({ isNew: true, config }).format).toBe('whole-file');
  });

  test.each([
    ['mode: edit', { ...plain, mode: 'edit' as const }, 'search-replace'],
    [
      'mode: edit, format: unified-diff',
      { ...plain, mode: 'edit' as const, format: 'unified-diff' as const },
      'unified-diff',
    ],
    ['format: whole-file', { ...plain, format: 'whole-file' as const }, 'whole-file'],
    ['output_dir', { ...plain, outputDir: 'src' }, 'whole-file'],
    [
      'mode: sequential',
      { ...plain, mode: 'sequential' as const, outputFiles: ['a'] },
      'whole-file',
    ],
  ])('the job says %s for 5000 lines', (_, job, wanted) => {
    expect(choose({ job, lines: 5000 })).toEqual({ format: wanted, bucket: 'C' });
  });

  test("the job's format counts even where emend.yaml switches it off", () => {
    expect(
      choose({
        job: { ...plain, format: 'unified-diff' },
        config: on('formats: {unified-diff: false}'),
      }).format,
    ).toBe('unified-diff');
  });

  test('the policy tells the mode that counts', () => {
    expect(jobFormatPolicy({ ...plain, outputFiles: ['a'] })).toEqual({
      mode: 'standard',
      forced: 'whole-file',
    });
    expect(jobFormatPolicy(plain)).toEqual({ mode: null, forced: null });
  });
});

test.each([
  [[], 'low'],
  [[200], 'low'],
  [[201], 'medium'],
  [[1, 1], 'medium'],
  [[500, 1, 1], 'medium'],
  [[501], 'high'],
  [[1, 1, 1, 1], 'high'],
] as const)('complexity of %j is %s', (lines, wanted) => {
  expect(complexity(lines.map((count) => ({ lines: count })))).toBe(wanted);
});

describe('splitDecision', () => {
  const whole = (count: number): Format[] => Array.from({ length: count }, () => 'whole-file');
  const decide = (input: Partial<SplitInput>) =>
    splitDecision({ mode: null, complexity: 'medium', formats: whole(2), limits, ...input });

  test.each([
    [{ formats: whole(1), complexity: 'high' as const }, false, 'one file'],
    [{ formats: whole(2) }, true, /^more than maxFilesBeforeSplit \(1\)/],
    [
      { formats: whole(3), limits: { ...limits, maxFilesBeforeSplit: 3 } },
      false,
      '3 files of medium complexity',
    ],
    [
      {
        formats: whole(3),
        limits: { ...limits, maxFilesBeforeSplit: 3 },
        complexity: 'high' as const,
      },
      true,
      'complexity is high',
    ],
    [
      {
        formats: whole(2),
        limits: { ...limits, maxFilesBeforeSplit: 3 },
        mode: 'sequential' as const,
      },
      true,
      'sequential',
    ],
    [
      {
        formats: ['whole-file', 'unified-diff'] as Format[],
        limits: { ...limits, maxFilesBeforeSplit: 3 },
      },
      true,
      'different formats',
    ],
  ])('%#', (input, shouldSplit, reason) => {
    const decided = decide(input);
    expect(decided.shouldSplit).toBe(shouldSplit);
    expect(decided.reason).toMatch(reason);
  });
});
