/** Starts a worker as the host of its home. Two machines must not work as one host. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { queuesFor } from '../shared/names.js';
import { fail } from '../shared/problems.js';
import { shellWord } from '../shared/text.js';
import { homePaths, hostId, isNewHome } from '../stores/home.js';
import { knownHosts, recordStart, startOn, type HostStart } from '../stores/hosts.js';
import { openStores, type Store } from '../stores/location.js';
import { realSys } from '../system/sys.js';
import { build } from '../system/version.js';
import * as live from '../temporal/live-workers.js';
import type { PortsOptions } from './adapters.js';
import type { WorkerConnection } from './run-workers.js';

export interface StartedHost {
  /** Id of the home, which names the task queue of the host. */
  readonly id: string;
  readonly start: HostStart;
}

/** Warns of a new home. A home that is not mounted looks like a new one. */
export async function warnOfNewHome(home: string, logger: Logger): Promise<void> {
  if (!(await isNewHome(home))) return;
  logger.warn({ home }, 'new home: runs started in another home wait for a worker there');
}

/**
 * Records that a worker starts as this home's host. A home that was copied or cloned has the id of the first one, and so its task queue.
 * With a `server` it throws ProblemError `home_unusable` if another machine serves the host's queue; null: the server is not asked.
 */
export async function startAsHost(
  { env, home, machine }: Pick<PortsOptions, 'env' | 'home' | 'machine'>,
  store: Store,
  server: WorkerConnection | null,
): Promise<StartedHost> {
  const id = await hostId(home);
  const { records } = await openStores(home, store);
  const queue = queuesFor(env, id).host;
  const start = await startOn(realSys, home, build(), machine);
  for (;;) {
    const lastStart = (await knownHosts(records)).get(id);
    const isSameMachine = lastStart?.machine === start.machine;
    const other = server === null ? null : await findOther(server, queue, start, isSameMachine);
    if (other !== null) refuseHome(home, other);
    if (await recordStart(records, id, start, lastStart)) return { id, start };
  }
}

/**
 * Returns a worker of another machine that serves the queue. A machine that was booted again is the same one. So a worker of its other boot
 * counts only if the server hears from it again, as two machines may have been made of one.
 */
async function findOther(
  server: WorkerConnection,
  queue: string,
  { boot }: HostStart,
  isSameMachine: boolean,
): Promise<live.SeenWorker | null> {
  const findOthers = async (): Promise<readonly live.SeenWorker[]> =>
    live.pollingOf((await live.workersOf(server, queue, [queue])).workers, boot);
  const others = await findOthers();
  const [first] = others;
  if (first === undefined) return null;
  if (!isSameMachine) return first;
  const lastSeen_ms = Math.max(...others.map(({ seen_ms }) => seen_ms));
  await sleep(live.WORKER_LOOK_AGAIN_MS);
  return (await findOthers()).find(({ seen_ms }) => seen_ms > lastSeen_ms) ?? null;
}

const refuseHome = (home: string, other: live.SeenWorker): never =>
  fail(
    'home_unusable',
    `The home at ${home} has the id of a host that another machine serves: ${other.said}.`,
    `Two machines must not work as one host. Stop that worker (if it was killed: wait ${live.HOST_SILENT_MS / 1000} s), or give this machine a home of its own: set EMEND_HOME, or, where no run waits for this copy, type: rm ${shellWord(homePaths(home).hostId)} ${shellWord(homePaths(home).hostIdCopy)}`,
  );
