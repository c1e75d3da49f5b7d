/** What a plan's status says beside what every run's does: phases, waves, scores, limits. For queries and results. Pure. */
import type { PhaseId, PlanProgress } from '../plan.js';
import type { Limits } from '../limits.js';
import { phaseKey } from '../refs.js';
import { addUsage, NO_USAGE, tokensOf, type StepUsage } from '../usage.js';
import { inWaves } from './state.js';
import type { PlanState } from './types.js';

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
