/** A run as its archive has it. So commands can show a run without a worker and without a server. */
import type { StepEvent } from '../../shared/events.js';
import type { Queues } from '../../shared/names.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import type { TestRun } from '../../shared/test-activities.js';
import type { StepSetup, RunWords } from '../../shared/run.js';
import { isBlobRef, type BlobRef, type StepKey } from '../../shared/ids.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import { problemOn } from '../../shared/problems.js';
import type { ArchiveEntry, NewerEntries } from '../../stores/ports.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import { isRecord } from '../../shared/text.js';
import { isOfKind, storedKinds } from '../../system/version.js';
import type { ClosedRun, Emend } from '../types.js';

/** The entry that the first activity of a run writes. */
export interface StartedData
  extends Partial<Pick<StepSetup, 'follows'>>, Omit<RunWords, 'stepKey' | 'doing'> {
  /** The stored job; absent: preflight has not read the file yet. */
  readonly job?: BlobRef;
  readonly workflowId: string;
  readonly runId: string;
  readonly namespace: string;
  readonly address: string;
  readonly queues: Queues;
}

/** The part of an answer that the archive keeps. */
export type SentRequest = Pick<
  DecisionRequest,
  'decision' | 'answer' | 'files' | 'note' | 'select' | 'signed'
>;

export interface ArchivedRun {
  readonly stepKey: StepKey;
  readonly started: StartedData | null;
  /** ISO time of the first and the last entry. */
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  /** In order of `seq`, each once. */
  readonly events: readonly StepEvent[];
  /** Null: the archive does not have the end of the run. */
  readonly closed: ClosedRun | null;
  /** Ids of the executions that ended. A reset makes another execution of the same run. */
  readonly closedRuns: readonly string[];
  /** The activities that ended, in order. */
  readonly activities: readonly ArchivedActivity[];
  readonly requests: readonly SentRequest[];
  /** The proposals, the oldest first. */
  readonly versions: readonly ProposalVersion[];
  /** The newest proposal. */
  readonly proposal: ProposalSummary | null;
  /** The usage of the activities that ended. */
  readonly usage: StepUsage;
  /** Paths that the run applied. They were not rolled back, undone or committed since. */
  readonly applied: readonly string[];
  /** The entries that are omitted, and the advice what to do; null: all entries were read. */
  readonly omitted: string | null;
  /** True: `emend recover --keep` keeps the files of the ended run. */
  readonly kept: boolean;
}

export interface ProposalVersion {
  readonly proposal: ProposalSummary;
  /** Notes of the answers that led to the proposal, if the client or the page sent them. */
  readonly notes: readonly string[];
  /** True: a decision was answered while this was the newest proposal. */
  readonly answered: boolean;
}

/**
 * The entry that recovery writes about a run that had ended and still had the lock of its workspace. `undo` and `keep` are the answers of the
 * person who recovers. `found` (files are applied) and `committed` are what the archive did not have yet.
 */
export interface RecoveryData {
  readonly how: 'undo' | 'keep' | 'found' | 'committed';
  readonly files: readonly string[];
}

/**
 * Returns the id of the entry with the end of a run. `again`: the entry replaces a damaged one. Readers drop an entry whose id they have read
 * before, so it needs another id.
 */
export const closedId = (runId: string, again = false): string =>
  `closed-${runId}${again ? ' again' : ''}`;

/**
 * The data of entries by their kind, and the parts of activity results that are read. An archive may be damaged, edited by hand, or somebody
 * else's. So an entry counts only if its fields have these types. Other entries are omitted and counted. A word that this version does not know
 * is no damage. docs/reference/archive.json is generated from these types.
 */
interface ArchiveParts {
  readonly started: StartedData;
  readonly event: StepEvent;
  readonly activity: Omit<ArchivedActivity, 'at'>;
  readonly decision: { readonly request: SentRequest; readonly result?: unknown };
  readonly closed: ClosedRun;
  readonly recovery: RecoveryData;
  readonly proposal: ProposalSummary;
  readonly usage: StepUsage;
  readonly tests: Pick<TestRun, 'outcome' | 'summary'> &
    Partial<Pick<TestRun, 'seconds' | 'output'>>;
}

