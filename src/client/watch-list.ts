/**
 * Follows the list of runs without asking for anything while nothing changes: long polls on the histories of open runs, and the names in
 * the archive's directory for runs that are new. The file system tells of those that this host starts; what another host starts into a
 * shared store is found by a look at the names now and then, which asks nothing of Temporal.
 */
import { mkdirSync, watch, type FSWatcher } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BOUNDS } from '../shared/limits.js';
import { ProblemError, type Problem } from '../shared/problems.js';
import { isStepKey } from '../shared/refs.js';
import type { StepKey } from '../shared/refs.js';
import { listRuns, openOnServer } from './list-runs.js';
import type { ListedRun, RunList } from './list-runs.js';
import { resolveRun } from './resolve-run.js';
import type { ResolvedRun } from './resolve-run.js';
import { showRun } from './show-run.js';
import type { RunView } from './show-run.js';
import type { Emend } from './types.js';
import { watchRun } from './watch-run.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

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
  { signal, onView, onServer = false, onFailed }: WatchListOptions,
): Promise<void> => {
  const failing = new AbortController();
  const until = AbortSignal.any([signal, failing.signal]);
  const failed: { error: Error | null } = { error: null };
  const fail = (error: unknown): void => {
    failed.error ??= error instanceof Error ? error : new Error(String(error));
    failing.abort();
  };
  // Read before the list is: a run that starts in between would else be in neither.
  const archive = await archiveNames(emend);
  const list = await listRuns(emend).catch((error: unknown) => {
    archive.close();
    throw error;
  });
  const rows = new Map(list.runs.map((run) => [run.stepKey, run]));
  const tell = (): void => {
    if (!until.aborted) onChange({ ...list, runs: [...rows.values()] });
  };
  const put = (view: RunView, run: ResolvedRun): void => {
    rows.set(run.stepKey, rowOf(view, run));
    tell();
  };
  const followed = new Map<StepKey, Promise<void>>();
  const waiting = new Set<StepKey>();
  const followOne = async (stepKey: StepKey): Promise<void> => {
    try {
      const run = await resolveRun(emend, stepKey);
      const changed = async (view: RunView): Promise<undefined> => {
        put(view, run);
        await onView?.(view);
      };
      await watchRun(emend, run, changed, { signal: until });
      if (until.aborted) return;
      const now = await resolveRun(emend, stepKey);
      put(await showRun(emend, now, { full: false }), now);
    } catch (error) {
      const problem = error instanceof ProblemError ? error.problem : null;
      // A run that is gone (its archive was removed) is no reason to stop looking at the others.
      if (problem === null || problem.code === 'no_server') fail(error);
      else if (onFailed !== undefined) onFailed(stepKey, problem);
      else if (problem.code !== 'run_unknown') fail(error);
    }
  };
  const follow = (stepKey: StepKey): void => {
    if (until.aborted || followed.has(stepKey)) return;
    if (followed.size >= BOUNDS.webFollowed) {
      waiting.add(stepKey);
      return;
    }
    waiting.delete(stepKey);
    const following = followOne(stepKey).finally(() => {
      followed.delete(stepKey);
      for (const next of [...waiting].slice(0, 1)) follow(next);
    });
    followed.set(stepKey, following);
  };
  const beginning = new Map<StepKey, Promise<void>>();
  const begin = async (stepKey: StepKey): Promise<void> => {
    const run = await startedRun(emend, stepKey, until);
    if (run === null || until.aborted) return;
    put(await showRun(emend, run, { full: false }), run);
    if (run.live?.open === true) follow(stepKey);
  };
  const look = async (): Promise<void> => {
    const found = [...(await archive.news()), ...(onServer ? await openRuns(emend) : [])];
    for (const stepKey of found)
      if (rows.get(stepKey)?.open !== true && !beginning.has(stepKey))
        beginning.set(
          stepKey,
          begin(stepKey)
            .catch(() => undefined)
            .finally(() => beginning.delete(stepKey)),
        );
  };
  onChange(list);
  if (emend.runs !== null) for (const run of list.runs) if (run.open) follow(run.stepKey);
  while (!until.aborted) {
    await look().catch(fail);
    await archive.told(until);
  }
  archive.close();
  await Promise.all([...followed.values(), ...beginning.values()]);
  if (failed.error !== null) throw failed.error;
};

const openRuns = async (emend: Emend): Promise<readonly StepKey[]> =>
  (await openOnServer(emend)).flatMap(({ memo }) => (memo === null ? [] : [memo.stepKey]));

const rowOf = ({ status, workflowId, note }: RunView, { stepKey, live, archived }: ResolvedRun): ListedRun => ({
  stepKey,
  workflowId,
  title: status.title,
  jobPath: status.jobPath,
  workspace: status.workspace,
  state: note === null || live?.open === false ? status.state : 'unknown',
  doing: status.doing,
  decision: status.decision && { id: status.decision.id, reason: status.decision.reason },
  startedAt: live?.startedAt.toISOString() ?? archived.firstAt,
  open: status.result === null && live?.open === true,
});

const startedRun = async (emend: Emend, stepKey: StepKey, until: AbortSignal): Promise<ResolvedRun | null> => {
  for (let tries = 0; tries < SERVER_BOUNDS.newRunTries && !until.aborted; tries++) {
    await new Promise((resolve) => setTimeout(resolve, SERVER_BOUNDS.newRunPoll_ms));
    const run = await resolveRun(emend, stepKey).catch((error: unknown) => {
      if (error instanceof ProblemError && error.problem.code === 'run_unknown') return null;
      throw error;
    });
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

/** The names in the archive, read once now. */
const archiveNames = async ({ store }: Emend): Promise<ArchiveNames> => {
  const dir = join(store, 'archive');
  const names = async (): Promise<readonly StepKey[]> =>
    (await readdir(dir).catch((): string[] => [])).filter(isStepKey);
  let wake = new AbortController();
  const watcher = watchedDirectory(dir, () => {
    wake.abort();
  });
  let known = new Set(await names());
  return {
    news: async () => {
      wake = new AbortController();
      const now = await names();
      const news = now.filter((name) => !known.has(name));
      known = new Set(now);
      return news;
    },
    told: async (until) => {
      const signal = AbortSignal.any([until, wake.signal]);
      await sleep(SERVER_BOUNDS.newRunsLook_ms, undefined, { signal }).catch(() => undefined);
    },
    close: () => watcher?.close(),
  };
};

/** Null where a directory cannot be watched (no inotify). What another host writes into it is told nowhere. */
const watchedDirectory = (dir: string, onChange: () => void): FSWatcher | null => {
  try {
    // A new home has none before its first run, which is the one to be told of.
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const watcher = watch(dir, onChange);
    watcher.on('error', () => {
      watcher.close();
    });
    return watcher;
  } catch {
    return null;
  }
};
