/** RUN in every command: the first 4 or more digits of a stepKey, or a workflow id (its newest run). */
import { BOUNDS } from '../../shared/limits.js';
import { fail, nullOn, problemOn } from '../../shared/problems.js';
import { SEARCH_ATTRIBUTES, QUERIES } from '../../shared/names.js';
import { isStepKey, planOf, type StepKey, shownKey } from '../../shared/ids.js';
import {
  archivedRun,
  readAmongOthers,
  type ArchivedRun,
  closedId,
  type RecoveryData,
} from '../archive/run.js';
import { runIndex } from '../run-index/index.js';
import { withEarlierCommit } from './earlier-commit.js';
import { looksLikeWorkflowId } from './start.js';
import {
  needRuns,
  OUR_WORKFLOWS,
  type DescribedRun,
  type Emend,
  type RunGateway,
} from '../types.js';
import type { EventsQuery } from '../../shared/run.js';
import type { StepEvent } from '../../shared/events.js';
import { appliedUnder, createLocks } from '../../workspace/apply/index.js';
import { homePaths } from '../../stores/home.js';
import { isBucket } from '../../stores/location.js';
import { realSys } from '../../system/sys.js';
import { maskedEntries, type ArchiveEntry } from '../../stores/ports.js';
import type { WorkspaceLock } from '../../workspace/ports.js';

const SCANNED_RUNS = 1000; // bound: Without search attributes this many runs are looked through by their memo.
const RUN_CANDIDATES = 10; // bound: Runs named where the digits given fit several.

/** A plan's child has a longer key, of which its plan's is a part. */
const WHOLE_KEY_chars = 32;

export interface ResolvedRun {
  readonly stepKey: StepKey;
  /** As the server knows it; null: no server, or it has forgotten the run. */
  readonly live: DescribedRun | null;
  readonly archived: ArchivedRun;
}

/** Null: no run of that name. */
export const findRun = (emend: Emend, text: string): Promise<ResolvedRun | null> =>
  resolveRun(emend, text).catch(nullOn('run_unknown'));

/** Throws ProblemError `run_unknown`, `run_ambiguous` (lists the candidates) or, where it is in no archive and no server answers, `no_server`. */
export const resolveRun = async (emend: Emend, text: string): Promise<ResolvedRun> => {
  const typed = text.trim();
  if (looksLikeWorkflowId(typed))
    return (
      (await byWorkflowId(emend, typed)) ??
      unknown(emend, `No run has the workflow id ${typed.slice(0, 80)}`)
    );
  return byKey(emend, typed.toLowerCase()).catch(async (error: unknown) => {
    nullOn('run_unknown', 'no_server')(error);
    // Whoever starts a run without Emend's commands chooses the workflow id.
    const named = typed === '' ? null : await byWorkflowId(emend, typed);
    if (named === null) throw error;
    return named;
  });
};

const byKey = async (emend: Emend, prefix: string): Promise<ResolvedRun> => {
  if (!/^[0-9a-z-]+$/.test(prefix) || prefix.length < BOUNDS.runPrefix_chars)
    return fail(
      'run_unknown',
      `"${prefix.slice(0, 80)}" does not name a run; expected at least the first ${BOUNDS.runPrefix_chars} digits of a run's id, or a workflow id (emend/…).`,
    );
  // `1234abcd-p2-1`: a phase's run as it is shown.
  const [, plan, phase = ''] = /^([0-9a-f]{4,32})(-p\d+-\d+)$/.exec(prefix) ?? [];
  if (plan !== undefined) {
    const isPhase = (key: StepKey): boolean => key.endsWith(phase) && planOf(key).startsWith(plan);
    return byPrefix(emend, plan, isPhase, `No run is called "${prefix}"`);
  }
  const whole =
    prefix.length >= WHOLE_KEY_chars && isStepKey(prefix) ? await byStepKey(emend, prefix) : null;
  if (whole !== null) return whole;
  // A plan's phases have longer names, of which the plan's is a part: without them the plan is meant.
  const isMeant = (key: StepKey, keys: ReadonlySet<StepKey>): boolean =>
    planOf(key) === key || !keys.has(planOf(key));
  return byPrefix(emend, prefix, isMeant, `No run starts with "${prefix}"`);
};

