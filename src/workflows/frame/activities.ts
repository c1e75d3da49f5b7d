/** How each activity is called: as the table (src/shared/activities.ts) says, with the numbers of the run's input. */
import { versioned } from '../../shared/problems.js';
import { scheduleActivity, scheduleLocalActivity, workflowInfo, type ActivityOptions } from '@temporalio/workflow';
import {
  ACTIVITIES,
  type Amount,
  type ActivityName,
  type ActivitySpec,
  type InputOf,
  type ResultOf,
} from '../../shared/activities.js';
import type { StepEvent } from '../../shared/events.js';
import type { RunInput } from '../../shared/run.js';
import { boundsOf } from '../../shared/rules.js';

/** What every input has: who asks, and what the archive has not heard of yet. */
interface Base {
  readonly stepKey: RunInput['stepKey'];
  readonly log: readonly StepEvent[];
}
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
type Timed = Pick<RunInput, 'timings' | 'queues' | 'rules'>;

export const callsOf =
  (run: Timed): Calls =>
  (activity, words) =>
  (input) => {
    const { summary, files = 0 }: { readonly summary: string; readonly files?: number } =
      typeof words === 'string' ? { summary: words } : words;
    const timeout_s = 'timeout_s' in input ? (input.timeout_s as number) : 0;
    const options = { ...optionsOf(activity, run, { files, timeout_s }), summary: summary.slice(0, 200) };
    const schedule = isLocal(run, activity, words) ? scheduleLocalActivity : scheduleActivity;
    return schedule(activity, [versioned(input)], options);
  };

/** ◆ Inside the workflow task, whose worker has all roles then. Its input is in no history, so it brings the archive no events. */
export const isLocal = <N extends ActivityName>({ queues, rules }: Timed, activity: N, words: Words<N>): boolean =>
  queues.workflow === queues[ACTIVITIES[activity].role] &&
  rules.local?.includes(activity) === true &&
  !(typeof words === 'object' && 'isLong' in words && words.isLong);

/** Whose transaction it is, for activities that leave one behind. */
export const owner = (): { readonly workflowId: string; readonly namespace: string } => {
  const { workflowId, namespace } = workflowInfo();
  return { workflowId, namespace };
};

export function optionsOf(
  activity: ActivityName,
  { timings, queues, ...input }: Timed,
  { files, timeout_s }: { readonly files: number; readonly timeout_s: number },
): ActivityOptions {
  const { role, timeouts, retry, cancellationType, more_s }: ActivitySpec = ACTIVITIES[activity];
  const all = { ...boundsOf({ input }), ...timings, timeout_s };
  const numbers = (of: Readonly<Record<string, Amount>>) =>
    Object.fromEntries(Object.entries(of).map(([name, amount]) => [name, all[amount]]));
  const options = {
    taskQueue: queues[role],
    ...numbers(timeouts),
    retry: numbers(retry),
    ...(cancellationType === undefined ? {} : { cancellationType }),
  };
  if (more_s === undefined || timeouts.startToCloseTimeout === undefined) return options;
  let startToCloseTimeout = timings.commandTurn_ms + all[timeouts.startToCloseTimeout];
  for (const [name, times] of Object.entries(more_s))
    startToCloseTimeout += all[name as keyof typeof more_s] * (times === 'files' ? files : times) * 1000;
  return { ...options, startToCloseTimeout };
}
