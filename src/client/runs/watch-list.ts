/**
 * Follows the list of runs without a query: long polls on the histories of open runs say when to read the server's record of one again, and
 * the archive's journal of changes names runs that are new. A new folder in the archive says when to read it; what another host starts into a
 * bucket is found by a look now and then, which asks nothing of Temporal.
 */
import { mkdirSync, watch, type FSWatcher } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProblemError, type Problem } from '../../shared/problems.js';
import type { StepKey } from '../../shared/ids.js';
import { isBucket, storePaths } from '../../stores/location.js';
import { openOnServer } from './hosts.js';
import {
  archivedRunOf,
  listRuns,
  openListing,
  type ListedRun,
  type OpenListing,
  type RunList,
} from './list.js';
import { findRun, resolveRun, type ResolvedRun } from './resolve.js';
import type { RunView } from './show.js';
import { needRuns, type Emend, type News } from '../types.js';
import { watchRun } from './watch.js';

// bound: A run that starts makes its folder first and notes what it is a moment later: it is looked for this often,
const NEW_RUN_POLL_MS = 300;
const NEW_RUN_TRIES = 20; // bound: so many times.
// bound: What another host started is told by no file system: it is looked for this often while somebody looks at the list.
export const NEW_RUNS_LOOK_MS = 3_000;
const WEB_FOLLOWED = 50; // bound: Open runs whose changes the list of runs follows.
const WATCHED_OPEN_RUNS = 200; // bound: Maximum number of open runs in a list that is followed: it is sent whole at each change.
const NEWEST_OPEN_RUNS = 100; // bound: Maximum number of open runs among which new ones are looked for.

export interface WatchListOptions {
  readonly signal: AbortSignal;
  /** Each change of an open run, one call at a time for each run. */
  readonly onView?: (view: RunView) => Promise<void>;
  /** Looks for new runs on the server, too (a list: no action): finds one that was reset after its end, or is in no archive of ours. */
  readonly onServer?: boolean;
  /** A run that cannot be followed while others can; without it the first such failure ends the watch. */
  readonly onFailed?: (stepKey: StepKey, problem: Problem) => void;
}

/** Calls `onChange` with the whole list at once and after every change, until `signal` aborts. Throws ProblemError `no_server`. */
export const watchList = async (
  emend: Emend,
  onChange: (list: RunList) => void,
  options: WatchListOptions,
): Promise<void> => {
  // Read before the list is: a run that starts in between would else be in neither.
  const archive = await archiveNames(emend);
  try {
    await new ListWatch({
      emend,
      archive,
      onChange,
      options,
      list: await listRuns(emend, { most: WATCHED_OPEN_RUNS }),
    }).run();
  } finally {
    archive.close();
  }
};

interface Watched {
  readonly emend: Emend;
  readonly list: RunList;
  readonly archive: ArchiveNames;
  readonly onChange: (list: RunList) => void;
  readonly options: WatchListOptions;
}

class ListWatch {
  private readonly rows: Map<StepKey, ListedRun>;
  /** Open runs, each with what follows it; those past `WEB_FOLLOWED` wait for one to end. */
  private readonly followed = new Map<StepKey, Promise<void>>();
  private readonly waiting = new Set<StepKey>();
  /** Runs that are new: their first record, or their workflow, may come a moment later. */
  private readonly beginning = new Map<StepKey, Promise<void>>();
  private readonly failing = new AbortController();
  private readonly until: AbortSignal;
  private failed: Error | null = null;

  private readonly given: Watched;
  private note: string | null;
  private listing: OpenListing | null = null;

  constructor(watched: Watched) {
    this.given = watched;
    this.note = watched.list.note;
    const { list, options } = watched;
    this.rows = new Map(list.runs.map((run) => [run.stepKey, run]));
    this.until = AbortSignal.any([options.signal, this.failing.signal]);
  }

  async run(): Promise<void> {
    this.given.onChange(this.given.list);
    needRuns(this.given.emend);
    for (const { open, stepKey } of this.given.list.runs) if (open) this.follow(stepKey);
    while (!this.until.aborted) {
      await this.look().catch((error: unknown) => this.fail(error));
      await this.given.archive.told(this.until);
    }
    await Promise.all([...this.followed.values(), ...this.beginning.values()]);
    if (this.failed !== null) throw this.failed;
  }

  /** The first failure ends the watch. */
  private fail(error: unknown): void {
    this.failed ??= error instanceof Error ? error : new Error(String(error));
    this.failing.abort();
  }

  private put(row: ListedRun): void {
    this.rows.set(row.stepKey, row);
    this.tell();
  }

  /** Shows that the workers went away, or came. */
  private async lookForWorkers(): Promise<void> {
    const rows = [...this.rows.values()];
    const hosts = rows.flatMap(({ open, host }) => (open && host !== null ? [host.id] : []));
    const listing = await openListing(this.given.emend, hosts).catch(() => null);
    if (listing === null) return;
    this.listing = listing;
    if (listing.note === this.note) return;
    this.note = listing.note;
    for (const row of rows) this.rows.set(row.stepKey, listing.again(row));
    this.tell();
  }

  private tell(): void {
    const list: RunList = { ...this.given.list, runs: [...this.rows.values()], note: this.note };
    if (!this.until.aborted) this.given.onChange(list);
  }

