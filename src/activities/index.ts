/** The steps' outside work: what does each activity of the table (src/shared/activities.ts). */
import {
  ACTIVITIES,
  type ActivityName,
  type ActivitySpec,
  type InputOf,
  type ResultOf,
} from '../shared/activities.js';
import type { ActivityBase } from '../shared/proposal-activities.js';
import { applyProposal, rollBack } from './step/apply.js';
import { activity, type Activity, type Work } from './frame/activity.js';
import { beginRun } from './frame/begin-run.js';
import { commit } from './step/commit.js';
import type { ActivityPorts } from './frame/ports.js';
import { pickFiles, writeBrief } from './step/before-edit.js';
import { applyReplan, proposeReplan } from './plan/replan.js';
import { debugPhase, scorePhase } from './plan/plan-call.js';
import {
  awaitChild,
  saveCheckpoint,
  mergePhase,
  prepareWorktree,
  removeWorktree,
} from './plan/phases.js';
import { markPhase } from './plan/mark-phase.js';
import { writePhaseJob } from './plan/phase-job.js';
import { createTurns } from '../system/turns.js';
import { checkHost, prepareCheckout } from './frame/hosts.js';
import { readPlan } from './plan/read-plan.js';
import { checkMove } from './step/move.js';
import { preflight } from './step/preflight/index.js';
import { proposeEdit } from './step/propose-edit.js';
import { inCheckout } from './step/in-checkout.js';
import { rebaseProposal } from './step/rebase.js';
import { auditChange } from './step/audit.js';
import { buildProposal } from './step/build-proposal.js';
import { countUsage } from './step/estimate.js';
import { releaseWorkspace, removeLayers, runTests } from './step/run-tests.js';
import { verifyDecision } from './step/approvers.js';

export { archiveSink } from './frame/ports.js';
export type { ActivityPorts } from './frame/ports.js';
export type { Accepted } from './step/accepted.js';
export { withPlanLog } from './plan/plan-log.js';
export { createEditRunner } from './frame/edit-worker.js';
export { preflight, readPlan };

/** One for each row: one that is missing or too many does not compile. */
const WORK: { readonly [N in ActivityName]: Activity<N> } = {
  beginRun,
  checkHost,
  prepareCheckout,
  preflight,
  pickFiles,
  writeBrief,
  proposeEdit,
  countUsage,
  buildProposal,
  applyProposal,
  rebaseProposal,
  runTests,
  releaseWorkspace,
  removeLayers,
  auditChange,
  rollBack,
  commit,
  checkMove,
  verifyDecision,
  readPlan,
  writePhaseJob,
  markPhase,
  prepareWorktree,
  mergePhase,
  removeWorktree,
  saveCheckpoint,
  awaitChild,
  applyReplan,
  scorePhase,
  debugPhase,
  proposeReplan,
};

type Role = ActivitySpec['role'];
/** The roles in which an activity may be called. */
type RolesOf<N extends ActivityName> =
  | (typeof ACTIVITIES)[N]['role']
  | ((typeof ACTIVITIES)[N] extends { readonly mayRunCommands: true } ? 'command' : never);
type ActivitiesOf<R extends Role> = {
  [N in ActivityName as R extends RolesOf<N> ? N : never]: (
    input: InputOf<N>,
  ) => Promise<ResultOf<N>>;
};
const isCalledIn = (role: Role, spec: ActivitySpec): boolean =>
  spec.role === role || (role === 'command' && spec.mayRunCommands === true);

/** By role, as the table says; a worker takes one or several. */
export function createActivities(ports: ActivityPorts): { readonly [R in Role]: ActivitiesOf<R> } {
  const { modelCalls_atOnce, modelCalls_perSecond, modelCallTimeout_ms: wait_ms } = ports.timings;
  const turn = createTurns(modelCalls_atOnce, 'Model calls', modelCalls_perSecond);
  // Where all roles share a queue, its own limits would hold for all of them.
  const bounded =
    <I extends ActivityBase, O>(work: Work<I, O>): Work<I, O> =>
    (given, input, scope) =>
      turn({ wait_ms, work_ms: 0, signal: scope.signal }, () => work(given, input, scope));
  const placed = {
    model: (_name, work) => bounded(work),
    host: inCheckout,
    command: inCheckout,
    workflow: (_name, work) => work,
  } satisfies Record<
    Role,
    <I extends ActivityBase, O extends object>(name: ActivityName, work: Work<I, O>) => Work<I, O>
  >;
  const made = <N extends ActivityName>(name: N) =>
    [name, activity(name, ports, placed[ACTIVITIES[name].role](name, WORK[name]))] as const;
  const names = Object.keys(ACTIVITIES) as ActivityName[];
  const of = <R extends Role>(role: R) =>
    Object.fromEntries(
      names.filter((name) => isCalledIn(role, ACTIVITIES[name])).map(made),
    ) as ActivitiesOf<R>;
  return {
    host: of('host'),
    command: of('command'),
    model: of('model'),
    workflow: of('workflow'),
  };
}
