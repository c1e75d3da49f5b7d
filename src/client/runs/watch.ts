/**
 * Follows a run without costing anything while it does not change: a long poll on its history. What it does at work is read from the pages; it
 * is asked for its status at the beginning, where it stands still, and after an answer.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACTIVITIES } from '../../shared/activities.js';
import type { StepEvent } from '../../shared/events.js';
import { countsOf, type LedgerRow, type StepResult, type StepStatus } from '../../shared/run.js';
import { ledgerOfEvents } from '../archive/ledger.js';
import { noteClosed, withLive, type ResolvedRun } from './resolve.js';
import {
  needRuns,
  type ClosedRun,
  type DescribedRun,
  type Emend,
  type News,
  type RunGateway,
} from '../types.js';
import { showRun, unserved, type RunView, type ShowOptions } from './show.js';

const WATCH_BETWEEN_MS = 300; // bound: Changes of a run that works hard are told no more often than this.
const FILES_NAMED = 3; // bound: Maximum number of files that are named as being edited.

export interface WatchOptions extends Pick<ShowOptions, 'patience_ms'> {
  readonly signal?: AbortSignal;
  /** Returns after this long. No `AbortSignal.timeout`: within `AbortSignal.any` it is collected as garbage and never fires. */
  readonly most_ms?: number;
  /** What is looked at; absent: every change. */
  readonly only?: 'pauses' | 'end' | undefined;
}

/** What the caller wants after a change; nothing: go on. */
export type WatchAnswer = 'stop' | undefined;
/** `events`: those that came with the change, as far as the history holds them. */
type OnChange = (view: RunView, events: readonly StepEvent[]) => Promise<WatchAnswer> | WatchAnswer;

/**
 * Calls `onChange` with the run's status at once and after every change, one call at a time.
 * Returns how the run ended, or null when `onChange` said stop, `signal` aborted or `most_ms` passed.
 */
export const watchRun = async (
  emend: Emend,
  run: ResolvedRun,
  onChange: OnChange,
  { signal, most_ms, only, ...patience }: WatchOptions = {},
): Promise<ClosedRun | null> => {
  const runs = needRuns(emend);
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const over = (): boolean => until.aborted;
  if (most_ms !== undefined) setTimeout(() => stop.abort(), most_ms).unref();
  let shown: string | null = null;
  const tell = async (view: RunView, events: readonly StepEvent[] = []): Promise<void> => {
    const seen = JSON.stringify([view.runId, view.status, view.note]);
    if (seen === shown && events.length === 0) return;
    shown = seen;
    if ((await onChange(view, events)) === 'stop') stop.abort();
  };
  for (let current = run; !over();) {
    const { live } = current;
    if (live === null) return current.archived.closed;
    if (live.open) {
      const watched = current;
      const show = () => showRun(emend, watched, { full: only === undefined, ...patience });
      await watchOpen({ runs, emend, live, until, only, show, tell });
      if (over()) return null;
    }
    const newest = await runs.describe({ workflowId: live.workflowId, runId: null });
    // A reset closes one run and opens another of the same step: that one is followed.
    if (newest !== null && newest.runId !== live.runId && newest.memo?.stepKey === current.stepKey)
      current = await withLive(emend, current.stepKey, newest);
    else {
      const its = newest?.runId === live.runId ? newest : await runs.describe(live);
      const closed = await withLive(emend, current.stepKey, its);
      const archived = await noteClosed(emend, closed);
      if (only === undefined && archived.closed !== null)
        await tell(await showRun(emend, { ...closed, archived }, { full: false }));
      return archived.closed;
    }
  }
  return null;
};

/** An open run that is watched. */
interface Open {
  readonly only: WatchOptions['only'];
  readonly runs: RunGateway;
  readonly emend: Pick<Emend, 'queues'>;
  readonly live: DescribedRun;
  readonly until: AbortSignal;
  /** Asks the run. */
  show(): Promise<RunView>;
  tell(view: RunView, events?: readonly StepEvent[]): Promise<void>;
}

