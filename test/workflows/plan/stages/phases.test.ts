/** What becomes of a plan where a phase's run is cancelled, a host or a worktree is gone, or a mark cannot be written: the rules alone. */
import { describe, expect, test } from '@jest/globals';
import { describeEvent } from '../../../../src/shared/event-text.js';
import { checkpointOf } from '../../../../src/workflows/plan/checkpoint.js';
import { progressOfPlan, statusOfPlan } from '../../../../src/workflows/plan/views.js';
import { reducePlan } from '../../../../src/workflows/plan/reduce.js';
import { isHeld, phaseOf, worktreeName } from '../../../../src/workflows/plan/selectors.js';
import { initialPlan } from '../../../../src/workflows/plan/state.js';
import { blob } from '../../step/world.js';
import { alone, Driven, planInput, reading } from '../../../shared/plan-driven.js';

describe('a cancelled run', () => {
  test('is asked about once those beside it have ended; each of several by itself, before any runs again', () => {
    const plan = new Driven(['p1', 'p2', 'p3']);
    plan.until('run');
    plan.until();
    plan.ends('p1', 'cancelled');
    plan.ends('p3', 'cancelled');
    expect([plan.state.ask, plan.state.stage.at]).toEqual([null, 'running']);
    plan.ends('p2', 'committed');
    expect(plan.asked()).toMatchObject({
      reason: 'cancelled',
      accepts: ['retry', 'skip', 'abort'],
    });
    expect(plan.state.asked).toBe('p1');
    plan.answer('retry');
    expect([plan.asked().reason, plan.state.asked]).toEqual(['cancelled', 'p3']);
    plan.answer('skip');
    expect(plan.until('run')).toMatchObject({ phases: ['p1'] });
  });
});

test('an abort of the plan: the phase that it cuts short is told as aborted, not as failed, and nothing is asked', () => {
  const plan = new Driven(['p1']);
  plan.until('run');
  const ended = {
    phase: 'p1',
    result: null,
    how: 'its run was cancelled',
    cancelled: true,
    withPlan: true,
  };
  plan.dispatch({ type: 'phase_ended', ended });
  plan.dispatch({ type: 'abort', by: 'x' });
  const [phase] = progressOfPlan(plan.state).phases;
  expect([phase!.status, phase!.why, plan.state.ask]).toEqual([
    'aborted',
    'the plan was aborted',
    null,
  ]);
  expect(statusOfPlan(plan.state).counts).toMatchObject({ pending: 1, failed: 0 });
  // No test of it failed: the next run goes on without a question.
  expect(checkpointOf(plan.state, 1).tests_passing).toBe(true);
});

describe('a phase beside others', () => {
  test.each(['wait', 'retry', 'regenerate'])(
    '%s after its worktree could not be made: it is made, nothing runs without',
    (answer) => {
      const reason = {
        wait: 'workspace_unreachable',
        retry: 'engine_failed',
        regenerate: 'blob_lost',
      } as const;
      const plan = new Driven(['p1', 'p2']);
      const { phase } = plan.until('worktree') as { phase: string };
      plan.fails('prepareWorktree', phase, reason[answer as keyof typeof reason]);
      plan.answer(answer);
      expect(plan.until('worktree', 'job', 'run')).toEqual({ kind: 'worktree', phase });
    },
  );

  test('that runs again looks for its worktree first, under the name and from the base that it had', () => {
    const plan = new Driven(['p1', 'p2']);
    plan.until('run');
    plan.until();
    plan.ends('p1', 'failed');
    plan.ends('p2', 'committed');
    plan.answer('retry');
    expect(plan.until('worktree')).toEqual({ kind: 'worktree', phase: 'p1' });
    const p1 = phaseOf(plan.state, 'p1');
    expect([p1.runs, worktreeName(p1), p1.tree?.base]).toEqual([1, 'p1-1', 'b']);
    expect(plan.until('run')).toMatchObject({ phases: ['p1'] });
  });
});

