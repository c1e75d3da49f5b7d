/** How each activity is called: as the table (src/shared/activities.ts) says, with the numbers of the run's input. */
import { scheduleActivity, type ActivityOptions } from '@temporalio/workflow';
import {
  ACTIVITIES,
  type Amount,
  type ActivityName,
  type ActivitySpec,
  type InputOf,
  type ResultOf,
} from '../../shared/activities.js';
import type { EditStepInput } from '../../shared/run.js';
import { boundsOf } from '../../shared/rules.js';

/** How many files it is for, where its time-out depends on that. */
type SizeOf<N extends ActivityName> = (typeof ACTIVITIES)[N] extends { more_s: Readonly<Record<string, 'files'>> }
  ? [files: number]
  : [];
export type Call<N extends ActivityName> = (input: InputOf<N>, ...size: SizeOf<N>) => Promise<ResultOf<N>>;
export type Calls = <N extends ActivityName>(activity: N, summary: string) => Call<N>;
type Timed = Pick<EditStepInput, 'timings' | 'queues' | 'rules'>;

export const callsOf =
  (run: Timed): Calls =>
  (activity, summary) =>
  (input, ...[files = 0]) => {
    const timeout_s = 'timeout_s' in input ? input.timeout_s : 0;
    const options = optionsOf(activity, run, { files, timeout_s });
    return scheduleActivity(activity, [input], { ...options, summary: summary.slice(0, 200) });
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
  // Absent in runs that began before it was a setting.
  const { commandTurn_ms = timings.hostActivityTimeout_ms } = timings as Partial<typeof timings>;
  let startToCloseTimeout = commandTurn_ms + all[timeouts.startToCloseTimeout];
  for (const [name, times] of Object.entries(more_s))
    startToCloseTimeout += all[name as keyof typeof more_s] * (times === 'files' ? files : times) * 1000;
  return { ...options, startToCloseTimeout };
}
