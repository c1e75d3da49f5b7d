/**
 * Decides what a run of a plan takes over from an earlier run although the documents do not show it, and whether Emend asks you first:
 *
 *     a phase that is committed but has no marker   done if neither its text nor its marker was changed since; else Emend asks
 *     replans, failures, scores of a model          taken from the newest checkpoint
 *
 * Emend takes over a checkpoint without a question if its tests passed, it has no error, it is younger than seven days, the plan is unchanged,
 * and its status is `in_progress`. It also does not ask if the checkpoint makes no difference. Tokens and money that the earlier run spent
 * count against the budgets of the new run. If nothing else is left, it is taken over without a question. Pure.
 */

import type { BlobRef } from '../../shared/ids.js';
import type {
  PlanCheckpoint,
  ResumePhase,
  ResumePoint,
  PhaseFailure,
  PhaseReading,
  PlanSpent,
  ReplanRecord,
} from '../../shared/plan.js';
import { withoutNulls } from '../../shared/absence.js';

// bound: Maximum age of a checkpoint that is taken over without a question, if there is no other reason to ask.
const CHECKPOINT_FRESH_MS = 7 * 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000; // bound: Unit in which a message shows the age of a checkpoint.

/** A phase of the document with the commit that an earlier run made for it. */
export interface Committed {
  readonly id: string;
  readonly commit: string;
  readonly tests: 'pass' | 'no_tests';
  /** The reason to ask whether the commit counts, or null if it counts without a question. */
  readonly doubt: string | null;
}
export interface ResumeFacts {
  readonly checkpoint: PlanCheckpoint | null;
  /** Whether the branch contains the last commit of the checkpoint. */
  readonly holdsLast: boolean;
  readonly hash: string;
  readonly phases: readonly PhaseReading[];
  readonly committed: readonly Committed[];
  /** Marks in the documents on disk that no commit contains. The checkpoint may name others. */
  readonly marks: readonly BlobRef[];
  /** Usage of the checkpoint's run and the runs before it. Null if there is no checkpoint. */
  readonly spent: PlanSpent | null;
  /** Whether the plan has a budget. */
  readonly bounded: boolean;
  /** ms since the epoch. */
  readonly currentTime_ms: number;
}

const isOpen = ({ marker }: PhaseReading): boolean =>
  marker !== 'completed' && marker !== 'skipped';
const FINISHED: readonly PlanCheckpoint['status'][] = [
  'completed',
  'incomplete',
  'refused',
  'failed',
];

/** Returns what the run takes over. Returns null if an earlier run left nothing that makes a difference. */
export function resumePointOf(facts: ResumeFacts): ResumePoint | null {
  const checkpoint = openCheckpoint(facts.checkpoint);
  const history = checkpoint === null ? NO_HISTORY : historyOf(checkpoint);
  const phases = openPhases(facts, history);
  const marks = [...new Set([...history.marks, ...facts.marks])];
  const spent = checkpoint === null ? null : facts.spent;
  const hasNews = phases.some(hasHistory) || facts.committed.length + history.reports.length > 0;
  const countsSpending = facts.bounded && spent !== null && phases.length > 0;
  if (!hasNews && marks.length === 0 && !countsSpending) return null;
  const doubts = facts.committed.flatMap(({ doubt }) => (doubt === null ? [] : [doubt]));
  return {
    run: history.run,
    why: hasNews ? [...doubts, ...reasonsToAsk(checkpoint, facts)] : doubts,
    phases,
    failures: history.failures,
    replans: history.replans,
    commits: history.commits,
    ...withoutNulls({ reports: nonEmpty(history.reports), marks: nonEmpty(marks), spent }),
  };
}

const nonEmpty = <T>(items: readonly T[]): readonly T[] | null =>
  items.length === 0 ? null : items;

/** Returns the checkpoint of a run that did not end by itself. */
const openCheckpoint = (checkpoint: PlanCheckpoint | null): PlanCheckpoint | null =>
  checkpoint === null || FINISHED.includes(checkpoint.status) ? null : checkpoint;

/** Returns the phases that are still open in the document, with their commits and their history. */
const openPhases = (
  { phases, committed }: ResumeFacts,
  history: PlanHistory,
): readonly ResumePhase[] =>
  phases.filter(isOpen).map((phase): ResumePhase => {
    const earlier = committed.find(({ id }) => id === phase.id);
    return {
      id: phase.id,
      committed: earlier === undefined ? null : { commit: earlier.commit, tests: earlier.tests },
      ...history.ofPhase(phase),
    };
  });

