/**
 * Keeps how a run ended: a server forgets closed runs (the dev server after a day), the archive does not. A run that was cut off had no
 * last activity to bring what it had done: whoever finds it closed brings that too.
 */
import { ProblemError } from '../../shared/problems.js';
import { QUERIES } from '../../shared/names.js';
import type { EventsQuery } from '../../shared/run.js';
import type { StepEvent } from '../../shared/events.js';
import { appliedUnder, createLocks } from '../../workspace/apply/index.js';
import { homePaths } from '../../stores/home.js';
import { isBucket } from '../../stores/location.js';
import { realSys } from '../../system/sys.js';
import { eventEntries, type ArchiveEntry } from '../../stores/ports.js';
import type { WorkspaceLock } from '../../workspace/ports.js';
import { archivedRun, closedId, type ArchivedRun, type RecoveryData } from '../archive/run.js';
import type { ResolvedRun } from './resolve.js';
import type { ClosedRun, DescribedRun, Emend, RunGateway } from '../types.js';

const CLOSE_QUERY_MS = 5_000; // bound: A run that has ended is asked for its last events this long.
const EVENTS_PAGE = 500; // bound: Events of one page.

/** Asks the server how a closed run ended and notes it, once for each run (a reset makes another one). Returns the archive with that. */
export const noteClosed = async (emend: Emend, run: ResolvedRun): Promise<ArchivedRun> => {
  const { live, archived } = run;
  if (live === null || emend.runs === null || archived.closedRuns.includes(live.runId)) return archived;
  const closed: ClosedRun = await emend.runs.closed(live);
  const entry: ArchiveEntry = {
    id: closedId(live.runId),
    at: (live.closedAt ?? new Date()).toISOString(),
    kind: 'closed',
    data: closed,
  };
  // An activity that never began told nothing of what it was handed.
  const lacks = closed.result === null || archived.events.some(({ seq }, index) => seq !== index + 1);
  const events = lacks ? eventEntries(await eventsOf(emend.runs, live), live.runId) : [];
  const applied = closed.result === null ? await appliedUntold(emend, run) : [];
  await emend.archive.append(run.stepKey, [...events, ...applied, entry]);
  await leaveEvidence(emend, run);
  return archivedRun(run.stepKey, await emend.archive.read(run.stepKey));
};

/** Unsigned where nobody is to vouch for runs of this workspace. What cannot be signed now `emend evidence` signs later, and says why not. Loaded for a run that has just ended. */
const leaveEvidence = async (emend: Emend, { stepKey, archived, live }: ResolvedRun): Promise<void> => {
  const workspace = archived.started?.workspace ?? live?.memo?.workspace;
  // From a bucket it is copied for whoever asks for it.
  if (workspace === undefined || isBucket(emend.store)) return;
  const { evidenceKey, writeEvidence } = await import('../archive/evidence.js');
  await writeEvidence(emend, stepKey, workspace, await evidenceKey(workspace)).catch(() => undefined);
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
    return (await runs.polled(run.queue)) ? await eventsFrom(0, ask) : await runs.historyEvents(run);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
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
    events.push(...page);
    if (page.length < EVENTS_PAGE) return events;
    last = page.at(-1)?.seq ?? last;
  }
};
