/**
 * Who serves a task queue. Temporal lists a poller for five minutes after it is gone, and the time that it gives is that of the last long
 * poll, which a live worker begins once a minute. A worker's own beat tells sooner; it goes on while all that the worker does is busy.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { shownKey } from '../shared/ids.js';
import { commandQueueOf } from '../shared/names.js';
import { problem, type Problem } from '../shared/problems.js';

// bound: A worker tells the server this often that it lives (the SDK's default is a minute);
export const WORKER_BEAT_MS = 2_000;
const WORKER_SILENT_BEATS = 2; // bound: one that is silent for so many of its beats is waited for once more,
export const WORKER_LOOK_AGAIN_MS = 2_500; // bound: this long: a beat, and the time of its way.
const WORKER_POLL_MS = 90_000; // bound: A worker that sends no beats (its server takes none) polls anew at least once a minute.
/** `temporal.api.enums.v1`: `TaskQueueType` of workflows and activities, `WorkerStatus` of one that runs. */
const ENUMS = { queueTypes: [1, 2], running: 1 } as const;

export interface QueueAt {
  readonly connection: ConnectionLike;
  readonly namespace: string;
  readonly queue: string;
  /** Beats after which another was waited for in vain, by identity: for whoever looks again and again, which waits once. */
  readonly last?: Map<string, number>;
}
/** When a worker was heard last, by its own or the server's clock, and how long it may be silent (0: it said that it ends). */
type Sign = Readonly<Record<'at_ms' | 'silence_ms', number>>;
type Signs = ReadonlyMap<string, Sign>;
const NONE: Signs = new Map();

const msOf = (
  time?: { readonly seconds?: unknown; readonly nanos?: number | null } | null,
): number => Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;

type Server = Omit<QueueAt, 'queue'>;
/** By queue. A server allows a few lists a second, in all: one tells of all queues. */
const beatsOf = async ({ connection: { workflowService }, namespace }: Server, query: string) => {
  const queues = new Map<string, Map<string, Sign>>();
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    // A server that does not know these calls has no beats.
    const page = await workflowService
      .listWorkers({ namespace, query, nextPageToken })
      .catch(() => null);
    if (page === null) break;
    for (const [n, { workerInstanceKey }] of page.workers.entries()) {
      const key = { namespace, workerInstanceKey: workerInstanceKey ?? '' };
      const beat = (
        page.workersInfo[n] ??
        (await workflowService.describeWorker(key).catch(() => null))?.workerInfo
      )?.workerHeartbeat;
      const [queue, identity] = [beat?.taskQueue ?? '', beat?.workerIdentity ?? ''];
      const at_ms = msOf(beat?.heartbeatTime);
      const between_ms = Math.max(WORKER_BEAT_MS, msOf(beat?.elapsedSinceLastHeartbeat));
      const silence_ms =
        Number(beat?.status) === ENUMS.running ? WORKER_SILENT_BEATS * between_ms : 0;
      const signs = queues.get(queue) ?? new Map<string, Sign>();
      if (at_ms >= (signs.get(identity)?.at_ms ?? 0))
        queues.set(queue, signs.set(identity, { at_ms, silence_ms }));
    }
    nextPageToken = page.nextPageToken;
  } while (nextPageToken.length > 0);
  return queues;
};

/** The beats of a queue, by the worker's identity; and those after another was waited for. */
type Look = (again: boolean) => Promise<Signs>;
const lookAt =
  (at: QueueAt): Look =>
  async (again) => {
    if (again) await sleep(WORKER_LOOK_AGAIN_MS);
    return (await beatsOf(at, `TaskQueue = "${at.queue}"`)).get(at.queue) ?? NONE;
  };

const withPolls = async (
  { connection, namespace, queue }: QueueAt,
  beats: Signs,
): Promise<Signs> => {
  const signs = new Map(beats);
  for (const taskQueueType of ENUMS.queueTypes) {
    const asked = { namespace, taskQueue: { name: queue }, taskQueueType };
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum is @temporalio/proto's, no dependency of ours
    for (const poller of (await connection.workflowService.describeTaskQueue(asked)).pollers) {
      const identity = poller.identity ?? '';
      const known = signs.get(identity) ?? { at_ms: 0, silence_ms: WORKER_POLL_MS };
      const at_ms = msOf(poller.lastAccessTime);
      // One that ended and polls well after that has begun anew, and sends its first beat soon; sooner, its poll was on its way.
      const again_ms =
        at_ms - known.at_ms > WORKER_BEAT_MS ? WORKER_SILENT_BEATS * WORKER_BEAT_MS : 0;
      const silence_ms = known.silence_ms === 0 ? again_ms : known.silence_ms;
      signs.set(identity, { ...known, silence_ms, at_ms: Math.max(known.at_ms, at_ms) });
    }
  }
  return signs;
};

/**
 * Identities of the workers that serve a task queue: heard lately, or within the beat that is waited for before anybody is taken for dead
 * (clocks differ, and machines sleep). `doubted`: they did not answer, so those that send beats must send one now. No action.
 */
