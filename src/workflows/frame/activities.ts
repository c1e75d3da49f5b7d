/** How each activity is called: as the table (src/shared/activities.ts) says, with the numbers that the run goes by. */
import { scheduleActivity, workflowInfo, type ActivityOptions } from '@temporalio/workflow';
import type { ACTIVITIES, ActivityName, InputOf, ResultOf } from '../../shared/activities.js';
import { checkVersion, versioned } from '../../shared/problems.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import { optionsOf, roleOf, type Timed } from './call-options.js';
import { Hosts } from './hosts.js';

/** What every input has: who asks, and what the archive has not heard of yet. */
type Base = Pick<ActivityBase, 'stepKey' | 'log'>;
/** An input without that. */
export type Asked<N extends ActivityName> = Omit<InputOf<N>, keyof Base>;
/** What the Temporal UI shows of a call, and how many files it is for if its time-out depends on that. */
export type Words<N extends ActivityName, More = unknown> = (typeof ACTIVITIES)[N] extends {
  more_s: Readonly<Record<string, 'files'>>;
}
  ? Summary<N> & { readonly files: number } & More
  : string | (Summary<N> & More);
type Summary<N extends ActivityName> = {
  readonly summary: string;
} & ((typeof ACTIVITIES)[N] extends {
  mayRunCommands: true;
}
  ? { readonly runsCommands?: boolean }
  : unknown);
export type Calls = <N extends ActivityName>(
  activity: N,
  words: Words<N>,
) => (input: Base & Asked<N>) => Promise<ResultOf<N>>;
export const callsOf = (run: Timed): Calls => {
  const hosts = new Hosts(run);
  return (activity, words) => async (input) => {
    const { summary, files = 0 }: { readonly summary: string; readonly files?: number } =
      typeof words === 'string' ? { summary: words } : words;
    const timeout_s = 'timeout_s' in input ? (input.timeout_s as number) : 0;
    const role = roleOf(activity, words);
    const options = {
      ...optionsOf(activity, run, { role, files, timeout_s }),
      summary: summary.slice(0, 200),
    };
    const ask = (more: ActivityOptions = {}) =>
      scheduleActivity<never>(activity, [versioned(input)], { ...options, ...more });
    const result = await hosts.call(role, input, ask);
    checkVersion(result, `The result of ${activity}`);
    return result;
  };
};

/** Whose transaction it is, for activities that leave one behind. */
export const owner = (): { readonly workflowId: string; readonly namespace: string } => {
  const { workflowId, namespace } = workflowInfo();
  return { workflowId, namespace };
};
