/** Opens what the client functions work with, from an environment: the stores always, the server where one answers. */
import type { Client } from '@temporalio/client';
import { problemOn } from '../shared/problems.js';
import { queuesFor } from '../shared/names.js';
import {
  clientOver,
  connectClient,
  type OwnConversion,
  type ProgramConnection,
} from '../temporal/connection.js';
import { resolveTimings } from '../temporal/settings.js';
import { hostId, requireHome, resolveHome } from '../stores/home.js';
import { openStores, resolveStore } from '../stores/location.js';
import type { Environment } from '../system/environment.js';
import { createTemporalGateway } from './gateway.js';
import type { Emend } from './types.js';

/** All may be left out. */
export interface OpenOptions extends OwnConversion, Partial<ProgramConnection> {
  /** Names home, store, server and queues, as for the command `emend`; default: `process.env`. With a `connection` it names no server. */
  readonly env?: Environment;
  /** True: do not look for a server. */
  readonly local?: boolean;
  /** True: a home that is not there is refused (`home_unusable`), not made. */
  readonly existing?: boolean;
  /** The program's own client: its connection, namespace, data converter and interceptors take the place of these options. */
  readonly client?: Client | undefined;
}

/** Returns what a client of the program was made with. */
const optionsOfClient = ({ connection, options }: Client) => ({
  connection,
  namespace: options.namespace,
  dataConverter: options.dataConverter,
  interceptors: options.interceptors,
});

/**
 * Throws ProblemError `home_unusable`, `store_unusable` or `config_invalid`. No server is no error here: `runs` is null then and `unreachable` says why,
 * since archives answer without one. Call `close()` when done.
 */
export const openEmend = async ({
  env = process.env,
  local = false,
  existing = false,
  client: clientOfProgram,
  ...options
}: OpenOptions): Promise<Emend> => {
  const { connection, namespace, ...own } =
    clientOfProgram === undefined ? options : optionsOfClient(clientOfProgram);
  const timings = resolveTimings(env);
  if (existing) await requireHome(env);
  const home = await resolveHome(env);
  const store = await resolveStore(env, home);
  const opened = await openStores(home, store);
  const host = await hostId(home);
  const stores = { home, store: store.dir, ...opened, timings, queues: queuesFor(env, host) };
  const none = {
    namespace: '',
    address: '',
    uiUrl: null,
    runs: null,
    close: () => Promise.resolve(),
  };
  if (local) return { ...stores, ...none, unreachable: null };
  try {
    const connect = { env, home, connect_ms: timings.connect_ms, blobs: opened.blobs, ...own };
    const connecting =
      connection === undefined
        ? connectClient(connect)
        : clientOver({ connection, namespace }, connect);
    const { client, connection: used, ...found } = await connecting;
    const runs = createTemporalGateway(client, used, found.namespace);
    return {
      ...stores,
      ...found,
      queues: queuesFor(env, host, found.own),
      runs,
      unreachable: null,
    };
  } catch (error) {
    return { ...stores, ...none, unreachable: problemOn('no_server')(error) };
  }
};

/**
 * Opened when first asked for, and kept. Where no server answered, or opening failed, the next who asks after `again_ms` opens anew: there
 * may be one by then.
 */
export const reopening = (options: OpenOptions, again_ms = 0) => {
  let opened: Promise<Emend> | null = null;
  let until_ms = Infinity;
  return {
    source: async (): Promise<Emend> => {
      if (opened === null || performance.now() > until_ms)
        [opened, until_ms] = [openEmend(options), Infinity];
      try {
        const emend = await opened;
        if (emend.runs === null && until_ms === Infinity) until_ms = performance.now() + again_ms;
        return emend;
      } catch (error) {
        opened = null;
        throw error;
      }
    },
    close: async (): Promise<void> => {
      await (await opened?.catch(() => null))?.close();
    },
  };
};

// Commands that only read tell what the archive knows where the server does not.

/**
 * A server that was there when it was connected to and then leaves a call unanswered is no server: `act`, which only reads, begins
 * again without one. Throws what `act` throws.
 */
export const reading = async <T>(emend: Emend, act: (emend: Emend) => Promise<T>): Promise<T> => {
  try {
    return await act(emend);
  } catch (error) {
    if (emend.runs === null) throw error;
    return act({ ...emend, runs: null, unreachable: problemOn('no_server')(error) });
  }
};
