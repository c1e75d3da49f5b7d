/**
 * The frame of a workflow: it performs a machine's moves until none is left, takes up decisions, aborts and cancels, goes on in a new run
 * where the history has become long, and answers what it is asked.
 */
import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { ACTIVITIES, type ActivityName } from '../../shared/activities.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import { hostOfQueue, SEARCH_ATTRIBUTES } from '../../shared/names.js';
import type { ModelDown } from '../../shared/outage.js';
import { checkVersion, isKnown, ProblemError, VERSION } from '../../shared/problems.js';
import type { Carried, StepResult } from '../../shared/run.js';
import { isRecord } from '../../shared/text.js';
import { callsOf, type Calls } from './activities.js';
import { ON_A_HOST } from './call-options.js';
import { ArchiveFeed } from './archive-feed.js';
import { beginRun, showStart } from './begin.js';
import { Decisions } from './decisions/receiver.js';
import { unbegunResult } from './details.js';
import type { EarlyMessages } from './early-messages.js';
import { failureOf, untilDone, unreadable } from './failures.js';
import { checkOneArgument, checkSetup } from './input.js';
import { IdleEffects, LongRun, type WaitLimit } from './long-run.js';
import type { CallOf, FrameFact, FrameEffect, Machine, RunIo, RunState } from './machine.js';
import { registerHandlers } from './messages.js';
import { UsageCount } from './usage.js';

/** What a workflow of Emend may be started with. */
interface Started {
  /** What the run before this one left (continue-as-new). */
  readonly carried?: Carried;
  /** What a phase goes by. */
  readonly setup?: unknown;
}

/** Returns what a run or a plan handed over. Anything else that is called so was typed, and is checked as such. */
function handedOver(input: unknown): Started {
  if (!isRecord(input)) return {};
  const { v, carried, setup } = input;
  if (isRecord(carried) && typeof carried.v === 'number' && isRecord(carried.state))
    return { carried: carried as unknown as Carried };
  return typeof v === 'number' && setup !== undefined ? { setup } : {};
}

/** Runs the workflow of a machine, from its one argument to its result. Throws ApplicationFailure `InvalidInput`, `version_unknown`. */
export async function runMachine<S extends RunState, F, M extends { readonly kind: string }, A>(
  machine: Machine<S, F, M, A>,
  args: readonly unknown[],
): Promise<StepResult> {
  checkOneArgument(args, machine.kind);
  const [input] = args;
  const { carried, setup } = handedOver(input);
  if (carried !== undefined) return resume(machine, input, carried);
  if (setup !== undefined) {
    // Nothing was done yet, so nothing is lost.
    if (!isKnown(input)) throw unreadable('The input of the run', input);
    checkSetup(setup, machine.setupFields);
    return runWith(machine, input, setup as S['input']);
  }
  const begun = await beginRun<S['input']>(machine.kind, input);
  if (begun.setup === null) return unbegunResult(begun.stepKey, 'aborted');
  showStart(begun.setup);
  return runWith(machine, input, begun.setup, begun.early);
}

function runWith<S extends RunState, F, M extends { readonly kind: string }, A>(
  machine: Machine<S, F, M, A>,
  origin: unknown,
  setup: S['input'],
  early?: EarlyMessages,
): Promise<StepResult> {
  const run = new Run(machine, { origin, state: machine.initial(setup, Date.now()) });
  const decisions = new Decisions(run);
  registerHandlers(decisions, machine.signals);
  early?.handOver(decisions);
  return run.toEnd();
}

/**
 * Takes over what the run before left. ◆ Throws ProblemError for another version: that fails the workflow task, not the run. The server
 * repeats the task until a worker that reads this version takes it, so what the run has done, holds and owes stays.
 */
function resume<S extends RunState, F, M extends { readonly kind: string }, A>(
  machine: Machine<S, F, M, A>,
  origin: unknown,
  carried: Carried,
): Promise<StepResult> {
  checkVersion(carried, 'The state carried over from the previous run');
  checkSetup(isRecord(carried.state) ? carried.state.input : undefined, machine.setupFields);
  const run = new Run(machine, { origin, state: carried.state as S, carried });
  run.showAgain();
  registerHandlers(new Decisions(run), machine.signals);
  return run.toEnd();
}