/** The one that is meant of all whose keys begin so; `none`: what is said where there is no such run. */
const byPrefix = async (
  emend: Emend,
  prefix: string,
  isMeant: (key: StepKey, known: ReadonlySet<StepKey>) => boolean,
  none: string,
): Promise<ResolvedRun> => {
  const onServer = await serverRuns(emend, prefix);
  const known = new Set([
    ...(await emend.archive.find(prefix)),
    ...onServer.flatMap(({ memo }) => memo?.stepKey ?? []),
  ]);
  const keys = [...known].filter((key) => isMeant(key, known));
  const [stepKey, ...others] = keys;
  if (stepKey === undefined) return unknown(emend, none);
  if (others.length > 0) return ambiguous(emend, prefix, keys.sort());
  return withLive(emend, stepKey, onServer.find((run) => run.memo?.stepKey === stepKey) ?? null);
};

/** A whole key names one run: no list is needed where this machine's archive knows it. */
const byStepKey = async (emend: Emend, stepKey: StepKey): Promise<ResolvedRun | null> => {
  const run = await withLive(emend, stepKey, null).catch(nullOn('disk'));
  return run?.archived.started == null ? null : run;
};

/** A run whose stepKey is known. `seen`: what a list just said of it; without that, throws ProblemError `disk` where its archive cannot be read. */
export const withLive = async (
  emend: Emend,
  stepKey: StepKey,
  seen: DescribedRun | null,
): Promise<ResolvedRun> => {
  const archived = seen
    ? await readAmongOthers(emend, stepKey)
    : archivedRun(stepKey, await emend.archive.read(stepKey));
  return { stepKey, archived, live: seen ?? (await describeArchived(emend, archived)) };
};

/** The newest run of the workflow id while it is still this step's (a reset keeps the memo), else the last one known to have ended, or that was started. */
export const describeArchived = async (
  { runs, namespace }: Emend,
  { stepKey, started, closedRuns }: ArchivedRun,
): Promise<DescribedRun | null> => {
  if (runs === null || started?.namespace !== namespace) return null;
  const newest = await runs.describe({ workflowId: started.workflowId, runId: null });
  if (newest?.memo?.stepKey === stepKey) return newest;
  const own = await runs.describe({
    workflowId: started.workflowId,
    runId: closedRuns.at(-1) ?? started.runId,
  });
  return own?.memo?.stepKey === stepKey ? own : null;
};

const serverRuns = async ({ runs }: Emend, prefix: string): Promise<readonly DescribedRun[]> => {
  if (runs === null) return [];
  const type = OUR_WORKFLOWS;
  const mine = (run: DescribedRun): boolean => run.memo?.stepKey.startsWith(prefix) ?? false;
  const attributes = await runs.searchAttributes();
  const filter = attributes
    ? `${type} AND ${SEARCH_ATTRIBUTES.stepKey} STARTS_WITH "${prefix}"`
    : type;
  const found = (await runs.list(filter, SCANNED_RUNS)).filter(mine);
  if (found.length > 0 || !attributes) return found;
  // A run has no such attribute before a worker begins it, and none if it was cancelled before that: its ids give its key.
  const unbegun = `${type} AND ${SEARCH_ATTRIBUTES.stepKey} IS NULL`;
  return (await runs.list(unbegun, SCANNED_RUNS)).filter(mine);
};

/** Null: neither the server nor the archive knows the workflow id. Throws ProblemError `run_unknown` for a run without a key. */
const byWorkflowId = async (emend: Emend, workflowId: string): Promise<ResolvedRun | null> => {
  const live = (await emend.runs?.describe({ workflowId, runId: null })) ?? null;
  if (live?.memo) return withLive(emend, live.memo.stepKey, live);
  const stepKey = (await runIndex(emend)).ofWorkflow(workflowId);
  if (stepKey !== null)
    return { stepKey, archived: await readAmongOthers(emend, stepKey), live: null };
  return live && keyless(emend, live);
};

