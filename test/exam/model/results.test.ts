/** Results that are gone on with are one model's. */
import { expect, it } from '@jest/globals';
import { otherModel, type Results } from './results.js';
import type { TaskRun } from './run-task.js';

const results = (model: string | null, runs: number): Results => ({
  v: 1,
  model,
  begun: '',
  command: '',
  runs: Array<TaskRun>(runs).fill({} as TaskRun),
});

it('another model does not go on where one has begun', () => {
  expect(otherModel(results('small', 1), 'small')).toBeNull();
  expect(otherModel(results('small', 1), 'large')).toBe('small');
  expect(otherModel(results('small', 0), 'large')).toBeNull();
  expect(otherModel(results(null, 0), 'large')).toBeNull();
});