/** Returns the attributes of a run that waits; without a reason it does not, and they are removed. */
const pauseAttributes = (
  reason: string | null,
  decision: string | null,
): Record<string, string[]> => ({
  [SEARCH_ATTRIBUTES.state]: reason === null ? [] : ['waiting'],
  [SEARCH_ATTRIBUTES.reason]: reason === null ? [] : [reason],
  [SEARCH_ATTRIBUTES.decision]: decision === null ? [] : [decision],
});

/** Keys that a run before or a plan hands over. */
const HANDED_OVER: readonly string[] = ['v', 'carried', 'setup'];
/** Returns the typed keys. What a run goes by is in its state. */
const startedBy = (origin: unknown): object => {
  if (!isRecord(origin)) return {};
  return Object.fromEntries(Object.entries(origin).filter(([key]) => !HANDED_OVER.includes(key)));
};

/** What a run begins with. */
interface Taken<S> {
  readonly origin: unknown;
  readonly state: S;
  /** Absent: no run came before. */
  readonly carried?: Carried;
}

/**
 * ◆ Commands of one workflow task keep the order in which they were made: in a chain of awaits that ends in one no await may be left out,
 * or it would come before the end of an update that came with it.
 */
class Run<S extends RunState, F, M extends { readonly kind: string }, A> implements RunIo<S, F, A> {
  state: S;
  calls: Calls;
  readonly long: LongRun;
  readonly machine: Machine<S, F, M, A>;
  private readonly archive: ArchiveFeed;
  private readonly idle: IdleEffects;
  private readonly usage: UsageCount;
  /** What an abort may cut short; null while nothing runs, or something that must end first. */
  private interruptible: CancellationScope | null = null;
  /** What is under way in that scope: calls side by side share it. */
  private underWay = 0;
  private working = false;
  private abortRequest: DecisionRequest | null = null;
  /** One for all that is not cut short: each takes promises, of which the SDK keeps the stack. */
  private readonly shield = new CancellationScope({ cancellable: false });
  private markedWaiting: boolean;

  /** What the workflow was started with: a later run of it is shown with the same. */
  private readonly origin: unknown;

  constructor(machine: Machine<S, F, M, A>, { origin, state, carried }: Taken<S>) {
    const { input } = state;
    this.machine = machine;
    this.origin = origin;
    this.state = state;
    this.archive = new ArchiveFeed(input.stepKey, carried?.reportedSeq);
    this.usage = new UsageCount(carried?.count);
    this.long = new LongRun(input.rules.bounds);
    const marked = workflowInfo().typedSearchAttributes.get({
      name: SEARCH_ATTRIBUTES.state,
      type: 'KEYWORD',
    });
    this.markedWaiting = marked === 'waiting' || workflowInfo().memo?.waits != null;
    this.calls = callsOf(input);
    this.idle = new IdleEffects(input.rules.bounds.idleMoves);
  }

  /** After continue-as-new: the server drops what the run before showed. */
  showAgain(): void {
    this.show();
    if (this.state.left !== undefined) this.tellPlace();
  }

  get aborting(): boolean {
    return this.abortRequest !== null;
  }

  async toEnd(): Promise<StepResult> {
    let cancelled: Error | null = null;
    try {
      await this.run();
    } catch (error) {
      if (!isCancellation(error) || !(error instanceof Error)) throw error;
      cancelled = error;
      await this.abort('cancel request');
    }
    await this.shield.run(() => condition(allHandlersFinished));
    const result = this.machine.views.result(this.state);
    // ◆ A cancelled run has no result on the server, and what is open on its host is in the result.
    if (cancelled !== null && result.outcome === 'aborted' && result.openOnHost === undefined)
      throw cancelled;
    return result;
  }

  private async run(): Promise<void> {
    const { machine, long } = this;
    for (;;) {
      if (this.idle.exceeded()) this.dispatch({ type: 'no_progress', effects: this.idle.most });
      if (await long.ready()) await this.goOn();
      // No move is under way here; an abort may also have come before the first one, or while the run was to go on.
      this.takeUpAbort();
      const move = machine.next(this.state, Date.now(), workflowInfo().continueAsNewSuggested);
      const isOver = this.state.decision === null && move.kind !== 'pause';
      // At the end the outcome comes with it.
      if (this.markedWaiting && isOver && move.kind !== 'finish') this.showWaiting(null);
      // Before a pause too: what it says of tokens and money is then all that is known.
      if (await this.countUsage(move.kind === 'finish')) continue;
      if (move.kind === 'finish') break;
      await this.perform(move);
    }
    await machine.end(this);
    this.showOutcome();
    this.tell();
  }

