/** Shows what a run does until it ends, waits for somebody, or the person goes away; of a plan also the run of the phase that is under way. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ledgerOfEvents } from '../client/archive/ledger.js';
import { decide, loginName } from '../client/runs/decide.js';
import { shownKey, type StepKey } from '../shared/ids.js';
import { findRun, refreshRun, type ResolvedRun } from '../client/runs/resolve.js';
import { runEvents, type RunView } from '../client/runs/show.js';
import type { ClosedRun, Emend } from '../client/types.js';
import { watchRun, type WatchOptions } from '../client/runs/watch.js';
import type { DecisionPoint } from '../shared/decisions.js';
import type { StepEvent } from '../shared/events.js';
import { nullOn } from '../shared/problems.js';
import type { StepStatus } from '../shared/run.js';
import { askDecision } from './ask-decision.js';
import type { Io } from './io.js';
import type { Session } from './session.js';
import { showLiveText, LiveBlock, progressLines } from './live.js';
import { decisionLines } from './render/decision.js';
import { eventText, isWorthALine, plain } from './render/text.js';

const NEEDED_QUERY_MS = 60_000; // bound: A command that ends where no worker is running gives one that polls, and is busy, this long.
const PHASE_APPEARS_MS = 200; // bound: The run of a phase that was announced and is not there yet is looked for this often.

/** `progress`: all; `waits`: only what waits for a person, and why; `nothing`: what comes of it is printed at the end, as data. */
export type Shows = 'progress' | 'waits' | 'nothing';

export interface FollowOptions {
  /** Ask the person; else `waiting` is returned at the first pause, unless `wait`. */
  readonly interactive: boolean;
  /** Wait through pauses (somebody answers elsewhere). */
  readonly wait: boolean;
  /** Approve `approval` decisions. */
  readonly yes: boolean;
  readonly shows: Shows;
  /** Print what running model calls write. */
  readonly live: boolean;
  /** Come back where no worker is running, instead of waiting for one. */
  readonly needWorker: boolean;
  readonly signal: AbortSignal;
  /** Prints only events after this one (default: all), and takes this decision as answered: the caller has just sent the answer. */
  readonly after?: { readonly seq: number; readonly decision: string | null };
  /** Answers an `approval` or `secret_found`, or says why a person must look (not empty); absent: nothing is approved by a policy. */
  readonly policy?: (run: ResolvedRun, decision: DecisionPoint) => Promise<readonly string[]>;
  /** Told of each event in its order, of a plan's phases too. */
  readonly onEvent?: ((run: StepKey, event: StepEvent) => void) | undefined;
  /** Told of each decision point that nothing has answered yet. */
  readonly onWaiting?: (status: StepStatus, decision: DecisionPoint) => Promise<void>;
}

/** A busy worker is not an absent one: a command that ends without a worker has patience with the one it has. */
const watchOptions = ({ signal, needWorker }: FollowOptions): WatchOptions =>
  needWorker ? { signal, patience_ms: NEEDED_QUERY_MS } : { signal };

export type Followed =
  | { readonly kind: 'closed'; readonly closed: ClosedRun }
  /** `why`: what a policy said; empty without one. */
  | { readonly kind: 'waiting'; readonly status: StepStatus; readonly why: readonly string[] }
  | { readonly kind: 'no_worker'; readonly note: string }
  | { readonly kind: 'interrupted' };

export type FollowedPlan = Followed | { readonly kind: 'paused'; readonly status: StepStatus };

/** What made the watching of a run stop. */
type Stop =
  | Extract<FollowedPlan, { kind: 'no_worker' | 'paused' }>
  | { readonly kind: 'child'; readonly stepKey: string }
  | { readonly kind: 'decision'; readonly status: StepStatus; readonly decision: DecisionPoint };

export const followRun = async (
  session: Session,
  started: ResolvedRun,
  options: FollowOptions,
): Promise<Followed> => {
  const followed = await followPlan(session, started, options);
  // Of a step there is no next phase to be paused before.
  return followed.kind === 'paused' ? { ...followed, kind: 'waiting', why: [] } : followed;
};

export const followPlan = async (
  session: Session,
  started: ResolvedRun,
  options: FollowOptions,
): Promise<FollowedPlan> => {
  const progress = new ProgressLog(session, options);
  const live = options.live
    ? showLiveText(session.emend.calls, started.stepKey, (lines) => progress.say(lines))
    : null;
  try {
    return await follow(session, started, options, progress);
  } finally {
    await live?.stop();
  }
};

