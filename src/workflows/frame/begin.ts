/**
 * How a run begins. A workflow cannot know limits, time-outs and rules by itself, as a replay must find the ones of the first time: the
 * first activity returns them (src/shared/begin-run.ts). Until then the run answers queries with what it knows, and takes an abort; the
 * SDK keeps other signals until there are handlers for them.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  scheduleActivity,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { BEGIN_RUN_OPTIONS, type BeginRunResult } from '../../shared/begin-run.js';
import type { StepKey } from '../../shared/ids.js';
import { hostOfQueue, SEARCH_ATTRIBUTES } from '../../shared/names.js';
import { VERSION, versioned } from '../../shared/problems.js';
import { runKey } from '../../shared/run-key.js';
import type { RunSetup, StepStatus } from '../../shared/run.js';
import { isRecord } from '../../shared/text.js';
import { NO_USAGE } from '../../shared/usage.js';
import { invalidInput } from './input.js';
import { EarlyMessages } from './early-messages.js';
import { registerQueries } from './messages.js';

/** `setup` null: the run was aborted before it had one. */
export interface Beginning<I> {
  readonly stepKey: StepKey;
  readonly setup: I | null;
  readonly early: EarlyMessages;
}

/** Runs the first activity. Throws ApplicationFailure `InvalidInput`, or CancelledFailure. */
export async function beginRun<I extends RunSetup>(
  kind: 'job' | 'plan',
  input: unknown,
): Promise<Beginning<I>> {
  const stepKey = ownKey();
  const early = new EarlyMessages();
  early.register();
  const shown: EarlyProgress = { state: 'running', doing: 'reading the input' };
  answerEarly(stepKey, input, shown);
  try {
    const result = await early.scope.run(() => readInput(stepKey, kind, input));
    if (result.outcome === 'invalid') throw invalidInput(result.message);
    return { stepKey, setup: result.setup as RunSetup as I, early };
  } catch (error) {
    early.end();
    shown.state = isCancellation(error) ? 'aborted' : 'failed';
    shown.doing = isCancellation(error) ? 'aborted' : 'failed: its input does not fit';
    // Also after a cancel: the senders of updates wait for an answer.
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    if (!early.isAborted || !isCancellation(error)) throw error;
    return { stepKey, setup: null, early };
  }
}

const readInput = (
  stepKey: StepKey,
  kind: 'job' | 'plan',
  input: unknown,
): Promise<BeginRunResult> =>
  scheduleActivity<BeginRunResult>('beginRun', [versioned({ stepKey, log: [], kind, input })], {
    ...BEGIN_RUN_OPTIONS,
    taskQueue: workflowInfo().taskQueue,
    summary: 'read the input',
  });

/**
 * A reset and continue-as-new keep it; two starts with the same input, two nights of a Schedule and two runs of a cron schedule do not have
 * it in common.
 */
function ownKey(): StepKey {
  const { namespace, workflowId, firstExecutionRunId, originalExecutionRunId, cronSchedule } =
    workflowInfo();
  return runKey({
    namespace,
    workflowId,
    firstRunId: firstExecutionRunId,
    cronRunId: cronSchedule === undefined || cronSchedule === '' ? null : originalExecutionRunId,
  });
}

const typed = (input: unknown, ...keys: readonly string[]): string =>
  keys
    .map((key) => (isRecord(input) ? input[key] : undefined))
    .find((value) => typeof value === 'string') ?? '';

/** What changes in the status before the run has rules. */
type EarlyProgress = { -readonly [K in 'state' | 'doing']: StepStatus[K] };

function answerEarly(stepKey: StepKey, input: unknown, progress: EarlyProgress): void {
  const status: Omit<StepStatus, 'state' | 'doing'> = {
    v: VERSION,
    stepKey,
    workspace: typed(input, 'workspace', 'repository'),
    jobPath: typed(input, 'jobFile', 'planFile', 'name'),
    title: typed(input, 'name', 'jobFile', 'planFile'),
    stage: 'begin',
    counts: { pending: 0, in_progress: 0, done: 0, failed: 0, skipped: 0 },
    decision: null,
    ignored: [],
    usage: NO_USAGE,
    proposalId: null,
    wasSplit: false,
    lastSeq: 0,
    result: null,
  };
  registerQueries({
    status: () => ({ ...status, ...progress }),
    ledger: () => [],
    events: () => [],
    proposal: () => null,
  });
}

/** By the memo and the attributes others find the run, without asking it. */
export function showStart({
  stepKey,
  title,
  workspace,
  queues,
  searchAttributes,
  ...setup
}: RunSetup & { readonly jobPath?: string; readonly planPath?: string }): void {
  const jobPath = setup.jobPath ?? setup.planPath ?? '';
  upsertMemo(versioned({ stepKey, jobPath, title, workspace, host: hostOfQueue(queues.host) }));
  if (searchAttributes)
    upsertSearchAttributes({
      [SEARCH_ATTRIBUTES.stepKey]: [stepKey],
      [SEARCH_ATTRIBUTES.workspace]: [workspace],
    });
}
