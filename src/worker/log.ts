/** The log of a worker: one JSON line for each event on standard error, also for what Temporal's SDK and its native core report. */
import { activityInfo } from '@temporalio/activity';
import {
  DefaultLogger,
  type ActivityInterceptorsFactory,
  type Logger as SdkLogger,
} from '@temporalio/worker';
import { pino, type Logger } from 'pino';
import { isRecord } from '../shared/text.js';
import { withoutTokens } from '../shared/tokens.js';
import { redact, type Environment } from '../system/environment.js';
import { maskedLogLine, plainLogLine } from './log-line.js';

/** A GitHub Actions runner obeys `##[name]value` anywhere in a line. In JSON the escape is the same text. */
const withoutRunnerCommands = (line: string): string => line.replaceAll('##[', '#\\u0023[');

export interface WorkerLogOptions {
  readonly place?: { readonly fd: number } | { readonly dest: string; readonly mkdir: boolean };
  /** Lines are for a reader in a terminal instead of JSON. */
  readonly isPlain?: boolean;
  /** Its secrets are in no line. */
  readonly env?: Environment;
}

/** A line that cannot be written, as the terminal was closed, must not end the worker. */
export const workerLog = (
  level: 'warn' | 'info',
  { place = { fd: 2 }, isPlain = false, env = process.env }: WorkerLogOptions = {},
): Logger => {
  const mask = (text: string): string => withoutTokens(redact(text, env));
  const shown = isPlain ? plainLogLine : withoutRunnerCommands;
  return pino(
    {
      name: 'emend-worker',
      level,
      hooks: { streamWrite: (line) => shown(maskedLogLine(line, mask)) },
    },
    pino.destination({ ...place, sync: true }).on('error', () => undefined),
  );
};

/** Each worker of ours serves one role: the SDK's warning that a queue has no workflows or no activities is no news. */
const ONE_ROLE = /^No (activities|workflows) registered, not polling for /;

/** Writes what the SDK logs into a worker's log: warnings and errors, one JSON line each like all its events. */
export const sdkLog = (logger: Logger): SdkLogger =>
  new DefaultLogger('WARN', ({ level, message, meta = {} }) => {
    if (ONE_ROLE.test(message)) return;
    const { error, ...fields }: Readonly<Record<string, unknown>> = meta;
    // Pino writes an Error with its stack only under the name `err`.
    const line = error === undefined ? fields : { ...fields, err: error };
    if (level === 'ERROR') logger.error(line, message);
    else logger.warn(line, message);
  });

/** Workflow id and run id of the activity that runs now, by the names that the SDK gives them; none outside of activities. */
export const idsOfActivity = (): Readonly<Record<string, string>> => {
  try {
    const { workflowExecution } = activityInfo();
    if (workflowExecution === undefined) return {};
    return {
      workflowId: workflowExecution.workflowId,
      workflowRunId: workflowExecution.runId,
    };
  } catch {
    return {};
  }
};

/** Adds the key of the run to the lines that the SDK logs of an activity. Leaves out the token, with which anybody could complete it. */
export const logRun: ActivityInterceptorsFactory = () => {
  let run: { readonly stepKey?: unknown } = {};
  return {
    inbound: {
      execute: (input, next) => {
        const [first] = input.args;
        if (isRecord(first)) run = { stepKey: first.stepKey };
        return next(input);
      },
    },
    outbound: {
      getLogAttributes: (attributes, next) => {
        const { taskToken: _, ...rest } = next(attributes);
        return { ...rest, ...run };
      },
    },
  };
};
