/** The options of a call: as the table (src/shared/activities.ts) says, with the numbers that the run goes by. */
import type { ActivityOptions } from '@temporalio/workflow';
import {
  ACTIVITIES,
  COMMAND_TIMEOUTS,
  type ActivityName,
  type ActivitySpec,
  type Amount,
} from '../../shared/activities.js';
import { commandQueueOf } from '../../shared/names.js';
import type { RunSetup } from '../../shared/run.js';

export type Timed = Pick<RunSetup, 'timings' | 'queues' | 'rules' | 'repository'>;

/** The role in which an activity is called: commands of the project run in slots of their own. */
export const roleOf = (activity: ActivityName, words: string | object): ActivitySpec['role'] =>
  typeof words === 'object' && 'runsCommands' in words && words.runsCommands === true
    ? 'command'
    : ACTIVITIES[activity].role;

const queueOf = ({ queues }: Timed, role: ActivitySpec['role']): string =>
  role === 'command' ? commandQueueOf(queues.host) : queues[role];

/** Each activity may have to fetch the repository first. */
const CHECKOUT = { worktreeAdd_s: 1 } as const;
/** Roles of activities that work where the files are. */
export const ON_A_HOST: readonly ActivitySpec['role'][] = ['host', 'command'];

interface CallTimes {
  readonly role: ActivitySpec['role'];
  readonly files: number;
  readonly timeout_s: number;
}

export function optionsOf(
  activity: ActivityName,
  run: Timed,
  { role, files, timeout_s }: CallTimes,
): ActivityOptions {
  const { timings, rules, repository } = run;
  const { retry, cancellationType, more_s, ...spec }: ActivitySpec = ACTIVITIES[activity];
  const timeouts = role === 'command' ? COMMAND_TIMEOUTS : spec.timeouts;
  const all = { ...rules.bounds, ...timings, timeout_s };
  const numbers = (amounts: Readonly<Record<string, Amount>>) =>
    Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, all[amount]]));
  const options = {
    taskQueue: queueOf(run, role),
    ...numbers(timeouts),
    retry: numbers(retry),
    ...(cancellationType === undefined ? {} : { cancellationType }),
  };
  const more = {
    ...more_s,
    ...(repository === undefined || !ON_A_HOST.includes(role) ? {} : CHECKOUT),
  };
  if (Object.keys(more).length === 0 || timeouts.startToCloseTimeout === undefined) return options;
  let startToCloseTimeout = all[timeouts.startToCloseTimeout];
  for (const [name, times] of Object.entries(more))
    startToCloseTimeout +=
      all[name as keyof typeof more] * (times === 'files' ? files : times) * 1000;
  return { ...options, startToCloseTimeout };
}
