/** What people report while a plan runs is never dropped: kept, shown, taken up between groups for whichever phase it concerns. */
import { describe, expect, test } from '@jest/globals';
import { BOUNDS } from '../../../src/shared/limits.js';
import { resumePointOf } from '../../../src/documents/plan/resume.js';
import { checkpointOf } from '../../../src/workflows/plan/checkpoint.js';
import { choicesOf, phaseOf } from '../../../src/workflows/plan/selectors.js';
import type { Revising } from '../../../src/workflows/plan/state.js';
import { withPhase } from '../../../src/workflows/plan/ways.js';
import { progressOfPlan } from '../../../src/workflows/plan/views.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { blob } from '../step/world.js';
import { alone, Driven, reading } from '../../shared/plan-driven.js';

const drift = { trigger: 'scope_drift', text: 'a migration is needed', by: 'ann' } as const;
const revise = { trigger: 'person', text: 'say it in French', by: 'ann' } as const;

/** Runs one phase after the other, up to the next move of this kind. */
const done = (
  plan: Driven,
  id: string,
  ids: readonly string[],
  marked: readonly string[],
): void => {
  plan.until('run');
  plan.until();
  plan.ends(id, 'committed');
  plan.until('mark');
  plan.dispatch({
    type: 'phase_marked',
    phase: id,
    result: { outcome: 'marked', commit: 'k', files: [] },
  });
  plan.until('read');
  plan.dispatch({ type: 'plan_read', result: { ...reading(ids, marked), outcome: 'ready' } });
};
const begin = (plan: Driven): void => {
  const move = plan.until('begin_revising', 'revise');
  if (move.kind === 'begin_revising') plan.dispatch({ type: 'revise', ...move } as never);
};
const revisingOf = (plan: Driven): Revising => {
  begin(plan);
  return plan.state.revision.current!;
};
const proposed = (plan: Driven, phase: string) => {
  const revising = plan.state.revision.current!;
  const result = {
    outcome: 'proposed',
    replan: blob('x'),
    action: 'add_phase',
    phase,
    why: 'w',
    usage: NO_USAGE,
  };
  plan.dispatch({ type: 'proposed', revising, result } as never);
};
describe('a report', () => {
  test('made while a phase runs waits, is shown, and is in the checkpoint; the next group begins after it', () => {
    const plan = alone(['p1', 'p2', 'p3']);
    plan.until('run');
    plan.until();
    plan.dispatch({ type: 'reported', report: drift });
    plan.dispatch({ type: 'reported', report: revise });
    expect(progressOfPlan(plan.state).reports).toEqual([drift, revise]);
    expect(plan.state.events.slice(-2)).toMatchObject([
      { type: 'scope_drift', text: drift.text, by: 'ann' },
      { type: 'revision_wanted', text: revise.text, by: 'ann' },
    ]);
    expect(checkpointOf(plan.state, 5).reports).toEqual([drift, revise]);
    plan.ends('p1', 'committed');
    plan.until('mark');
    plan.dispatch({
      type: 'phase_marked',
      phase: 'p1',
      result: { outcome: 'marked', commit: 'k', files: [] },
    });
    plan.until('read');
    plan.dispatch({
      type: 'plan_read',
      result: { ...reading(['p1', 'p2', 'p3'], ['p1']), outcome: 'same' } as never,
    });
    const revising = revisingOf(plan);
    expect(revising).toMatchObject({ phase: 'p2', trigger: 'scope_drift', words: drift.text });
    // Being taken up it is shown still, before the one that waits.
    expect(progressOfPlan(plan.state).reports).toMatchObject([
      { text: drift.text },
      { text: revise.text },
    ]);
    const choices = choicesOf(plan.state, plan.state.revision.current!);
    expect(choices.actions).toContain('update_tasks');
    expect(choices.others.map(({ id }) => id)).toEqual(['p3']);
    // It changes a later phase: that one is replanned, and counts it.
    proposed(plan, 'p3');
    expect(plan.until('revise')).toMatchObject({ revising: { step: 'apply', phase: 'p3' } });
  });

  test('made in the last phase leads to a phase after it', () => {
    const plan = alone(['p1']);
    plan.until('run');
    plan.until();
    plan.dispatch({ type: 'reported', report: drift });
    plan.ends('p1', 'committed');
    plan.until('mark');
    plan.dispatch({
      type: 'phase_marked',
      phase: 'p1',
      result: { outcome: 'marked', commit: 'k', files: [] },
    });
    plan.until('read');
    plan.dispatch({
      type: 'plan_read',
      result: { ...reading(['p1'], ['p1']), outcome: 'same' } as never,
    });
    const revising = revisingOf(plan);
    expect(revising.phase).toBe('p1');
    expect(choicesOf(plan.state, plan.state.revision.current!)).toEqual({
      actions: ['add_phase'],
      others: [],
    });
    proposed(plan, 'p1');
    const measures = {
      oldStructure: 'a',
      newStructure: 'b',
      complexityBefore: 3,
      complexityAfter: 3,
    };
    const result = {
      outcome: 'replanned',
      action: 'add_phase',
      ...measures,
      commit: 'c',
      plan: reading(['p1', 'p2'], ['p1']),
    } as const;
    plan.dispatch({ type: 'replanned', revising: plan.state.revision.current!, result });
    expect(phaseOf(plan.state, 'p1')).toMatchObject({ status: 'completed', replans: 1 });
    expect(plan.until('run')).toMatchObject({ phases: ['p2'] });
  });

  test('of which no replan can be made is asked about; a phase that is done cannot be left out for it', () => {
    const plan = alone(['p1']);
    done(plan, 'p1', ['p1'], ['p1']);
    plan.dispatch({ type: 'reported', report: drift });
    revisingOf(plan);
    const failed = { outcome: 'failed', message: 'nothing usable', usage: NO_USAGE } as const;
    plan.dispatch({ type: 'proposed', revising: plan.state.revision.current!, result: failed });
    const asked = plan.asked();
    expect(asked).toMatchObject({
      reason: 'replan_limit',
      accepts: ['force', 'revise', 'continue', 'abort'],
    });
    expect(asked.message).toContain(`${drift.text}: no replan was possible: nothing usable`);
    plan.answer('revise', 'one more phase');
    expect(plan.state.revision.current).toMatchObject({
      step: 'propose',
      trigger: 'scope_drift',
      forcedBy: 'x (cli)',
      words: `${drift.text}\none more phase`,
    });
  });

  test('is put back where its phase is left out, and only what is over the bound is refused, with a word', () => {
    const plan = alone(['p1', 'p2']);
    plan.dispatch({ type: 'reported', report: drift });
    revisingOf(plan);
    plan.fails('proposeReplan', 'p1', 'engine_failed');
    plan.answer('skip');
    expect(plan.state.revision).toMatchObject({ current: null, drifts: [{ text: drift.text }] });
    for (let n = 1; n <= BOUNDS.driftsKept; n++)
      plan.dispatch({ type: 'reported', report: revise });
    expect(plan.state.revision.drifts).toHaveLength(BOUNDS.driftsKept);
    expect(plan.state.ignored.at(-1)).toContain(
      `${revise.text}: ${BOUNDS.driftsKept} reports are already waiting`,
    );
  });

  test('that a stopped plan leaves goes to the next run of the plan', () => {
    const plan = alone(['p1', 'p2']);
    plan.until('run');
    plan.until();
    plan.dispatch({ type: 'reported', report: drift });
    plan.dispatch({ type: 'control_received', control: 'stop', by: 'ann' });
    plan.ends('p1', 'committed');
    plan.until('mark');
    plan.dispatch({
      type: 'phase_marked',
      phase: 'p1',
      result: { outcome: 'marked', commit: 'k', files: [] },
    });
    plan.until('read');
    const read = { ...reading(['p1', 'p2'], ['p1']), outcome: 'same' } as never;
    plan.dispatch({ type: 'plan_read', result: read });
    expect(plan.until('close')).toMatchObject({ outcome: 'stopped' });
    plan.dispatch({ type: 'closed', outcome: 'stopped' });
    const checkpoint = checkpointOf(plan.state, 5);
    const { phases } = reading(['p1', 'p2'], ['p1']);
    const facts = {
      holdsLast: true,
      hash: 'h',
      committed: [],
      marks: [],
      spent: null,
      bounded: false,
      currentTime_ms: 6,
    };
    const resumePoint = resumePointOf({ checkpoint, phases, ...facts })!;
    expect(resumePoint).toMatchObject({ reports: [drift], why: ['it was stopped'] });
    const next = new Driven(['p1', 'p2'], { ...reading(['p1', 'p2'], ['p1']), resumePoint });
    expect(next.asked().reason).toBe('resume');
    next.answer('resume');
    expect(revisingOf(next)).toMatchObject({ phase: 'p2', words: drift.text });
  });
});

