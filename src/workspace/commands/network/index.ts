/** The network of one command: none, or a way out through a proxy of this process (docs/sandbox.md, "Network"). */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NetworkSettings } from '../../../documents/job/index.js';
import type { Environment } from '../../../system/environment.js';
import { makeOwnedDirectory, SHORT_TMP } from '../../../system/scratch.js';
import { systemResolve } from './dial.js';
import { FORWARDER, insideArguments, proxyVariables, withForwarder } from './inside.js';
import { machineAddresses } from './machine-addresses.js';
import { targetsOf, type Policy } from './policy.js';
import { openProxy } from './proxy.js';
import { upstreamOf } from './upstream.js';

export { FORWARDER_MIB, FORWARDER_TASKS } from './inside.js';

const REFUSALS_SHOWN = 5; // bound: Refused destinations that the end of a command's output names.

export interface NetworkOptions {
  readonly env: Environment;
  readonly ownServers: Policy['ownServers'];
  /** For tests. */
  readonly resolve?: Policy['resolve'];
}
export interface CommandNetwork {
  /** Options of bubblewrap, after all others. */
  readonly arguments: readonly string[];
  readonly wrap: (command: readonly string[]) => readonly string[];
  readonly variables: (environment: Environment) => Readonly<Record<string, string>>;
  /** Sentences for the end of the command's output. */
  readonly notes: () => readonly string[];
  readonly end: () => Promise<void>;
}

const NONE: CommandNetwork = {
  arguments: [],
  wrap: (command) => command,
  variables: () => ({}),
  notes: () => [],
  end: () => Promise.resolve(),
};

/** Opens the way out that the settings allow. */
export async function openNetwork(
  network: NetworkSettings,
  { env, ownServers, resolve = systemResolve }: NetworkOptions,
): Promise<CommandNetwork> {
  if (network === false) return NONE;
  const targets = targetsOf(network);
  const dir = await makeOwnedDirectory(SHORT_TMP, 'emend-network');
  const [socket, script] = [join(dir, 'proxy'), join(dir, 'forwarder.cjs')];
  const remove = (): Promise<void> => rm(dir, { recursive: true, force: true });
  try {
    await writeFile(script, FORWARDER);
    const proxy = await openProxy(socket, {
      policy: { targets, ownServers, resolve, ownAddresses: machineAddresses },
      upstream: upstreamOf(env),
    });
    return {
      arguments: insideArguments({ socket, script }),
      wrap: (command) => withForwarder(command, targets),
      variables: proxyVariables,
      notes: () => refusalNotes(proxy.refusals),
      end: async () => {
        proxy.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

const refusalNotes = (refusals: readonly string[]): readonly string[] => {
  const more = refusals.length - REFUSALS_SHOWN;
  return [
    ...refusals.slice(0, REFUSALS_SHOWN).map((refusal) => `refused by Emend: ${refusal}`),
    ...(more > 0 ? [`refused by Emend: ${more} more destinations`] : []),
  ];
};
