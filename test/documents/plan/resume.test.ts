/** What an earlier run of a plan left: what counts by itself, what a person is asked about, what makes no difference. */
import { describe, expect, test } from '@jest/globals';
import { resumePointOf, type ResumeFacts } from '../../../src/documents/plan/resume.js';
import type { PlanCheckpoint, PhaseReading } from '../../../src/shared/plan.js';
import { NO_USAGE } from '../../../src/shared/usage.js';

const NOW = Date.parse('2026-01-10T00:00:00Z');
const reading = (number: number, marker: PhaseReading['marker'] = null): PhaseReading => ({
  id: `p${number}`,
  number,
  name: `N${number}`,
  marker,
  expanded: false,
  dependsOn: [],
  category: 'code',
  second: false,
  tasks: { total: 1, done: 0 },
  score: { score: 1, keywords: {}, tasks: 1, files: 0, tests: 0, above: [] },
  text: `text ${number}`,
});
const PHASES = [reading(1, 'completed'), reading(2), reading(3)];
const replan = (phase: number, timestamp: string) => ({
  phase,
  trigger: 'test_failure_pattern',
  action: 'add_phase',
  timestamp,
  forced: false,
  old_structure: 'a',
  new_structure: 'b',
  complexity_before: 1,
  complexity_after: 2,
});
const failure = (phase: number, iteration: number, timestamp: string) => ({
  phase,
  iteration,
  error_type: 'syntax',
  timestamp,
  signature: 's',
  summary: 'bad',
  suggestions: ['look'],
});
const checkpoint: PlanCheckpoint = {
  workflow_description: 'plan',
  plan_path: 'plans/a',
  plan_hash: 'h',
  step_key: 'k',
  current_phase: 2,
  total_phases: 3,
  completed_phases: [1],
  status: 'in_progress',
  tests_passing: true,
  last_error: null,
  phase_replan_count: { '1': 0, '2': 1, '3': 0 },
  replan_history: [replan(2, '2026-01-08T00:00:00Z')],
  test_failure_history: [
    failure(2, 1, '2026-01-07T00:00:00Z'),
    failure(2, 2, '2026-01-09T00:00:00Z'),
  ],
  complexity_evaluations: {
    '2': { score: 1, method: 'threshold', reasoning: null },
    '3': { score: 6, method: 'agent', reasoning: 'r' },
  },
  last_commit: 'c1',
  commit_history: ['c1'],
  timestamp: '2026-01-09T00:00:00Z',
  plan_number: null,
  started_at: '2026-01-06T00:00:00Z',
  last_updated: '2026-01-09T00:00:00Z',
  spent: { own: { usage: NO_USAGE, time_ms: 0 }, before: null },
  phases: [1, 2, 3].map((n) => ({
    id: `p${n}`,
    number: n,
    name: `N${n}`,
    text: `text ${n}`,
    force_spent: n === 2,
  })),
};
const left = (change: Partial<ResumeFacts> = {}) =>
  resumePointOf({
    checkpoint,
    holdsLast: true,
    hash: 'h',
    marks: [],
    phases: PHASES,
    committed: [],
    bounded: false,
    spent: null,
    currentTime_ms: NOW,
    ...change,
  });

test('counts, failures since the last replan and paid scores are taken over, of phases that are still to be done', () => {
  expect(left()).toMatchObject({
    run: 'k',
    why: [],
    commits: ['c1'],
    replans: [
      { phase: 'p2', trigger: 'test_failure_pattern', at: Date.parse('2026-01-08T00:00:00Z') },
    ],
    failures: [
      { phase: 'p2', run: 1 },
      { phase: 'p2', run: 2, signature: 's', summary: 'bad', suggestions: ['look'] },
    ],
    phases: [
      {
        id: 'p2',
        replans: 1,
        forceSpent: true,
        committed: null,
        complexity: null,
        failures: [{ run: 2 }],
      },
      {
        id: 'p3',
        replans: 0,
        forceSpent: false,
        failures: [],
        complexity: { score: 6, method: 'agent' },
      },
    ],
  });
});

describe('a person is asked, with each reason', () => {
  const changed = (more: Partial<PlanCheckpoint>): Partial<ResumeFacts> => ({
    checkpoint: { ...checkpoint, ...more },
  });
  test.each<[string, Partial<ResumeFacts>]>([
    ['it was aborted', changed({ status: 'aborted' })],
    ['it was paused', changed({ status: 'paused' })],
    ['its tests did not pass', changed({ tests_passing: false })],
    ['its last error is not fixed: bad', changed({ last_error: 'bad' })],
    ['it is 8 days old', changed({ timestamp: '2026-01-02T00:00:00Z' })],
    ['the plan has changed since', { hash: 'other' }],
    ['its last commit c1 is no longer in the branch', { holdsLast: false }],
    ['who knows', { committed: [{ id: 'p2', commit: 'c2', tests: 'pass', doubt: 'who knows' }] }],
  ])('%s', (why, change) => {
    expect(left(change)?.why).toEqual([why]);
  });
  test('exactly seven days are young enough', () => {
    expect(left(changed({ timestamp: '2026-01-03T00:00:00Z' }))?.why).toEqual([]);
  });
});

describe('nothing is left', () => {
  const blank = {
    ...checkpoint,
    phases: checkpoint.phases.map((phase) => ({ ...phase, force_spent: false })),
    phase_replan_count: {},
    replan_history: [],
    test_failure_history: [],
    complexity_evaluations: {},
  };
  test.each<[string, Partial<ResumeFacts>]>([
    ['no checkpoint and no commit', { checkpoint: null }],
    ['a plan that came to its end', { checkpoint: { ...checkpoint, status: 'completed' } }],
    [
      'one that makes no difference, however it ended',
      { checkpoint: { ...blank, status: 'aborted' } },
    ],
  ])('%s', (_, change) => {
    expect(left(change)).toBeNull();
  });
});

describe('what was spent', () => {
  const usage = { ...NO_USAGE, calls: 3, input_tokens: 900 };
  const spent = { usage, time_ms: 5_000 };
  const blank = {
    ...checkpoint,
    phases: checkpoint.phases.map((phase) => ({ ...phase, force_spent: false })),
    phase_replan_count: {},
    replan_history: [],
    test_failure_history: [],
    complexity_evaluations: {},
  };
  test('goes with whatever else is taken over', () => {
    expect(left({ spent })).toMatchObject({ why: [], spent });
    expect(left()).not.toHaveProperty('spent');
  });
  test('alone counts where a budget is set, and nobody is asked', () => {
    const stopped: PlanCheckpoint = { ...blank, status: 'stopped' };
    expect(left({ checkpoint: stopped, spent, bounded: true })).toMatchObject({
      run: 'k',
      why: [],
      spent,
    });
    expect(left({ checkpoint: stopped, spent })).toBeNull();
    expect(
      left({ checkpoint: { ...stopped, status: 'incomplete' }, spent, bounded: true }),
    ).toBeNull();
  });
});

test('a phase that is committed and not marked is done, without a checkpoint and where the phases reads as it did', () => {
  const committed = [{ id: 'p2', commit: 'c2', tests: 'no_tests' as const, doubt: null }];
  expect(left({ checkpoint: null, committed })).toMatchObject({
    run: null,
    why: [],
    failures: [],
    replans: [],
    commits: [],
    phases: [
      { id: 'p2', committed: { commit: 'c2', tests: 'no_tests' } },
      { id: 'p3', committed: null },
    ],
  });
});
