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
  isCancellation,
  patched,
  proxySinks,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { judge, outcomeOf } from '../shared/judge.js';
import type { DecideOutcome, DecisionRequest } from '../shared/decisions.js';
import { appliedPaths, leftOut, nextMove, type Chunk, type Move } from '../shared/moves.js';
import { SEARCH_ATTRIBUTES, type ArchiveSink, type EditStepInput, type StepResult } from '../shared/protocol.js';
import { reduce, type Fact } from '../shared/reducer.js';
import { readRequest, readShortSignal, type SignalReading } from '../shared/signals.js';
import { changedLimits, initialState, type StepState } from '../shared/state.js';
import { isKnown, unknownVersion } from '../shared/versions.js';
import { detailsOf, eventsOf, ledgerOf, refusedResult, resultOf, statusOf } from '../shared/views.js';
import { stepActivities } from './activities.js';
import { failureOf, refuseUpdate, unreadable } from './failures.js';
import { UsageCount } from './usage-count.js';
import * as names from './names.js';

const sinks = proxySinks<{ archive: { append: ArchiveSink['append'] } }>();

/** `editStep(input) -> result`; see src/shared/protocol.ts for both, docs/architecture.md for the picture. */
export async function editStep(input: EditStepInput): Promise<StepResult> {
  // Nothing has been done yet: the person starts it again where a newer worker runs.
  if (!isKnown(input)) return refusedResult(input.stepKey, unknownVersion('The input of the run', input));
  const step = new Step(input);
  step.listen();
  let cancelled: Error | null = null;
  try {
    await step.run();
  } catch (error) {
    // Cancel in the Temporal UI equals abort: what is applied and not committed is rolled back, then the run ends as cancelled.
    if (!isCancellation(error) || !(error instanceof Error)) throw error;
    cancelled = error;
    await CancellationScope.nonCancellable(() => step.abortAndRun('cancel request'));
  }
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (cancelled !== null && step.result().outcome === 'aborted') throw cancelled;
  return step.result();
}

class Step {
  private state: StepState;
  private archived = 0;
  /** Work that an abort may cut short (a model call, tests); null while something runs that must end first. */
  private interruptible: CancellationScope | null = null;
  /** Activities under way in that scope: chunks side by side share it. */
  private underWay = 0;
  private working = false;
  private abortRequest: DecisionRequest | null = null;
  private readonly usage = new UsageCount();
  private readonly activities: ReturnType<typeof stepActivities>;

  constructor(input: EditStepInput) {
    this.state = initialState(input, Date.now());
    this.activities = stepActivities(input);
  }

  result(): StepResult {
    return resultOf(this.state);
  }

  async run(): Promise<void> {
    for (;;) {
      const move = nextMove(this.state, Date.now());
      // Before a pause too: what it says of tokens and money is then all that is known.
      if (await this.countUsage(move.kind === 'finish')) continue;
      if (move.kind === 'finish') break;
      await this.perform(move);
      this.takeUpAbort();
    }
    this.fold({ type: 'finished' });
    this.tell();
  }

  async abortAndRun(by: string): Promise<void> {
    if (this.state.stage !== 'closed') this.fold({ type: 'abort', by });
    await this.run();
  }

  /** True where the usage was counted anew from the journal: a limit may be reached by it. */
  private async countUsage(atEnd: boolean): Promise<boolean> {
    const base = { v: 1, stepKey: this.state.input.stepKey, log: [] } as const;
    const usage = await this.usage.settle(atEnd, async () => {
      const summary = { summary: 'count what was used' };
      const told = await CancellationScope.nonCancellable(() =>
        this.activities.count.tally.executeWithOptions(summary, [base]),
      );
      return told.usage;
    });
    if (usage === null) return false;
    this.fold({ type: 'tallied', usage: usage === 'failed' ? null : usage });
    return true;
  }

