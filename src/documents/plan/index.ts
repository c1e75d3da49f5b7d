/** Exports everything of src/documents/plan that other rooms may use. */
export { type Changed, treeOf } from './change.js';
export {
  commitInSummary,
  measured,
  planOfSummary,
  summaryFiles,
  withRevision,
  withSummary,
} from './history.js';
export { markPhase, taskNow, unmarkPhase } from './mark.js';
export { type Replan, checkReplan, replanSchema } from './replan-answer.js';
export { applyReplan } from './replan.js';
export { readPlanFront } from './reading.js';
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
  findPhase,
  fullText,
  levelOf,
  mainFile,
  readTree,
  textOf,
  unticked,
} from './tree.js';
export type { ReplanAction } from '../../shared/plan.js';
export { type Choice, chosenBy, movePart } from './parts.js';
export type { Fault, PlanFront } from './types.js';
export { type UnfinishedTask, filesToMake, unfinishedTasks } from './unfinished.js';
export { taskCommands, testingProtocols } from './test-commands.js';
export { waitsFor } from './waves.js';
export { type ParsedTexts, parseTexts, type PlanTexts } from './texts.js';
