/** What the archive holds of a run: enough to answer for it with no worker, or with no server at all. Pure. */
import type { StepEvent } from '../../shared/events.js';
import type { Queues } from '../../shared/names.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import type { EditStepInput, RunWords } from '../../shared/run.js';
import { isBlobRef, type StepKey } from '../../shared/ids.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import { isKnown, sentence, unknownVersion } from '../../shared/problems.js';
import type { ArchiveEntry, NewerEntries } from '../../stores/ports.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import { isRecord } from '../../shared/text.js';
import type { ClosedRun } from '../types.js';

/** What the client notes when a run has started. */
export interface StartedData
  extends Partial<Pick<EditStepInput, 'job' | 'follows'>>, Omit<RunWords, 'stepKey' | 'doing'> {
  readonly workflowId: string;
  readonly runId: string;
  readonly namespace: string;
  readonly address: string;
  readonly queues: Queues;
}

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
  /** Answers as they were sent from this machine, in order. */
  readonly requests: readonly DecisionRequest[];
  /** Proposals in the order in which they were made; of a very large one only the references are kept, no list of files. */
  readonly versions: readonly ProposalVersion[];
  /** The last one. */
  readonly proposal: ProposalSummary | null;
  /** Of the activities that ended. */
  readonly usage: StepUsage;
  /** Paths that it applied and that were neither rolled back, undone nor committed since. */
  readonly applied: readonly string[];
  /** Entries that a newer Emend wrote: left out. */
  readonly newer: number;
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

/** Id of the entry that says how a run ended. */
export const closedId = (runId: string): string => `closed-${runId}`;

export const isEvent = (data: unknown): data is StepEvent =>
  isRecord(data) && typeof data.seq === 'number' && typeof data.type === 'string' && Number.isSafeInteger(data.at);

const isStarted = (data: unknown): data is StartedData => isRecord(data) && typeof data.workflowId === 'string';

const isClosed = (data: unknown): data is ClosedRun =>
  isRecord(data) && typeof data.status === 'string' && 'result' in data;

/** A result of a later version, kept by a client that knew it, is not guessed at. */
const readable = (closed: ClosedRun): ClosedRun => {
  if (closed.result === null || isKnown(closed.result)) return closed;
  return { ...closed, result: null, message: sentence(unknownVersion('The result of the run', closed.result)) };
};

export const archivedRun = (stepKey: StepKey, all: readonly ArchiveEntry[]): ArchivedRun => {
  const entries = all.filter(({ kind }) => kind !== 'newer');
  const of = (kind: ArchiveEntry['kind']): unknown[] =>
    entries.filter((entry) => entry.kind === kind).map((entry) => entry.data);
  const events = new Map<number, StepEvent>();
  for (const event of of('event').filter(isEvent)) if (!events.has(event.seq)) events.set(event.seq, event);
  const activities = entries.flatMap(({ kind, at, data }) =>
    kind === 'activity' && isActivity(data) ? [{ ...data, at }] : [],
  );
  const started = of('started').find(isStarted) ?? null;
  const versions = versionsOf(entries, started?.follows?.notes);
  return {
    ...{ stepKey, started, activities, versions },
    firstAt: entries[0]?.at ?? null,
    lastAt: entries.at(-1)?.at ?? null,
    events: [...events.values()].sort((a, b) => a.seq - b.seq),
    closed: of('closed').filter(isClosed).map(readable).at(-1) ?? null,
    closedRuns: entries.filter(({ kind }) => kind === 'closed').map(({ id }) => id.slice(closedId('').length)),
    requests: of('decision').flatMap((data) =>
      isRecord(data) && isRecord(data.request) ? [data.request as unknown as DecisionRequest] : [],
    ),
    proposal: versions.at(-1)?.proposal ?? null,
    usage: usageOf(activities),
    newer: (all.find(({ kind }) => kind === 'newer')?.data as NewerEntries | undefined)?.entries ?? 0,
    ...appliedOf(entries),
  };
};

