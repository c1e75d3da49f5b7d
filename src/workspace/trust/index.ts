/** The door of src/workspace/trust: what others may use. */
export { createTrust, type ApprovedFile, type Trust } from './trust.js';
export {
  configFile,
  configIn,
  configurationFiles,
  contentHash,
  jobFile,
  jobOf,
} from './sources.js';
export type { ConfigurationFile } from './types.js';
export { fileAtCommit, readConfigAt } from './at-commit.js';
export { doubtText } from './text.js';
