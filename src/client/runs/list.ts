/** All runs that can be found: open ones on the server, then what the archive keeps. */
import { ANY_HOST, hostQueueOf } from '../../shared/names.js';
import {
  stateOfOutcome,
  type LISTED_STATES,
  type RunFilter,
  type RunWords,
} from '../../shared/run.js';
import type { StepKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import {
  chooseRuns,
  cursorOf,
  cursorText,
  fitsFilter,
  wordsOf,
  type Cursor,
} from '../run-index/choose.js';
import { runIndex, type RunIndex } from '../run-index/index.js';
import { searchable, type RunRow } from '../run-index/row.js';
import { readAmongOthers } from '../archive/run.js';
import { archivedStatus } from '../archive/status.js';
import { describeArchived, noteClosed } from './resolve.js';
import { noServerNote, type DescribedRun, type Emend } from '../types.js';
import { hostNames, newestAndWaiting, openOnServer, silentNote, type RunHost } from './hosts.js';

const LISTED_OPEN_RUNS = 1_000; // bound: Maximum number of open runs in a list, those that wait first; more are counted.
export const LISTED_ARCHIVED_RUNS = 50; // bound: Ended runs of a page, newest first.
const MOST_ARCHIVED_RUNS = 1_000; // bound: Maximum number of ended runs of a page.
const ASKED_RUNS = 1_000; // bound: Runs without a known end, of which a list asks the server.

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
  /** Number of older runs in the archive that may fit and are not listed. */
  readonly left_off: number;
  /** Where they begin (`ListOptions.before`); null: there are none. */
  readonly older: string | null;
  /** Open runs that match and are not listed, and older ones that were not read. */
  readonly open_left_off: number;
  /** Why nothing was asked of a server or worker, and what to type; null: all were. */
  readonly note: string | null;
}

export interface ListOptions {
  /** The index, if it was brought up to date already. */
  readonly index?: RunIndex;
  readonly filter?: RunFilter;
  /** Maximum number of open runs. */
  readonly most?: number;
  /** Maximum number of ended runs. */
  readonly limit?: number;
  /** A place that `RunList.older` names, or a day or time: only runs whose last entry is older are listed, and no open ones. */
  readonly before?: string | null;
}

/** Returns the number of ended runs of a page, as it was typed. Throws ProblemError `usage`. */
export const limitOf = (typed: string): number => {
  const limit = Number(typed);
  return /^\d+$/.test(typed) && limit > 0 && limit <= MOST_ARCHIVED_RUNS
    ? limit
    : fail(
        'usage',
        `${JSON.stringify(typed.slice(0, 40))} runs cannot be listed: expected a number from 1 to ${MOST_ARCHIVED_RUNS}.`,
        'Example: emend list --limit 200',
      );
};

/**
 * Lists open runs by what the server's records show of them, without a query to any run, then ended ones as the index has them. Throws
 * ProblemError `usage` for a `before` that is no place.
 */
export const listRuns = async (
  emend: Emend,
  {
    index: known,
    filter = {},
    most = LISTED_OPEN_RUNS,
    limit = LISTED_ARCHIVED_RUNS,
    before = null,
  }: ListOptions = {},
): Promise<RunList> => {
  const cursor = before === null ? null : cursorOf(before);
  const isFiltered = Object.values(filter).join('') !== '';
  const open = await (isFiltered ? openOnServer(emend) : newestAndWaiting(emend, most));
  const listing = await openListing(
    emend,
    open.runs.flatMap(({ memo }) => memo?.host ?? []),
  );
  const all = open.runs.map((run) => listing.row(run)).filter((run) => run !== null);
  const index = known ?? (await runIndex(emend));
  const matching = cursor === null ? fittingOpen(index, all, filter) : [];
  const listed = waitingFirst(matching, most);
  const openKeys = new Set(all.map((run) => run.stepKey));
  const ended = await endedRuns(emend, { index, listing, filter, limit, cursor, openKeys });
  return {
    runs: [...listed, ...ended.runs],
    left_off: ended.left_off,
    older: ended.older,
    open_left_off: cursor === null ? open.unread + matching.length - listed.length : 0,
    note: listing.note,
  };
};

/** Returns the open runs that fit by what the server says of them, or by what the index has of their texts. */
const fittingOpen = (
  index: RunIndex,
  runs: readonly ListedRun[],
  filter: RunFilter,
): readonly ListedRun[] => {
  const hasText = fitsFilter(index, { text: filter.text });
  const isOfPlan = fitsFilter(index, { plan: filter.plan });
  const words = wordsOf(filter.text ?? '');
  const hasWords = (run: ListedRun): boolean => {
    const text = searchable(
      [run.title, run.jobPath, run.stepKey, run.doing, run.workspace, run.workflowId].join(' '),
    );
    return words.every((word) => text.includes(word));
  };
  return runs.filter(
    (run) =>
      ['', run.state].includes(filter.state ?? '') &&
      ['', run.workspace].includes(filter.workspace ?? '') &&
      (['', undefined].includes(filter.plan) || isOfPlan(run.stepKey)) &&
      (hasWords(run) || hasText(run.stepKey)),
  );
};

interface EndedRequest {
  readonly index: RunIndex;
  readonly listing: OpenListing;
  readonly filter: RunFilter;
  readonly limit: number;
  readonly cursor: Cursor | null;
  /** Runs that are listed as open. */
  readonly openKeys: ReadonlySet<StepKey>;
}

/** Lists runs of the index, newest first. Each row is compared with its archive before it is shown. */
const endedRuns = async (
  emend: Emend,
  { index, listing, filter, limit, cursor, openKeys }: EndedRequest,
): Promise<Pick<RunList, 'runs' | 'left_off' | 'older'>> => {
  const chosen = chooseRuns(index, filter, cursor).filter((stepKey) => !openKeys.has(stepKey));
  const runs: ListedRun[] = [];
  let looked = 0;
  let unended = 0;
  let last: Cursor | null = null;
  while (looked < chosen.length && runs.length < limit && unended < ASKED_RUNS) {
    // At once: in a bucket each is several requests. No more than are wanted, so that each that was looked at counts.
    const group = chosen.slice(looked, looked + limit - runs.length);
    looked += group.length;
    const lastKey = group.at(-1) ?? '';
    last = { last_ms: index.last_ms(lastKey), stepKey: lastKey };
    await index.check(group);
    const rows = group.map((stepKey) => index.row(stepKey)).filter((row) => row !== null);
    unended += rows.filter(({ isEnded }) => !isEnded).length;
    const found = await Promise.all(
      rows.map(async (row) =>
        row.isEnded ? listedRow(row) : archivedRunOf(emend, listing, row.stepKey),
      ),
    );
    runs.push(
      ...found.filter(
        (run) => ['', run.state].includes(filter.state ?? '') && (cursor === null || !run.open),
      ),
    );
  }
  const left_off = chosen.length - looked;
  return { runs, left_off, older: left_off > 0 && last !== null ? cursorText(last) : null };
};

const listedRow = ({ stepKey, workspace, state, facts }: RunRow): ListedRun => ({
  stepKey,
  workflowId: facts.workflowId,
  title: facts.title,
  jobPath: facts.jobPath,
  workspace,
  state,
  doing: facts.doing,
  decision: null,
  startedAt: facts.startedAt,
  open: false,
  host: null,
});

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
