/** All runs that can be found: open ones on the server, then what the archive keeps. */
import { hostQueueOf, QUERIES } from '../../shared/names.js';
import {
  fitsFilter,
  type LISTED_STATES,
  type RunFilter,
  type RunWords,
  type StepStatus,
} from '../../shared/run.js';
import { isKnown, nullOn } from '../../shared/problems.js';
import { readAmongOthers } from '../archive/run.js';
import { archivedStatus } from '../archive/status.js';
import { describeArchived, noteClosed } from './resolve.js';
import { noServerNote, type DescribedRun, type Emend, type RunGateway } from '../types.js';
import { openOnServer, runHost, silentNote, type RunHost } from './hosts.js';

const LISTED_ARCHIVED_RUNS = 50; // bound: Ended runs shown, newest first.
const LISTED_READ_RUNS = 1_000; // bound: Ended runs read for a filter that leaves most of them out.
const LIST_QUERY_MS = 3_000; // bound: A run in the list is asked for its state this long.

export interface ListedRun extends RunWords {
  readonly workflowId: string | null;
  readonly state: (typeof LISTED_STATES)[number];
  /** Id and reason of the open decision. */
  readonly decision: { readonly id: string; readonly reason: string } | null;
  /** ISO time. */
  readonly startedAt: string | null;
  readonly open: boolean;
  /** Null: not known, as of most that have ended. */
  readonly host: RunHost | null;
}
/** Runs that can be found. */
export interface RunList {
  readonly runs: readonly ListedRun[];
  /** Older runs that were not looked at: bounds keep a long list short. */
  readonly left_off: number;
  /** Why nothing was asked of a server or worker, and what to type; null: all were. */
  readonly note: string | null;
}

/** `known`: the archives, where they were listed already. */
export const listRuns = async (
  emend: Emend,
  { known, filter = {} }: { readonly known?: readonly string[]; readonly filter?: RunFilter } = {},
): Promise<RunList> => {
  const ours = (await openOnServer(emend)).filter((run) => run.memo !== null);
  const polled = (await emend.runs?.polled(emend.queues.workflow)) ?? false;
  const listed = await Promise.all(ours.map((run) => openRun(emend, run, polled)));
  const seen = await listNote(emend, listed);
  const openKeys = new Set(listed.map((run) => run.stepKey));
  const kept = (known ?? (await emend.archive.list())).filter((stepKey) => !openKeys.has(stepKey));
  const archived: ListedRun[] = [];
  let read = 0;
  const most = Object.values(filter).join('') === '' ? LISTED_ARCHIVED_RUNS : LISTED_READ_RUNS;
  while (read < Math.min(kept.length, most) && archived.length < LISTED_ARCHIVED_RUNS) {
    // At once: in a bucket each is several requests. No more than are wanted, so that what was read was looked at.
    const next = kept.slice(read, Math.min(read + LISTED_ARCHIVED_RUNS - archived.length, most));
    read += next.length;
    const runs = await Promise.all(next.map((stepKey) => archivedRunOf(emend, stepKey)));
    archived.push(...runs.filter((run) => fitsFilter(run, filter)));
  }
  return {
    runs: [...listed.filter((run) => fitsFilter(run, filter)), ...archived],
    left_off: kept.length - read,
    // Who does not answer may have died a moment ago.
    note:
      seen === null && listed.some(({ state }) => state === 'unknown')
        ? await listNote(emend, listed, true)
        : seen,
  };
};

/** That no server answers, or that nobody serves the queue of our workflows or a host of open runs. No action. */
export const listNote = async (
  emend: Emend,
  listed: readonly Pick<ListedRun, 'open' | 'host'>[],
  doubted = false,
): Promise<string | null> => {
  const { runs, queues } = emend;
  if (runs === null) return noServerNote(emend);
  const hosts = new Map(
    listed.flatMap(({ open, host }) => (open && host !== null ? [[host.id, host]] : [])),
  );
  const needed = [
    ...new Set([queues.workflow, ...[...hosts.keys()].map((id) => hostQueueOf(queues, id))]),
  ];
  const served = await Promise.all(needed.map((queue) => runs.polled(queue, doubted)));
  const silent = needed.filter((_, index) => served[index] !== true);
  return silent.length === 0 ? null : silentNote(emend, silent, [...hosts.values()]);
};

const openRun = async (emend: Emend, run: DescribedRun, polled: boolean): Promise<ListedRun> => {
  const status = polled && emend.runs !== null ? await statusOf(emend.runs, run) : null;
  const { stepKey = '', title = '', jobPath = '', workspace = '' } = run.memo ?? {};
  return {
    stepKey,
    workflowId: run.workflowId,
    title,
    jobPath,
    workspace,
    state: status?.state ?? 'unknown',
    doing: status?.doing ?? 'no worker is running',
    decision: status?.decision ? { id: status.decision.id, reason: status.decision.reason } : null,
    startedAt: run.startedAt.toISOString(),
    open: status?.stage !== 'closed', // lists learn late
    host: await runHost(emend, run),
  };
};

const statusOf = async (runs: RunGateway, run: DescribedRun): Promise<StepStatus | null> => {
  const status = await runs
    .query<StepStatus>(run, QUERIES.status, [], LIST_QUERY_MS)
    .catch(nullOn());
  return isKnown(status) ? status : null;
};

/** A run that the list of open ones left out: it has ended, or began a moment ago, which such lists learn late. */
const archivedRunOf = async (emend: Emend, stepKey: string): Promise<ListedRun> => {
  const kept = await readAmongOthers(emend, stepKey);
  const live = kept.closed === null ? await describeArchived(emend, kept) : null;
  if (live?.open === true)
    return openRun(emend, live, (await emend.runs?.polled(live.queue)) ?? false);
  // It ended while nobody looked: the server still knows how.
  const archived = await noteClosed(emend, { stepKey, archived: kept, live });
  const { title, jobPath, workspace, state, doing } = archivedStatus(archived);
  return {
    stepKey,
    workflowId: archived.started?.workflowId ?? null,
    title,
    jobPath,
    workspace,
    state: archived.closed === null ? 'unknown' : state,
    doing: archived.started === null ? (archived.omitted ?? doing) : doing,
    decision: null,
    startedAt: archived.firstAt,
    open: false,
    host: null,
  };
};
