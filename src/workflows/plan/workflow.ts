/**
 * A plan: a Markdown document carried out phase by phase. Each phase is an `editStep` of its own (a child that outlives its parent);
 * what a phase asks for, how it is marked and what is kept of it is done by activities. This file is the protocol.
 */
import type { PhaseId } from '../../shared/plan.js';
import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityName } from '../../shared/activities.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import { checkpointOf } from './checkpoint.js';
import { nextPlanMove, type PlanMove } from './effects.js';
import { reducePlan, type PlanFact } from './reduce.js';
import { lacksWorktree, worktreeName } from './worktrees.js';
import { initialPlan, markerOf, phaseOf, type PlanState } from './state.js';
import type { EndedPhase } from './phase-end.js';
import type { PlanInput, StepResult } from '../../shared/run.js';
import { detailsOfPlan, resultOfPlan, statusOfPlan } from './views.js';
import { SEARCH_ATTRIBUTES } from '../../shared/names.js';
import { boundsOf, type Ruled } from '../../shared/rules.js';
import { isKnown, unknownVersion } from '../../shared/problems.js';
import { eventsOf, refusedResult } from '../frame/details.js';
import { callsOf, type Calls } from '../frame/activities.js';
import { ArchiveFeed } from '../frame/archive-feed.js';
import { LongRun, takenUp } from '../frame/long-run.js';
import { listenForDecisions } from '../frame/decisions.js';
import { failureOf, throughSleep, unreadable } from '../frame/failures.js';
import * as names from '../frame/names.js';
import { cancelPhase, childId, endPhase, runPhase } from './phase-child.js';
import { endsWithoutHost, IdleMoves, runToEnd } from '../frame/run.js';
import { revise, score, type Run, type Work } from './revise.js';

/** `plan(input) -> result`; see src/shared/plan.ts for both, docs/plans.md for the steps of a phase. */
export async function plan(input: PlanInput): Promise<StepResult> {
  if (!isKnown(input)) return refusedResult(input.stepKey, unknownVersion('The input of the run', input));
  const run = new Plan(input);
  run.listen();
  return runToEnd(run);
}

class Plan {
  private state: PlanState;
  private readonly archive: ArchiveFeed;
  /** The children and what waits for a person; an abort cuts it short. */
  private interruptible: CancellationScope | null = null;
  private abortRequest: DecisionRequest | null = null;
  private readonly calls: Calls;
  private readonly idle: IdleMoves;
  private readonly long: LongRun;

  constructor(input: PlanInput) {
    const { carried, ...plain } = input;
    const { state, told } = takenUp(carried, initialPlan(plain, Date.now()));
    this.state = state;
    this.archive = new ArchiveFeed(input.stepKey, told ?? 0);
    this.long = new LongRun({ input });
    if (told === null) this.long.stay();
    if (carried !== undefined) this.long.show(() => detailsOfPlan(this.state));
    this.calls = callsOf(input);
    this.idle = new IdleMoves({ input });
  }

  result(): StepResult {
    return resultOfPlan(this.state);
  }

  /** The children were cancelled with it and have ended. */
  async abort(by: string): Promise<void> {
    this.long.stay();
    if (this.state.stage !== 'closed') this.fold({ type: 'abort', by, withoutHost: endsWithoutHost(this.state) });
    await this.cleanUp();
    this.archive.tell(this.state);
  }

  async run(): Promise<void> {
    for (;;) {
      if (this.idle.exceeded()) this.fold({ type: 'no_progress', moves: this.idle.most });
      if (await this.long.ready()) await this.goOn();
      const move = nextPlanMove(this.state, Date.now(), workflowInfo().continueAsNewSuggested);
      if (move.kind === 'finish') break;
      await this.perform(move);
      this.takeUpAbort();
    }
    await this.cleanUp();
    this.archive.tell(this.state);
  }

