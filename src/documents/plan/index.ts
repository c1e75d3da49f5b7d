/** The door of src/documents/plan: what others may use. */
export { type Change, type Changed, treeOf } from './change.js';
export { collapsePhase, collapseStage } from './collapse.js';
export { expandPhase, expandStage } from './expand.js';
export { type Revision, measured, summaryFile, withRevision, withSummary } from './history.js';
export { findPhase, markPhase, unmarkPhase } from './mark.js';
export { type Replan, checkReplan, replanSchema } from './replan-answer.js';
export { applyReplan } from './replan.js';
export {
  type PartReport,
  type PhaseReport,
  type PlanReport,
  type PlanStats,
  type Ratio,
  reportOf,
  statsOf,
  tasksOf,
} from './report.js';
export { type Committed, resumePointOf } from './resume.js';
export {
  type ResolvedThresholds,
  type ThresholdSource,
  reconcile,
  resolveThresholds,
  secondScoreSchema,
  thresholdsIn,
  wantsSecondScore,
} from './score.js';
export {
  type PartNode,
  type PlanPlace,
  type PlanTree,
  type ReadFile,
  isExpanded,
  levelOf,
  mainFile,
  readTree,
  textOf,
} from './tree.js';
export type { ReplanAction } from '../../shared/plan.js';
export { chosenBy, outcomeOf, tierOf } from './triggers.js';
export type { Fault, PlanFront } from './types.js';
export {
  type ClaimedUnfinished,
  type UnfinishedTask,
  filesToMake,
  readUnfinished,
  claimedUnfinished,
  unfinishedInAll,
  unfinishedTasks,
  unfinishedText,
} from './unfinished.js';
export { taskCommands, testingProtocols } from './test-commands.js';
export { waitsFor } from './waves.js';
