/** A row of the index: what lists, searches, statistics and `emend gc` read of a run without its archive. */
import type { StepKey } from '../../shared/ids.js';
import type { LISTED_STATES } from '../../shared/run.js';
import type { PlanStats } from '../../documents/plan/index.js';
import type { RunCounts } from '../archive/statistics.js';

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

/** Returns the text in the form in which it is searched. */
export const searchable = (text: string): string =>
  text.toLowerCase().replaceAll(/\s+/g, ' ').trim();

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
