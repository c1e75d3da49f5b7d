/**
 * The edit step: one job, from its Markdown to a tested commit. The state says what comes next (`nextMove`), one activity does it,
 * and what came of it is folded into the state (`reduce`). This file is the protocol; every rule that will be improved lives in an
 * activity, so that a better rule breaks no paused run.
 */
import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityName } from '../../shared/activities.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import { appliedPaths, leftOut, nextMove, pinnedFiles, type Chunk, type Move } from './effects.js';
import { SEARCH_ATTRIBUTES } from '../../shared/names.js';
import type { EditStepInput, StepResult } from '../../shared/run.js';
import { reduce, type Fact } from './reduce.js';
import { changedLimits, initialState, type StepState } from './state.js';
import { isKnown, unknownVersion } from '../../shared/problems.js';
import { detailsOf, ledgerOf, resultOf, statusOf } from './views.js';
import { eventsOf, refusedResult } from '../frame/details.js';
import { callsOf, type Call, type Calls } from '../frame/activities.js';
import { ArchiveFeed } from '../frame/archive-feed.js';
import { LongRun, takenUp } from '../frame/long-run.js';
import { listenForDecisions } from '../frame/decisions.js';
import { failureOf, throughSleep, unreadable } from '../frame/failures.js';
import { endsWithoutHost, IdleMoves, runToEnd } from '../frame/run.js';
import { UsageCount } from '../frame/usage.js';
import * as names from '../frame/names.js';

/** `editStep(input) -> result`; see src/shared/step-activities.ts for both, docs/architecture.md for the picture. */
export async function editStep(input: EditStepInput): Promise<StepResult> {
  // Nothing has been done yet: the person starts it again where a newer worker runs.
  if (!isKnown(input)) return refusedResult(input.stepKey, unknownVersion('The input of the run', input));
  const step = new Step(input);
  step.listen();
  return runToEnd(step);
}

class Step {
  private state: StepState;
  private readonly archive: ArchiveFeed;
  /** Work that an abort may cut short (a model call, tests); null while something runs that must end first. */
  private interruptible: CancellationScope | null = null;
  /** Activities under way in that scope: chunks side by side share it. */
  private underWay = 0;
  private working = false;
  private abortRequest: DecisionRequest | null = null;
  private readonly usage: UsageCount;
  private readonly long: LongRun;
  private readonly calls: Calls;
  private readonly idle: IdleMoves;

  constructor(input: EditStepInput) {
    const { carried, ...plain } = input;
    const { state, told } = takenUp(carried, initialState(plain, Date.now()));
    this.state = state;
    this.archive = new ArchiveFeed(input.stepKey, told ?? 0);
    // Of what cannot be read nothing is counted: that would be a command in the newer worker's history.
    this.usage = new UsageCount(told === null ? undefined : carried?.count);
    this.long = new LongRun({ input });
    if (told === null) this.long.stay();
    if (carried !== undefined) this.long.show(() => detailsOf(this.state));
    this.calls = callsOf(input);
    this.idle = new IdleMoves({ input });
  }

  result(): StepResult {
    return resultOf(this.state);
  }

  async run(): Promise<void> {
    for (;;) {
      if (this.idle.exceeded()) this.fold({ type: 'no_progress', moves: this.idle.most });
      if (await this.long.ready()) await this.goOn();
      const move = nextMove(this.state, Date.now());
      // Before a pause too: what it says of tokens and money is then all that is known.
      if (await this.countUsage(move.kind === 'finish')) continue;
      if (move.kind === 'finish') break;
      await this.perform(move);
      this.takeUpAbort();
    }
    this.fold({ type: 'finished' });
    this.archive.tell(this.state);
  }

  /** Between two moves nothing is under way: the same step in a new run. */
  private async goOn(): Promise<void> {
    await condition(allHandlersFinished);
    const { abortRequest, state, archive, usage } = this;
    if (abortRequest !== null || state.stage === 'closed') return;
    const carried = { v: 1, state, told: archive.told, count: usage.left() } as const;
    await continueAsNew<typeof editStep>({ ...state.input, carried });
  }

  /** What is applied and not committed is rolled back, then the run ends. */
  async abort(by: string): Promise<void> {
    this.long.stay();
    if (this.state.stage !== 'closed') this.fold({ type: 'abort', by, withoutHost: endsWithoutHost(this.state) });
    await CancellationScope.nonCancellable(() => this.run());
  }

