/** What a plan's status says beside what every run's does: phases, waves, scores, limits. For queries and results. Pure. */
import type { Limits } from '../limits.js';
import { phaseKey } from '../refs.js';
import type { StepUsage } from '../protocol.js';
import { addUsage, NO_USAGE, tokensOf } from '../usage.js';
import { inWaves } from './state.js';
import type { PhaseId, PlanProgress, PlanState } from './types.js';

const numbersOf = (state: PlanState, ids: readonly PhaseId[]): readonly number[] =>
  ids.flatMap((id) => state.phases.find((phase) => phase.id === id)?.number ?? []);

const usedBy = (usage: StepUsage) => ({
  used_tokens: tokensOf(usage),
  used_calls: usage.calls,
  used_usd: usage.usd,
});

export const progressOfPlan = (state: PlanState): PlanProgress => ({
  phases: state.phases.map((phase) => ({
    ...{ id: phase.id, number: phase.number, name: phase.name, status: phase.status },
    tasks: phase.tasks.total,
    tasksDone: phase.tasks.done,
    marker: phase.marker,
    dependsOn: numbersOf(state, phase.dependsOn),
    score: phase.complexity.score,
    scored: { ...phase.score, method: phase.complexity.method, reasoning: phase.complexity.reasoning },
    run: phase.runs === 0 ? null : phaseKey(state.input.stepKey, phase.id, phase.runs),
    commit: phase.commits.at(-1) ?? null,
    verification: phase.result?.verification ?? phase.tests ?? null,
    failures: phase.failures.length,
    replans: phase.replans,
    why: phase.why,
  })),
  mode: inWaves(state) ? 'waves' : 'sequential',
  waves: (state.plan?.waves ?? []).map((wave) => numbersOf(state, wave.flat())),
  thresholds: state.plan?.thresholds ?? null,
  budget: {
    ...{ startedAt: state.startedAt, pausedFor_ms: state.pausedFor_ms, usedBefore_ms: state.spentBefore?.time_ms ?? 0 },
    ...usedBy(addUsage(state.spentBefore?.usage ?? NO_USAGE, state.usage)),
    budget_tokens: state.limits?.budget_tokens ?? null,
    budget_usd: state.limits?.budget_usd ?? null,
    budget_calls: (state.limits as Partial<Limits> | null)?.budget_calls ?? null,
    wallClock_s: state.limits?.wallClock_s ?? null,
  },
  pausedBy: state.pausedBy,
  stopAfterPhase: state.stopAfterPhase,
});
