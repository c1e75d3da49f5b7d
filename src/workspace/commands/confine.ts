/** Puts together the arguments, the limits and the network of one command's sandbox. */
import type { Environment } from '../../system/environment.js';
import type { ProcessInput, ProcessRequest } from '../../system/process-group.js';
import { makeCgroup } from './cgroup.js';
import { openNetwork, type NetworkOptions } from './network/index.js';
import { boxOptions, limited, type Box } from './sandbox.js';
import { allowanceOf, groupLimits, watchBox, type Allowance } from './watch-box.js';

export interface ConfineOptions {
  /** Emend's own directories (home, store), which no command in a sandbox sees. */
  readonly hidden: readonly string[];
  /** `host:port` of Emend's own servers as they are now, which no command reaches. */
  readonly ownServers: NetworkOptions['ownServers'];
  /** Resolves names for commands with `network`: for tests. */
  readonly resolve?: NetworkOptions['resolve'];
  /** False: Emend makes no control group, as on a machine that does not allow one. */
  readonly isGrouped: boolean;
  /** Lower limits than the settings have: for tests. */
  readonly allowed: Partial<Allowance>;
}
export interface Confined {
  readonly file: string;
  readonly args: readonly string[];
  /** Contents of the descriptors that bubblewrap reads. */
  readonly inputs: readonly ProcessInput[];
  readonly variables: Readonly<Record<string, string>>;
  readonly watch: NonNullable<ProcessRequest['watch']>;
  /** Ends the limits and the network. */
  readonly end: () => Promise<ConfinedEnd>;
}
export interface ConfinedEnd {
  /** Limit at which the kernel ended the command; null: it did not. */
  readonly ended: string | null;
  /** Sentences for the end of the command's output. */
  readonly notes: readonly string[];
}

interface Confinement {
  readonly bubblewrap: string;
  /** Its workspace is a real path. */
  readonly box: Box;
  readonly argv: readonly string[];
  readonly env: Environment;
  /** Variables of the command. */
  readonly variables: Environment;
}

/** Prepares the sandbox of one command. Until `end` is called, a proxy may listen and a control group may exist. */
export async function confine(
  { bubblewrap, box, argv, env, variables }: Confinement,
  { hidden, allowed, isGrouped, ownServers, resolve }: ConfineOptions,
): Promise<Confined> {
  const { options, inputs } = await boxOptions(box, { env, hidden });
  const allowance = { ...allowanceOf(box), ...allowed };
  const isOpen = box.isOpen === true;
  const cgroup = isGrouped ? await makeCgroup(groupLimits(allowance)) : null;
  const watch = await watchBox(box, allowance, cgroup);
  const network = await openNetwork(isOpen ? false : box.settings.network, {
    env,
    ownServers,
    ...(resolve === undefined ? {} : { resolve }),
  }).catch(async (error: unknown) => {
    await watch.end();
    throw error;
  });
  const processes = allowance.processes + allowance.own.tasks;
  const inside = isOpen ? argv : network.wrap(limited({ ...box.settings, processes }, argv));
  const program = [bubblewrap, '--json-status-fd', '4', ...options, ...network.arguments];
  const whole = [...program, '--', ...inside];
  const [file = '', ...args] = cgroup === null ? whole : cgroup.wrap(whole);
  return {
    file,
    args,
    inputs,
    variables: network.variables(variables),
    watch: watch.look,
    end: async () => {
      const { ended, note } = await watch.result();
      const notes = network.notes();
      await Promise.all([watch.end(), network.end()]);
      return { ended, notes: [...(note === null ? [] : [`limited by Emend: ${note}`]), ...notes] };
    },
  };
}