/** Says why a workflow on the server has no key: its input was not read yet, or did not fit, or it is no workflow of Emend. */
const keyless = async (emend: Emend, run: DescribedRun): Promise<never> => {
  const workflowId = run.workflowId.slice(0, 80);
  if (run.open)
    return fail(
      'run_unknown',
      `No worker has read the input of ${workflowId} yet, or it is no workflow of Emend.`,
      'Start a worker: emend worker',
    );
  const { message } = await needRuns(emend).closed(run);
  return fail(
    'run_unknown',
    `${workflowId} ended (${run.status}) before it began: ${message ?? 'it was aborted'}`,
    'Correct its input, then start it again: docs/temporal-ui.md, "Starting a run".',
  );
};

/** Without a server no one can say that there is no such run: the missing server is what to fix. With one: `message` and `next`. */
export const unknown = (
  { runs, unreachable }: Emend,
  sentence: string,
  message = `${sentence}.`,
  next?: string,
): never =>
  runs === null && unreachable !== null
    ? fail(
        'no_server',
        `${sentence} in the archive of this machine. ${unreachable.message}`,
        unreachable.next,
      )
    : fail('run_unknown', message, next);

const ambiguous = async (
  emend: Emend,
  prefix: string,
  keys: readonly StepKey[],
): Promise<never> => {
  const lines = await Promise.all(
    keys.slice(0, RUN_CANDIDATES).map(async (stepKey) => {
      const { started, firstAt } = await readAmongOthers(emend, stepKey);
      return `  ${distinct(stepKey, keys)}  ${started?.title ?? ''}  ${firstAt ?? ''}`.trimEnd();
    }),
  );
  const more = keys.length > RUN_CANDIDATES ? [`  and ${keys.length - RUN_CANDIDATES} more`] : [];
  return fail(
    'run_ambiguous',
    [`"${prefix}" fits ${keys.length} runs:`, ...lines, ...more].join('\n'),
  );
};

/** As many digits as tell it from the others, at least the shown 8. */
const distinct = (stepKey: StepKey, keys: readonly StepKey[]): string => {
  const others = keys.filter((other) => other !== stepKey);
  for (let length = shownKey(stepKey).length; length < stepKey.length; length++) {
    const short = stepKey.slice(0, length);
    if (!others.some((other) => other.startsWith(short))) return short;
  }
  return stepKey;
};

/** The same run as it is now: a reset or a closing may have come in between. */
export const refreshRun = async (
  emend: Emend,
  { stepKey, live }: ResolvedRun,
): Promise<ResolvedRun> => {
  const newest = live && (await emend.runs?.describe({ workflowId: live.workflowId, runId: null }));
  return withLive(emend, stepKey, newest?.memo?.stepKey === stepKey ? newest : null);
};

// Keeps how a run ended: a server forgets closed runs (the dev server after a day), the archive does not. A run that was cut off had no
// last activity to bring what it had done: whoever finds it closed brings that too.

const CLOSE_QUERY_MS = 5_000; // bound: A run that has ended is asked for its last events this long.
const EVENTS_PAGE = 500; // bound: Events of one page.

