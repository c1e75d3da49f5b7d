/** Names of runs. ◆ Both rules are kept for ever: stores and histories depend on them. */
import { createHash, randomBytes } from 'node:crypto';
import type { StepKey } from '../shared/refs.js';

/** 128 random bits as 32 hex digits. */
export const newStepKey = (): StepKey => randomBytes(16).toString('hex');

/**
 * `emend-<first 16 hex digits of sha-256(workspace NUL job path)>`. The workspace is a real path; the job path is relative to it, with
 * `/`, where the job lies inside, else absolute.
 */
export const workflowIdOf = (workspace: string, jobPath: string): string =>
  `emend-${createHash('sha256').update(`${workspace}\0${jobPath}`).digest('hex').slice(0, 16)}`;

/** `emend-plan-<first 16 hex digits of sha-256(workspace NUL plan path)>`; the path is relative and without its level (`plans/010_demo`). */
export const planIdOf = (workspace: string, planPath: string): string =>
  `emend-plan-${createHash('sha256').update(`${workspace}\0${planPath}`).digest('hex').slice(0, 16)}`;

/** The n-th run beside the first: `<id>`, `<id>-2`, `<id>-3`… */
export const besideId = (workflowId: string, n: number): string => (n === 1 ? workflowId : `${workflowId}-${n}`);

/** The same job at the same path on another host is another job: where that one's run is open, ours gets this id. */
export const hereId = (workflowId: string, host: string): string => `${workflowId}-${host.slice(0, 8)}`;

export const looksLikeWorkflowId = (text: string): boolean => text.startsWith('emend-');
