/** Follows a run without costing anything while it does not change: a long poll on its history, one status query per change. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StepResult, StepStatus } from '../../shared/run.js';
import { noteClosed, withLive, type ResolvedRun } from './resolve.js';
import { needRuns, type ClosedRun, type DescribedRun, type Emend, type News } from '../types.js';
import { showRun, unserved, type RunView, type ShowOptions } from './show.js';

const WATCH_BETWEEN_MS = 300; // bound: A run that works hard is asked no more often than this.
const WAIT_BETWEEN_MS = 2_000; // bound: Where only pauses are waited for, of which the server tells at once if it can: no more often than this.
const WATCH_WORKERS_MS = 1_000; // bound: Who serves its queues is looked at this often.

export interface WatchOptions extends Pick<ShowOptions, 'patience_ms'> {
  readonly signal?: AbortSignal;
  /** Returns after this long. No `AbortSignal.timeout`: within `AbortSignal.any` it is collected as garbage and never fires. */
  readonly most_ms?: number;
  /** What is looked at, each look an action and work for the worker; absent: every change. */
  readonly only?: 'pauses' | 'end';
}

/** What the caller wants after a change; nothing: go on. */
export type WatchAnswer = 'stop' | undefined;

/**
 * Calls `onChange` with the run's status (no ledger, no proposal) at once and after every change, one call at a time.
 * Returns how the run ended, or null when `onChange` said stop, `signal` aborted or `most_ms` passed.
 */
export const watchRun = async (
  emend: Emend,
  run: ResolvedRun,
  onChange: (view: RunView) => Promise<WatchAnswer> | WatchAnswer,
  { signal, most_ms, only, ...patience }: WatchOptions = {},
): Promise<ClosedRun | null> => {
  const runs = needRuns(emend);
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const over = (): boolean => until.aborted;
  if (most_ms !== undefined) setTimeout(() => stop.abort(), most_ms).unref();
  let shown: string | null = null;
  const told = async (view: RunView): Promise<WatchAnswer> => {
    const seen = JSON.stringify([view.runId, view.status, view.note]);
    if (seen === shown) return undefined;
    shown = seen;
    return onChange(view);
  };
  for (let current = run; !over();) {
    const { live } = current;
    if (live === null) return current.archived.closed;
    if (live.open) {
      const watched = current;
      const ended = new AbortController();
      const leave = (): void => ended.abort();
      const watching = AbortSignal.any([until, ended.signal]);
      const look = looker(
        watching,
        only === undefined ? WATCH_BETWEEN_MS : WAIT_BETWEEN_MS,
        async () => {
          const view = await showRun(emend, watched, { full: false, ...patience });
          if (!watching.aborted && (await told(view)) === 'stop') stop.abort();
        },
      );
      const changes = async (): Promise<void> => {
        if (only !== 'end') await look(true);
        // Where the history stood before the first look: what comes later is news.
        const news = async (what: News): Promise<void> => {
          // A closed run is replayed by its worker for each answer: what is left to tell is asked for below.
          if (what === 'end') leave();
          else if (only !== 'end') await look(what !== 'change');
        };
        if (!over()) await runs.follow(live, live.historyLength, watching, news);
      };
      const both = [
        changes(),
        ...(only === 'end'
          ? []
          : [watchWorkers({ runs, queues: emend.queues }, live, watching, look)]),
      ];
      // Whoever stops waits for no call that a server which is away leaves unanswered.
      await Promise.race([
        Promise.all(both.map((each) => each.finally(leave))),
        once(until, 'abort'),
      ]);
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
        await told(await showRun(emend, { ...closed, archived }, { full: false }));
      return archived.closed;
    }
  }
  return null;
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

/** A run's history does not tell that its last worker died, or that one came. */
const watchWorkers = async (
  workers: Parameters<typeof unserved>[0],
  run: DescribedRun,
  until: AbortSignal,
  look: (urgent: boolean) => Promise<void>,
): Promise<void> => {
  const over = (): boolean => until.aborted;
  // A server that does not answer is the history's to tell.
  const silent = (): Promise<string | null> => unserved(workers, run).then(String, () => null);
  for (let before = await silent(); !over();) {
    await sleep(WATCH_WORKERS_MS, undefined, { signal: until }).catch(() => undefined);
    const now = over() ? null : await silent();
    if (now === null || now === before) continue;
    before = now;
    await look(true);
  }
};

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
