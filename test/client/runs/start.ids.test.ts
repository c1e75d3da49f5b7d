import { describe, expect, test } from '@jest/globals';
import { concurrentId, looksLikeWorkflowId, newStepKey, workflowIdOf } from '../../../src/client/runs/start.js';
import { isStepKey, shownKey } from '../../../src/shared/ids.js';

describe('names of runs', () => {
  test('a workflow id is kept for ever: this one was made by the first release', () => {
    expect(workflowIdOf('/home/a/repo', 'jobs/greet.md')).toBe('emend-def5121162505863');
  });

  test('workspace and job path are told apart', () => {
    expect(workflowIdOf('/a', 'b/c.md')).not.toBe(workflowIdOf('/a/b', 'c.md'));
  });

  test('a step key is 128 random bits', () => {
    const key = newStepKey();
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(isStepKey(key)).toBe(true);
    expect(newStepKey()).not.toBe(key);
    expect(shownKey(key)).toBe(key.slice(0, 8));
  });

  test('runs beside the first are numbered from 2', () => {
    expect([1, 2, 3].map((n) => concurrentId('emend-1', n))).toEqual(['emend-1', 'emend-1-2', 'emend-1-3']);
    expect(looksLikeWorkflowId('emend-1-2')).toBe(true);
    expect(looksLikeWorkflowId('e0e0')).toBe(false);
  });
});
