/** Runs one command as whoever started this process: an ordinary user has a worker of their own, with what that may see and do. */
import { createLocalRunner, type CommandRequest } from '../../../src/workspace/commands/index.js';

/** As JSON, in the first argument. */
export interface ChildTask {
  readonly request: Pick<CommandRequest, 'command' | 'cwd' | 'sandbox'> &
    Partial<Pick<CommandRequest, 'env' | 'timeout_s'>>;
  readonly isGrouped: boolean;
  readonly ownServers?: readonly string[];
  /** Addresses by name; a list of lists: an answer for each time that the name is lookups for. */
  readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
}

const task = JSON.parse(process.argv[2] ?? '') as ChildTask;
const lookups = new Map<string, number>();
const resolve = async (name: string): Promise<readonly string[]> => {
  const times = lookups.get(name) ?? 0;
  lookups.set(name, times + 1);
  const answers = task.names?.[name] ?? [];
  return answers[Math.min(times, answers.length - 1)] ?? [];
};
const runner = createLocalRunner(process.env, {
  isGrouped: task.isGrouped,
  ownServers: async () => task.ownServers ?? [],
  ...(task.names === undefined ? {} : { resolve }),
});
const ran = await runner.run({ env: [], timeout_s: 60, maxOutput_bytes: 65_536, ...task.request });
process.stdout.write(JSON.stringify({ ...ran, lookups: Object.fromEntries(lookups) }));
