/** The door of src/workspace/documents: what others may use. */
export { type JobFile, type JobFileRequest, readJobFile, workspaceOf } from './read-job.js';
export { type PlanTest, discoverPlanTests } from './read-plan.js';
export { type ReadPlan, inWorkspace, pathsOfPlan, readPlan, refuseFaults } from './read-plan.js';