describe('failed tests that reach a person', () => {
  const failing = {
    kind: null,
    transient: false,
    signature: null,
    summary: 'two fail',
    output: null,
    seconds: 1,
    on: 'workspace',
    baseHash: null,
  } as const;
  const result = { ...failing, suggestions: [], outcome: 'fail_hard' } as const;

  test('at the limit: revise takes their words as the replan', () => {
    const plan = alone(['p1']);
    plan.dispatch({ type: 'reported', report: revise });
    plan.state = withPhase(plan.state, 'p1', { replans: 2 });
    begin(plan);
    expect(plan.asked().accepts).toEqual(['force', 'revise', 'continue', 'skip', 'abort']);
    plan.answer('revise', 'in German');
    expect(plan.until('revise')).toMatchObject({
      revising: {
        step: 'propose',
        beyondLimit: true,
        forcedBy: 'x (cli)',
        words: `${revise.text}\nin German`,
      },
    });
  });

  test.each([
    ['continue', { stage: { at: 'jobs' } }],
    [
      'revise',
      {
        stage: { at: 'marking' },
        revision: { drifts: [{ trigger: 'person', text: 'mend them first' }] },
      },
    ],
    ['manual', { stage: { at: 'marking' }, revision: { drifts: [] } }],
  ])('before phases begin: %s', (answer, state) => {
    const plan = new Driven(['p1', 'p2']);
    plan.until('verify');
    plan.dispatch({ type: 'group_verified', base: true, result });
    expect(plan.asked()).toMatchObject({
      reason: 'tests_failed',
      message: expect.stringContaining('two fail'),
    });
    expect(plan.state.decision?.accepts).toEqual(['revise', 'continue', 'manual', 'skip', 'abort']);
    plan.answer(answer, 'mend them first');
    expect(plan.state).toMatchObject(state);
    // The worktrees that were made go, and the group begins anew in others.
    if (answer === 'manual') {
      plan.until('read');
      expect(plan.state.worktrees.made).toEqual([]);
      plan.dispatch({
        type: 'plan_read',
        result: { ...reading(['p1', 'p2']), outcome: 'same' } as never,
      });
      expect(plan.until('worktree')).toEqual({ kind: 'worktree', phase: 'p1' });
    }
  });

  test('of merged phases: revise keeps what is merged, and the plan is revised before the next group', () => {
    const plan = new Driven(['p1', 'p2']);
    plan.until('run');
    plan.until();
    plan.ends('p1', 'committed');
    plan.ends('p2', 'committed');
    plan.until('merge');
    for (const phase of ['p1', 'p2'])
      plan.dispatch({ type: 'phase_merged', phase, result: { outcome: 'merged', commit: 'm' } });
    plan.until('verify');
    plan.dispatch({ type: 'group_verified', base: false, result });
    expect(plan.asked()).toMatchObject({
      reason: 'tests_failed',
      accepts: ['revise', 'keep', 'manual', 'abort'],
    });
    plan.answer('revise', 'reconcile the two');
    expect(plan.until('mark')).toEqual({ kind: 'mark', phase: 'p1' });
    expect(plan.state.revision.drifts).toMatchObject([
      { trigger: 'person', text: 'reconcile the two' },
    ]);
  });
});