  // ------------------------------------------------------------------------------------------------------------------- the moves
  private async perform(move: Exclude<PlanMove, { kind: 'finish' }>): Promise<void> {
    const { input, reading, plan, adopt, again } = this.state;
    switch (move.kind) {
      case 'read':
        return this.work('readPlan', null, `read the plan (${reading})`, async (base, call) => ({
          type: 'plan_read',
          result: await call({
            ...base,
            reading,
            known: this.state.phases.map(({ id, name, number }) => ({ id, name, number })),
            // After a replan of ours the plan is another one; what was lost is wanted anew.
            ...(plan === null || adopt !== null || again === 'reading' ? {} : { hash: plan.hash }),
            overrides: input.overrides,
            approval: input.approval ?? null,
            // Who says where to begin goes on from nothing.
            ...(reading === 1 && input.options.phase === null && input.options.restart !== true
              ? { left: { checkpoint: input.left ?? null } }
              : {}),
          }),
        }));
      case 'score':
        return score(this.state, move.phase, this.workOn(move.phase));
      case 'begin_revising':
        this.fold({ type: 'revise', phase: move.phase, trigger: move.trigger, words: move.words });
        return;
      case 'revise':
        return revise(this.state, move.revising, Date.now(), this.workOn(move.revising.phase));
      case 'begin':
        this.fold({ type: 'begun', group: move.group });
        return;
      case 'job':
        return this.job(move.phase);
      case 'run':
        return this.runPhases(move.phases);
      case 'worktree':
        return this.worktree(move.phase);
      case 'verify':
        return this.verify(move.phase);
      case 'merge':
        return this.merge(move.phase);
      case 'clean':
        return this.clean(move.name);
      case 'mark':
        return this.mark(move.phase);
      case 'checkpoint':
        return this.checkpoint();
      case 'wait':
        return this.pass(() => this.abortRequest !== null, move.ms);
      case 'back_off': {
        this.archive.tell(this.state);
        const { outage } = this.state;
        return this.pass(() => this.state.outage !== outage || this.abortRequest !== null, move.ms);
      }
      case 'pause':
        this.fold({ type: 'paused', pause: move.pause });
        this.showWaiting(move.pause.reason);
        this.archive.tell(this.state);
        return;
      case 'await_decision':
        await this.long.wait(() => this.state.decision === null || this.abortRequest !== null);
        return;
      case 'await_resume':
        this.showWaiting('paused');
        this.archive.tell(this.state);
        await this.long.wait(
          () => this.state.pausedBy === null || this.state.stopAfterPhase !== null || this.abortRequest !== null,
        );
        return;
      case 'continue':
        return this.goOn();
      case 'close':
        this.fold({ type: 'closed', outcome: move.outcome });
    }
  }

  private workOn(id: PhaseId): Work {
    return (activity, summary, run) => this.work(activity, id, summary, run);
  }

  /** Waits, unless the run is to go on in a new one first, which then waits for the rest. */
  private async pass(over: () => boolean, ms: number): Promise<void> {
    await this.interruptibly(async () => {
      await this.long.wait(over, ms);
    });
    if (over() || !this.long.due) this.fold({ type: 'waited' });
  }

  /** The same plan in a new run, between two moves or with phases' runs open: they outlive it and are found again. */
  private async goOn(): Promise<void> {
    await condition(allHandlersFinished);
    const stopped = CancellationScope.current().consideredCancelled || this.abortRequest !== null;
    if (stopped || this.state.stage === 'closed') return;
    const carried = { v: 1, state: { ...this.state, groups: 0 }, told: this.archive.told } as const;
    await continueAsNew<typeof plan>({ ...this.state.input, carried });
  }

  private async job(id: PhaseId): Promise<void> {
    const { input, plan: read, testCommands, rememberTest, phases } = this.state;
    const phase = phaseOf(this.state, id);
    if (read === null) throw new Error('no plan was read');
    const run = phase.runs + 1;
    return this.work('makePhaseJob', id, `write the job of Phase ${phase.number}`, async (base, call) => ({
      type: 'job_made',
      phase: id,
      result: await call({
        ...base,
        phase: { id, number: phase.number, name: phase.name, category: phase.category },
        total: phases.length,
        run,
        child: childId(input, id, run),
        texts: read.texts,
        score: phase.complexity.score,
        queues: input.queues,
        approval: read.approval,
        commands: testCommands,
        rememberTest,
        overrides: input.overrides,
        note: phase.note,
        report: phase.report,
        failure: phase.failures.at(-1) ?? null,
      }),
    }));
  }