  /** Cancel in the Temporal UI equals abort: what is applied and not committed is rolled back, then the run ends. */
  private async abort(by: string): Promise<void> {
    this.long.stay();
    if (this.state.stage.at !== 'closed') this.dispatch({ type: 'abort', by });
    await this.shield.run(() => this.run());
  }

  async goOn(): Promise<void> {
    await condition(allHandlersFinished);
    const { state, machine, archive, usage } = this;
    if (
      CancellationScope.current().consideredCancelled ||
      this.aborting ||
      state.stage.at === 'closed'
    )
      return;
    const carried = {
      v: VERSION,
      state: machine.carried?.(state) ?? state,
      reportedSeq: archive.reportedSeq,
      count: usage.left(),
    } as const;
    // ◆ Without it the next run has the memo of the start, which has no key of the run.
    const goOn = makeContinueAsNewFunc({ memo: workflowInfo().memo ?? {} });
    await goOn({ ...startedBy(this.origin), carried });
  }

  /** True where the usage was counted anew from the journal: a limit may be reached by it. */
  private async countUsage(atEnd: boolean): Promise<boolean> {
    const usage = await this.usage.settle(atEnd, async () => {
      const count = this.calls('countUsage', 'count what was used');
      return (await this.shield.run(() => count({ stepKey: this.state.input.stepKey, log: [] })))
        .usage;
    });
    if (usage === null) return false;
    this.dispatch({ type: 'usage_counted', usage: usage === 'failed' ? null : usage });
    return true;
  }

  private async perform(move: M | FrameEffect): Promise<void> {
    const shared = move as Exclude<FrameEffect, { kind: 'finish' }>;
    switch (shared.kind) {
      case 'pause':
        this.dispatch({ type: 'paused', pause: shared.pause });
        this.showWaiting(shared.pause.reason);
        this.tell();
        return;
      case 'await_decision':
        await this.long.wait(() => this.state.decision === null || this.aborting);
        return;
      case 'back_off':
        this.tell();
        return this.pass({ ms: shared.ms, summary: 'wait for a model that is down' });
      case 'wait':
        return this.pass({ ms: shared.ms, summary: 'wait for the workspace to be unlocked' });
      default:
        return this.machine.perform(move as M, this);
    }
  }

  /** Waits, unless the run is to go on in a new one first, which then waits for the rest. */
  private async pass(limit: WaitLimit): Promise<void> {
    const { outage, stage } = this.state;
    const over = (): boolean =>
      this.aborting || this.state.outage !== outage || this.state.stage.at !== stage.at;
    const wait = () => this.long.wait(over, limit).then(() => undefined);
    await (this.machine.abortsBetweenEffects ? this.interruptibly(wait) : wait());
    if (over() || !this.long.due) this.dispatch({ type: 'waited' });
  }

  async call<N extends ActivityName>(...of: CallOf<N, F, A>): Promise<void> {
    this.working = true;
    try {
      await this.shield.run(() => this.attempt(...of));
    } finally {
      this.working = false;
    }
    // A cancel that came meanwhile is taken up here, with the work's outcome known.
    if (CancellationScope.current().consideredCancelled)
      throw new CancelledFailure(`cancelled after ${of[0]}`);
  }

  callInterruptibly<N extends ActivityName>(...of: CallOf<N, F, A>): Promise<void> {
    return this.interruptibly(() => this.attempt(...of));
  }

  async interruptibly(work: () => Promise<void>): Promise<void> {
    const scope = this.interruptible ?? new CancellationScope();
    this.interruptible = scope;
    this.underWay += 1;
    try {
      await scope.run(work);
    } catch (error) {
      if (!isCancellation(error) || !this.aborting) throw error;
    } finally {
      this.underWay -= 1;
      if (this.underWay === 0) this.interruptible = null;
    }
    // It ended by itself while the cancel was on its way: what would come next is not begun.
    if (CancellationScope.current().consideredCancelled)
      throw new CancelledFailure('cancelled with the work in progress');
  }

