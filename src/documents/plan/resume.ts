/**
 * What an earlier run of a plan left that its documents do not say, and whether a person is asked before it counts.
 *
 *     a phase that is committed and has no mark     done, where nobody marked it since and it reads as it did; else asked about
 *     replans, failures, scores of a model          taken over from the newest checkpoint
 *
 * A checkpoint counts without a word where its tests passed, it holds no error, it is younger than seven days, the plan is unchanged
 * and its status is `in_progress`. One that makes no difference is not asked about. What was spent counts against the budgets of the
 * run that goes on; where nothing else is left, it is taken over without a word. Pure.
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

// bound: A younger one is gone on from without asking, where nothing else speaks against it.
const CHECKPOINT_FRESH_MS = 7 * 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000; // bound: Its age is told in days.

/** A phase of the document, and the commit of an earlier run that carried it out. */
export interface Committed {
  readonly id: string;
  readonly commit: string;
  readonly tests: 'pass' | 'no_tests';
  /** Why a person must say whether it counts; null: nothing speaks against it. */
  readonly doubt: string | null;
}
export interface ResumeFacts {
  readonly checkpoint: PlanCheckpoint | null;
  /** Is its last commit in the branch? */
  readonly holdsLast: boolean;
  readonly hash: string;
  readonly phases: readonly PhaseReading[];
  readonly committed: readonly Committed[];
  /** Marks that are in the documents and in no commit, as the disk tells; the checkpoint may name others. */
  readonly marks: readonly BlobRef[];
  /** What the checkpoint's run and those before it used; null: there is no checkpoint. */
  readonly spent: PlanSpent | null;
  /** A budget of the plan is set. */
  readonly bounded: boolean;
  /** ms since the epoch. */
  readonly now: number;
}

const isOpen = ({ marker }: PhaseReading): boolean =>
  marker !== 'completed' && marker !== 'skipped';
const FINISHED: readonly PlanCheckpoint['status'][] = [
  'completed',
  'incomplete',
  'refused',
  'failed',
];

/** Null: nothing is left, or nothing that makes a difference. */
export function resumePointOf(facts: ResumeFacts): ResumePoint | null {
  const { checkpoint: saved, holdsLast, hash, phases, committed, now } = facts;
  const checkpoint = saved === null || FINISHED.includes(saved.status) ? null : saved;
  const kept = checkpoint === null ? null : historyOf(checkpoint);
  const left = phases.filter(isOpen).map((phase): ResumePhase => {
    const found = committed.find(({ id }) => id === phase.id);
    return {
      id: phase.id,
      committed: found === undefined ? null : { commit: found.commit, tests: found.tests },
      ...(kept?.of(phase) ?? NOTHING),
    };
  });
  const counts = left.some(
    ({ replans, failures, complexity, forceSpent }) =>
      replans > 0 || forceSpent || failures.length > 0 || complexity !== null,
  );
  const spent = checkpoint === null ? null : facts.spent;
  const reports = checkpoint?.reports ?? [];
  const isNew = !counts && committed.length === 0 && reports.length === 0;
  const marks = [...new Set([...(checkpoint?.marks ?? []), ...facts.marks])];
  if (isNew && marks.length === 0 && !(facts.bounded && spent !== null && left.length > 0))
    return null;
  const doubts = committed.flatMap(({ doubt }) => (doubt === null ? [] : [doubt]));
  return {
    run: checkpoint?.step_key ?? null,
    why: [
      ...doubts,
      ...(checkpoint === null || isNew ? [] : reasons(checkpoint, hash, holdsLast, now)),
    ],
    phases: left,
    failures: kept?.failures ?? [],
    replans: kept?.replans ?? [],
    commits: checkpoint?.commit_history ?? [],
    ...(reports.length === 0 ? {} : { reports }),
    ...(marks.length === 0 ? {} : { marks }),
    ...(spent === null ? {} : { spent }),
  };
}

function reasons(
  checkpoint: PlanCheckpoint,
  hash: string,
  holdsLast: boolean,
  now: number,
): readonly string[] {
  const { status, tests_passing, last_error, plan_hash, last_commit, timestamp } = checkpoint;
  const age_ms = now - Date.parse(timestamp);
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

/** The checkpoint speaks of phases by number; which one that is today its list of phases says. */
function historyOf({ phases: numbers, ...checkpoint }: PlanCheckpoint) {
  const { test_failure_history, replan_history, phase_replan_count, complexity_evaluations } =
    checkpoint;
  const idOf = (number: unknown): string =>
    numbers.find((each) => each.number === number)?.id ?? '';
  const failures = test_failure_history.map((each): PhaseFailure => ({
    phase: idOf(each.phase),
    run: Number(each.iteration),
    kind: textOf(each.error_type),
    signature: textOf(each.signature),
    summary: textOf(each.summary) ?? textOf(each.error_type) ?? 'the tests failed',
    output: null,
    suggestions: Array.isArray(each.suggestions) ? each.suggestions.map(String) : [],
    at: Date.parse(String(each.timestamp)),
  }));
  const replans = replan_history.map((each): ReplanRecord => ({
    phase: idOf(each.phase),
    trigger: each.trigger as ReplanRecord['trigger'],
    action: each.action as ReplanRecord['action'],
    oldStructure: String(each.old_structure),
    newStructure: String(each.new_structure),
    complexityBefore: Number(each.complexity_before),
    complexityAfter: Number(each.complexity_after),
    forced: each.forced === true,
    at: Date.parse(String(each.timestamp)),
  }));
  return {
    failures,
    replans,
    of: (phase: PhaseReading): PhaseHistory => {
      const before = numbers.find(({ id }) => id === phase.id);
      if (before === undefined) return NOTHING;
      const last = replans.filter((each) => each.phase === phase.id).at(-1)?.at ?? -Infinity;
      const complexity = complexity_evaluations[String(before.number)];
      const same =
        before.text === phase.text && complexity !== undefined && complexity.method !== 'threshold';
      return {
        replans: phase_replan_count[String(before.number)] ?? 0,
        forceSpent: before.force_spent,
        failures: failures.filter((each) => each.phase === phase.id && each.at > last),
        complexity: same ? complexity : null,
      };
    },
  };
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;