/** Asks the server how a closed run ended and notes it, once for each run (a reset makes another one). Returns the archive with that. */
export const noteClosed = async (emend: Emend, run: ResolvedRun): Promise<ArchivedRun> => {
  const { live, archived } = run;
  if (live === null || emend.runs === null || archived.closedRuns.includes(live.runId))
    return archived;
  const closed = await withEarlierCommit(archived, await emend.runs.closed(live));
  const entry: ArchiveEntry = {
    id: closedId(live.runId, archived.omitted !== null),
    at: (live.closedAt ?? new Date()).toISOString(),
    kind: 'closed',
    data: closed,
  };
  // An activity that never began told nothing of what it was handed.
  const lacks =
    closed.result === null || archived.events.some(({ seq }, index) => seq !== index + 1);
  const events = lacks ? await maskedEntries(await eventsOf(emend.runs, live), live.runId) : [];
  const note = async () => {
    const applied = closed.result === null ? await appliedUntold(emend, run) : [];
    await emend.archive.append(run.stepKey, [...events, ...applied, entry]);
    await leaveEvidence(emend, run);
    return archivedRun(run.stepKey, await emend.archive.read(run.stepKey));
  };
  // What cannot be kept now is told all the same, and kept by whoever looks next.
  return (await note().catch(nullOn('disk', 'store_unusable'))) ?? { ...archived, closed };
};

/** Unsigned where nobody is to vouch for runs of this workspace. What cannot be signed now `emend evidence` signs later, and says why not. Loaded for a run that has just ended. */
const leaveEvidence = async (
  emend: Emend,
  { stepKey, archived, live }: ResolvedRun,
): Promise<void> => {
  const workspace = archived.started?.workspace ?? live?.memo?.workspace;
  // From a bucket it is copied for whoever asks for it.
  if (workspace === undefined || isBucket(emend.store)) return;
  const { evidenceKey, writeEvidence } = await import('../archive/evidence.js');
  await writeEvidence(emend, stepKey, workspace, await evidenceKey(workspace)).catch(
    () => undefined,
  );
};

/** Files that the step applied, as the disk says and the archive does not: its worker died between the last of them and the notice. */
const appliedUntold = async (
  { home }: Emend,
  { stepKey, archived: { started, applied } }: ResolvedRun,
): Promise<readonly ArchiveEntry[]> => {
  if (started === null) return [];
  const { workspace } = started;
  const holder = await createLocks({ home })
    .read(workspace)
    .catch(() => null);
  if (holder?.stepKey !== stepKey) return [];
  const records = await appliedUnder(realSys, homePaths(home).transactions, workspace, holder);
  const files = records.flatMap(({ closed }) => closed.files);
  return foundApplied(holder, applied, files);
};

/** An entry for files that are applied under the lock and that the archive does not know of; none where it knows them all. */
export const foundApplied = (
  { token }: WorkspaceLock,
  known: readonly string[],
  files: readonly string[],
): readonly ArchiveEntry[] => {
  if (files.every((path) => known.includes(path))) return [];
  const data: RecoveryData = { how: 'found', files: [...new Set(files)] };
  return [{ id: `recovery-${token}-found`, at: new Date().toISOString(), kind: 'recovery', data }];
};

/** All of them where a worker can still replay the run, else those that its history holds. */
const eventsOf = async (runs: RunGateway, run: DescribedRun): Promise<readonly StepEvent[]> => {
  const ask = (query: EventsQuery): Promise<readonly StepEvent[]> =>
    runs.query(run, QUERIES.events, [query], CLOSE_QUERY_MS);
  try {
    return (await runs.polled(run.queue))
      ? await eventsFrom(0, ask)
      : await runs.historyEvents(run);
  } catch (error) {
    problemOn()(error);
    return runs.historyEvents(run).catch(() => []);
  }
};

/** All events after `after` (a `seq`), oldest first, asked for page by page. */
export const eventsFrom = async (
  after: number,
  ask: (query: EventsQuery) => Promise<readonly StepEvent[]>,
): Promise<readonly StepEvent[]> => {
  const events: StepEvent[] = [];
  for (let last = after; ;) {
    // What was told already is no news: a page without any is the last one, whatever it holds.
    const page = (await ask({ after: last, limit: EVENTS_PAGE })).filter(({ seq }) => seq > last);
    for (const event of page) events.push(event); // spread, they would all be arguments of one call
    if (page.length < EVENTS_PAGE) return events;
    last = page.at(-1)?.seq ?? last;
  }
};