test('manual at each merge conflict: what a person merged is tested', () => {
  const plan = new Driven(['p1', 'p2']);
  plan.until('run');
  plan.until();
  for (const id of ['p1', 'p2']) plan.ends(id, 'committed');
  for (const phase of ['p1', 'p2']) {
    expect(plan.until('merge')).toEqual({ kind: 'merge', phase });
    plan.dispatch({ type: 'phase_merged', phase, result: { outcome: 'conflict', files: ['a'] } });
    plan.answer('manual');
  }
  expect(plan.until('verify')).toEqual({ kind: 'verify', phase: null });
  expect(plan.state.group.mergedTested).toBe(false);
});

test('--phase starts with that phase, by the order of the document', () => {
  const input = { ...planInput, options: { ...planInput.options, phase: 4 } };
  const read = { type: 'plan_read', result: reading(['p1', 'p4', 'p2']) } as const;
  const { phases } = reducePlan(initialPlan(input, 0), read, 1);
  expect(phases.map(({ status }) => status)).toEqual(['completed', 'pending', 'pending']);
});

describe('a mark that cannot be written', () => {
  const toMark = (): Driven => {
    const plan = new Driven(['p1']);
    plan.until('run');
    plan.until();
    plan.ends('p1', 'committed');
    plan.until('mark');
    return plan;
  };
  const refused = (plan: Driven): void => {
    plan.dispatch({
      type: 'phase_marked',
      phase: 'p1',
      result: { outcome: 'conflict', why: 'frozen' },
    });
  };

  test('the question ends with what to type', () => {
    const plan = toMark();
    refused(plan);
    expect(plan.asked().message).toBe(
      'the plan could not be marked: frozen. Then `emend retry` writes the mark; `emend skip` continues without it',
    );
  });

  test.each(['skip', 'manual'])(
    '%s: the plan goes on without, and does not ask again',
    (answer) => {
      const plan = toMark();
      refused(plan);
      expect(plan.asked().message).toContain('frozen');
      plan.answer(answer);
      plan.until('read');
      plan.dispatch({ type: 'plan_read', result: reading(['p1']) });
      expect(plan.until('mark', 'close')).toMatchObject({ kind: 'close' });
    },
  );

  test.each([
    ['workspace_unreachable', 'wait'],
    ['blob_lost', 'retry'],
    ['engine_failed', 'retry'],
  ] as const)('%s: %s tries the same mark again', (reason, answer) => {
    const plan = toMark();
    plan.fails('markPhase', 'p1', reason);
    plan.answer(answer);
    expect(plan.until('mark', 'checkpoint')).toEqual({ kind: 'mark', phase: 'p1' });
    // Its records are those of the attempt that may have begun to write.
    expect(phaseOf(plan.state, 'p1').marks).toBe(1);
    // One that was put back has records of its own.
    refused(plan);
    expect(phaseOf(plan.state, 'p1').marks).toBe(2);
  });

  test('a mark that somebody takes out each time is written a bounded number of times, then asked about', () => {
    const plan = toMark();
    let written = 0;
    for (; written < 20; written++) {
      if (plan.until('mark', 'await_decision').kind === 'await_decision') break;
      plan.dispatch({
        type: 'phase_marked',
        phase: 'p1',
        result: { outcome: 'marked', commit: 'm', files: [] },
      });
      plan.until('read');
      plan.dispatch({ type: 'plan_read', result: reading(['p1']) });
    }
    expect(written).toBe(4);
    expect(plan.asked()).toMatchObject({
      reason: 'engine_failed',
      message: expect.stringContaining('written 4 times'),
    });
    plan.answer('skip');
    plan.until('read');
    plan.dispatch({ type: 'plan_read', result: reading(['p1']) });
    expect(plan.until('mark', 'close')).toMatchObject({ kind: 'close' });
  });
});

