import { describe, expect, test } from '@jest/globals';
import { concurrentId, looksLikeWorkflowId, workflowIdOf } from '../../../src/client/runs/start.js';
import { newStepKey } from '../../../src/client/runs/new-key.js';
import { isStepKey, shownKey } from '../../../src/shared/ids.js';

describe('names of runs', () => {
  test.each([
    ['job', 'jobs/greet.md', 'emend/job/greet/def512116250'],
    ['plan', 'plans/010_Demo', 'emend/plan/010-demo/'],
    ['job', 'jobs/--- !.md', 'emend/job/job/'],
    ['job', 'jobs/Über 日本.md', 'emend/job/über-日本/'],
    ['job', `jobs/${'long '.repeat(20)}.md`, `emend/job/${'long-'.repeat(8).slice(0, -1)}/`],
    ['job', `jobs/${'𝒜'.repeat(20)}x${'𝒜'.repeat(9)}`, `emend/job/${'𝒜'.repeat(19)}`],
  ] as const)('the id of a %s %s can be read', (kind, path, id) => {
    const made = workflowIdOf(kind, '/home/a/repo', path);
    expect(made.startsWith(id)).toBe(true);
    expect(made).toMatch(/^emend\/(?:job|plan)\/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*\/[0-9a-f]{12}$/u);
    expect(looksLikeWorkflowId(made)).toBe(true);
  });

  test('workspace, job path and kind are told apart', () => {
    const ids = [
      workflowIdOf('job', '/a', 'b/c.md'),
      workflowIdOf('job', '/a/b', 'c.md'),
      workflowIdOf('plan', '/a', 'b/c.md'),
    ];
    expect(new Set(ids).size).toBe(3);
  });

  test('a job without a file goes by its whole text', () => {
    const of = (text: string, workspace = '/a') =>
      workflowIdOf('job', workspace, 'make-it-polite', text);
    expect(of('Make it polite')).toMatch(/^emend\/job\/make-it-polite\/[0-9a-f]{12}$/);
    expect(of('Make it polite')).toBe(of('Make it polite'));
    const ids = [
      of('Make it polite'),
      of('Make it polite.'),
      of('Make it polite', '/b'),
      workflowIdOf('job', '/a', 'make-it-polite'),
    ];
    expect(new Set(ids).size).toBe(4);
  });

  test('a step key is 128 random bits', () => {
    const key = newStepKey();
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(isStepKey(key)).toBe(true);
    expect(newStepKey()).not.toBe(key);
    expect(shownKey(key)).toBe(key.slice(0, 8));
  });

  test('runs beside the first are numbered from 2', () => {
    expect([1, 2, 3].map((n) => concurrentId('emend-1', n))).toEqual([
      'emend-1',
      'emend-1-2',
      'emend-1-3',
    ]);
    expect(looksLikeWorkflowId('emend-1-2')).toBe(true);
    expect(looksLikeWorkflowId('e0e0')).toBe(false);
  });
});
