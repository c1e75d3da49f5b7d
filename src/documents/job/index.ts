/** Exports everything of src/documents/job that other rooms may use. */
export { CONFIG_KEYS, parseConfig } from './config.js';
export { encodingOf } from './encodings.js';
export {
  bucketOf,
  chooseFormat,
  complexity,
  harderOf,
  jobFormatPolicy,
  splitDecision,
} from './format-choice.js';
export { grantsOf, grantsOfConfig, newGrants } from './grants.js';
export { effectiveMode, parseJob } from './job.js';
export { isPathKey, JOB_KEYS, keyTakes, keyValue, type JobKey, type JobKeys } from './job-keys.js';
export { parseLimitSetting, resolveLimits, totalChunks } from './limits.js';
export { fitLimits, inputBudget, mostOutput_tokens, roomFor, thinkingOf } from './token-budgets.js';
export { formatsOf, modelEntry, PRICES } from './models.js';
export { route } from './routing.js';
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
export type { Thinking } from './token-budgets.js';
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