test('commits of a removed worktree are named by what the plan says of itself, with their phase', () => {
  const plan = new Driven(['p1', 'p2']);
  const kept = 'refs/emend/kept/feedc0de/p2-1';
  plan.dispatch({ type: 'worktree_removed', name: 'p2-1', result: { dropped: 'abc', kept } });
  expect(progressOfPlan(plan.state).kept).toEqual([
    { phase: 2, name: 'p2-1', ref: kept, commit: 'abc' },
  ]);
  expect(plan.state.events.at(-1)).toMatchObject({
    type: 'worktree_removed',
    name: 'p2-1',
    dropped: 'abc',
    kept,
  });
});

describe('which commit a mark goes into', () => {
  const mark = (
    plan: Driven,
    id: string,
    result: { commit: string | null; held?: ReturnType<typeof blob>; marks?: boolean },
  ) =>
    plan.dispatch({
      type: 'phase_marked',
      phase: id,
      result: { outcome: 'marked', files: [], ...result },
    });
  const next = (plan: Driven, ids: readonly string[], done: readonly string[]): void => {
    plan.until('read');
    plan.dispatch({
      type: 'plan_read',
      result: { ...reading(ids, done), outcome: 'same' } as never,
    });
  };

  test('phases one after the other: the next one takes it along; the last is one commit, with what was left', () => {
    const ids = ['p1', 'p2', 'p3'];
    const plan = alone(ids);
    const run = (id: string, marks?: true): boolean => {
      plan.until('run');
      plan.until();
      plan.ends(id, 'committed', marks);
      expect(plan.until('mark')).toEqual({ kind: 'mark', phase: id });
      return isHeld(plan.state, id);
    };
    expect(run('p1')).toBe(true);
    mark(plan, 'p1', { commit: null, held: blob('m1') });
    next(plan, ids, ['p1']);
    // Its commit could not take it along: it waits on.
    expect(run('p2')).toBe(true);
    mark(plan, 'p2', { commit: null, held: blob('m2') });
    expect(plan.state.marks).toEqual([blob('m1'), blob('m2')]);
    next(plan, ids, ['p1', 'p2']);
    expect(run('p3', true)).toBe(false);
    expect(plan.state.marks).toEqual([]);
    mark(plan, 'p3', { commit: 'c', marks: false });
    next(plan, ids, ids);
    expect(plan.until('close')).toMatchObject({ outcome: 'completed' });
  });

  test('a plan that is to stop commits it at once, and so does the last of a wave', () => {
    const plan = alone(['p1', 'p2']);
    plan.until('run');
    plan.until();
    plan.dispatch({ type: 'control_received', control: 'stop', by: 'ann' });
    plan.ends('p1', 'committed');
    plan.until('mark');
    expect(isHeld(plan.state, 'p1')).toBe(false);

    const wave = new Driven(['p1', 'p2', 'p3']);
    wave.until('run');
    wave.until();
    for (const id of ['p1', 'p2', 'p3']) wave.ends(id, 'committed');
    wave.until('mark');
    expect(isHeld(wave.state, 'p1')).toBe(true);
    mark(wave, 'p1', { commit: null, held: blob('m1') });
    mark(wave, 'p2', { commit: null, held: blob('m2') });
    expect(isHeld(wave.state, 'p3')).toBe(false);
    mark(wave, 'p3', { commit: 'c', marks: true });
    expect(wave.state.marks).toEqual([]);
  });
});

