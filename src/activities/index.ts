/** The steps' outside work. Workflows see these as types only; ◆ none is renamed or removed while a kept history names it. */
import type { AdviceActivities, RevisingActivities } from '../shared/plan/advice.js';
import type { PlanActivities } from '../shared/plan/activities.js';
import type { StepActivities } from '../shared/protocol.js';
import { apply } from './apply.js';
import { activity } from './boundary.js';
import { brief } from './brief.js';
import { commit } from './commit.js';
import type { ActivityDependencies } from './dependencies.js';
import { pick } from './pick.js';
import { applyReplan } from './plan/apply-replan.js';
import { debugPhase } from './plan/debug-phase.js';
import { judgePhase } from './plan/judge-phase.js';
import { proposeReplan } from './plan/propose-replan.js';
import { scorePhase } from './plan/score-phase.js';
import { awaitPhase } from './plan/await-phase.js';
import { saveCheckpoint } from './plan/checkpoint.js';
import { markPhase } from './plan/mark-phase.js';
import { makePhaseJob } from './plan/phase-job.js';
import { readPlan } from './plan/read-plan.js';
import { mergePhase, prepareWorktree, removeWorktree } from './plan/worktree.js';
import { preflight } from './preflight.js';
import { propose } from './propose.js';
import { rebase } from './rebase.js';
import { rollback } from './rollback.js';
import { seal } from './seal.js';
import { tally } from './tally.js';
import { verify } from './verify.js';

export { archiveSink } from './archive-sink.js';
export type { ActivityDependencies } from './dependencies.js';
export { withPlanLog } from './plan/plan-log.js';
export { createEditRunner } from './edit-runner.js';

type HostActivities = Omit<StepActivities, 'pick' | 'brief' | 'propose' | 'tally'> &
  PlanActivities &
  RevisingActivities;
type ModelActivities = Pick<StepActivities, 'pick' | 'brief' | 'propose' | 'tally'> & AdviceActivities;

/** `host` runs where the workspace is, `model` on any worker that may call models; a worker takes one or both. */
export function createActivities(dependencies: ActivityDependencies): { host: HostActivities; model: ModelActivities } {
  const { timings } = dependencies;
  // A third of the time-out: two beats may be lost before the activity is taken for dead.
  const hostBeat_ms = Math.max(50, Math.floor(timings.hostHeartbeatTimeout_ms / 3));
  const modelBeat_ms = Math.min(timings.heartbeat_ms, Math.max(50, Math.floor(timings.heartbeatTimeout_ms / 3)));
  return {
    host: {
      preflight: activity('preflight', dependencies, hostBeat_ms, preflight(dependencies)),
      seal: activity('seal', dependencies, hostBeat_ms, seal(dependencies)),
      apply: activity('apply', dependencies, hostBeat_ms, apply(dependencies)),
      rebase: activity('rebase', dependencies, hostBeat_ms, rebase(dependencies)),
      verify: activity('verify', dependencies, hostBeat_ms, verify(dependencies)),
      rollback: activity('rollback', dependencies, hostBeat_ms, rollback(dependencies)),
      commit: activity('commit', dependencies, hostBeat_ms, commit(dependencies)),
      readPlan: activity('readPlan', dependencies, hostBeat_ms, readPlan(dependencies)),
      makePhaseJob: activity('makePhaseJob', dependencies, hostBeat_ms, makePhaseJob(dependencies)),
      markPhase: activity('markPhase', dependencies, hostBeat_ms, markPhase(dependencies)),
      prepareWorktree: activity('prepareWorktree', dependencies, hostBeat_ms, prepareWorktree(dependencies)),
      mergePhase: activity('mergePhase', dependencies, hostBeat_ms, mergePhase(dependencies)),
      removeWorktree: activity('removeWorktree', dependencies, hostBeat_ms, removeWorktree(dependencies)),
      saveCheckpoint: activity('saveCheckpoint', dependencies, hostBeat_ms, saveCheckpoint(dependencies)),
      judgePhase: activity('judgePhase', dependencies, hostBeat_ms, judgePhase()),
      applyReplan: activity('applyReplan', dependencies, hostBeat_ms, applyReplan(dependencies)),
      awaitPhase: activity('awaitPhase', dependencies, hostBeat_ms, awaitPhase(dependencies)),
    },
    model: {
      pick: activity('pick', dependencies, modelBeat_ms, pick(dependencies)),
      brief: activity('brief', dependencies, modelBeat_ms, brief(dependencies)),
      propose: activity('propose', dependencies, modelBeat_ms, propose(dependencies)),
      scorePhase: activity('scorePhase', dependencies, modelBeat_ms, scorePhase(dependencies)),
      debugPhase: activity('debugPhase', dependencies, modelBeat_ms, debugPhase(dependencies)),
      proposeReplan: activity('proposeReplan', dependencies, modelBeat_ms, proposeReplan(dependencies)),
      tally: activity('tally', dependencies, modelBeat_ms, tally(dependencies)),
    },
  };
}