  private async runPhases(ids: readonly PhaseId[]): Promise<void> {
    if (ids.some((id) => lacksWorktree(this.state, phaseOf(this.state, id))) && patched('own-worktree')) {
      this.fold({ type: 'worktrees_wanted' });
      return;
    }
    this.fold({ type: 'phases_started', phases: ids });
    this.archive.tell(this.state);
    await this.interruptibly(async () => {
      const open = new Set(ids);
      const runs = ids.map((id) => this.runOne(id).finally(() => open.delete(id)));
      const all = Promise.all(runs);
      const over = async (end: Promise<unknown>): Promise<void> => {
        try {
          await end;
        } catch (error) {
          // Their worktrees go when all have ended.
          if (patched('phases-end-first')) await Promise.allSettled(runs);
          throw error;
        }
      };
      const long = CancellationScope.nonCancellable(() => this.long.wait(() => open.size === 0));
      await over(Promise.race([all, long]));
      if (open.size > 0 && (await CancellationScope.nonCancellable(() => this.long.ready()))) await this.goOn();
      await over(all);
    });
  }

  private async runOne(id: PhaseId): Promise<void> {
    const ended = await this.endOf(id, () => runPhase(this.state, phaseOf(this.state, id), this.calls));
    if (ended === null) return;
    const stopped = CancellationScope.current().consideredCancelled;
    // A run that somebody cancelled is a question about its phase; those beside it go on.
    if (ended.cancelled === true && !stopped && !patched('phase-cancelled')) throw new CancelledFailure(ended.how);
    this.fold({ type: 'phase_ended', ended });
    if (ended.cancelled === true && stopped) throw new CancelledFailure(ended.how);
  }

  /** Null: nobody could say, and it is asked about; the run may be open. */
  private async endOf(id: PhaseId, ask: () => Promise<EndedPhase>): Promise<EndedPhase | null> {
    try {
      return await ask();
    } catch (error) {
      const unknown = error instanceof ActivityFailure && !isCancellation(error);
      if (!unknown || !patched('phases-end-first')) throw error;
      const { number } = phaseOf(this.state, id);
      const { reason, message } = failureOf(error, 'awaitPhase');
      const words = `the run of Phase ${number} could not be waited for: ${message}`;
      this.fold({ type: 'activity_failed', activity: 'awaitPhase', phase: null, reason, message: words, again: true });
      return null;
    }
  }

  // --------------------------------------------------------------------------------------------------------- phases side by side
  private async worktree(id: PhaseId): Promise<void> {
    const phase = phaseOf(this.state, id);
    const name = worktreeName(phase);
    const { limits } = this.state;
    const timeout_s = limits?.testTimeout_s ?? 600;
    const made = phase.tree == null ? {} : { base: phase.tree.base };
    return this.work('prepareWorktree', id, `make a worktree for Phase ${phase.number}`, async (base, call) => ({
      type: 'worktree_ready',
      phase: id,
      name,
      result: await call({
        ...base,
        ...made,
        name,
        retriesBusy: true,
        timeout_s,
        maxOutput_bytes: limits?.testOutput_bytes ?? 1024 * 1024,
      }),
    }));
  }

  private async verify(id: PhaseId | null): Promise<void> {
    const { testCommands, limits, mergedTested, baseTested, input } = this.state;
    const base = id !== null;
    const done = base ? baseTested : mergedTested;
    if (testCommands.length === 0 || done) {
      this.fold({ type: 'group_untested', base });
      return;
    }
    const timeout_s = limits?.testTimeout_s ?? 600;
    const workspace = id === null ? input.workspace : (phaseOf(this.state, id).worktree?.workspace ?? input.workspace);
    return this.work(
      'verify',
      id,
      base ? 'test before the phases begin' : 'test what was merged',
      async (own, call) => ({
        type: 'group_verified',
        base,
        result: await call({
          ...{ v: 1, stepKey: own.stepKey, log: own.log, workspace, commands: testCommands, timeout_s },
          maxOutput_bytes: limits?.testOutput_bytes ?? 1024 * 1024,
          files: [],
          releaseOnPass: false,
          retriesBusy: true,
          remember: null,
        }),
      }),
    );
  }

