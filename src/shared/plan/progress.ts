/** What a plan's status says beside what every run's does: phases, waves, scores, limits. For queries and results. Pure. */
import type { Limits } from '../limits.js';
import { phaseKey, type StepKey } from '../refs.js';
import type { StepUsage } from '../protocol.js';
import { addUsage, NO_USAGE, tokensOf } from '../usage.js';
import { inWaves } from './state.js';
import type {
  ComplexityRecord,
  KeptCommits,
  PhaseId,
  PhaseMarker,
  PhaseScore,
  PhaseStatus,
  PlanState,
  PlanThresholds,
} from './types.js';

/** What a plan says of itself beside what every run says. Fields that may be absent: workers of earlier builds do not tell them. */
export interface PlanProgress {
  readonly phases: readonly {
    readonly id: PhaseId;
    readonly number: number;
    readonly name: string;
    readonly status: PhaseStatus;
    readonly tasks: number;
    /** Checked in the document when it was read last. */
    readonly tasksDone?: number;
    /** As it stood in the document when it was read last. */
    readonly marker?: PhaseMarker | null;
    /** Numbers of the phases that it waits for. */
    readonly dependsOn?: readonly number[];
    readonly score: number;
    /** What the score is made of; where a model scored too, how the two were made one. */
    readonly scored?: PhaseScore & Pick<ComplexityRecord, 'method' | 'reasoning'>;
    /** stepKey of its newest child; null: none was started. */
    readonly run: StepKey | null;
    readonly commit: string | null;
    readonly verification: string | null;
    readonly failures: number;
    readonly replans: number;
    readonly why: string | null;
  }[];
  /** Commits of phases that were not merged, and the refs that keep them; absent: there are none. */
  readonly kept?: readonly (KeptCommits & { readonly phase: number })[];
  readonly mode?: 'sequential' | 'waves';
  /** Numbers of the phases, by wave. */
  readonly waves?: readonly (readonly number[])[];
  /** Null: the plan has not been read yet. */
  readonly thresholds?: PlanThresholds | null;
  readonly budget?: PlanBudget;
  readonly pausedBy: string | null;
  readonly stopAfterPhase: string | null;
}
/** The limits of the plan as a whole (null: none), and what counts for them beside `usage.usd`. */
export interface PlanBudget extends Pick<Limits, 'budget_tokens' | 'budget_usd'> {
  /** Absent: a worker of an earlier build. */
  readonly budget_calls?: number | null;
  readonly wallClock_s: number | null;
  /** With those of earlier runs that it went on from, as all that is used here. */
  readonly used_tokens: number;
  /** Absent: a worker of an earlier build; `used_usd` null: the price of a model is not known. */
  readonly used_calls?: number;
  readonly used_usd?: number | null;
  /** Of earlier runs, without the time that waited for a person. */
  readonly usedBefore_ms?: number;
  /** Workflow time, ms since the epoch. Time that passed while the plan waited for a person does not count. */
  readonly startedAt: number;
  readonly pausedFor_ms: number;
}

const usedBy = (usage: StepUsage) => ({
  used_tokens: tokensOf(usage),
  used_calls: usage.calls,
  used_usd: usage.usd,
});

export const progressOfPlan = (state: PlanState): PlanProgress => {
  const numberOf = new Map(state.phases.map(({ id, number }) => [id, number]));
  const numbersOf = (ids: readonly PhaseId[]): readonly number[] => ids.flatMap((id) => numberOf.get(id) ?? []);
  /** Of the phase that a worktree is for. */
  const phaseIn = (worktree: string): number => numberOf.get(worktree.slice(0, worktree.lastIndexOf('-'))) ?? 0;
  return {
    phases: state.phases.map((phase) => ({
      ...{ id: phase.id, number: phase.number, name: phase.name, status: phase.status },
      tasks: phase.tasks.total,
      tasksDone: phase.tasks.done,
      marker: phase.marker,
      dependsOn: numbersOf(phase.dependsOn),
      score: phase.complexity.score,
      scored: { ...phase.score, method: phase.complexity.method, reasoning: phase.complexity.reasoning },
      run: phase.runs === 0 ? null : phaseKey(state.input.stepKey, phase.id, phase.runs),
      commit: phase.commits.at(-1) ?? null,
      verification: phase.result?.verification ?? phase.tests ?? null,
      failures: phase.failures.length,
      replans: phase.replans,
      why: phase.why,
    })),
    ...(state.kept === undefined ? {} : { kept: state.kept.map((kept) => ({ phase: phaseIn(kept.name), ...kept })) }),
    mode: inWaves(state) ? 'waves' : 'sequential',
    waves: (state.plan?.waves ?? []).map((wave) => numbersOf(wave.flat())),
    thresholds: state.plan?.thresholds ?? null,
    budget: {
      ...{
        startedAt: state.startedAt,
        pausedFor_ms: state.pausedFor_ms,
        usedBefore_ms: state.spentBefore?.time_ms ?? 0,
      },
      ...usedBy(addUsage(state.spentBefore?.usage ?? NO_USAGE, state.usage)),
      budget_tokens: state.limits?.budget_tokens ?? null,
      budget_usd: state.limits?.budget_usd ?? null,
      budget_calls: (state.limits as Partial<Limits> | null)?.budget_calls ?? null,
      wallClock_s: state.limits?.wallClock_s ?? null,
    },
    pausedBy: state.pausedBy,
    stopAfterPhase: state.stopAfterPhase,
  };
};