export const isPart = <T extends keyof ArchiveParts>(
  part: T,
  value: unknown,
): value is ArchiveParts[T] => isOfKind(storedKinds()[part], value);

/** Checks an event. Of a type that this version does not know, it only checks the fields that all events have. */
export const isEvent = (data: unknown): data is StepEvent => {
  if (!isRecord(data) || typeof data.seq !== 'number' || typeof data.type !== 'string')
    return false;
  const { event } = storedKinds();
  const own = isRecord(event) && Object.hasOwn(event, data.type) ? event[data.type] : undefined;
  return (
    typeof data.at === 'number' && !Number.isNaN(new Date(data.at).getTime()) && isOfKind(own, data)
  );
};

type ReadKind = Exclude<ArchiveEntry['kind'], 'newer'>;
type ReadEntry = {
  readonly [K in ReadKind]: Omit<ArchiveEntry, 'kind' | 'data'> & {
    readonly kind: K;
    readonly data: ArchiveParts[K];
  };
}[ReadKind];

/** Returns whether the entry can be used. If not, it is damaged. */
const isUsable = (entry: ArchiveEntry): entry is ReadEntry =>
  entry.kind === 'event' ? isEvent(entry.data) : isPart(entry.kind as ReadKind, entry.data);

const omittedOf = (stepKey: StepKey, newer: number, damaged: number): string | null => {
  const upgrade = `${newer} entries of its archive were written by another version of Emend and are omitted; upgrade Emend.`;
  const restore = `Damaged entries of its archive (torn, or a field is missing or has the wrong type) are omitted: ${damaged}; restore archive/${stepKey} in the store.`;
  return [...(newer === 0 ? [] : [upgrade]), ...(damaged === 0 ? [] : [restore])].join(' ') || null;
};

export const archivedRun = (stepKey: StepKey, all: readonly ArchiveEntry[]): ArchivedRun => {
  const omission = all.find(({ kind }) => kind === 'newer')?.data as NewerEntries | undefined;
  const { entries: newer, damaged } = omission ?? { entries: 0, damaged: 0 };
  const known = all.filter(({ kind }) => Object.hasOwn(storedKinds(), kind));
  const entries = known.filter(isUsable);
  const dataOf = <K extends ReadKind>(kind: K) =>
    entries.flatMap((entry) => (entry.kind === kind ? [entry.data as ArchiveParts[K]] : []));
  const events = new Map<number, StepEvent>();
  for (const event of dataOf('event')) if (!events.has(event.seq)) events.set(event.seq, event);
  const activities = entries.flatMap(({ kind, at, data }) =>
    kind === 'activity' ? [{ ...data, at }] : [],
  );
  const started = withReadJob(dataOf('started')[0] ?? null, activities);
  const versions = versionsOf(entries, started?.follows?.notes);
  return {
    stepKey,
    started,
    activities,
    versions,
    firstAt: entries[0]?.at ?? null,
    lastAt: entries.at(-1)?.at ?? null,
    events: [...events.values()].sort((a, b) => a.seq - b.seq),
    closed: dataOf('closed').at(-1) ?? null,
    closedRuns: entries.flatMap(({ kind, id }) =>
      kind === 'closed' ? id.replace(/^closed-| again$/g, '') : [],
    ),
    requests: dataOf('decision').map(({ request }) => request),
    proposal: versions.at(-1)?.proposal ?? null,
    usage: usageOf(activities),
    omitted: omittedOf(stepKey, newer, damaged + known.length - entries.length),
    ...appliedOf(entries),
  };
};

/**
 * Reads one of many archives. If the archive cannot be read, it returns a run of which nothing is known, and `omitted` has the reason. So one
 * archive never hides the others.
 */
export const readAmongOthers = async (
  { archive }: Pick<Emend, 'archive'>,
  stepKey: StepKey,
): Promise<ArchivedRun> => {
  const entries = await archive.read(stepKey).catch(problemOn('disk'));
  return 'code' in entries
    ? { ...archivedRun(stepKey, []), omitted: entries.message }
    : archivedRun(stepKey, entries);
};

