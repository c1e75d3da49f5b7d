/** How each activity is called: as the table (src/shared/activities.ts) says, with the numbers that the run goes by. */
import { checkVersion, versioned } from '../../shared/problems.js';
import { TimeoutType } from '@temporalio/common';
import {
  scheduleActivity,
  scheduleLocalActivity,
  TimeoutFailure,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import {
  ACTIVITIES,
  type Amount,
  type ActivityName,
  type ActivitySpec,
  type InputOf,
  type ResultOf,
} from '../../shared/activities.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import { ANY_HOST, queueNames } from '../../shared/names.js';
import type { RunSetup } from '../../shared/run.js';

/** What every input has: who asks, and what the archive has not heard of yet. */
type Base = Pick<ActivityBase, 'stepKey' | 'log'>;
/** An input without that. */
export type Asked<N extends ActivityName> = Omit<InputOf<N>, keyof Base>;
/** What the Temporal UI shows of a call; how many files it is for, where its time-out depends on that, and whether it may take long then. */
export type Words<N extends ActivityName, More = unknown> = (typeof ACTIVITIES)[N] extends {
  more_s: Readonly<Record<string, 'files'>>;
}
  ? { readonly summary: string; readonly files: number; readonly isLong?: boolean } & More
  : string | ({ readonly summary: string } & More);
export type Calls = <N extends ActivityName>(
  activity: N,
  words: Words<N>,
) => (input: Base & Asked<N>) => Promise<ResultOf<N>>;
type Timed = Pick<RunSetup, 'timings' | 'queues' | 'rules' | 'repository'>;

export const callsOf = (run: Timed): Calls => {
  /** The host that did the run's work last: it has a checkout. */
  let last: string | undefined;
  return (activity, words) => async (input) => {
    const { summary, files = 0 }: { readonly summary: string; readonly files?: number } =
      typeof words === 'string' ? { summary: words } : words;
    const timeout_s = 'timeout_s' in input ? (input.timeout_s as number) : 0;
    const options = {
      ...optionsOf(activity, run, { files, timeout_s }),
      summary: summary.slice(0, 200),
    };
    const schedule = isLocal(run, activity, words) ? scheduleLocalActivity : scheduleActivity;
    const ask = (more: ActivityOptions = {}) =>
      schedule<never>(activity, [versioned(input)], { ...options, ...more });
    const { role } = ACTIVITIES[activity];
    const isAnywhere =
      run.repository !== undefined && role === 'host' && run.queues.workflow !== run.queues.host;
    const nearby = async () => {
      const queue = { taskQueue: queueNames(run.queues.workflow, last ?? ANY_HOST).host };
      const asked =
        last === undefined
          ? ask()
          : ask({ ...queue, scheduleToStartTimeout: run.timings.checkoutWait_ms });
      const result = await asked.catch((error: unknown) => {
        const { cause } = error as { readonly cause?: unknown };
        if (cause instanceof TimeoutFailure && cause.timeoutType === TimeoutType.SCHEDULE_TO_START)
          return ask();
        throw error;
      });
      last = (result as { readonly host?: string }).host ?? last;
      return result;
    };
    const result = await (isAnywhere ? nearby() : ask());
    checkVersion(result, `The result of ${activity}`);
    return result;
  };
};

/** ◆ Inside the workflow task, whose worker has all roles then. Its input is in no history, so it brings the archive no events. */
export const isLocal = <N extends ActivityName>(
  run: Timed,
  activity: N,
  words: Words<N>,
): boolean =>
  // A checkout is made by a remote, which may take long.
  run.repository === undefined &&
  run.queues.workflow === run.queues[ACTIVITIES[activity].role] &&
  run.rules.local.includes(activity) &&
  !(typeof words === 'object' && 'isLong' in words && words.isLong);

/** Whose transaction it is, for activities that leave one behind. */
export const owner = (): { readonly workflowId: string; readonly namespace: string } => {
  const { workflowId, namespace } = workflowInfo();
  return { workflowId, namespace };
};

/** Each activity may have to fetch the repository first. */
const CHECKOUT = { worktreeAdd_s: 1 } as const;

export function optionsOf(
  activity: ActivityName,
  { timings, queues, rules, repository }: Timed,
  { files, timeout_s }: { readonly files: number; readonly timeout_s: number },
): ActivityOptions {
  const { role, timeouts, retry, cancellationType, more_s }: ActivitySpec = ACTIVITIES[activity];
  const all = { ...rules.bounds, ...timings, timeout_s };
  const numbers = (of: Readonly<Record<string, Amount>>) =>
    Object.fromEntries(Object.entries(of).map(([name, amount]) => [name, all[amount]]));
  const options = {
    taskQueue: queues[role],
    ...numbers(timeouts),
    retry: numbers(retry),
    ...(cancellationType === undefined ? {} : { cancellationType }),
  };
  const more = {
    ...more_s,
    ...(repository === undefined || role !== 'host' ? {} : CHECKOUT),
  };
  if (Object.keys(more).length === 0 || timeouts.startToCloseTimeout === undefined) return options;
  let startToCloseTimeout = timings.commandTurn_ms + all[timeouts.startToCloseTimeout];
  for (const [name, times] of Object.entries(more))
    startToCloseTimeout +=
      all[name as keyof typeof more] * (times === 'files' ? files : times) * 1000;
  return { ...options, startToCloseTimeout };
}