  private async look(): Promise<void> {
    await this.lookForWorkers();
    const found = await this.given.archive.news();
    const onServer = this.given.options.onServer === true ? await openRuns(this.given.emend) : [];
    for (const stepKey of [...found, ...onServer])
      if (this.rows.get(stepKey)?.open !== true && !this.beginning.has(stepKey))
        this.beginning.set(
          stepKey,
          this.begin(stepKey)
            .catch(() => undefined)
            .finally(() => this.beginning.delete(stepKey)),
        );
  }

  private async begin(stepKey: StepKey): Promise<void> {
    const run = await startedRun(this.given.emend, stepKey, this.until);
    if (run === null || this.until.aborted) return;
    await this.putRun(run);
    if (run.live?.open === true) this.follow(stepKey);
  }

  /** Shows what the server's record says of an open run, else what the archive says. */
  private async putRun({ stepKey, live }: Pick<ResolvedRun, 'stepKey' | 'live'>): Promise<void> {
    const { emend } = this.given;
    const listing = (this.listing ??= await openListing(emend, []));
    const row = live?.open === true ? listing.row(live) : null;
    this.put(row ?? (await archivedRunOf(emend, listing, stepKey)));
  }

  private follow(stepKey: StepKey): void {
    if (this.until.aborted || this.followed.has(stepKey)) return;
    if (this.followed.size >= WEB_FOLLOWED) {
      this.waiting.add(stepKey);
      return;
    }
    this.waiting.delete(stepKey);
    const following = this.toItsEnd(stepKey)
      .catch((error: unknown) => this.lost(stepKey, error))
      .finally(() => {
        this.followed.delete(stepKey);
        for (const next of [...this.waiting].slice(0, 1)) this.follow(next);
      });
    this.followed.set(stepKey, following);
  }

  private async toItsEnd(stepKey: StepKey): Promise<void> {
    const { emend, options } = this.given;
    const { onView } = options;
    if (onView === undefined) return this.followRecord(stepKey);
    const viewed = async (view: RunView): Promise<undefined> => {
      await onView(view);
    };
    await watchRun(emend, await resolveRun(emend, stepKey), viewed, { signal: this.until });
    if (!this.until.aborted) await this.putRun(await resolveRun(emend, stepKey));
  }

  /** A reset closes one run and opens another of the same step: that one is followed. */
  private async followRecord(stepKey: StepKey): Promise<void> {
    const { emend } = this.given;
    while (!this.until.aborted) {
      const run = await resolveRun(emend, stepKey);
      const { live } = run;
      await this.putRun(run);
      if (live?.open !== true) return;
      const changed = async ({ kind }: News): Promise<void> => {
        // A run at work is shown alike, whatever it does.
        const isShown = kind === 'change' && this.rows.get(stepKey)?.state !== 'waiting';
        if (kind === 'end' || isShown) return;
        const record = await needRuns(emend).describe(live);
        if (record?.open === true) await this.putRun({ stepKey, live: record });
      };
      await needRuns(emend).follow(live, live.historyLength, this.until, changed);
    }
  }

  /** A run that is gone (its archive was removed) is no reason to stop looking at the others. */
  private lost(stepKey: StepKey, error: unknown): void {
    const problem = error instanceof ProblemError ? error.problem : null;
    if (problem === null || problem.code === 'no_server') this.fail(error);
    else if (this.given.options.onFailed !== undefined)
      this.given.options.onFailed(stepKey, problem);
    else if (problem.code !== 'run_unknown') this.fail(error);
  }
}

const openRuns = async (emend: Emend): Promise<readonly StepKey[]> => {
  const { runs } = await openOnServer(emend, NEWEST_OPEN_RUNS);
  return runs.flatMap(({ memo }) => (memo === null ? [] : [memo.stepKey]));
};

const startedRun = async (
  emend: Emend,
  stepKey: StepKey,
  until: AbortSignal,
): Promise<ResolvedRun | null> => {
  for (let tries = 0; tries < NEW_RUN_TRIES && !until.aborted; tries++) {
    await new Promise((resolve) => setTimeout(resolve, NEW_RUN_POLL_MS));
    const run = await findRun(emend, stepKey);
    if (run !== null && (run.archived.started !== null || run.live?.open === true)) return run;
  }
  return null;
};

interface ArchiveNames {
  /** Names that are there since the last call. */
  news(): Promise<readonly StepKey[]>;
  /** Settles when there may be new ones. */
  told(until: AbortSignal): Promise<void>;
  close(): void;
}

/** The runs that were announced before now are not new. */
const archiveNames = async ({ store, archive }: Emend): Promise<ArchiveNames> => {
  let { position, changed } = await archive.changesSince(null);
  const known = new Set(changed);
  let wake = new AbortController();
  const watcher = isBucket(store)
    ? null
    : watchedDirectory(storePaths(store).archive, () => wake.abort());
  return {
    news: async () => {
      wake = new AbortController();
      ({ position, changed } = await archive.changesSince(position));
      const news = [...changed].filter((name) => !known.has(name));
      for (const name of news) known.add(name);
      return news;
    },
    told: async (until) => {
      const signal = AbortSignal.any([until, wake.signal]);
      await sleep(NEW_RUNS_LOOK_MS, undefined, { signal }).catch(() => undefined);
    },
    close: () => watcher?.close(),
  };
};

/** Null where a directory cannot be watched (no inotify). */
const watchedDirectory = (dir: string, onChange: () => void): FSWatcher | null => {
  try {
    // A new home has none before its first run, which is the one to be told of.
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const watcher = watch(dir, onChange);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
};
