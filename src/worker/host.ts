/** Two machines must not work as one host: a home that was copied or cloned has the id of the first, and so its task queue. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../shared/problems.js';
import { queuesFor } from '../shared/names.js';
import { homePaths, hostId } from '../stores/home.js';
import { knownHosts, recordStart, startOn } from '../stores/hosts.js';
import { openStores, type Store } from '../stores/location.js';
import { realSys } from '../system/sys.js';
import { HOST_SILENT_MS, pollingOf, WORKER_LOOK_AGAIN_MS, workersOf, type QueueAt } from '../temporal/live-workers.js';
import type { PortsOptions } from './adapters.js';

/**
 * Records that a worker starts as this home's host. With a `server` it throws ProblemError `home_unusable` where another machine serves the
 * host's queue. A machine that was booted anew is the same one: it is refused only where the other boot is heard again, as two may have been
 * made of one.
 */
export const startAsHost = async (
  { env, home, machine }: Pick<PortsOptions, 'env' | 'home' | 'machine'>,
  store: Store,
  build: string,
  server?: Pick<QueueAt, 'connection' | 'namespace'>,
) => {
  const id = await hostId(home);
  const { records } = await openStores(home, store);
  const queue = queuesFor(env, id).host;
  const start = await startOn(realSys, home, build, machine);
  for (;;) {
    const before = (await knownHosts(records)).get(id);
    const others = async () =>
      server === undefined ? [] : pollingOf(await workersOf(server, queue, [queue]), start.boot);
    const found = await others();
    let [other] = found;
    if (other !== undefined && before?.machine === start.machine) {
      const last_ms = Math.max(...found.map(({ seen_ms }) => seen_ms));
      await sleep(WORKER_LOOK_AGAIN_MS);
      other = (await others()).find(({ seen_ms }) => seen_ms > last_ms);
    }
    if (other !== undefined)
      fail(
        'home_unusable',
        `The home at ${home} has the id of a host that another machine serves: ${other.said}.`,
        `Two machines must not work as one host. Stop that worker (if it was killed: wait ${HOST_SILENT_MS / 1000} s), or give this machine a home of its own: set EMEND_HOME, or, where no run waits for this copy, remove ${homePaths(home).hostId}.`,
      );
    if (await recordStart(records, id, start, before)) return { id, start };
  }
};
