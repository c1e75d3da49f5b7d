/** What the archive holds of a run: enough to answer for it with no worker, or with no server at all. */
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

/** What the first activity of a run notes. */
export interface StartedData
  extends Partial<Pick<StepSetup, 'follows'>>, Omit<RunWords, 'stepKey' | 'doing'> {
  /** The stored job; absent: preflight has not read it yet. */
  readonly job?: BlobRef;
  readonly workflowId: string;
  readonly runId: string;
  readonly namespace: string;
  readonly address: string;
  readonly queues: Queues;
}

/** What is told of an answer. */
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
  /** Null: not known to have ended. */
  readonly closed: ClosedRun | null;
  /** Run ids whose end was noted: a reset makes another run of the same step. */
  readonly closedRuns: readonly string[];
  /** Those that ended, in order. */
  readonly activities: readonly ArchivedActivity[];
  readonly requests: readonly SentRequest[];
  /** Proposals in the order in which they were made. */
  readonly versions: readonly ProposalVersion[];
  /** The last one. */
  readonly proposal: ProposalSummary | null;
  /** Of the activities that ended. */
  readonly usage: StepUsage;
  /** Paths that it applied and that were neither rolled back, undone nor committed since. */
  readonly applied: readonly string[];
  /** Which entries are left out, and what to do about it; null: none are. */
  readonly omitted: string | null;
  /** A person said of an ended run's files: keep them (`emend recover --keep`). */
  readonly kept: boolean;
}

export interface ProposalVersion {
  readonly proposal: ProposalSummary;
  /** Of the answers that led to it, where one of our faces sent them. */
  readonly notes: readonly string[];
  /** Somebody answered while it was the last one. */
  readonly answered: boolean;
}

/**
 * What recovery notes of a run that had ended and still held its workspace: a person's word (`undo`, `keep`), or what the archive had
 * not heard (`found`: files are applied; `committed`: they are committed).
 */
export interface RecoveryData {
  readonly how: 'undo' | 'keep' | 'found' | 'committed';
  readonly files: readonly string[];
}

/** Id of the entry that says how a run ended. `again`: in place of a damaged one, as readers drop what has an id that was there before. */
export const closedId = (runId: string, again = false): string =>
  `closed-${runId}${again ? ' again' : ''}`;

// An archive may be damaged, edited by hand, or somebody else's. What is read of it has the fields of these types, each of its kind, or is
// left out and counted; words that this Emend does not know are no damage. docs/reference/archive.json is made of them.

/** What entries hold, by their kind, and the parts of activities' results that are read. */
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

/** Of an event whose type this Emend does not know, what all events have is looked at. */
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

/** False: it is damaged. */
const isRead = (entry: ArchiveEntry): entry is ReadEntry =>
  entry.kind === 'event' ? isEvent(entry.data) : isPart(entry.kind as ReadKind, entry.data);

const omittedOf = (stepKey: StepKey, newer: number, damaged: number): string | null => {
  const upgrade = `${newer} entries of its archive were written by another version of Emend and are omitted; upgrade Emend.`;
  const restore = `Damaged entries of its archive (torn, or a field is missing or has the wrong type) are omitted: ${damaged}; restore archive/${stepKey} in the store.`;
  return [...(newer === 0 ? [] : [upgrade]), ...(damaged === 0 ? [] : [restore])].join(' ') || null;
};

export const archivedRun = (stepKey: StepKey, all: readonly ArchiveEntry[]): ArchivedRun => {
  const left = all.find(({ kind }) => kind === 'newer')?.data as NewerEntries | undefined;
  const { entries: newer, damaged } = left ?? { entries: 0, damaged: 0 };
  const found = all.filter(({ kind }) => Object.hasOwn(storedKinds(), kind));
  const entries = found.filter(isRead);
  const of = <K extends ReadKind>(kind: K) =>
    entries.flatMap((entry) => (entry.kind === kind ? [entry.data as ArchiveParts[K]] : []));
  const events = new Map<number, StepEvent>();
  for (const event of of('event')) if (!events.has(event.seq)) events.set(event.seq, event);
  const activities = entries.flatMap(({ kind, at, data }) =>
    kind === 'activity' ? [{ ...data, at }] : [],
  );
  const started = withReadJob(of('started')[0] ?? null, activities);
  const versions = versionsOf(entries, started?.follows?.notes);
  return {
    stepKey,
    started,
    activities,
    versions,
    firstAt: entries[0]?.at ?? null,
    lastAt: entries.at(-1)?.at ?? null,
    events: [...events.values()].sort((a, b) => a.seq - b.seq),
    closed: of('closed').at(-1) ?? null,
    closedRuns: entries.flatMap(({ kind, id }) =>
      kind === 'closed' ? id.replace(/^closed-| again$/g, '') : [],
    ),
    requests: of('decision').map(({ request }) => request),
    proposal: versions.at(-1)?.proposal ?? null,
    usage: usageOf(activities),
    omitted: omittedOf(stepKey, newer, damaged + found.length - entries.length),
    ...appliedOf(entries),
  };
};

/** For whoever looks through many: one that cannot be read hides none of the others. Then nothing is known of it, and `omitted` says why. */
export const readAmongOthers = async (
  { archive }: Pick<Emend, 'archive'>,
  stepKey: StepKey,
): Promise<ArchivedRun> => {
  const read = await archive.read(stepKey).catch(problemOn('disk'));
  return 'code' in read
    ? { ...archivedRun(stepKey, []), omitted: read.message }
    : archivedRun(stepKey, read);
};

const versionsOf = (
  entries: readonly ReadEntry[],
  said: readonly string[] = [],
): readonly ProposalVersion[] => {
  const versions: ProposalVersion[] = [];
  let notes = [...said];
  for (const { kind, data } of entries) {
    const last = versions.at(-1);
    if (kind === 'event' && data.type === 'decided' && last !== undefined)
      versions[versions.length - 1] = { ...last, answered: true };
    if (kind === 'decision' && ['resolved', 'recorded', 'sent'].includes(outcomeOf(data.result)))
      if (data.request.note !== undefined) notes.push(data.request.note);
    const proposal = kind === 'activity' ? proposalOf(data.result) : null;
    // A retry, or a replay after a reset, makes the same one again.
    if (proposal === null || proposal.id === last?.proposal.id) continue;
    versions.push({ proposal, notes, answered: false });
    notes = [];
  }
  return versions;
};

/** As the reducer counts: a count is the sum of all calls so far, and results after the first add nothing. */
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

/** What preflight noted of the job that it read from a file; null: it read none. */
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

/** Returns the title of the plan that was read; null: no plan was. */
const planTitleOf = (activities: readonly ArchivedActivity[]): string | null => {
  for (const { name, result } of activities)
    if (name === 'readPlan' && isRecord(result) && typeof result.title === 'string')
      return result.title;
  return null;
};

/** The title of a plan is known once it was read; the job and its title, once preflight has read the file. */
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
  /** ISO time of its end. */
  readonly at: string;
  readonly name: string;
  /** Of one that is about a file of the step; `*`: several. */
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
