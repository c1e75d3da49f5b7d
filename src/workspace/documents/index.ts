/** The door of src/workspace/documents: what others may use. */
export {
  type JobFile,
  type JobText,
  checkWorkspace,
  decodeJob,
  jobAtCommit,
  jobOfText,
  readConfig,
  readJobAtCommit,
  readJobBytes,
  readJobFile,
  repositoryFor,
  workspaceOf,
} from './read-job.js';
export {
  type PlanTest,
  type ReadPlan,
  changedTexts,
  discoverPlanTests,
  dropFolders,
  inWorkspace,
  pathsOfPlan,
  readPlan,
  refuseFaults,
  summaryOf,
} from './read-plan.js';
