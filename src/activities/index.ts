/** The steps' outside work: what does each activity of the table (src/shared/activities.ts). */
import { ACTIVITIES, type ActivityName, type ActivitySpec, type InputOf, type ResultOf } from '../shared/activities.js';
import { apply } from './apply.js';
import { activity, type Work } from './boundary.js';
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

/** One for each row: one that is missing or too many does not compile. */
const WORK: { readonly [N in ActivityName]: (dependencies: ActivityDependencies) => Work<InputOf<N>, ResultOf<N>> } = {
  preflight,
  pick,
  brief,
  propose,
  tally,
  seal,
  apply,
  rebase,
  verify,
  rollback,
  commit,
  readPlan,
  makePhaseJob,
  markPhase,
  prepareWorktree,
  mergePhase,
  removeWorktree,
  saveCheckpoint,
  awaitPhase,
  judgePhase,
  applyReplan,
  scorePhase,
  debugPhase,
  proposeReplan,
};

type Role = ActivitySpec['role'];
type ActivitiesOf<R extends Role> = {
  [N in ActivityName as (typeof ACTIVITIES)[N]['role'] extends R ? N : never]: (
    input: InputOf<N>,
  ) => Promise<ResultOf<N>>;
};

/** By role, as the table says; a worker takes one or both. */
export function createActivities(dependencies: ActivityDependencies): { readonly [R in Role]: ActivitiesOf<R> } {
  const made = <N extends ActivityName>(name: N) =>
    [name, activity(name, dependencies, WORK[name](dependencies))] as const;
  const names = Object.keys(ACTIVITIES) as ActivityName[];
  const of = <R extends Role>(role: R) =>
    Object.fromEntries(names.filter((name) => ACTIVITIES[name].role === role).map(made)) as ActivitiesOf<R>;
  return { host: of('host'), model: of('model') };
}
