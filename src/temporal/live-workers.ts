/**
 * Who serves a task queue. Temporal lists a poller for five minutes after it is gone, and the time that it gives is that of the last long
 * poll, which a live worker begins once a minute. A worker's own beat tells sooner; it goes on while all that the worker does is busy.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { shownKey } from '../shared/ids.js';
import { commandQueueOf } from '../shared/names.js';
import { problem, type Problem } from '../shared/problems.js';
import { together } from '../system/together.js';

// bound: A worker tells the server this often that it lives (the SDK's default is a minute);
export const WORKER_BEAT_MS = 2_000;
const WORKER_SILENT_BEATS = 2; // bound: one that is silent for so many of its beats is waited for once more,
export const WORKER_LOOK_AGAIN_MS = 2_500; // bound: this long: a beat, and the time of its way.
const WORKER_POLL_MS = 90_000; // bound: A worker that sends no beats (its server takes none) polls anew at least once a minute.
/** `temporal.api.enums.v1`: `TaskQueueType` of workflows and activities, `WorkerStatus` of one that runs. */
const ENUMS = { queueTypes: [1, 2], activity: 2, running: 1 } as const;

// bound: Maximum number of queues without a beat whose pollers are looked up in one look: a worker that has just started polls before its first beat.
const POLLED_QUEUES = 4;
const POLLED_QUEUES_WITHOUT_BEATS = 100; // bound: The same at a server that takes no beats, where polls are all there is.
const POLLS_AT_ONCE = 4; // bound: Maximum number of these calls at a time.

interface Server {
  readonly connection: ConnectionLike;
  readonly namespace: string;
  /** Beats after which another was waited for in vain, by identity: whoever looks again and again waits once. */
  readonly last?: Map<string, number>;
}
export interface QueueAt extends Server {
  readonly queue: string;
}
/** When a worker was heard last, by its own or the server's clock, and how long it may be silent (0: it said that it ends). */
type Sign = Readonly<Record<'at_ms' | 'silence_ms', number>>;
/** By the worker's identity. */
type Signs = ReadonlyMap<string, Sign>;
const NONE: Signs = new Map();

const msOf = (
  time?: { readonly seconds?: unknown; readonly nanos?: number | null } | null,
): number => Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;

/** The queues to look at. */
interface Wanted {
  /** A query of Temporal's list of workers. */
  readonly query: string;
  /** Queues that somebody must serve, the most important first. */
  readonly needed: readonly string[];
  /** Queues that somebody may serve: their polls are looked up only at a server that takes no beats. */
  readonly others: readonly string[];
  /** Queues of workflows and activities; the others have activities alone. */
  readonly withWorkflows: string;
  /** The workers did not answer: those that send beats must send one now. */
  readonly doubted: boolean;
}

