/** Exports everything of src/documents/plan that other rooms may use. */
export { type Changed, treeOf } from './change.js';
export { commitInSummary, planOfSummary, summaryFiles, withSummary } from './partial-summary.js';
export { measureReplan, withRevision } from './revision-history.js';
export { markPhase, unmarkPhase } from './mark-phase.js';
export { taskNow } from './task-lines.js';
export { type Replan, checkReplan, replanSchema } from './replan-answer.js';
export { applyReplan } from './replan.js';
export { readPlanFront } from './plan-front.js';
export {
  type PartReport,
  type PhaseReport,
  type PlanReport,
  reportOf,
  tasksOf,
} from './plan-report.js';
export { type PlanStats, type Ratio, statsOf, statsOfRun, sumPlanStats } from './plan-stats.js';
export { type Committed, resumePointOf } from './resume.js';
export {
  type ResolvedThresholds,
  type ThresholdSource,
  resolveThresholds,
  thresholdsIn,
} from './thresholds.js';
export { reconcile, secondScoreSchema, wantsSecondScore } from './second-score.js';
export {
  type PartNode,
  type PlanTree,
  type ReadFile,
  findPhase,
  fullText,
  levelOf,
  readTree,
  textOf,
  untick,
} from './plan-tree.js';
export { type PlanPlace, mainFile } from './plan-paths.js';
export type { ReplanAction } from '../../shared/plan.js';
export { type Choice, chooseParts, movePart } from './automatic-moves.js';
export type { Fault, PlanFront } from './types.js';
export { type UnfinishedTask, filesToMake, unfinishedTasks } from './unfinished.js';
export { taskCommands, testingProtocols } from './test-commands.js';
export { waitsFor } from './waves.js';
export { type ParsedTexts, parseTexts, type PlanTexts } from './parse-texts.js';