describe('a document that is changed while a person is waited for before a phase', () => {
  const paused = (): Driven => {
    const plan = alone(['p1', 'p2']);
    plan.dispatch({ type: 'control_received', control: 'pause', by: 'ann' });
    plan.until('await_resume');
    return plan;
  };
  const asksFirst = (): Driven => {
    const plan = new Driven(['p1', 'p2'], { ...reading(['p1', 'p2']), approval: 'ask' });
    plan.state = { ...plan.state, estimateAsked: 'about 2 model calls' };
    return plan;
  };
  const resume = (plan: Driven): void =>
    plan.dispatch({ type: 'control_received', control: 'resume', by: 'ann' });

  test.each([
    ['a pause', paused, resume],
    ['a first question', asksFirst, (plan: Driven) => plan.answer('continue')],
  ])('%s: it is read before the phase begins, and what changed is asked about', (_, make, goOn) => {
    const plan = make();
    goOn(plan);
    expect(plan.until('read', 'begin', 'job')).toEqual({ kind: 'read' });
    const { phases, ...rest } = reading(['p1', 'p2']);
    const changed = phases.map((phase) =>
      phase.id === 'p1' ? { ...phase, text: 'other' } : phase,
    );
    plan.dispatch({ type: 'plan_read', result: { ...rest, hash: 'other', phases: changed } });
    expect(plan.asked()).toMatchObject({
      reason: 'plan_changed',
      accepts: ['take_new', 'keep_old', 'abort'],
    });
    // Changed once more while it is asked about: read again.
    plan.answer('take_new');
    expect(plan.until('read', 'begin', 'job')).toEqual({ kind: 'read' });
    plan.dispatch({
      type: 'plan_read',
      result: { ...rest, outcome: 'same', hash: 'other', phases: changed },
    });
    plan.until('run');
  });
});

test('what the documents hold that is text and would be taken for more is told once', () => {
  const told = (plan: Driven): readonly string[] =>
    plan.state.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  const plan = new Driven(['p1'], { ...reading(['p1']), notes: ['a'] });
  expect(told(plan)).toEqual(['a']);
  plan.until('run');
  plan.ends('p1', 'committed');
  plan.until('mark');
  plan.dispatch({
    type: 'phase_marked',
    phase: 'p1',
    result: { outcome: 'marked', commit: null, files: [] },
  });
  plan.until('read');
  plan.dispatch({
    type: 'plan_read',
    result: { ...reading(['p1', 'p2'], ['p1']), hash: 'o', notes: ['a', 'b'] },
  });
  expect(told(plan)).toEqual(['a', 'b']);
});

describe('phases that a person removes from the document', () => {
  const started = (plan: Driven): string =>
    plan.state.events
      .flatMap((event) => (event.type === 'phase_started' ? [describeEvent(event)] : []))
      .at(-1) ?? '';
  /** The first of four is done, and the document is read as it is then. */
  const changedTo = (ids: readonly string[]): Driven => {
    const plan = alone(['p1', 'p2', 'p3', 'p4']);
    plan.until('run');
    plan.ends('p1', 'committed');
    plan.until('mark');
    plan.dispatch({
      type: 'phase_marked',
      phase: 'p1',
      result: { outcome: 'marked', commit: null, files: [] },
    });
    plan.until('read');
    const waves = ids.map((id) => [[id]]);
    plan.dispatch({ type: 'plan_read', result: { ...reading(ids, ['p1']), hash: 'other', waves } });
    return plan;
  };

  test('an open one: what is told next is of the document as it is then', () => {
    const plan = changedTo(['p1', 'p4']);
    expect(plan.asked().message).toBe(
      'unfinished work was changed in the document: Phase 2 (Np2) was removed; Phase 3 (Np3) was removed',
    );
    plan.answer('take_new');
    plan.until('run');
    expect(started(plan)).toBe('Phase 4, 2 of 2: Np4 (1 task)');
    expect(statusOfPlan(plan.state).doing).toBe('writing the job of Phase 4, 2 of 2 (Np4)');
    expect(checkpointOf(plan.state, 1)).toMatchObject({ total_phases: 2, current_phase: 4 });
  });

  test('one that is done is not counted any more', () => {
    const plan = changedTo(['p2', 'p3', 'p4']);
    plan.until('run');
    expect(started(plan)).toBe('Phase 2, 1 of 3: Np2 (1 task)');
    expect(checkpointOf(plan.state, 1)).toMatchObject({ total_phases: 3, completed_phases: [] });
  });
});
