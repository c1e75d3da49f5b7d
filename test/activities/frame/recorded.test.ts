/** A key's first result is the one that counts; a refusal is none. */
import { expect, test } from '@jest/globals';
import { asRefused, recordOnce } from '../../../src/activities/frame/recorded.js';
import { problem, ProblemError, ProblemsError } from '../../../src/shared/problems.js';
import type { RecordStore } from '../../../src/stores/ports.js';

const inMemory = (kept = new Map<string, object>()): RecordStore => ({
  get: <T extends object>(key: string) => Promise.resolve((kept.get(key) ?? null) as T | null),
  names: () => Promise.resolve([]),
  putIfAbsent: <T extends object>(key: string, value: T) => {
    const created = !kept.has(key);
    if (created) kept.set(key, value);
    return Promise.resolve({ value: kept.get(key) as T, created });
  },
});
const never = (): Promise<never> => Promise.reject(new Error('computed again'));

test('the first result is given back, and nothing is computed again', async () => {
  const records = inMemory();
  expect(await recordOnce(records, 'k', () => Promise.resolve({ is: 'first' }))).toEqual({
    is: 'first',
  });
  expect(await recordOnce(records, 'k', never)).toEqual({ is: 'first' });
});

test('of two that compute at once both get what was stored first', async () => {
  const records = inMemory();
  const slow = async () => {
    await recordOnce(records, 'k', () => Promise.resolve({ is: 'theirs' }));
    return { is: 'ours' };
  };
  expect(await recordOnce(records, 'k', slow)).toEqual({ is: 'theirs' });
});

test('a refusal is returned and not kept', async () => {
  const records = inMemory();
  const refused = () =>
    Promise.reject<object>(new ProblemError(problem('job_invalid', 'no'))).catch(asRefused);
  expect(await recordOnce<object>(records, 'k', refused)).toMatchObject({ outcome: 'refused' });
  expect(await recordOnce(records, 'k', () => Promise.resolve({}))).toEqual({});
});

test('several problems are told as one; what is no refusal is thrown on', () => {
  const [a, b] = [problem('job_invalid', 'a'), problem('config_invalid', 'b')];
  expect(asRefused(new ProblemsError([a, b]))).toEqual({
    outcome: 'refused',
    problem: { ...a, message: 'a\nb' },
  });
  expect(() => asRefused(new ProblemError(problem('disk', 'full')))).toThrow('full');
});