  /** True where the usage was counted anew from the journal: a limit may be reached by it. */
  private async countUsage(atEnd: boolean): Promise<boolean> {
    const base = { v: 1, stepKey: this.state.input.stepKey, log: [] } as const;
    const usage = await this.usage.settle(atEnd, async () => {
      const count = this.calls('tally', 'count what was used');
      return (await CancellationScope.nonCancellable(() => count(base))).usage;
    });
    if (usage === null) return false;
    this.fold({ type: 'tallied', usage: usage === 'failed' ? null : usage });
    return true;
  }

  // ------------------------------------------------------------------------------------------------------------------- the moves
  private async perform(move: Exclude<Move, { kind: 'finish' }>): Promise<void> {
    const { input, applications, pickSnapshot, pickDraw } = this.state;
    const { workspace } = input;
    const owner = { workflowId: workflowInfo().workflowId, namespace: workflowInfo().namespace };
    switch (move.kind) {
      case 'preflight':
        return this.work(
          'preflight',
          `look at the files (snapshot ${this.state.snapshotNumber})`,
          async (base, call) => ({
            type: 'preflighted',
            result: await call({
              ...base,
              workspace,
              job: input.job,
              jobPath: input.jobPath,
              snapshotNumber: this.state.snapshotNumber,
              overrides: { ...input.overrides, ...this.state.earlyLimits } as typeof input.overrides,
              approval: input.approval ?? null,
              hints: input.hints,
              picked: this.state.picked,
              only: this.state.snapshotOnly,
            }),
          }),
        );
      case 'pick':
        return this.interruptibly('pick', 'ask which files to edit', async (base, call) => ({
          type: 'picked',
          result: await call({ ...base, snapshot: pickSnapshot ?? input.job, draw: pickDraw, ...this.limits() }),
        }));
      case 'brief':
        return this.interruptibly('brief', 'agree on names and parts', async (base, call) => ({
          type: 'briefed',
          result: await call({ ...base, snapshot: this.snapshot(), ...this.limits() }),
        }));
      case 'propose':
        return this.propose(move.chunks);
      case 'seal':
        return this.work('seal', 'check and seal the proposal', async (base, call) => ({
          type: 'sealed',
          result: await call(
            {
              ...base,
              retriesBusy: true,
              workspace,
              snapshot: this.snapshot(),
              accepted: this.state.accepted,
              ...leftOut(this.state),
              ...this.pinned(),
              ...(this.state.staged === undefined ? {} : { staged: this.state.staged }),
            },
            this.state.files.length,
          ),
        }));
      case 'approve_by_policy':
        this.fold({ type: 'approved_by_policy' });
        return;
      case 'apply':
        return this.work('apply', `write ${move.files.length} files`, async (base, call) => ({
          type: 'applied',
          result: await call({
            ...base,
            ...owner,
            workspace,
            proposal: this.proposal(),
            decision: this.state.approvalNumber,
            files: move.files.length === this.state.proposal?.files.length ? null : move.files,
            releaseAfter: move.releaseAfter,
          }),
        }));
      case 'rebase':
        return this.work('rebase', 'carry the proposal over to the files as they are now', async (base, call) => ({
          type: 'rebased',
          result: await call({
            ...base,
            workspace,
            proposal: this.proposal(),
            snapshot: this.snapshot(),
            files: this.state.rebaseFiles,
            exclude: leftOut(this.state).exclude,
            decision: this.state.approvalNumber,
          }),
        }));
      case 'verify':
        return this.interruptibly('verify', this.state.testCommands.join(' && '), async (base, call) => ({
          type: 'verified',
          result: await call({
            ...base,
            workspace,
            commands: this.state.testCommands,
            timeout_s: move.timeout_s,
            maxOutput_bytes: this.state.limits?.testOutput_bytes ?? 0,
            files: appliedPaths(this.state),
            releaseOnPass: move.releaseOnPass,
            retriesBusy: true,
            remember: this.state.rememberTest,
            ...this.heldLease(),
          }),
        }));
      case 'rollback':
        return this.work('rollback', 'put the files back', async (base, call) => ({
          type: 'rolled_back',
          result: await call({ ...base, ...owner, workspace, applications, ...this.heldLease() }),
        }));
      case 'commit':
        return this.commit();
      case 'pause':
        this.fold({ type: 'paused', pause: move.pause });
        this.showPause();
        this.archive.tell(this.state);
        return;
      case 'await_decision':
        await this.long.wait(() => this.state.decision === null);
        return;
      case 'back_off': {
        this.archive.tell(this.state);
        const { outage, stage } = this.state;
        const over = (): boolean => this.state.outage !== outage || this.state.stage !== stage;
        if (await this.long.wait(over, move.ms)) this.fold({ type: 'waited' });
        return;
      }
      case 'wait':
        if (await this.long.wait(() => this.abortRequest !== null || this.state.stage !== 'apply', move.ms))
          this.fold({ type: 'waited' });
        return;
    }
  }