export const liveWorkers = async (
  at: QueueAt,
  doubted = false,
  look = lookAt(at),
): Promise<readonly string[]> => {
  const beats = await look(false);
  const isQuick = ({ silence_ms }: Sign): boolean =>
    silence_ms <= WORKER_SILENT_BEATS * WORKER_BEAT_MS * 2;
  const heard = (signs: Signs): readonly string[] =>
    [...signs].flatMap(([identity, sign]) =>
      Math.abs(Date.now() - sign.at_ms) < sign.silence_ms && !(doubted && isQuick(sign))
        ? [identity]
        : [],
    );
  const alive = heard(beats).length > 0 ? heard(beats) : heard(await withPolls(at, beats));
  const mayBeat = [...beats].some(
    ([identity, sign]) =>
      sign.silence_ms > 0 && isQuick(sign) && at.last?.get(identity) !== sign.at_ms,
  );
  if (alive.length > 0 || !mayBeat) return alive;
  const again = await look(true);
  for (const [identity, { at_ms }] of beats)
    if (again.get(identity)?.at_ms === at_ms) at.last?.set(identity, at_ms);
  const beatsOn = ([identity, { at_ms, silence_ms }]: readonly [string, Sign]): boolean =>
    silence_ms > 0 && at_ms > (beats.get(identity)?.at_ms ?? 0);
  return [...again].filter(beatsOn).map(([identity]) => identity);
};

/**
 * Whether a live worker runs the commands of a host. While all its slots are busy it polls for none, so only its beats show that it
 * serves them. A server without beats is asked who polls the host's own queue, which the same process serves.
 */
export const runsCommands = async (at: Server, hostQueue: string): Promise<boolean> => {
  const beats = await beatsOf(at, `TaskQueue = "${hostQueue}"`);
  const queue = beats.has(hostQueue) ? commandQueueOf(hostQueue) : hostQueue;
  return (await liveWorkers({ ...at, queue })).length > 0;
};

/** A worker that serves a task queue, or did: the server remembers those that are gone for a while. */
export interface SeenWorker extends ReturnType<typeof partsOf> {
  readonly queue: string;
  readonly seen_ms: number;
  readonly is: 'live' | 'silent' | 'ended';
  /** Who it is and when it was heard, in words. */
  readonly said: string;
}
const workersAt = async (at: QueueAt, look: Look): Promise<readonly SeenWorker[]> => {
  const live = await liveWorkers(at, false, look);
  return [...(await withPolls(at, await look(false)))].map(
    ([identity, { at_ms: seen_ms, silence_ms }]) => ({
      ...partsOf(identity),
      seen_ms,
      queue: at.queue,
      is: live.includes(identity) ? 'live' : silence_ms === 0 ? 'ended' : 'silent',
      said: `${identity}, heard ${Math.max(0, Math.round((Date.now() - seen_ms) / 1000))} s ago`,
    }),
  );
};
/** All that the server knows of, at queues whose names begin alike: two lists, however many there are. No action. */
export const workersOf = async (at: Server, group: string, queues: readonly string[]) => {
  const list = () => beatsOf(at, `TaskQueue starts_with "${group}"`);
  const first = list();
  let second: ReturnType<typeof list> | null = null;
  // The newest: one may have ended while another's beat was waited for.
  const lists = (again: boolean) =>
    again ? (second ??= sleep(WORKER_LOOK_AGAIN_MS).then(list)) : (second ?? first);
  const looks = queues.map((queue) =>
    workersAt({ ...at, queue }, async (again) => (await lists(again)).get(queue) ?? NONE),
  );
  return (await Promise.all(looks)).flat();
};

// bound: Another machine or home may take a host's place once its workers have been silent this long, or have said that they end.
export const HOST_SILENT_MS = 60_000;
/** Those that may still work. `boot`: not those of this one. */
export const pollingOf = (
  seen: readonly SeenWorker[],
  boot?: string,
  now = Date.now(),
): readonly SeenWorker[] =>
  seen
    .filter((worker) => boot === undefined || (worker.boot !== null && worker.boot !== boot))
    .filter(
      ({ is, seen_ms }) =>
        is === 'live' || (is === 'silent' && Math.abs(now - seen_ms) < HOST_SILENT_MS),
    );

/** What to say of task queues that nobody serves. `start`: how a worker of another environment than ours starts. */
export const noWorker = (queues: readonly string[], start = '`emend worker`'): Problem =>
  problem(
    'no_worker',
    `No worker serves the task queue${queues.length === 1 ? '' : 's'} ${queues.join(', ')}.`,
    `Start one: ${start}.`,
  );

// What the server calls a worker (in the UI, in histories): process, machine, build, the home that it works for, and with which store.

const IDENTITY =
  /^\d+@.*?(?:, (\S+)( versioned)?, host ([0-9a-f]{8})\.([0-9a-f]{8}))?, store ([0-9a-f]{8})$/;

/** `boot`: this home on this boot of its machine (stores/home.ts). `versioned`: it serves where its build is current (deployment.ts). */
export const workerIdentity = (
  storeId: string,
  host: string,
  { name, boot, build }: Readonly<Record<'name' | 'boot' | 'build', string>>,
  versioned = false,
): string =>
  `${process.pid}@${name}, ${build}${versioned ? ' versioned' : ''}, host ${shownKey(host)}.${boot}, store ${shownKey(storeId)}`;

/** As far as a worker's name says so; ids by their first 8 digits. */
export const partsOf = (identity: string) => {
  const [, build = null, versioned, host = null, boot = null, store = null] =
    IDENTITY.exec(identity) ?? [];
  return { build, versioned: versioned !== undefined, host, boot, store };
};

/** The pollers that work with another store than this: what they would do is lost to it. */
export const ofOtherStores = (identities: readonly string[], storeId: string): readonly string[] =>
  identities.filter(
    (identity) => (partsOf(identity).store ?? shownKey(storeId)) !== shownKey(storeId),
  );