const follow = async (
  session: Session,
  started: ResolvedRun,
  options: FollowOptions,
  progress: ProgressLog,
): Promise<FollowedPlan> => {
  const { io, emend } = session;
  /** Decisions that need nothing more from us. */
  const handled = new Set<string>(options.after?.decision == null ? [] : [options.after.decision]);
  const judged = new Map<string, readonly string[]>();
  const told = new Set<string>();
  /** Phases' runs that were followed to their end. */
  const seen = new Set<string>();
  const gone = (): boolean => options.signal.aborted;
  const isJudged = ({ id, reason }: DecisionPoint): boolean =>
    options.policy !== undefined &&
    ['approval', 'secret_found'].includes(reason) &&
    !judged.has(id);
  const stopAt = async (
    run: ResolvedRun,
    { source, note, status, proposal }: RunView,
  ): Promise<Stop | null> => {
    if (source === 'archive')
      return options.needWorker && note !== null ? { kind: 'no_worker', note } : null;
    const { decision, plan, state } = status;
    if (decision !== null && !handled.has(decision.id)) {
      const isOurs = isJudged(decision) || (await yesTo(session, run, decision, options)) !== null;
      if (!isOurs && !told.has(decision.id)) {
        told.add(decision.id);
        await options.onWaiting?.(status, decision);
      }
      if (!options.wait || options.interactive || isOurs)
        return { kind: 'decision', status, decision };
      const view = {
        width: io.columns,
        proposal: proposal?.id === decision.proposalId ? proposal : null,
      };
      progress.sayWaiting(decisionLines(shownKey(run.stepKey), decision, view));
      handled.add(decision.id);
      return null;
    }
    const child = plan?.phases.find(
      (phase) => phase.status === 'running' && !seen.has(phase.run ?? ''),
    );
    if (child?.run != null) return { kind: 'child', stepKey: child.run };
    const isPaused = decision === null && state === 'waiting' && !options.wait;
    return isPaused ? { kind: 'paused', status } : null;
  };
  for (let run = started; ; run = await refreshRun(emend, run)) {
    const found: { stop: Stop | null } = { stop: null };
    const onChange = async (view: RunView, events: readonly StepEvent[]) => {
      await progress.tell(run, view, events);
      found.stop = await stopAt(run, view);
      return found.stop === null ? undefined : 'stop';
    };
    const closed = await watchRun(emend, run, onChange, watchOptions(options));
    progress.clear();
    if (closed !== null) {
      await progress.end(run);
      return { kind: 'closed', closed };
    }
    const { stop } = found;
    if (gone() || stop === null) return { kind: 'interrupted' };
    if (stop.kind === 'no_worker' || stop.kind === 'paused') return stop;
    if (stop.kind === 'child') {
      const child = await childOf(emend, stop.stepKey, options.signal);
      if (child === null) return { kind: 'interrupted' };
      // What was answered is the decision of the plan itself.
      const { after: _, ...ofChild } = options;
      const followed = await followRun(session, child, ofChild);
      if (followed.kind !== 'closed') return followed;
      seen.add(stop.stepKey);
      continue;
    }
    const { status, decision } = stop;
    if (options.policy !== undefined && isJudged(decision)) {
      const why = await options.policy(run, decision);
      judged.set(decision.id, why);
      if (why.length === 0) handled.add(decision.id);
      else
        progress.sayWaiting([
          'not approved by the policy:',
          ...why.map((text) => plain(`  ${text}`)),
        ]);
      continue;
    }
    const answered = await answerHere(session, run, decision, options);
    if (gone()) return { kind: 'interrupted' };
    if (answered === 'left') return { kind: 'waiting', status, why: judged.get(decision.id) ?? [] };
    if (answered === 'answered') handled.add(decision.id);
  }
};

/** The plan says that a phase runs a moment before its run is there. Null: the person went away. */
export const childOf = async (
  emend: Emend,
  stepKey: string,
  signal: AbortSignal,
): Promise<ResolvedRun | null> => {
  while (!signal.aborted) {
    const child = await findRun(emend, stepKey);
    if (child?.live != null || child?.archived.closed != null) return child;
    await sleep(PHASE_APPEARS_MS, undefined, { signal }).catch(() => undefined);
  }
  return null;
};

