/**
 * Follows the list of runs without asking for anything while nothing changes: long polls on the histories of open runs, and the
 * archive's directory for runs that are new. Runs that another machine starts show with the next look.
 */
import { mkdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { BOUNDS } from '../shared/limits.js';
import { ProblemError } from '../shared/problems.js';
import { isStepKey } from '../shared/refs.js';
import type { StepKey } from '../shared/refs.js';
import { listRuns } from './list-runs.js';
import type { ListedRun, RunList } from './list-runs.js';
import { resolveRun } from './resolve-run.js';
import type { ResolvedRun } from './resolve-run.js';
import { showRun } from './show-run.js';
import type { RunView } from './show-run.js';
import type { Emend } from './types.js';
import { watchRun } from './watch-run.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

/** Calls `onChange` with the whole list at once and after every change, until `signal` aborts. Throws ProblemError `no_server`. */
export const watchList = async (
  emend: Emend,
  onChange: (list: RunList) => void,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> => {
  const failing = new AbortController();
  const until = AbortSignal.any([signal, failing.signal]);
  // Watched before the list is read: a run that starts in between would else be in neither.
  let isListed = (): void => undefined;
  const listed = new Promise<void>((resolve) => (isListed = resolve));
  const stop = watchArchive(emend, until, async (stepKey) => {
    await listed;
    await onNew(stepKey);
  });
  const list = await listRuns(emend).catch((error: unknown) => {
    stop();
    throw error;
  });
  const rows = new Map(list.runs.map((run) => [run.stepKey, run]));
  const tell = (): void => {
    if (!until.aborted) onChange({ ...list, runs: [...rows.values()] });
  };
  const failed: { error: Error | null } = { error: null };
  let followed = 0;
  const follow = async (stepKey: StepKey): Promise<void> => {
    if (followed >= BOUNDS.webFollowed) return;
    followed += 1;
    try {
      const run = await resolveRun(emend, stepKey);
      await watchRun(
        emend,
        run,
        (view) => {
          put(rows, rowOf(view, run));
          tell();
        },
        { signal: until },
      );
      if (until.aborted) return;
      const now = await resolveRun(emend, stepKey);
      put(rows, rowOf(await showRun(emend, now, { full: false }), now));
      tell();
    } catch (error) {
      // A run that is gone (its archive was removed) is no reason to stop looking at the others.
      if (error instanceof ProblemError && error.problem.code === 'run_unknown') return;
      failed.error ??= error instanceof Error ? error : new Error(String(error));
      failing.abort();
    } finally {
      followed -= 1;
    }
  };
  tell();
  const following = emend.runs === null ? [] : list.runs.filter((run) => run.open).map((run) => follow(run.stepKey));
  const onNew = async (stepKey: StepKey): Promise<void> => {
    if (rows.get(stepKey)?.open === true) return;
    const run = await startedRun(emend, stepKey, until);
    if (run === null || until.aborted) return;
    put(rows, rowOf(await showRun(emend, run, { full: false }), run));
    tell();
    if (run.live?.open === true) following.push(follow(stepKey));
  };
  isListed();
  await new Promise<void>((resolve) => {
    if (until.aborted) resolve();
    until.addEventListener(
      'abort',
      () => {
        resolve();
      },
      { once: true },
    );
  });
  stop();
  await Promise.all(following);
  if (failed.error !== null) throw failed.error;
};

const put = (rows: Map<StepKey, ListedRun>, row: ListedRun): void => {
  rows.set(row.stepKey, row);
};

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
    if (run?.archived.started) return run;
  }
  return null;
};

/** Where a directory cannot be watched (no inotify, another host's disk) new runs show with the next look. */
const watchArchive = (emend: Emend, until: AbortSignal, onNew: (stepKey: StepKey) => Promise<void>): (() => void) => {
  const busy = new Set<StepKey>();
  try {
    const dir = join(emend.store, 'archive');
    // A new home has none before its first run, which is the one to be told of.
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const watcher = watch(dir, (_event, name) => {
      if (until.aborted || name === null || !isStepKey(name) || busy.has(name)) return;
      busy.add(name);
      onNew(name)
        .catch(() => undefined)
        .finally(() => busy.delete(name));
    });
    watcher.on('error', () => {
      watcher.close();
    });
    return () => {
      watcher.close();
    };
  } catch {
    return () => undefined;
  }
};
