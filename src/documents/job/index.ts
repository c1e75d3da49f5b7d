/** Exports everything of src/documents/job that other rooms may use. */
export { CONFIG_KEYS, encodingOf, parseConfig } from './config.js';
export {
  chooseFormat,
  complexity,
  harderOf,
  jobFormatPolicy,
  splitDecision,
} from './format-choice.js';
export { grantsOf, grantsOfConfig, newGrants } from './grants.js';
export {
  effectiveMode,
  isPathKey,
  JOB_KEYS,
  keyTakes,
  keyValue,
  parseJob,
  type JobKey,
  type JobKeys,
} from './job.js';
export { parseLimitSetting, resolveLimits, totalChunks } from './limits.js';
export {
  fitLimits,
  formatsOf,
  inputBudget,
  modelEntry,
  mostOutput_tokens,
  PRICES,
  roomFor,
  route,
  thinkingOf,
} from './models.js';
export { type Policy, evaluatePolicy, ruleOf, parsePolicy } from './policy.js';
export { isDependencyFolder } from './dependency-folders.js';
export { namedByGit, namedByScripts, whyProtected } from './protected-paths.js';
export { outsideWrites, workspaceWrites, writeRefusal } from './write-paths.js';
export {
  planPathIn,
  readPlanInput,
  readStepInput,
  taskKeysOf,
  type JobStart,
  type PlanStart,
  type StartPlace,
  type StartSettings,
} from './start-input.js';
export type { Thinking } from './models.js';
export type { Complexity, Effort, Job, ProjectConfig, RunSettings } from './types.js';
export { allowedBy } from '../source/patterns.js';
export { isMarkdownPath, lineIn } from '../source/check.js';
export { SANDBOX_ON, type NetworkSettings, type SandboxSettings } from '../source/schemas.js';
export {
  isLoopbackHost,
  networkText,
  readTarget,
  type NetworkTarget,
} from '../source/network-targets.js';