  private async merge(id: PhaseId): Promise<void> {
    const { number, name, runs, commits } = phaseOf(this.state, id);
    const owner = { workflowId: workflowInfo().workflowId, namespace: workflowInfo().namespace };
    return this.work('mergePhase', id, `merge Phase ${number}`, async (base, call) => ({
      type: 'phase_merged',
      phase: id,
      result: await call({ ...base, ...owner, phase: { id, number, name }, run: runs, commit: commits.at(-1) ?? '' }),
    }));
  }

  private async clean(name: string): Promise<void> {
    return this.work('removeWorktree', null, `remove the worktree ${name}`, async (base, call) => ({
      type: 'worktree_removed',
      name,
      result: await call({ ...base, name }),
    }));
  }

  private async checkpoint(): Promise<void> {
    return this.work('saveCheckpoint', null, 'save the checkpoint', async (base, call) => ({
      type: 'checkpointed',
      result: await call({
        ...base,
        number: this.state.checkpoints + 1,
        checkpoint: checkpointOf(this.state, Date.now()),
      }),
    }));
  }

  /** A plan that is ended leaves no worktree behind; one that cannot be removed is told. An aborted one leaves what it knew. */
  private async cleanUp(): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      // The host takes no work: nobody waits for its runs, and whoever looks there once it is back removes what an ended plan left.
      if (this.state.openOnHost !== undefined) {
        for (const phase of this.state.phases) if (phase.status === 'running') await cancelPhase(this.state, phase);
        return;
      }
      const open = await this.endRuns();
      for (const name of this.state.worktrees) if (!open.includes(name)) await this.clean(name);
      if (this.state.outcome === 'aborted' && this.state.plan !== null && patched('checkpoint-of-abort'))
        await this.checkpoint();
    });
  }

  /** Phases' runs that nobody waited for any more, a host was gone, end before their worktrees go. Returns the worktrees that must stay. */
  private async endRuns(): Promise<readonly string[]> {
    const stay: string[] = [];
    for (const { id, worktree } of this.state.phases.filter(({ status }) => status === 'running')) {
      if (!patched('phases-end-first')) break;
      const ended = await this.endOf(id, () => endPhase(this.state, phaseOf(this.state, id), this.calls));
      if (ended !== null) this.fold({ type: 'phase_ended', ended });
      else if (worktree !== null) stay.push(worktree.name);
    }
    return stay;
  }

  private async mark(id: PhaseId): Promise<void> {
    const phase = phaseOf(this.state, id);
    const owner = { workflowId: workflowInfo().workflowId, namespace: workflowInfo().namespace };
    return this.work('markPhase', id, `mark Phase ${phase.number}`, async (base, call) => ({
      type: 'phase_marked',
      phase: id,
      result: await call({
        ...base,
        ...owner,
        phase: { id, number: phase.number, name: phase.name },
        marker: markerOf(phase),
        mark: phase.marks,
        commit: phase.commits.at(-1) ?? null,
        ...(phase.result?.skipped === undefined ? {} : { skipped: phase.result.skipped }),
        why: phase.why,
        verification: phase.result?.verification ?? phase.tests ?? null,
        done: this.state.phases.filter(({ status }) => status === 'completed').length,
        total: this.state.phases.length,
        ...(this.state.plan === null ? {} : { texts: this.state.plan.texts }),
      }),
    }));
  }

  // --------------------------------------------------------------------------------------------------------------- doing the work
  /** Work that must come to its end once begun: no abort and no cancel cuts it short. */
  private async work<N extends ActivityName>(
    activity: N,
    phase: PhaseId | null,
    summary: string,
    run: Run<N>,
  ): Promise<void> {
    await CancellationScope.nonCancellable(() => this.attempt(activity, phase, summary, run));
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure(`cancelled after ${activity}`);
  }

  private async attempt<N extends ActivityName>(
    activity: N,
    phase: PhaseId | null,
    summary: string,
    run: Run<N>,
  ): Promise<void> {
    const { stepKey, workspace, planPath } = this.state.input;
    const base = { v: 1, stepKey, workspace, planPath, log: this.archive.take(this.state) } as const;
    let fact: PlanFact;
    try {
      fact = await throughSleep(this.state.input.timings, () => run(base, this.calls(activity, summary)));
      if ('result' in fact && !isKnown(fact.result)) throw unreadable(activity, fact.result);
    } catch (error) {
      if (isCancellation(error)) throw error;
      const again = patched('failed-move-again') ? { again: true } : {};
      fact = { type: 'activity_failed', activity, phase, ...failureOf(error, activity), ...again };
    }
    this.fold(fact);
  }

  /** What an abort may cut short. Whatever ran in it has ended when this returns. */
  private async interruptibly(run: () => Promise<void>): Promise<void> {
    const scope = new CancellationScope();
    this.interruptible = scope;
    try {
      await scope.run(run);
    } catch (error) {
      if (!isCancellation(error) || this.abortRequest === null) throw error;
    } finally {
      this.interruptible = null;
    }
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled with its phases');
  }

  private fold(fact: PlanFact): void {
    this.state = reducePlan(this.state, fact, Date.now());
    this.long.show(() => detailsOfPlan(this.state));
  }

  private showWaiting(reason: string): void {
    if (this.state.input.searchAttributes)
      upsertSearchAttributes({ [SEARCH_ATTRIBUTES.state]: ['waiting'], [SEARCH_ATTRIBUTES.reason]: [reason] });
  }

  // ------------------------------------------------------------------------------------------------------------------- decisions
  /** Handlers are there before the first await, take `unknown`, never throw (the validator apart) and never wait. */
  listen(): void {
    const { answerQuery } = names;
    answerQuery(names.status, () => statusOfPlan(this.state), 'What the plan does or waits for');
    answerQuery(names.ledger, () => [], 'Files: each phase has its own');
    answerQuery(names.events, (query) => eventsOf(this.state, query), 'What happened, in order');
    answerQuery(names.proposal, () => null, 'Proposals: each phase has its own');
    setHandler(
      names.drift,
      (body) => {
        this.long.heard();
        const text = textOf(this.state, body);
        if (text !== '') this.fold({ type: 'drift', text, by: whoSays(body) });
      },
      {
        description:
          'Work that the plan does not hold: {"text": "<what>", "by": "<name>"}; taken up before the next phase',
      },
    );
    for (const [wish, signal, description] of names.PLAN_WISHES)
      setHandler(
        signal,
        (body) => {
          this.long.heard();
          this.fold({ type: 'wish', wish, by: whoSays(body) });
        },
        { description },
      );
    listenForDecisions({
      state: () => this.state,
      take: (request) => this.take(request),
      long: this.long,
      ignored: (what, why) => {
        this.fold({ type: 'ignored', what, why });
      },
    });
  }

  /** Takes up a request that counts, or says why not. An abort waits for what must end first: a reading, a mark, the children's own rollback. */
  private take(request: DecisionRequest): string | null {
    if (request.answer === 'abort') {
      if (this.abortRequest !== null) return 'the run is being aborted already';
      this.abortRequest = request;
      this.interruptible?.cancel();
      return null;
    }
    const skipsMark = this.state.stage === 'marking' && ['skip', 'manual'].includes(request.answer);
    this.fold({ type: 'decided', request, markLeft: skipsMark && patched('mark-left-out') });
    return null;
  }

  private takeUpAbort(): void {
    const request = this.abortRequest;
    if (request === null) return;
    this.abortRequest = null;
    if (this.state.stage !== 'closed')
      this.fold({ type: 'decided', request, withoutHost: endsWithoutHost(this.state) });
  }
}

const whoSays = (body: unknown): string => {
  const by = typeof body === 'object' && body !== null && 'by' in body ? body.by : null;
  return typeof by === 'string' && by !== '' ? by.slice(0, 200) : 'somebody';
};

const textOf = (state: Ruled, body: unknown): string => {
  const text = typeof body === 'object' && body !== null && 'text' in body ? body.text : null;
  return typeof text === 'string' ? text.trim().slice(0, boundsOf(state).reason_chars) : '';
};
