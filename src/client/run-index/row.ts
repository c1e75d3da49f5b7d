/** A row of the index: what lists, searches, statistics and `emend gc` read of a run without its archive. Pure, but for the task's text. */
import type { BlobRef, StepKey } from '../../shared/ids.js';
import type { LISTED_STATES } from '../../shared/run.js';
import { statsOfRun, type PlanStats } from '../../documents/plan/index.js';
import { nullOn } from '../../shared/problems.js';
import { jsonOf } from '../../system/durable.js';
import type { BlobStore } from '../../stores/ports.js';
import { isRecord } from '../../shared/text.js';
import { countsOfRun, reportFacts, type ReportFacts, type RunCounts } from '../archive/report.js';
import type { ArchivedRun } from '../archive/run.js';
import { archivedStatus } from '../archive/status.js';

const TASK_CHARS = 1_000; // bound: Characters of a task that are searched.
const FILES_CHARS = 2_000; // bound: Characters of the paths of a run's files that are searched.
const OUTCOME_CHARS = 500; // bound: Characters of the sentence about its end that are searched.

export interface RunRow {
  readonly stepKey: StepKey;
  /** Time of its last entry, in milliseconds since 1970: lists are in this order. */
  readonly last_ms: number;
  readonly state: (typeof LISTED_STATES)[number];
  /** The archive has how it ended. Of others the server is asked. */
  readonly isEnded: boolean;
  /** A directory, or the address of a repository. */
  readonly workspace: string;
  /** The plan's document; empty: it is no run of a plan. */
  readonly plan: string;
  readonly facts: RowFacts;
  /** What is searched, in lower case. */
  readonly text: string;
}

export interface RowFacts {
  /** `Archive.stamp` at the time when the archive was read. */
  readonly stamp: string;
  /** ISO time of its first entry; null: it has none. */
  readonly startedAt: string | null;
  readonly title: string;
  readonly jobPath: string;
  readonly doing: string;
  /** Null: it is not known which workflow it is. */
  readonly workflowId: string | null;
  readonly namespace: string | null;
  /** Name of its host's task queue. */
  readonly hostQueue: string | null;
  /** Its archive says that all its work was done, perhaps not how it ended. */
  readonly isFinished: boolean;
  /** Why parts of its archive are not in the row; null: all were read. */
  readonly omitted: string | null;
  readonly counts: RunCounts;
  readonly planStats: PlanStats | null;
}

/** Returns the row of a run whose archive had this stamp before it was read. */
export const rowOf = async (
  blobs: Pick<BlobStore, 'get'>,
  run: ArchivedRun,
  stamp: string,
): Promise<RunRow> => {
  const { stepKey, closed } = run;
  const { workspace, state } = archivedStatus(run);
  const report = reportFacts(run);
  const facts = factsOf(run, report, stamp);
  const isPlan = facts.planStats !== null || run.activities.some(({ name }) => name === 'readPlan');
  const task = await taskOf(blobs, run.started?.job);
  return {
    stepKey,
    last_ms: Date.parse(run.lastAt ?? '') || 0,
    state: closed === null ? 'unknown' : state,
    isEnded: closed !== null,
    workspace,
    plan: isPlan ? facts.jobPath : '',
    facts,
    text: searchable([...textsOf(run, report), task].join(' ')),
  };
};

const factsOf = (run: ArchivedRun, report: ReportFacts, stamp: string): RowFacts => {
  const { started, events, omitted } = run;
  const { title, jobPath, doing } = archivedStatus(run);
  return {
    stamp,
    startedAt: run.firstAt,
    title,
    jobPath,
    doing: started === null ? (omitted ?? doing) : doing,
    workflowId: started?.workflowId ?? null,
    namespace: started?.namespace ?? null,
    hostQueue: started?.queues.host ?? null,
    isFinished: events.some(({ type }) => type === 'step_finished'),
    omitted,
    counts: countsOfRun(report),
    planStats: statsOfRun(events),
  };
};

/** Returns what is searched of a run, but for its task. */
const textsOf = (run: ArchivedRun, report: ReportFacts): readonly string[] => {
  const { stepKey, started, closed } = run;
  const { title, jobPath, workspace, doing } = archivedStatus(run);
  const files = new Set([
    ...(closed?.result?.files ?? []),
    ...report.ledger.map(({ path }) => path),
  ]);
  return [
    stepKey,
    title,
    jobPath,
    workspace,
    started?.workflowId ?? '',
    closed === null ? '' : doing.slice(0, OUTCOME_CHARS),
    report.outcome ?? '',
    [...files].join(' ').slice(0, FILES_CHARS),
  ];
};

/** Returns the text in the form in which it is searched. */
export const searchable = (text: string): string =>
  text.toLowerCase().replaceAll(/\s+/g, ' ').trim();

/** Returns the instructions of a stored job as far as they are searched; empty: they are gone, or there are none. */
const taskOf = async (blobs: Pick<BlobStore, 'get'>, job: BlobRef | undefined): Promise<string> => {
  if (job === undefined) return '';
  const bytes = await blobs.get(job).catch(nullOn('blob_lost', 'disk', 'store_unusable'));
  if (bytes === null) return '';
  const text = new TextDecoder().decode(bytes);
  const value = jsonOf(text);
  const instructions =
    isRecord(value) && typeof value.instructions === 'string' ? value.instructions : text;
  return instructions.slice(0, TASK_CHARS);
};

// A row is a line of fields: those by which rows are chosen first, so that most rows are never parsed.

const FIELD = '\t';
/** JSON has no raw tabs or line ends, so a quoted text is a field. */
export const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
export const unquoted = (field: string): string => JSON.parse(`"${field}"`) as string;

export const lineOfRow = (row: RunRow): string =>
  [
    row.stepKey,
    row.last_ms,
    row.state,
    row.isEnded ? 'ended' : 'open',
    quoted(row.workspace),
    quoted(row.plan),
    JSON.stringify(row.facts),
    quoted(row.text),
  ].join(FIELD);

/** The checksum of its block was right, so the line is as it was written. */
export const rowOfLine = (line: string): RunRow => {
  const [
    stepKey = '',
    last = '',
    state = '',
    ended = '',
    workspace = '',
    plan = '',
    facts = '',
    text = '',
  ] = line.split(FIELD);
  return {
    stepKey,
    last_ms: Number(last),
    state: state as RunRow['state'],
    isEnded: ended === 'ended',
    workspace: unquoted(workspace),
    plan: unquoted(plan),
    facts: JSON.parse(facts) as RowFacts,
    text: unquoted(text),
  };
};
