/** The client functions as Emend's own tests, demo and measurements use them; other programs have library.ts. */
export { archivedRun } from './archive/run.js';
export { readJobFile } from '../workspace/documents/index.js';
export { openEmend } from './open.js';
export { resolveRun, type ResolvedRun } from './runs/resolve.js';
export * from './runs/decide.js';
export * from './runs/list.js';
export * from './runs/show.js';
export * from './runs/plan-runs.js';
export * from './runs/start-plan.js';
export * from './runs/start.js';
export * from './runs/watch.js';
export * from '../shared/problems.js';
export type * from './types.js';
export type { StepEvent, StepResult } from './library.js';