/** Reads the beats, by queue. A server allows few lists a second, so one list reports all queues. */
const beatsOf = async (
  { connection: { workflowService }, namespace }: Server,
  { query, needed }: Pick<Wanted, 'query' | 'needed'>,
): Promise<ReadonlyMap<string, Signs>> => {
  const queues = new Map<string, Map<string, Sign>>();
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    // A server that does not know these calls has no beats.
    const page = await workflowService
      .listWorkers({ namespace, query, nextPageToken })
      .catch(() => null);
    if (page === null) break;
    for (const [index, { workerInstanceKey, taskQueue }] of page.workers.entries()) {
      const key = { namespace, workerInstanceKey: workerInstanceKey ?? '' };
      // A newer server leaves the beats out of its lists: each costs a call, so only needed ones are read.
      const info =
        page.workersInfo[index] ??
        (needed.includes(taskQueue ?? '')
          ? (await workflowService.describeWorker(key).catch(() => null))?.workerInfo
          : null);
      const beat = info?.workerHeartbeat;
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

const withPolls = async (
  { connection, namespace }: Server,
  queue: string,
  types: readonly number[],
  beats: Signs,
): Promise<Signs> => {
  const signs = new Map(beats);
  for (const taskQueueType of types) {
    const request = { namespace, taskQueue: { name: queue }, taskQueueType };
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum is @temporalio/proto's, no dependency of ours
    for (const poller of (await connection.workflowService.describeTaskQueue(request)).pollers) {
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

/** Returns whether workers of this namespace send beats. */
const takesBeats = async ({ connection, namespace }: Server): Promise<boolean> => {
  const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
  return namespaceInfo?.capabilities?.workerHeartbeats === true;
};

const isQuick = ({ silence_ms }: Sign): boolean =>
  silence_ms <= WORKER_SILENT_BEATS * WORKER_BEAT_MS * 2;

/** What a look found, by queue. */
interface Look {
  readonly signs: ReadonlyMap<string, Signs>;
  /** Identities of the workers that live. */
  readonly live: ReadonlyMap<string, ReadonlySet<string>>;
  /** Queues of which nothing can be said: the server takes no beats, and they are too many. */
  readonly unasked: readonly string[];
}

/**
 * Looks who serves queues: by one list of beats; by the polls of a few needed queues that have no beat; by a second list for needed queues
 * whose workers may only be late.
 */
const look = async (at: Server, wanted: Wanted): Promise<Look> => {
  const { needed, doubted } = wanted;
  const heardIn = (signs: Signs): ReadonlySet<string> => {
    const heard = [...signs].filter(
      ([, sign]) =>
        Math.abs(Date.now() - sign.at_ms) < sign.silence_ms && !(doubted && isQuick(sign)),
    );
    return new Set(heard.map(([identity]) => identity));
  };
  const beats = await beatsOf(at, wanted);
  const silent = needed.filter((queue) => heardIn(beats.get(queue) ?? NONE).size === 0);
  const { polls, unasked } = await pollsOf(at, wanted, beats, silent);
  const first = new Map([...beats, ...polls]);
  const live = new Map([...first].map(([queue, signs]) => [queue, heardIn(signs)]));

  const mayBeat = ([identity, sign]: readonly [string, Sign]): boolean =>
    sign.silence_ms > 0 && isQuick(sign) && at.last?.get(identity) !== sign.at_ms;
  const late = silent.filter(
    (queue) => (live.get(queue)?.size ?? 0) === 0 && [...(beats.get(queue) ?? NONE)].some(mayBeat),
  );
  if (late.length === 0) return { signs: first, live, unasked };
  await sleep(WORKER_LOOK_AGAIN_MS);
  const second = await beatsOf(at, wanted);
  for (const queue of late)
    for (const [identity, { at_ms }] of beats.get(queue) ?? NONE)
      if (second.get(queue)?.get(identity)?.at_ms === at_ms) at.last?.set(identity, at_ms);
  const signs = new Map(first);
  for (const [queue, found] of second) {
    signs.set(queue, new Map([...(first.get(queue) ?? NONE), ...found]));
    const again = beatsSince(beats.get(queue) ?? NONE, found);
    live.set(queue, new Set([...(live.get(queue) ?? []), ...again]));
  }
  return { signs, live, unasked };
};

/** Asks for the polls of the silent queues, a few at a time. */
const pollsOf = async (
  at: Server,
  { withWorkflows, others }: Wanted,
  beats: ReadonlyMap<string, Signs>,
  silent: readonly string[],
): Promise<{
  readonly polls: readonly (readonly [string, Signs])[];
  readonly unasked: readonly string[];
}> => {
  const isFew = silent.length + others.length <= POLLED_QUEUES;
  const canBeat = isFew || beats.size > 0 || (await takesBeats(at));
  const wanted = canBeat ? silent : [...silent, ...others];
  const most = canBeat ? POLLED_QUEUES : POLLED_QUEUES_WITHOUT_BEATS;
  const polls = await together(
    wanted.slice(0, most),
    async (queue): Promise<readonly [string, Signs]> => {
      const types = queue === withWorkflows ? ENUMS.queueTypes : [ENUMS.activity];
      return [queue, await withPolls(at, queue, types, beats.get(queue) ?? NONE)];
    },
    POLLS_AT_ONCE,
  );
  // Where workers send beats, a queue without one is served by nobody.
  return { polls, unasked: canBeat ? [] : wanted.slice(most) };
};

/** Returns who sent another beat. */
const beatsSince = (before: Signs, now: Signs): readonly string[] =>
  [...now].flatMap(([identity, { at_ms, silence_ms }]) =>
    silence_ms > 0 && at_ms > (before.get(identity)?.at_ms ?? 0) ? [identity] : [],
  );

/**
 * Identities of the workers that serve a task queue: heard lately, or within the beat that is waited for before anybody is taken for dead
 * (clocks differ, and machines sleep). `doubted`: they did not answer, so those that send beats must send one now. No action.
 */
export const liveWorkers = async (
  { queue, ...at }: QueueAt,
  doubted = false,
): Promise<readonly string[]> => {
  const query = `TaskQueue = "${queue}"`;
  const { live } = await look(at, {
    query,
    needed: [queue],
    others: [],
    withWorkflows: queue,
    doubted,
  });
  return [...(live.get(queue) ?? [])];
};

/**
 * Whether a live worker runs the commands of a host. While all its slots are busy it polls for none, so only its beats show that it
 * serves them. A server without beats is asked who polls the host's own queue, which the same process serves.
 */
export const runsCommands = async (server: Server, hostQueue: string): Promise<boolean> => {
  const query = `TaskQueue = "${hostQueue}"`;
  const beats = await beatsOf(server, { query, needed: [hostQueue] });
  // A worker with the SDK's default sends its first beat after a minute. Until then its polls count, also of one that died before.
  const queue = beats.has(hostQueue) ? commandQueueOf(hostQueue) : hostQueue;
  return (await liveWorkers({ ...server, queue })).length > 0;
};

/** A worker that serves a task queue, or did: the server remembers those that are gone for a while. */
export interface SeenWorker extends ReturnType<typeof partsOf> {
  readonly queue: string;
  readonly seen_ms: number;
  readonly is: 'live' | 'silent' | 'ended';
  /** Who it is and when it was heard, in words. */
  readonly said: string;
}
/** What a look at a group of workers found. */
export interface SeenGroup {
  readonly workers: readonly SeenWorker[];
  /** Queues that were asked about, and of which nothing is known: the server takes no beats, and they are too many to ask for polls. */
  readonly unasked: readonly string[];
}

export interface GroupOptions extends Partial<Pick<Wanted, 'doubted'>> {
  /** Queues that somebody may serve. */
  readonly others?: readonly string[];
}

/**
 * Reports the workers of all queues whose names begin with `group`, which is the queue of their workflows. `needed`: queues that somebody
 * must serve, the most important first. It costs a list or two and the polls of at most `POLLED_QUEUES`, however many hosts there are. No action.
 */
export const workersOf = async (
  at: Server,
  group: string,
  needed: readonly string[],
  { others = [], doubted = false }: GroupOptions = {},
): Promise<SeenGroup> => {
  const query = `TaskQueue starts_with "${group}"`;
  const found = await look(at, { query, needed, others, withWorkflows: group, doubted });
  const workers = [...found.signs].flatMap(([queue, signs]) =>
    [...signs].map(([identity, { at_ms: seen_ms, silence_ms }]): SeenWorker => {
      const silent = silence_ms === 0 ? 'ended' : 'silent';
      return {
        ...partsOf(identity),
        seen_ms,
        queue,
        is: found.live.get(queue)?.has(identity) === true ? 'live' : silent,
        said: `${identity}, heard ${Math.max(0, Math.round((Date.now() - seen_ms) / 1000))} s ago`,
      };
    }),
  );
  return { workers, unasked: found.unasked };
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