/** Returns when the run has ended or `until` aborts. */
const watchOpen = async (open: Open): Promise<void> => {
  const { runs, live, until, only } = open;
  const ended = new AbortController();
  const leave = (): void => ended.abort();
  const watching = AbortSignal.any([until, ended.signal]);
  const over = (): boolean => watching.aborted;
  const progress = new Progress(open, over);
  const look = looker(watching, WATCH_BETWEEN_MS, () => progress.look());
  const changes = async (): Promise<void> => {
    if (only !== 'end') await look(true);
    // Where the history was before the first look: what comes later is news.
    const news = async (what: News): Promise<void> => {
      // A closed run is replayed by its worker for each answer: what is left to tell is asked for later.
      if (what.kind === 'end') leave();
      else if (only !== 'end' && progress.add(what, only)) await look(what.kind === 'pause');
    };
    if (!over()) await runs.follow(live, live.historyLength, watching, news);
  };
  const lookAgain = (): Promise<void> => {
    progress.ask();
    return look(true);
  };
  const both = [
    changes(),
    ...(only === 'end' ? [] : [watchWorkers(open, watching, progress, lookAgain)]),
  ];
  // Whoever stops waits for no call that a server which is away leaves unanswered.
  await Promise.race([Promise.all(both.map((each) => each.finally(leave))), once(until, 'abort')]);
};

/** What is known of a run that is watched, and what has come since it was told. */
class Progress {
  private readonly open: Open;
  private readonly over: () => boolean;
  private last: RunView | null = null;
  private mustAsk = true;
  private events: StepEvent[] = [];
  private activity: string | null = null;
  private pause = new AbortController();

  constructor(open: Open, over: () => boolean) {
    this.open = open;
    this.over = over;
  }

  /** Aborts while the run waits for a person. */
  get standstill(): AbortSignal {
    return this.pause.signal;
  }

  ask(): void {
    this.mustAsk = true;
  }

  /** Returns whether there is something to tell. */
  add({ kind, events, activity }: News, only: WatchOptions['only']): boolean {
    this.events.push(...events);
    this.activity = activity ?? this.activity;
    // Nobody knows from outside what was done at a pause.
    const isAtPause = this.last?.source !== 'run' || this.last.status.state === 'waiting';
    if (kind === 'pause' || isAtPause) this.mustAsk = true;
    return only === undefined || this.mustAsk;
  }

  async look(): Promise<void> {
    const events = this.events.splice(0);
    const { last, activity } = this;
    const mustAsk = this.mustAsk || last === null;
    this.mustAsk = false;
    this.activity = null;
    this.last = mustAsk ? await this.open.show() : viewAfter(last, events, activity);
    if (this.last.status.state === 'waiting') this.pause.abort();
    else if (this.standstill.aborted) this.pause = new AbortController();
    if (!this.over()) await this.open.tell(this.last, events);
  }
}

/** Returns the view of a run at work once these events have come and this activity was begun. */
const viewAfter = (
  view: RunView,
  events: readonly StepEvent[],
  activity: string | null,
): RunView => {
  const ledger = ledgerOfEvents(events, view.ledger);
  const { status } = view;
  return {
    ...view,
    ledger,
    status: {
      ...status,
      doing: doingOf(ledger, activity) ?? status.doing,
      counts: status.plan === undefined ? countsOf(ledger) : status.counts,
      lastSeq: Math.max(status.lastSeq, ...events.map(({ seq }) => seq)),
    },
  };
};

/** Returns what a run does in words; null: not known. */
const doingOf = (ledger: readonly LedgerRow[], activity: string | null): string | null => {
  if (activity === null || !Object.hasOwn(ACTIVITIES, activity)) return null;
  const edited = ledger.filter(({ status }) => status === 'in_progress');
  if (activity !== 'proposeEdit' || edited.length === 0)
    return ACTIVITIES[activity as keyof typeof ACTIVITIES].work;
  const open = ledger.filter(({ status }) => status === 'in_progress' || status === 'pending');
  const paths = edited.slice(0, FILES_NAMED).map(({ path }) => path);
  return `file ${ledger.length - open.length + 1}/${ledger.length}: ${paths.join(', ')}`;
};