const versionsOf = (
  entries: readonly ReadEntry[],
  firstNotes: readonly string[] = [],
): readonly ProposalVersion[] => {
  const versions: ProposalVersion[] = [];
  let notes = [...firstNotes];
  for (const { kind, data } of entries) {
    const last = versions.at(-1);
    if (kind === 'event' && data.type === 'decided' && last !== undefined)
      versions[versions.length - 1] = { ...last, answered: true };
    if (kind === 'decision' && ['resolved', 'recorded', 'sent'].includes(outcomeOf(data.result)))
      if (data.request.note !== undefined) notes.push(data.request.note);
    const proposal = kind === 'activity' ? proposalOf(data.result) : null;
    // A retry, or a replay after a reset, makes the same proposal again.
    if (proposal === null || proposal.id === last?.proposal.id) continue;
    versions.push({ proposal, notes, answered: false });
    notes = [];
  }
  return versions;
};

/**
 * Adds up the usage as the reducer does. A result of `countUsage` is the sum of all calls so far. After it, the results of other activities
 * add nothing.
 */
const usageOf = (activities: readonly ArchivedActivity[]): StepUsage => {
  let sum = NO_USAGE;
  let usageFromJournal = false;
  for (const { name, result } of activities) {
    if (!isRecord(result) || !isPart('usage', result.usage)) continue;
    if (name !== 'countUsage') sum = usageFromJournal ? sum : addUsage(sum, result.usage);
    else if (result.usage.calls >= sum.calls) [sum, usageFromJournal] = [result.usage, true];
  }
  return sum;
};

const appliedOf = (entries: readonly ReadEntry[]): Pick<ArchivedRun, 'applied' | 'kept'> => {
  const applied = new Set<string>();
  let kept = false;
  for (const { kind, data } of entries) {
    if (kind === 'recovery') {
      kept = data.how === 'keep';
      if (data.how === 'found') for (const path of data.files) applied.add(path);
      if (data.how === 'undo' || data.how === 'committed') applied.clear();
    }
    if (kind !== 'activity') continue;
    if (data.name === 'applyProposal') for (const path of pathsOf(data.result)) applied.add(path);
    if (
      data.name === 'rollBack' ||
      (data.name === 'commit' && outcomeOf(data.result) === 'committed')
    )
      applied.clear();
  }
  return { applied: [...applied], kept };
};

/** Returns the job that preflight read from a file. Null: it read none. */
const readJobOf = (
  activities: readonly ArchivedActivity[],
): { readonly ref: BlobRef; readonly title: string } | null => {
  for (const { name, result } of activities) {
    if (name !== 'preflight' || !isRecord(result) || !isRecord(result.job)) continue;
    const { ref, title } = result.job;
    if (isBlobRef(ref) && typeof title === 'string') return { ref, title };
  }
  return null;
};

/** Returns the title of the plan that was read. Null: no plan was read. */
const planTitleOf = (activities: readonly ArchivedActivity[]): string | null => {
  for (const { name, result } of activities)
    if (name === 'readPlan' && isRecord(result) && typeof result.title === 'string')
      return result.title;
  return null;
};

/** Adds what the run learned after its start: the title of the plan, or the job and its title. */
const withReadJob = (
  started: StartedData | null,
  activities: readonly ArchivedActivity[],
): StartedData | null => {
  const job = readJobOf(activities);
  const title = planTitleOf(activities);
  if (started !== null && title !== null) return { ...started, title };
  return started === null || job === null
    ? started
    : { ...started, job: job.ref, title: job.title };
};

const pathsOf = (result: unknown): readonly string[] =>
  isRecord(result) && Array.isArray(result.files)
    ? result.files.filter((path) => typeof path === 'string')
    : [];

export interface ArchivedActivity {
  /** ISO time of the end. */
  readonly at: string;
  readonly name: string;
  /** The file of the step that the activity is about; `*`: several files; absent: none. */
  readonly file?: string;
  readonly result?: unknown;
}

export const outcomeOf = (result: unknown): string =>
  isRecord(result) && typeof result.outcome === 'string' ? result.outcome : 'done';

const proposalOf = (result: unknown): ProposalSummary | null => {
  if (!isRecord(result)) return null;
  const { proposal } = result;
  return isPart('proposal', proposal) && isBlobRef(proposal.ref) && isBlobRef(proposal.diff)
    ? proposal
    : null;
};