  /** Chunks of one turn run side by side; each is folded in as it comes back. */
  private async propose(chunks: readonly Chunk[]): Promise<void> {
    await Promise.all(
      chunks.map((chunk) => {
        this.fold({ type: 'chunk_started', chunk });
        const { attempt } = chunk;
        const words = chunk.file === '*' ? `all ${this.state.files.length} files` : chunk.file;
        return this.interruptibly(
          'propose',
          `${words} (${attempt.format})`,
          async (base, call) => {
            const result = await call({
              ...base,
              snapshot: this.snapshot(),
              file: chunk.file,
              seq: chunk.seq,
              draw: attempt.draw,
              format: attempt.format,
              outputBudget_tokens: attempt.outputBudget_tokens,
              model: attempt.model,
              brief: this.state.brief,
              accepted: chunk.heads,
              note: attempt.note,
              refusal: attempt.refusal,
              ...(attempt.region === undefined ? {} : { region: attempt.region }),
              ...(attempt.linesAsked === undefined ? {} : { lines: attempt.linesAsked }),
              ...this.limits(),
            });
            // Asked only where it matters: a marker costs an event and an action.
            const everyCall = result.usage.calls > 1 && patched('every-call-counts-as-chunk');
            return { type: 'proposed', chunk, result, ...(everyCall ? { everyCall } : {}) };
          },
          chunk,
        );
      }),
    );
  }

  private async commit(): Promise<void> {
    const { lease, preflight, incomplete } = this.state;
    if (lease === null || preflight?.commitMessage == null) throw new Error('commit without a lease or a message');
    const message = incomplete ? `[INCOMPLETE] ${preflight.commitMessage}` : preflight.commitMessage;
    await this.work('commit', message.split('\n')[0] ?? '', async (base, call) => ({
      type: 'committed',
      result: await call({
        ...base,
        retriesBusy: true,
        workspace: this.state.input.workspace,
        snapshot: this.snapshot(),
        applications: this.state.applications,
        message,
        lease,
        ontoCurrent: this.state.ontoCurrent,
      }),
    }));
  }

  /** The lease that an activity may end: by its number, so that a late attempt ends no later one. Unknown after a failed apply. */
  private heldLease(): { readonly lease?: number } {
    const { lease, applying } = this.state;
    return lease === null || applying !== null ? {} : { lease: lease.number };
  }

  /** Files of which a person chose among the changes: taken from the proposal that they looked at. */
  private pinned(): { readonly pinned?: NonNullable<ReturnType<typeof pinnedFiles>> } {
    const pinned = pinnedFiles(this.state);
    return pinned === undefined ? {} : { pinned };
  }

  private snapshot(): NonNullable<StepState['preflight']>['snapshot'] {
    if (this.state.preflight === null) throw new Error('no preflight yet');
    return this.state.preflight.snapshot;
  }

  /** For activities that read the snapshot's limits: what decisions changed since. */
  private limits(): { readonly limits?: NonNullable<ReturnType<typeof changedLimits>> } {
    const limits = changedLimits(this.state);
    return limits === null ? {} : { limits };
  }

  private proposal(): NonNullable<StepState['proposal']>['ref'] {
    if (this.state.proposal === null) throw new Error('no proposal yet');
    return this.state.proposal.ref;
  }