/** Watches for a status that the run itself tells; `over`: `signal` aborted or `most_ms` passed first. */
export const untilStatus = async (
  emend: Emend,
  run: ResolvedRun,
  isWanted: (status: StepStatus) => boolean,
  options: WatchOptions,
): Promise<'there' | 'closed' | 'over'> => {
  const seen = { there: false };
  const look = ({ status, source }: RunView): WatchAnswer => {
    seen.there = source === 'run' && isWanted(status);
    return seen.there ? 'stop' : undefined;
  };
  const closed = await watchRun(emend, run, look, options);
  return seen.there ? 'there' : closed === null ? 'over' : 'closed';
};

/**
 * A run's history does not tell that its last worker died. Of a run at work, workers are looked for only while a task is late. A run that
 * waits for a person has no task, and nobody should answer it without knowing that no worker is there: for it they are looked for every 3 s.
 */
const watchWorkers = async (
  { runs, emend: { queues }, live }: Open,
  until: AbortSignal,
  progress: Progress,
  look: () => Promise<void>,
): Promise<void> => {
  const over = (): boolean => until.aborted;
  // A server that does not answer is the history's to tell.
  const silent = (): Promise<string | null> =>
    unserved({ runs, queues }, live).then(String, () => null);
  for (let before = await silent(); !over();) {
    const { standstill } = progress;
    await (before === '' && !standstill.aborted
      ? runs.untilLate(live, AbortSignal.any([until, standstill]))
      : pause(WORKER_LOOK_MS, until));
    const now = over() ? null : await silent();
    if (now === null || now === before) continue;
    before = now;
    await look();
  }
};
const WORKER_LOOK_MS = 3_000; // bound: While a run waits for a person, or nobody serves it, workers are looked for this often.
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * Calls `look` at news, one at a time and no more often than `between_ms`, unless they are urgent. News that come while it waits or
 * looks are one more look together.
 */
const looker = (
  until: AbortSignal,
  between_ms: number,
  look: () => Promise<void>,
): ((urgent: boolean) => Promise<void>) => {
  const over = (): boolean => until.aborted;
  let asked_ms = -Infinity;
  let news = false;
  let hurry = new AbortController();
  const looks = async (): Promise<void> => {
    try {
      while (news && !over()) {
        const wait_ms = asked_ms + between_ms - performance.now();
        const woken = AbortSignal.any([until, hurry.signal]);
        if (wait_ms > 0) await sleep(wait_ms, undefined, { signal: woken }).catch(() => undefined);
        news = false;
        hurry = new AbortController();
        asked_ms = performance.now();
        if (!over()) await look();
      }
    } finally {
      // Here, not in a later turn: news that come after the last look begin a new one.
      looking = null;
    }
  };
  let looking: Promise<void> | null = null;
  return (urgent) => {
    news = true;
    if (urgent) hurry.abort();
    return (looking ??= looks());
  };
};

/** Why a wait is over. */
export type Waited =
  | { readonly outcome: 'closed'; readonly result: StepResult | null; readonly closed: ClosedRun }
  | { readonly outcome: 'waiting'; readonly status: StepStatus }
  | { readonly outcome: 'stopped' };

/** What a wait goes through; `signal` ends it. */
export interface WaitOptions extends WatchOptions {
  /** True: wait through decision points until the run ends. */
  readonly throughPauses?: boolean;
  /** Id of a decision that is not waited for: yours has been sent, or the rest is for others. */
  readonly after?: string;
}

/** Waits until the run ends or pauses for a person. */
export const waitForRun = async (
  emend: Emend,
  run: ResolvedRun,
  { throughPauses = false, after, ...options }: WaitOptions = {},
): Promise<Waited> => {
  const last: { paused: StepStatus | null } = { paused: null };
  const closed = await watchRun(
    emend,
    run,
    ({ status }) => {
      if (status.state !== 'waiting' || throughPauses) return undefined;
      if (after !== undefined && status.decision?.id === after) return undefined;
      last.paused = status;
      return 'stop';
    },
    { ...options, only: throughPauses ? 'end' : 'pauses' },
  );
  if (closed !== null) return { outcome: 'closed', result: closed.result, closed };
  return last.paused === null
    ? { outcome: 'stopped' }
    : { outcome: 'waiting', status: last.paused };
};