/** What `--yes` answers: a proposal, and the estimate of a plan's run that began without it, within its budgets. Null: nothing. */
const yesTo = async (
  ...[{ emend }, run, { reason, mustSign }, { yes }]: Parameters<typeof answerHere>
): Promise<'approve' | 'continue' | null> => {
  // Not looked at by anybody, so nobody signs it.
  if (!yes || mustSign === true) return null;
  if (reason !== 'estimate') return reason === 'approval' ? 'approve' : null;
  const told = (await runEvents(emend, run)).findLast((event) => event.type === 'plan_estimated');
  return told?.over.length === 0 ? 'continue' : null;
};

const answerHere = async (
  session: Session,
  run: ResolvedRun,
  decision: DecisionPoint,
  options: FollowOptions,
) => {
  const answer = await yesTo(session, run, decision, options);
  if (answer === null)
    return options.interactive ? askDecision(session, run, decision, options.signal) : 'left';
  const by = { name: loginName(), from: '--yes' };
  const sent = decide(session.emend, run, { answer, decision: decision.id, by, sign: false });
  // Somebody else was faster: what they decided is told as what happens next.
  const result = await sent.catch(nullOn('answer_not_accepted'));
  const what = answer === 'approve' ? 'approved' : 'estimate approved';
  if (options.shows === 'progress' && result !== null)
    session.io.out(`${what} (--yes): ${plain(result.message)}`);
  return 'answered';
};

/** Events as lines that stay; below them, in a terminal, what each file is doing. */
class ProgressLog {
  readonly #io: Io;
  readonly #emend: Emend;
  readonly #options: Pick<FollowOptions, 'shows' | 'onEvent' | 'after'>;
  readonly #block: LiveBlock;
  readonly #events: StepEvent[] = [];
  #note: string | null = null;
  #doing = '';

  constructor({ io, emend }: Session, options: Pick<FollowOptions, 'shows' | 'onEvent' | 'after'>) {
    this.#io = io;
    this.#emend = emend;
    this.#options = options;
    this.#block = new LiveBlock(io);
  }

  /** `events`: those that came with the change; earlier ones that were missed are asked for. */
  async tell(run: ResolvedRun, view: RunView, events: readonly StepEvent[]): Promise<void> {
    if (this.#options.shows !== 'progress' && this.#options.onEvent === undefined) return;
    if (view.status.stage === 'closed') return; // `end` tells the rest.
    if (view.note !== this.#note) this.say([plain(view.note ?? 'A worker is available again.')]);
    this.#note = view.note;
    if (view.source === 'archive') return;
    for (const event of events) if (event.seq === this.#lastSeq + 1) this.#add(run, event);
    if (view.status.lastSeq > this.#lastSeq) await this.#news(run);
    if (this.#options.shows !== 'progress') return;
    const ledger = ledgerOfEvents(this.#events);
    const { doing, state } = view.status;
    if (state === 'running') this.#block.draw(progressLines(view.status, ledger, this.#io.columns));
    // Without a terminal there is no block to draw over: each change of what it does is a line.
    if (!this.#io.outIsTty && state === 'running' && doing !== this.#doing)
      this.#io.out(plain(doing));
    this.#doing = doing;
  }

  /** Tells what came since. */
  async #news(run: ResolvedRun): Promise<void> {
    for (const event of await runEvents(this.#emend, run, this.#lastSeq)) this.#add(run, event);
  }

  get #lastSeq(): number {
    return this.#events.at(-1)?.seq ?? 0;
  }

  #add(run: ResolvedRun, event: StepEvent): void {
    this.#events.push(event);
    if (event.seq <= (this.#options.after?.seq ?? 0)) return;
    this.#options.onEvent?.(run.stepKey, event);
    if (isWorthALine(event)) this.say([eventText(event)]);
  }

  async end(run: ResolvedRun): Promise<void> {
    if (this.#options.shows !== 'progress' && this.#options.onEvent === undefined) return;
    await this.#news(await refreshRun(this.#emend, run));
  }

  say(lines: readonly string[]): void {
    if (this.#options.shows !== 'progress') return;
    this.sayWaiting(lines);
  }

  sayWaiting(lines: readonly string[]): void {
    if (this.#options.shows === 'nothing') return;
    this.#block.clear();
    for (const text of lines) this.#io.out(text);
  }

  clear(): void {
    this.#block.clear();
  }
}
