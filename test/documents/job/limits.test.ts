import { describe, expect, test } from '@jest/globals';
import {
  parseLimitSetting,
  resolveLimits,
  totalChunks,
} from '../../../src/documents/job/limits.js';
import { LIMITS } from '../../../src/shared/limits.js';

describe('resolveLimits', () => {
  test('without settings every limit has its default, and no other key is there', () => {
    const resolved = resolveLimits({ limits: {} }, { limits: {} }, {});
    expect(resolved).toEqual(
      Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, limit.default])),
    );
    expect(resolved.maxTotalChunks).toBeNull();
  });

  test('the command line wins over the job, the job over emend.yaml', () => {
    const config = { limits: { concurrency: 2, maxAttemptsPerFile: 3, testTimeout_s: 5 } };
    const resolved = resolveLimits(
      config,
      { limits: { maxAttemptsPerFile: 4, testTimeout_s: 6 } },
      { testTimeout_s: 7 },
    );
    expect(resolved).toMatchObject({ concurrency: 2, maxAttemptsPerFile: 4, testTimeout_s: 7 });
  });

  test.each([
    [null, 1, 10],
    [null, 5, 10],
    [null, 6, 12],
    [3, 100, 3],
  ])('total chunks: set %s, %i files', (set, files, wanted) => {
    const limits = resolveLimits(
      { limits: {} },
      { limits: {} },
      set === null ? {} : { maxTotalChunks: set },
    );
    expect(totalChunks(limits, files)).toBe(wanted);
  });
});

describe('parseLimitSetting', () => {
  test.each([
    ['concurrency=4', { kind: 'limit', name: 'concurrency', value: 4 }],
    ['outputBudget_tokens=32_768', { kind: 'limit', name: 'outputBudget_tokens', value: 32_768 }],
    ['budget_usd=0.5', { kind: 'limit', name: 'budget_usd', value: 0.5 }],
    [
      'requireCompleteSentinel=false',
      { kind: 'flag', name: 'requireCompleteSentinel', value: false },
    ],
    ['model=claude-opus-4-5', { kind: 'text', name: 'model', value: 'claude-opus-4-5' }],
    ['expand=2,5', { kind: 'text', name: 'expand', value: '2,5' }],
    ['tests=run', { kind: 'text', name: 'tests', value: 'run' }],
    [
      'command=npm test -- --grep=a',
      { kind: 'text', name: 'command', value: 'npm test -- --grep=a' },
    ],
  ])('%s', (written, value) => {
    expect(parseLimitSetting(written, 'run')).toEqual({ ok: true, value });
  });

  test.each([
    ['concurrency', ['expected NAME=VALUE']],
    ['=3', ['expected NAME=VALUE']],
    ['max_total_chunks=3', ['unknown name', '`maxTotalChunks`']],
    ['qqqqqqqqqqq=3', ['unknown name', 'one of maxLinesFullFile', 'requireCompleteSentinel']],
    ['concurrency=', ['a whole number from 1 to 32 (chunks)', 'received ""']],
    ['concurrency=33', ['a whole number from 1 to 32', 'received "33"']],
    ['concurrency=1.5', ['a whole number']],
    ['concurrency=0x2', ['a whole number']],
    ['concurrency=1e1', ['a whole number']],
    ['concurrency=-1', ['a whole number']],
    ['requireCompleteSentinel=no', ['expected true or false', 'received "no"']],
    ['model=', ['expected a value after "="']],
    ['constructor=3', ['unknown name']],
  ])('%s is refused', (written, says) => {
    const read = parseLimitSetting(written, 'run');
    if (read.ok) throw new Error('accepted');
    expect(read.problems).toHaveLength(1);
    expect(read.problems[0]?.code).toBe('usage');
    for (const words of [`--set ${written}`, ...says])
      expect(read.problems[0]?.message).toContain(words);
  });

  test.each([
    ['run', 'requireCompleteSentinel', 'command'],
    ['decision', 'command', 'requireCompleteSentinel'],
  ] as const)('an unknown name of a %s offers what it takes alone', (of, takes, takesNot) => {
    const read = parseLimitSetting('qqqqqqqqqqq=3', of);
    const said = read.ok ? '' : (read.problems[0]?.message ?? '').split(', ');
    expect(said).toContain(takes);
    expect(said).not.toContain(takesNot);
  });
});
