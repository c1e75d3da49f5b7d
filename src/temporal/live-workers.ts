/**
 * Who serves a task queue. Temporal lists a poller for five minutes after it is gone, and the time that it gives is that of the last long
 * poll, which a live worker begins once a minute. A worker's own beat tells sooner; it goes on while all that the worker does is busy.
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { problem, type Problem } from '../shared/problems.js';
import { build } from '../system/version.js';
import { byDefault, type ServerPlace } from './connection.js';

// bound: A worker tells the server this often that it lives (the SDK's default is a minute);
export const WORKER_BEAT_MS = 2_000;
const WORKER_SILENT_BEATS = 2; // bound: one that is silent for so many of its beats is waited for once more,
const WORKER_LOOK_AGAIN_MS = 2_500; // bound: this long: a beat, and the time of its way.
const WORKER_POLL_MS = 90_000; // bound: A worker that sends no beats (its server takes none) polls anew at least once a minute.
/** `temporal.api.enums.v1`: `TaskQueueType` of workflows and activities, `WorkerStatus` of one that runs. */
const ENUMS = { queueTypes: [1, 2], running: 1 } as const;

interface QueueAt {
  readonly connection: ConnectionLike;
  readonly namespace: string;
  readonly queue: string;
  /** Beats after which another was waited for in vain, by identity: for whoever looks again and again, which waits once. */
  readonly last?: Map<string, number>;
}
/** When a worker was heard last, by its own or the server's clock (0: it said that it ends), and how long it may be silent. */
interface Sign {
  readonly at_ms: number;
  readonly silence_ms: number;
}
type Signs = ReadonlyMap<string, Sign>;

const msOf = (time?: { readonly seconds?: unknown; readonly nanos?: number | null } | null): number =>
  Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;

/** By the worker's identity. */
const beatsAt = async ({ connection: { workflowService }, namespace, queue }: QueueAt): Promise<Signs> => {
  const signs = new Map<string, Sign>();
  // A server that does not know these calls has no beats.
  const listed = await workflowService.listWorkers({ namespace, query: `TaskQueue = "${queue}"` }).catch(() => null);
  for (const { workerInstanceKey } of listed?.workers ?? []) {
    const key = { namespace, workerInstanceKey: workerInstanceKey ?? '' };
    const beat = (await workflowService.describeWorker(key).catch(() => null))?.workerInfo?.workerHeartbeat;
    const identity = beat?.workerIdentity ?? '';
    const at_ms = Number(beat?.status) === ENUMS.running ? msOf(beat?.heartbeatTime) : 0;
    const silence_ms = WORKER_SILENT_BEATS * Math.max(WORKER_BEAT_MS, msOf(beat?.elapsedSinceLastHeartbeat));
    if (at_ms >= (signs.get(identity)?.at_ms ?? 0)) signs.set(identity, { at_ms, silence_ms });
  }
  return signs;
};

const withPolls = async ({ connection, namespace, queue }: QueueAt, beats: Signs): Promise<Signs> => {
  const signs = new Map(beats);
  for (const taskQueueType of ENUMS.queueTypes) {
    const asked = { namespace, taskQueue: { name: queue }, taskQueueType };
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum is @temporalio/proto's, no dependency of ours
    for (const { identity, lastAccessTime } of (await connection.workflowService.describeTaskQueue(asked)).pollers) {
      const known = signs.get(identity ?? '') ?? { at_ms: 0, silence_ms: WORKER_POLL_MS };
      signs.set(identity ?? '', { ...known, at_ms: Math.max(known.at_ms, msOf(lastAccessTime)) });
    }
  }
  return signs;
};

/**
 * Identities of the workers that serve a task queue: heard lately, or within the beat that is waited for before anybody is taken for dead
 * (clocks differ, and machines sleep). `doubted`: they did not answer, so those that send beats must send one now. No action.
 */
export const liveWorkers = async (at: QueueAt, doubted = false): Promise<readonly string[]> => {
  const beats = await beatsAt(at);
  const isQuick = ({ silence_ms }: Sign): boolean => silence_ms <= WORKER_SILENT_BEATS * WORKER_BEAT_MS * 2;
  const heard = (signs: Signs): readonly string[] =>
    [...signs].flatMap(([identity, sign]) =>
      Date.now() - sign.at_ms < sign.silence_ms && !(doubted && isQuick(sign)) ? [identity] : [],
    );
  const alive = heard(beats).length > 0 ? heard(beats) : heard(await withPolls(at, beats));
  const mayBeat = [...beats].some(
    ([identity, sign]) => sign.at_ms > 0 && isQuick(sign) && at.last?.get(identity) !== sign.at_ms,
  );
  if (alive.length > 0 || !mayBeat) return alive;
  await sleep(WORKER_LOOK_AGAIN_MS);
  const again = await beatsAt(at);
  for (const [identity, { at_ms }] of beats) if (again.get(identity)?.at_ms === at_ms) at.last?.set(identity, at_ms);
  return [...again].flatMap(([identity, { at_ms }]) => (at_ms > (beats.get(identity)?.at_ms ?? 0) ? [identity] : []));
};

/** What to say of task queues that nobody serves. `start`: how a worker of another environment than ours starts. */
export const noWorker = (
  place: Pick<ServerPlace, 'address' | 'assumed'>,
  queues: readonly string[],
  start = '`emend worker`',
): Problem =>
  problem(
    'no_worker',
    `No worker serves the task queue${queues.length === 1 ? '' : 's'} ${queues.join(', ')}${byDefault(place)}.`,
    `Start one: ${start}.`,
  );

// What the server calls a worker (in the UI, in histories): process, host, build, and which store it works with.

const SHOWN_DIGITS = 8;
const PARTS = /@.+, (\S+)( versioned)?, store ([0-9a-f]{8})$/;

/** `versioned`: it serves where its build is current (deployment.ts). */
export const workerIdentity = (storeId: string, versioned = false): string =>
  `${process.pid}@${hostname()}, ${build()}${versioned ? ' versioned' : ''}, store ${storeId.slice(0, SHOWN_DIGITS)}`;

/** The pollers that work with another store than this: what they would do is lost to it. */
export const ofOtherStores = (identities: readonly string[], storeId: string): readonly string[] =>
  identities.filter((identity) => {
    const store = PARTS.exec(identity)?.[3];
    return store !== undefined && store !== storeId.slice(0, SHOWN_DIGITS);
  });

/** The build of a worker, by its identity; null: it does not say. */
export const buildOf = (identity: string): string | null => PARTS.exec(identity)?.[1] ?? null;
export const isVersioned = (identity: string): boolean => PARTS.exec(identity)?.[2] !== undefined;