  private async attempt<N extends ActivityName>(
    ...[activity, words, input, then]: CallOf<N, F, A>
  ): Promise<void> {
    const run = this.state.input;
    const where = ON_A_HOST.includes(ACTIVITIES[activity].role)
      ? this.machine.onHost?.(this.state)
      : {};
    const { reportedSeq } = this.archive;
    const log = this.archive.take(this.state);
    let fact: F;
    try {
      const { result, then: said } = await untilDone(run.timings, async () => {
        const asked = { stepKey: run.stepKey, log, handsBack: true as const, ...where, ...input };
        const result = await this.calls(activity, words)(asked);
        return { result, then: then(result) };
      });
      // What a call that was cut off came to only the journal knows.
      if ((result as { readonly down?: ModelDown }).down?.mayBePaid === true)
        this.usage.lost(activity);
      else this.usage.reported(activity);
      fact = said;
    } catch (error) {
      this.usage.lost(activity);
      // It may never have begun: what it was handed is handed on once more. The archive keeps each event once.
      this.archive.reportedSeq = Math.min(this.archive.reportedSeq, reportedSeq);
      // A result of another version is for a worker that reads it, as a carried state is.
      if (isCancellation(error) || error instanceof ProblemError) throw error;
      const { about } = typeof words === 'string' ? {} : words;
      fact = this.machine.failed(
        { type: 'activity_failed', activity, ...failureOf(error, activity) },
        about,
      );
    }
    this.dispatch(fact);
  }

  dispatch(fact: F | FrameFact): void {
    const { input } = this.state;
    this.state = this.machine.reduce(this.state, fact, Date.now());
    if (this.state.input !== input) this.showChange(input);
    this.show();
  }

  /** Its job was read, or it was moved. */
  private showChange(before: S['input']): void {
    const { title, workspace, queues } = this.state.input;
    if (title !== before.title) upsertMemo({ title });
    if (workspace !== before.workspace || queues !== before.queues) this.tellPlace();
  }

  /** It was moved: what comes next is asked of another host, and who looks from outside reads of it. */
  private tellPlace(): void {
    const { input, left = [] } = this.state;
    const { queues, workspace, searchAttributes } = input;
    this.calls = callsOf(input);
    upsertMemo({ host: hostOfQueue(queues.host), workspace, left });
    if (searchAttributes) upsertSearchAttributes({ [SEARCH_ATTRIBUTES.workspace]: [workspace] });
  }

  private show(): void {
    this.long.show(() => this.machine.views.details(this.state));
  }

  tell(): void {
    this.archive.tell(this.state);
  }

  /** Null: the pause is over. */
  showWaiting(reason: string | null): void {
    this.markedWaiting = reason !== null;
    const decision = this.state.decision?.id ?? null;
    if (this.state.input.searchAttributes)
      upsertSearchAttributes(pauseAttributes(reason, decision));
    // Lists read the same from the memo, which is there in any namespace.
    else upsertMemo({ waits: reason === null ? null : { reason, decision } });
  }

  /** In the list of runs a refused run is as completed as a committed one. */
  private showOutcome(): void {
    const { stage, input } = this.state;
    if (!input.searchAttributes || !('outcome' in stage)) return;
    upsertSearchAttributes({
      ...(this.markedWaiting ? pauseAttributes(null, null) : {}),
      [SEARCH_ATTRIBUTES.outcome]: [stage.outcome],
    });
    this.markedWaiting = false;
  }

  /** Takes up a request that counts, or says why not. An abort waits for work that must end first, and cuts short what may be. */
  take(request: DecisionRequest): string | null {
    const later = this.machine.abortsBetweenEffects || this.working || this.interruptible !== null;
    if (request.answer !== 'abort' || !later) {
      this.dispatch({ type: 'decided', request });
      return null;
    }
    if (this.aborting) return 'the run is already being aborted';
    this.abortRequest = request;
    this.interruptible?.cancel();
    return null;
  }

  private takeUpAbort(): void {
    const request = this.abortRequest;
    this.abortRequest = null;
    if (request !== null && this.state.stage.at !== 'closed')
      this.dispatch({ type: 'decided', request });
  }
}
