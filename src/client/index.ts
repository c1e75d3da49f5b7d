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
export { archivedRun } from './archived.js';
export { decide } from './decide.js';
export { readJobFile } from './job-file.js';
export { listRuns } from './list-runs.js';
export { openEmend } from './open.js';
export { resolveRun } from './resolve-run.js';
export { diffText, runDiff, runEvents, showRun } from './show-run.js';
export { lastCheckpointed, runOfPlan } from './plan-runs.js';
export { planOfPath, startPlan, tellPlan } from './start-plan.js';
export { startStep } from './start-step.js';
export { waitForRun, watchRun } from './watch-run.js';
export { EXIT, PROBLEMS, ProblemError, ProblemsError } from '../shared/problems.js';

export type { ArchivedRun, StartedData } from './archived.js';
export type { DecideOptions, DecideResult } from './decide.js';
export type { JobFile, JobFileRequest } from './job-file.js';
export type { ListedRun, RunList } from './list-runs.js';
export type { OpenOptions } from './open.js';
export type { ResolvedRun } from './resolve-run.js';
export type { RunView } from './show-run.js';
export type { StartPlanOptions } from './start-plan.js';
export type { PlanFile } from './plan-runs.js';
export type { StartedStep, StartOptions } from './start-step.js';
export type { ClosedRun, DescribedRun, Emend, RunGateway } from './types.js';
export type { Waited, WaitOptions, WatchAnswer, WatchOptions } from './watch-run.js';
export type { Problem, ProblemCode } from '../shared/problems.js';
export type { Answer, DecisionPoint, DecisionRequest } from '../shared/decisions.js';
export type { StepEvent } from '../shared/events.js';
export type { LedgerRow, SealedProposal, StepResult, StepStatus } from '../shared/protocol.js';