const versionsOf = (entries: readonly ArchiveEntry[], said: readonly string[] = []): readonly ProposalVersion[] => {
  const versions: ProposalVersion[] = [];
  let notes = [...said];
  for (const { kind, data } of entries) {
    const last = versions.at(-1);
    if (kind === 'event' && isEvent(data) && data.type === 'decided' && last !== undefined)
      versions[versions.length - 1] = { ...last, answered: true };
    if (kind === 'decision' && isRecord(data) && ['resolved', 'recorded', 'sent'].includes(outcomeOf(data.result))) {
      const { note } = (data.request ?? {}) as Partial<DecisionRequest>;
      if (note !== undefined) notes.push(note);
    }
    const proposal = kind === 'activity' && isActivity(data) ? proposalOf(data.result) : null;
    // A retry, or a replay after a reset, makes the same one again.
    if (proposal === null || proposal.id === last?.proposal.id) continue;
    versions.push({ proposal, notes, answered: false });
    notes = [];
  }
  return versions;
};

/** As the reducer counts: a tally is the sum of all calls so far, and results after the first add nothing. */
const usageOf = (activities: readonly ArchivedActivity[]): StepUsage => {
  let sum = NO_USAGE;
  let usageFromJournal = false;
  for (const { name, result } of activities) {
    if (!isRecord(result) || !isUsage(result.usage)) continue;
    if (name !== 'countUsage') sum = usageFromJournal ? sum : addUsage(sum, result.usage);
    else if (result.usage.calls >= sum.calls) [sum, usageFromJournal] = [result.usage, true];
  }
  return sum;
};

const appliedOf = (entries: readonly ArchiveEntry[]): Pick<ArchivedRun, 'applied' | 'kept'> => {
  const applied = new Set<string>();
  let kept = false;
  for (const { kind, data } of entries) {
    if (kind === 'recovery' && isRecovery(data)) {
      kept = data.how === 'keep';
      if (data.how === 'found') for (const path of data.files) applied.add(path);
      else if (!kept) applied.clear();
    }
    if (kind !== 'activity' || !isActivity(data)) continue;
    if (data.name === 'applyProposal') for (const path of pathsOf(data.result)) applied.add(path);
    if (data.name === 'rollBack' || (data.name === 'commit' && outcomeOf(data.result) === 'committed')) applied.clear();
  }
  return { applied: [...applied], kept };
};

const isRecovery = (data: unknown): data is RecoveryData =>
  isRecord(data) && ['undo', 'keep', 'found', 'committed'].includes(String(data.how)) && Array.isArray(data.files);

const pathsOf = (result: unknown): readonly string[] =>
  isRecord(result) && Array.isArray(result.files) ? result.files.filter((path) => typeof path === 'string') : [];

export interface ArchivedActivity {
  /** ISO time of its end. */
  readonly at: string;
  readonly name: string;
  /** Of one that is about a file of the step; `*`: several. */
  readonly file?: string;
  readonly result: unknown;
}
const isActivity = (data: unknown): data is Omit<ArchivedActivity, 'at'> =>
  isRecord(data) && typeof data.name === 'string';

export const isUsage = (usage: unknown): usage is StepUsage =>
  isRecord(usage) && typeof usage.calls === 'number' && typeof usage.input_tokens === 'number';

export const outcomeOf = (result: unknown): string =>
  isRecord(result) && typeof result.outcome === 'string' ? result.outcome : 'done';

const proposalOf = (result: unknown): ProposalSummary | null => {
  if (!isRecord(result)) return null;
  // A result that was too large for the archive: its first characters still name what is kept elsewhere.
  if (typeof result.cut === 'string') {
    const [, id, ref, diff] =
      /"proposal":\{"id":"([0-9a-f]{64})","ref":"([^"]*)","diff":"([^"]*)"/.exec(result.cut) ?? [];
    if (id === undefined || !isBlobRef(ref) || !isBlobRef(diff)) return null;
    return { id, ref, diff, files: [], findings: [], tolerances: [], mustAsk: [] };
  }
  const { proposal } = result;
  if (!isRecord(proposal) || typeof proposal.id !== 'string' || !isBlobRef(proposal.ref) || !isBlobRef(proposal.diff))
    return null;
  return proposal as unknown as ProposalSummary;
};
