/** All runs that can be found: open ones on the server, then what the archive keeps. */
import { ANY_HOST, hostQueueOf } from '../../shared/names.js';
import {
  fitsFilter,
  stateOfOutcome,
  type LISTED_STATES,
  type RunFilter,
  type RunWords,
} from '../../shared/run.js';
import { readAmongOthers } from '../archive/run.js';
import { archivedStatus } from '../archive/status.js';
import { describeArchived, noteClosed } from './resolve.js';
import { noServerNote, type DescribedRun, type Emend } from '../types.js';
import { hostNames, newestAndWaiting, openOnServer, silentNote, type RunHost } from './hosts.js';

const LISTED_OPEN_RUNS = 1_000; // bound: Maximum number of open runs in a list, those that wait first; more are counted.
const LISTED_ARCHIVED_RUNS = 50; // bound: Ended runs shown, newest first.
const LISTED_READ_RUNS = 1_000; // bound: Ended runs read for a filter that leaves most of them out.

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
  /** Open runs that match and are not listed, and older ones that were not read. */
  readonly open_left_off: number;
  /** Why nothing was asked of a server or worker, and what to type; null: all were. */
  readonly note: string | null;
}

export interface ListOptions {
  /** The archives, if they were listed already. */
  readonly known?: readonly string[];
  readonly filter?: RunFilter;
  /** Maximum number of open runs. */
  readonly most?: number;
}

/** Lists open runs by what the server's records show of them, without a query to any run, then what the archive keeps. */
export const listRuns = async (
  emend: Emend,
  { known, filter = {}, most = LISTED_OPEN_RUNS }: ListOptions = {},
): Promise<RunList> => {
  const isFiltered = Object.values(filter).join('') !== '';
  const open = await (isFiltered ? openOnServer(emend) : newestAndWaiting(emend, most));
  const listing = await openListing(
    emend,
    open.runs.flatMap(({ memo }) => memo?.host ?? []),
  );
  const all = open.runs.map((run) => listing.row(run)).filter((run) => run !== null);
  const matching = all.filter((run) => fitsFilter(run, filter));
  const listed = waitingFirst(matching, most);
  const openKeys = new Set(all.map((run) => run.stepKey));
  const kept = (known ?? (await emend.archive.list())).filter((stepKey) => !openKeys.has(stepKey));
  const archived: ListedRun[] = [];
  let read = 0;
  const mostRead = isFiltered ? LISTED_READ_RUNS : LISTED_ARCHIVED_RUNS;
  while (read < Math.min(kept.length, mostRead) && archived.length < LISTED_ARCHIVED_RUNS) {
    // At once: in a bucket each is several requests. No more than are wanted, so that what was read was looked at.
    const next = kept.slice(
      read,
      Math.min(read + LISTED_ARCHIVED_RUNS - archived.length, mostRead),
    );
    read += next.length;
    const runs = await Promise.all(next.map((stepKey) => archivedRunOf(emend, listing, stepKey)));
    archived.push(...runs.filter((run) => fitsFilter(run, filter)));
  }
  return {
    runs: [...listed, ...archived],
    left_off: kept.length - read,
    open_left_off: open.unread + matching.length - listed.length,
    note: listing.note,
  };
};

/** Keeps the order of the runs, and of too many those that wait. */
const waitingFirst = (runs: readonly ListedRun[], most: number): readonly ListedRun[] => {
  if (runs.length <= most) return runs;
  const waiting = runs.filter(({ state }) => state === 'waiting').slice(0, most);
  const others = runs.filter(({ state }) => state !== 'waiting').slice(0, most - waiting.length);
  const shown = new Set([...waiting, ...others]);
  return runs.filter((run) => shown.has(run));
};

/** What the rows of open runs need in common. */
export interface OpenListing {
  /** That no server answers, or which needed queues nobody serves; null: nothing is missing. */
  readonly note: string | null;
  /** Null: it is no run of Emend. */
  row(run: DescribedRun): ListedRun | null;
  /** Returns a row of before as it is now: workers come and go without a change of the run. */
  again(row: ListedRun): ListedRun;
}

/** Looks who serves the queues of our workflows and of the hosts that open runs need, once for all of them. No action. */
export const openListing = async (
  emend: Emend,
  hostIds: readonly string[],
): Promise<OpenListing> => {
  const hosts = [...new Set(hostIds)].filter((id) => id !== ANY_HOST);
  const nameOf = await hostNames(emend);
  const { silent, note } = await silentQueues(emend, hosts.map(nameOf));
  const atWork =
    emend.runs !== null && !silent.has(emend.queues.workflow)
      ? ({ state: 'running', doing: 'running' } as const)
      : ({ state: 'unknown', doing: 'no worker is running' } as const);
  const row = ({ memo, ...run }: DescribedRun): ListedRun | null => {
    if (memo === null) return null;
    const { stepKey, title, jobPath, workspace } = memo;
    return {
      stepKey,
      workflowId: run.workflowId,
      title,
      jobPath,
      workspace,
      ...(stoppedAt(run, jobPath) ?? { ...atWork, decision: null, open: true }),
      startedAt: run.startedAt.toISOString(),
      host: memo.host === ANY_HOST ? null : nameOf(memo.host),
    };
  };
  const again = (before: ListedRun): ListedRun =>
    before.open && before.state !== 'waiting' ? { ...before, ...atWork } : before;
  return { note, row, again };
};

/** Returns what the server's record says of a run that waits or has ended; null: it is at work, and what it does `emend show` says. */
const stoppedAt = (
  { waits, outcome }: Pick<DescribedRun, 'waits' | 'outcome'>,
  jobPath: string,
): Pick<ListedRun, 'state' | 'doing' | 'decision' | 'open'> | null => {
  // Temporal's records are a moment late: it has ended.
  if (outcome !== null)
    return { state: stateOfOutcome(outcome), doing: outcome, decision: null, open: false };
  if (waits === null) return null;
  const { reason, decision } = waits;
  const paused = `paused: emend plan resume ${jobPath}`;
  return {
    state: 'waiting',
    doing: decision === null ? paused : `waiting for a decision: ${reason}`,
    decision: decision === null ? null : { id: decision, reason },
    open: true,
  };
};

/** Queues that open runs need and that no worker serves. */
const silentQueues = async (
  emend: Emend,
  hosts: readonly RunHost[],
): Promise<{ readonly silent: ReadonlySet<string>; readonly note: string | null }> => {
  const { runs, queues } = emend;
  if (runs === null) return { silent: new Set(), note: noServerNote(emend) };
  const needed = [...new Set([queues.workflow, ...hosts.map(({ id }) => hostQueueOf(queues, id))])];
  const { workers, unasked } = await runs.seenAt(queues.workflow, needed);
  const served = new Set(workers.flatMap(({ is, queue }) => (is === 'live' ? [queue] : [])));
  const silent = needed.filter((queue) => !served.has(queue) && !unasked.includes(queue));
  return {
    silent: new Set(silent),
    note: silent.length === 0 ? null : silentNote(emend, silent, hosts),
  };
};

/** A run that the list of open ones left out: it has ended, or began a moment ago, which such lists learn late. */
export const archivedRunOf = async (
  emend: Emend,
  listing: OpenListing,
  stepKey: string,
): Promise<ListedRun> => {
  const kept = await readAmongOthers(emend, stepKey);
  const live = kept.closed === null ? await describeArchived(emend, kept) : null;
  const row = live?.open === true ? listing.row(live) : null;
  if (row !== null) return row;
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