  // ------------------------------------------------------------------------------------------------------------------- the moves
  private async perform(move: Exclude<Move, { kind: 'finish' }>): Promise<void> {
    const { input } = this.state;
    const { host, model } = this.activities;
    const { workspace } = input;
    const owner = { workflowId: workflowInfo().workflowId, namespace: workflowInfo().namespace };
    switch (move.kind) {
      case 'preflight':
        return this.work(
          'preflight',
          `look at the files (snapshot ${this.state.snapshotNumber})`,
          async (base, options) => ({
            type: 'preflighted',
            result: await host.preflight.executeWithOptions(options, [
              {
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
              },
            ]),
          }),
        );
      case 'pick':
        return this.interruptibly('pick', 'ask which files to edit', async (base, options) => ({
          type: 'picked',
          result: await model.pick.executeWithOptions(options, [
            {
              ...base,
              snapshot: this.state.pickSnapshot ?? input.job,
              draw: this.state.pickDraw,
              ...this.limits(),
            },
          ]),
        }));
      case 'brief':
        return this.interruptibly('brief', 'agree on names and parts', async (base, options) => ({
          type: 'briefed',
          result: await model.brief.executeWithOptions(options, [
            { ...base, snapshot: this.snapshot(), ...this.limits() },
          ]),
        }));
      case 'propose':
        return this.propose(move.chunks);
      case 'seal':
        return this.work('seal', 'check and seal the proposal', async (base, options) => ({
          type: 'sealed',
          result: await host.seal.executeWithOptions(options, [
            {
              ...base,
              workspace,
              snapshot: this.snapshot(),
              accepted: this.state.accepted,
              ...leftOut(this.state),
              ...(this.state.staged === undefined ? {} : { staged: this.state.staged }),
            },
          ]),
        }));
      case 'approve_by_policy':
        this.fold({ type: 'approved_by_policy' });
        return;
      case 'apply':
        return this.work('apply', `write ${move.files.length} files`, async (base, options) => ({
          type: 'applied',
          result: await host.apply.executeWithOptions(options, [
            {
              ...base,
              ...owner,
              workspace,
              proposal: this.proposal(),
              decision: this.state.approvalNumber,
              files: move.files.length === this.state.proposal?.files.length ? null : move.files,
              releaseAfter: move.releaseAfter,
            },
          ]),
        }));
      case 'rebase':
        return this.work('rebase', 'carry the proposal over to the files as they are now', async (base, options) => ({
          type: 'rebased',
          result: await host.rebase.executeWithOptions(options, [
            {
              ...base,
              workspace,
              proposal: this.proposal(),
              files: this.state.rebaseFiles,
              exclude: leftOut(this.state).exclude,
              decision: this.state.approvalNumber,
            },
          ]),
        }));
      case 'verify':
        return this.interruptibly('verify', this.state.testCommands.join(' && '), async (base, options) => ({
          type: 'verified',
          result: await host.verify.executeWithOptions(
            { ...options, ...this.activities.verifyTimeouts(move.timeout_s) },
            [
              {
                ...base,
                workspace,
                commands: this.state.testCommands,
                timeout_s: move.timeout_s,
                maxOutput_bytes: this.state.limits?.testOutput_bytes ?? 0,
                files: appliedPaths(this.state),
                releaseOnPass: move.releaseOnPass,
                remember: this.state.rememberTest,
                ...this.heldLease(),
              },
            ],
          ),
        }));
      case 'rollback':
        return this.work('rollback', 'put the files back', async (base, options) => ({
          type: 'rolled_back',
          result: await host.rollback.executeWithOptions(options, [
            { ...base, ...owner, workspace, applications: this.state.applications, ...this.heldLease() },
          ]),
        }));
      case 'commit':
        return this.commit();
      case 'pause':
        this.fold({ type: 'paused', pause: move.pause });
        this.showPause();
        this.tell();
        return;
      case 'await_decision':
        return condition(() => this.state.decision === null);
      case 'wait':
        await condition(() => this.abortRequest !== null || this.state.stage !== 'apply', move.ms);
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
          async (base, options) => {
            const result = await this.activities.model.propose.executeWithOptions(options, [
              {
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
                ...this.limits(),
              },
            ]);
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
    await this.work('commit', message.split('\n')[0] ?? '', async (base, options) => ({
      type: 'committed',
      result: await this.activities.host.commit.executeWithOptions(options, [
        {
          ...base,
          workspace: this.state.input.workspace,
          snapshot: this.snapshot(),
          applications: this.state.applications,
          message,
          lease,
          ontoCurrent: this.state.ontoCurrent,
        },
      ]),
    }));
  }

  /** The lease that an activity may end: by its number, so that a late attempt ends no later one. Unknown after a failed apply. */
  private heldLease(): { readonly lease?: number } {
    const { lease, applying } = this.state;
    return lease === null || applying !== null ? {} : { lease: lease.number };
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
  private async work(activity: string, summary: string, run: Run, chunk: Chunk | null = null): Promise<void> {
    this.working = true;
    try {
      await CancellationScope.nonCancellable(() => this.attempt(activity, summary, run, chunk));
    } finally {
      this.working = false;
    }
    // A cancel that came meanwhile is taken up here, with the work's outcome known.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure(`cancelled after ${activity}`);
  }

  /** Work that an abort may cut short: model calls and tests. */
  private async interruptibly(activity: string, summary: string, run: Run, chunk: Chunk | null = null): Promise<void> {
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

  private async attempt(activity: string, summary: string, run: Run, chunk: Chunk | null): Promise<void> {
    const base = { v: 1, stepKey: this.state.input.stepKey, log: this.unarchived() } as const;
    let fact: Fact;
    try {
      fact = await run(base, { summary: summary.slice(0, 200) });
      // ◆ Of a later result nothing can be said: a person upgrades and retries. Whoever teaches this workflow a later `v` guards its
      // reading with `patched`, or a history in which it was not known would no longer replay.
      if ('result' in fact && !isKnown(fact.result)) throw unreadable(activity, fact.result);
      this.usage.told(activity);
    } catch (error) {
      this.usage.lost(activity);
      if (isCancellation(error)) throw error;
      fact = { type: 'activity_failed', activity, chunk, ...failureOf(error, activity) };
    }
    this.fold(fact);
  }

  /** Events not handed to an activity yet: it appends them to the archive. */
  private unarchived(): StepState['events'] {
    const log = this.state.events.filter((event) => event.seq > this.archived);
    this.archived = this.state.nextSeq - 1;
    return log;
  }

  /** No activity follows soon: the archive hears of the pause or the end from here. Costs no action and no history. */
  private tell(): void {
    const log = this.state.events.filter((event) => event.seq > this.archived);
    sinks.archive.append(this.state.input.stepKey, log);
  }

  private fold(fact: Fact): void {
    this.state = reduce(this.state, fact, Date.now());
    setCurrentDetails(detailsOf(this.state));
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
    setHandler(names.status, () => statusOf(this.state), { description: 'What the run does or waits for' });
    setHandler(names.ledger, () => ledgerOf(this.state), { description: 'Each target file: status, attempts, reason' });
    setHandler(names.events, (query) => eventsOf(this.state, query), { description: 'What happened, in order' });
    setHandler(names.proposal, () => this.state.proposal, {
      description: 'The sealed proposal: files, findings, rungs',
    });
    setHandler(names.decide, (body) => this.decide(body), {
      description: 'Answers the open decision: {v: 1, decision, answer, requestId, files?, note?, set?}',
      validator: (body) => {
        this.validate(body);
      },
    });
    const hearRequest = (body: unknown): void => {
      this.hear(readRequest(body));
    };
    setHandler(names.decideSignal, hearRequest, {
      description: 'As the update of this name, for when no worker answers; the short signals below are easier by hand',
    });
    for (const [answer, signal, description] of names.SHORT_SIGNALS)
      setHandler(
        signal,
        (body) => {
          this.hear(readShortSignal(this.state, answer, body));
        },
        { description },
      );
  }

  private validate(body: unknown): void {
    const reading = readRequest(body);
    if (reading.kind === 'ignored') throw refuseUpdate(reading.why);
    const judgement = judge(this.state, reading.request);
    if (!judgement.counts && !judgement.again) throw refuseUpdate(judgement.message);
  }

  private decide(body: unknown): DecideOutcome {
    const reading = readRequest(body);
    if (reading.kind === 'ignored') return { outcome: 'already_settled', decision: '', message: reading.why };
    const { request } = reading;
    const before = this.state;
    const message = this.take(request);
    if (message !== null) return { outcome: 'already_settled', decision: request.decision, message };
    return outcomeOf(before, this.state, request);
  }

  private hear(reading: SignalReading): void {
    if (reading.kind === 'ignored') {
      this.fold({ type: 'ignored', what: reading.what, why: reading.why });
      return;
    }
    const { request } = reading;
    const message = this.take(request);
    if (message !== null)
      this.fold({ type: 'ignored', what: `${request.answer} ${request.decision}`.trim(), why: message });
  }

  /** Counts a request, or says why not. An abort waits for work that must end first, and cuts short what may be. */
  private take(request: DecisionRequest): string | null {
    const judgement = judge(this.state, request);
    if (!judgement.counts) return judgement.message;
    if (request.answer === 'abort' && (this.working || this.interruptible !== null)) {
      if (this.abortRequest !== null) return 'the run is being aborted already';
      this.abortRequest = request;
      this.interruptible?.cancel();
      return null;
    }
    this.fold({ type: 'decided', request });
    return null;
  }

  private takeUpAbort(): void {
    const request = this.abortRequest;
    if (request === null) return;
    this.abortRequest = null;
    if (this.state.stage !== 'closed') this.fold({ type: 'decided', request });
  }
}

type Run = (
  base: { readonly v: 1; readonly stepKey: string; readonly log: StepState['events'] },
  options: { readonly summary: string },
) => Promise<Fact>;