const hasHistory = ({ replans, failures, complexity, forceSpent }: ResumePhase): boolean =>
  replans > 0 || forceSpent || failures.length > 0 || complexity !== null;

/** Returns the reasons to ask before a checkpoint counts. Each is a clause about the earlier run. */
function reasonsToAsk(
  checkpoint: PlanCheckpoint | null,
  { hash, holdsLast, currentTime_ms }: ResumeFacts,
): readonly string[] {
  if (checkpoint === null) return [];
  const { status, tests_passing, last_error, plan_hash, last_commit, timestamp } = checkpoint;
  const age_ms = currentTime_ms - Date.parse(timestamp);
  return [
    ...(status === 'in_progress' ? [] : [`it was ${status}`]),
    ...(tests_passing ? [] : ['its tests did not pass']),
    ...(last_error === null ? [] : [`its last error is not fixed: ${last_error}`]),
    ...(age_ms <= CHECKPOINT_FRESH_MS ? [] : [`it is ${Math.floor(age_ms / DAY_MS)} days old`]),
    ...(plan_hash === hash ? [] : ['the plan has changed since']),
    ...(holdsLast || last_commit === null
      ? []
      : [`its last commit ${last_commit.slice(0, 12)} is no longer in the branch`]),
  ];
}

type PhaseHistory = Pick<ResumePhase, 'replans' | 'forceSpent' | 'failures' | 'complexity'>;
const NOTHING: PhaseHistory = { replans: 0, forceSpent: false, failures: [], complexity: null };

/** The history of an earlier run of the plan. */
interface PlanHistory extends Pick<ResumePoint, 'run' | 'failures' | 'replans' | 'commits'> {
  readonly reports: NonNullable<ResumePoint['reports']>;
  readonly marks: NonNullable<ResumePoint['marks']>;
  /** Returns the history of one phase. */
  readonly ofPhase: (phase: PhaseReading) => PhaseHistory;
}
const NO_HISTORY: PlanHistory = {
  run: null,
  failures: [],
  replans: [],
  commits: [],
  reports: [],
  marks: [],
  ofPhase: () => NOTHING,
};

/**
 * Returns the history that a checkpoint has of each phase. Its records have the numbers that the phases had at that time, and its list of phases
 * connects them with the phases of today.
 */
function historyOf({ phases: numbers, ...checkpoint }: PlanCheckpoint): PlanHistory {
  const { test_failure_history, replan_history, phase_replan_count, complexity_evaluations } =
    checkpoint;
  const idOf = (number: unknown): string =>
    numbers.find((phase) => phase.number === number)?.id ?? '';
  const failures = test_failure_history.map((record): PhaseFailure => ({
    phase: idOf(record.phase),
    run: Number(record.iteration),
    kind: textOf(record.error_type),
    signature: textOf(record.signature),
    summary: textOf(record.summary) ?? textOf(record.error_type) ?? 'the tests failed',
    output: null,
    suggestions: Array.isArray(record.suggestions) ? record.suggestions.map(String) : [],
    at: Date.parse(String(record.timestamp)),
  }));
  const replans = replan_history.map((record): ReplanRecord => ({
    phase: idOf(record.phase),
    trigger: record.trigger as ReplanRecord['trigger'],
    action: record.action as ReplanRecord['action'],
    oldStructure: String(record.old_structure),
    newStructure: String(record.new_structure),
    complexityBefore: Number(record.complexity_before),
    complexityAfter: Number(record.complexity_after),
    forced: record.forced === true,
    at: Date.parse(String(record.timestamp)),
  }));
  return {
    run: checkpoint.step_key,
    failures,
    replans,
    commits: checkpoint.commit_history,
    reports: checkpoint.reports ?? [],
    marks: checkpoint.marks ?? [],
    ofPhase: (phase: PhaseReading): PhaseHistory => {
      const before = numbers.find(({ id }) => id === phase.id);
      if (before === undefined) return NOTHING;
      const lastReplan_ms =
        replans.filter((replan) => replan.phase === phase.id).at(-1)?.at ?? -Infinity;
      const complexity = complexity_evaluations[String(before.number)];
      const isSame =
        before.text === phase.text && complexity !== undefined && complexity.method !== 'threshold';
      return {
        replans: phase_replan_count[String(before.number)] ?? 0,
        forceSpent: before.force_spent,
        failures: failures.filter(
          (failure) => failure.phase === phase.id && failure.at > lastReplan_ms,
        ),
        complexity: isSame ? complexity : null,
      };
    },
  };
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;