  // --------------------------------------------------------------------------------------------------------------- doing the work
  /** Work that must come to its end once begun (◆ apply, rollback, commit): no abort and no cancel cuts it short. */
  private async work<N extends ActivityName>(activity: N, summary: string, run: Run<N>): Promise<void> {
    this.working = true;
    try {
      await CancellationScope.nonCancellable(() => this.attempt(activity, summary, run, null));
    } finally {
      this.working = false;
    }
    // A cancel that came meanwhile is taken up here, with the work's outcome known.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure(`cancelled after ${activity}`);
  }

  /** Work that an abort may cut short: model calls and tests. */
  private async interruptibly<N extends ActivityName>(
    activity: N,
    summary: string,
    run: Run<N>,
    chunk: Chunk | null = null,
  ): Promise<void> {
    const scope = this.interruptible ?? new CancellationScope();
    this.interruptible = scope;
    this.underWay += 1;
    try {
      await scope.run(() => this.attempt(activity, summary, run, chunk));
    } catch (error) {
      if (!isCancellation(error) || this.abortRequest === null) throw error;
    } finally {
      this.underWay -= 1;
      if (this.underWay === 0) this.interruptible = null;
    }
    // It ended by itself while the cancel was on its way: what would come next is not begun.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure(`cancelled after ${activity}`);
  }

  private async attempt<N extends ActivityName>(
    activity: N,
    summary: string,
    run: Run<N>,
    chunk: Chunk | null,
  ): Promise<void> {
    const base = { v: 1, stepKey: this.state.input.stepKey, log: this.archive.take(this.state) } as const;
    let fact: Fact;
    try {
      fact = await throughSleep(this.state.input.timings, () => run(base, this.calls(activity, summary)));
      // ◆ Of a later result nothing can be said: a person upgrades and retries. Whoever teaches this workflow a later `v` guards its
      // reading with `patched`, or a history in which it was not known would no longer replay.
      if ('result' in fact && !isKnown(fact.result)) throw unreadable(activity, fact.result);
      // What a call that was cut off came to only the journal knows.
      if ('result' in fact && 'down' in fact.result && fact.result.down.mayBePaid) this.usage.lost(activity);
      else this.usage.told(activity);
    } catch (error) {
      this.usage.lost(activity);
      if (isCancellation(error)) throw error;
      fact = { type: 'activity_failed', activity, chunk, ...failureOf(error, activity) };
    }
    this.fold(fact);
  }

  private fold(fact: Fact): void {
    this.state = reduce(this.state, fact, Date.now());
    this.long.show(() => detailsOf(this.state));
  }

  private showPause(): void {
    const { decision, input } = this.state;
    // One upsert a pause; leaving it costs none: a list asks the runs marked as waiting whether they still are.
    if (input.searchAttributes && decision !== null)
      upsertSearchAttributes({ [SEARCH_ATTRIBUTES.state]: ['waiting'], [SEARCH_ATTRIBUTES.reason]: [decision.reason] });
  }

  // ------------------------------------------------------------------------------------------------------------------- decisions
  /** Handlers are there before the first await, take `unknown`, never throw (the validator apart) and never wait. */
  listen(): void {
    const { answerQuery } = names;
    answerQuery(names.status, () => statusOf(this.state), 'What the run does or waits for');
    answerQuery(names.ledger, () => ledgerOf(this.state), 'Each target file: status, attempts, reason');
    answerQuery(names.events, (query) => eventsOf(this.state, query), 'What happened, in order');
    answerQuery(names.proposal, () => this.state.proposal, 'The sealed proposal: files, findings, rungs');
    listenForDecisions({
      state: () => this.state,
      take: (request) => this.take(request),
      long: this.long,
      ignored: (what, why) => {
        this.fold({ type: 'ignored', what, why });
      },
    });
  }

  /** Takes up a request that counts, or says why not. An abort waits for work that must end first, and cuts short what may be. */
  private take(request: DecisionRequest): string | null {
    if (request.answer === 'abort' && (this.working || this.interruptible !== null)) {
      if (this.abortRequest !== null) return 'the run is being aborted already';
      this.abortRequest = request;
      this.interruptible?.cancel();
      return null;
    }
    const withoutHost = request.answer === 'abort' && endsWithoutHost(this.state);
    this.fold({ type: 'decided', request, withoutHost });
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

type Run<N extends ActivityName> = (
  base: { readonly v: 1; readonly stepKey: string; readonly log: StepState['events'] },
  call: Call<N>,
) => Promise<Fact>;
