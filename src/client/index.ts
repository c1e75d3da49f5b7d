/**
 * Emend's client functions, for the command line, the review page and other programs: start, show, decide, watch, wait, list.
 * They print nothing and end no process; expected failures are thrown as ProblemError, whose `problem` says what to do.
 *
 *     const emend = await openEmend({ env: process.env });
 *     const job = await readJobFile({ jobPath: 'job.md', workspace: null, cwd: process.cwd() });
 *     const { stepKey } = await startStep(emend, { job });
 *     const run = await resolveRun(emend, stepKey);
 *     const waited = await waitForRun(emend, run);
 *     await emend.close();
 */
export { archivedRun } from './archive/run.js';
export { decide } from './runs/decide.js';
export { readJobFile } from '../workspace/documents/index.js';
export { listRuns } from './runs/list.js';
export { openEmend } from './open.js';
export { resolveRun } from './runs/resolve.js';
export { diffText, runDiff, runEvents, showRun } from './runs/show.js';
export { lastCheckpointed, planOfPath, runOfPlan, startPlan, signalPlan } from './runs/start-plan.js';
export { startStep } from './runs/start.js';
export { waitForRun, watchRun } from './runs/watch.js';
export { EXIT, PROBLEMS, ProblemError, ProblemsError } from '../shared/problems.js';

export type { ArchivedRun, StartedData } from './archive/run.js';
export type { DecideOptions, DecideResult } from './runs/decide.js';
export type { JobFile, JobFileRequest } from '../workspace/documents/index.js';
export type { ListedRun, RunList } from './runs/list.js';
export type { OpenOptions } from './open.js';
export type { ResolvedRun } from './runs/resolve.js';
export type { RunView } from './runs/show.js';
export type { PlanFile, StartPlanOptions } from './runs/start-plan.js';
export type { StartedStep, StartOptions } from './runs/start.js';
export type { ClosedRun, DescribedRun, Emend, RunGateway } from './types.js';
export type { Waited, WaitOptions, WatchAnswer, WatchOptions } from './runs/watch.js';
export type { Problem, ProblemCode } from '../shared/problems.js';
export type { Answer, DecisionPoint, DecisionRequest } from '../shared/decisions.js';
export type { StepEvent } from '../shared/events.js';
export type { LedgerRow, StepResult, StepStatus } from '../shared/run.js';
export type { ProposalSummary } from '../shared/proposal-activities.js';
