/** A client's connection to the Temporal server. Workers have worker/run-workers.ts: their native library is slow to load. */
import { Client, Connection, type ConnectionLike } from '@temporalio/client';
import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../system/environment.js';
import { openStores, resolveStore } from '../stores/location.js';
import type { BlobStore } from '../stores/ports.js';
import { BlobPayloadCodec, asProblem } from './payloads.js';
import { serverSettings, type ServerSettings } from './settings.js';
import { fail, ProblemError, problem, type Problem } from '../shared/problems.js';
import { innermost } from './failures.js';
import { hasSearchAttributes } from './search-attributes.js';
import { hostname } from 'node:os';

// What both kinds of connection share: how long to wait, and what to say when nobody answers.

/** Connects within the time, or throws ProblemError `no_server` saying where, why, and what to type. */
export const reach = async <T extends ConnectionLike>(
  settings: ServerSettings,
  connect_ms: number,
  connect: () => Promise<T>,
): Promise<T> => {
  await refuseClosedLoopback(settings);
  const connecting = connect();
  const { promise: late, cancel } = timeOut(connect_ms);
  try {
    return await Promise.race([connecting.then((connection) => prove(connection, settings)), late]);
  } catch (error) {
    // Whoever comes after the time-out is not left open.
    connecting.then((connection) => connection.close()).catch(() => undefined);
    throw error instanceof ProblemError ? error : noServer(settings, error);
  } finally {
    cancel();
  }
};

/** A connection alone proves little: the SDK takes any HTTP/2 server (the UI's port, a proxy) for an old Temporal server. */
const prove = async <T extends ConnectionLike>(
  connection: T,
  { address, from, namespace }: ServerSettings,
): Promise<T> => {
  await connection.workflowService.describeNamespace({ namespace });
  // A server that nobody named may be another project's: no run of ours is started there, and no worker of ours adds to it.
  if (from !== 'default' || (await hasSearchAttributes(connection, namespace))) return connection;
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  return fail(
    'no_server',
    `No Temporal server is configured. A Temporal server ${serverVersion} answers at ${address}, but its namespace "${namespace}" has no search attributes of Emend's: it may be somebody else's.`,
    // A worker creates them; from then on the server is known to everybody.
    `To use it, start a worker there: TEMPORAL_ADDRESS=${address} emend worker. For a server of your own: emend dev`,
  );
};

/** What is told of a server that nobody named where no worker polls: it may be the wrong one. */
export const byDefault = ({ address, assumed }: Pick<ServerPlace, 'address' | 'assumed'>): string =>
  assumed === true
    ? ` at ${address}, which is used as TEMPORAL_ADDRESS is not set and it has Emend's search attributes`
    : '';

/** gRPC waits its whole time-out for a port that nobody listens on; on this machine one look tells. */
const refuseClosedLoopback = async (settings: ServerSettings): Promise<void> => {
  const at = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/.exec(settings.address);
  if (!at) return;
  const host = at[1] === '[::1]' ? '::1' : (at[1] ?? 'localhost');
  const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const socket = connectSocket({ host, port: Number(at[2] ?? 7233), timeout: 1_000 });
    const done = (result: NodeJS.ErrnoException | null): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => {
      done(null);
    });
    socket.once('timeout', () => {
      done(null);
    });
    socket.once('error', done);
  });
  // `localhost` tried over both families reports an AggregateError with the code of its first.
  if (error?.code === 'ECONNREFUSED') throw noServer(settings, error);
};

const noServer = (settings: ServerSettings, error: unknown): ProblemError => {
  const { address, from, namespace, without } = settings;
  const { code, why } = innermost(error);
  const said = (clause: string, next: string): ProblemError =>
    new ProblemError(problem('no_server', `No Temporal server at ${address} (${from}): ${clause}`, next));
  switch (code) {
    case GRPC.notFound:
      return said(
        `it has no namespace "${namespace}".`,
        `export TEMPORAL_NAMESPACE=default, or create it: temporal operator namespace create --address ${address} --namespace ${namespace}`,
      );
    case GRPC.permissionDenied:
    case GRPC.unauthenticated:
      return said(
        `it refuses us (${why}).`,
        'Check TEMPORAL_API_KEY, the TLS certificate and TEMPORAL_NAMESPACE of your profile.',
      );
    case GRPC.unimplemented:
      return said(
        'what answers there is not Temporal.',
        `Set TEMPORAL_ADDRESS to the address of the server: ${GRPC_PORT}.`,
      );
    default:
      return said(
        code === 'ECONNREFUSED' ? 'nothing listens there.' : why,
        without !== null
          ? `Start that server${code === 'ECONNREFUSED' ? '' : ` (${GRPC_PORT})`}, or use one of your own: ${without}; emend dev`
          : 'Start one with `emend dev`, or set TEMPORAL_ADDRESS to the address of yours.',
      );
  }
};

const GRPC_PORT = 'with its gRPC port, usually 7233, not that of its UI, 8233';
/** gRPC status codes that say more than "not reached". */
const GRPC = { notFound: 5, permissionDenied: 7, unimplemented: 12, unauthenticated: 16 } as const;

const timeOut = (after_ms: number): { promise: Promise<never>; cancel: () => void } => {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${after_ms} ms.`));
    }, after_ms);
  });
  return {
    promise,
    cancel: () => {
      clearTimeout(timer);
    },
  };
};

export interface ConnectOptions {
  readonly env: Environment;
  /** EMEND_HOME, absolute. */
  readonly home: string;
  /** How long to wait for the server to answer. */
  readonly connect_ms: number;
  /** Where payloads too large for the history are kept, the same store for clients and workers; the home's store by default. */
  readonly blobs?: BlobStore;
}

/** What a client and a worker know of the server that they are connected to. */
export interface ServerPlace {
  readonly namespace: string;
  readonly address: string;
  /** Nobody named it: it is where Temporal's server usually is. */
  readonly assumed?: true;
  /** Base address of the Temporal UI; null where none is known. */
  readonly uiUrl: string | null;
}
export interface ClientConnection extends ServerPlace {
  readonly client: Client;
  readonly connection: Connection;
  close(): Promise<void>;
}

export const placeOf = ({ namespace, address, uiUrl, from }: ServerSettings): ServerPlace => ({
  ...{ namespace, address, uiUrl },
  ...(from === 'default' ? { assumed: true } : {}),
});

export const storeOf = async ({ blobs, env, home }: ConnectOptions): Promise<BlobStore> =>
  blobs ?? (await openStores(home, await resolveStore(env, home))).blobs;

/** gRPC would ask the proxy of `http_proxy` for this very machine. */
const direct = (address: string): { channelArgs?: Record<string, number> } =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]):/.test(address) ? { channelArgs: { 'grpc.enable_http_proxy': 0 } } : {};

/** Throws ProblemError `no_server` (not reachable, or it refuses us) or `config_invalid`. */
export const connectClient = async (options: ConnectOptions): Promise<ClientConnection> => {
  const settings = await serverSettings(options.env, options.home);
  const blobs = await storeOf(options);
  const connection = await reach(settings, options.connect_ms, () =>
    Connection.connect({ ...settings.connection, ...direct(settings.address), connectTimeout: options.connect_ms }),
  );
  const dataConverter = { payloadCodecs: [new BlobPayloadCodec(blobs, asProblem)] };
  return {
    client: new Client({ connection, namespace: settings.namespace, dataConverter }),
    connection,
    ...placeOf(settings),
    close: () => connection.close(),
  };
};

// Who serves a task queue. Temporal lists a poller for five minutes after it is gone, and the time that it gives is that of the last long
// poll, which a live worker begins once a minute. A worker's own beat tells sooner; it goes on while all that the worker does is busy.

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
  if (alive.length > 0 || ![...beats.values()].some((sign) => sign.at_ms > 0 && isQuick(sign))) return alive;
  await sleep(WORKER_LOOK_AGAIN_MS);
  return [...(await beatsAt(at))].flatMap(([identity, { at_ms }]) =>
    at_ms > (beats.get(identity)?.at_ms ?? 0) ? [identity] : [],
  );
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

// What the server calls a worker (in the UI, in histories): process, host, and which store it works with.

const SHOWN_DIGITS = 8;
const STORE = /, store ([0-9a-f]{8})$/;

export const workerIdentity = (storeId: string): string =>
  `${process.pid}@${hostname()}, store ${storeId.slice(0, SHOWN_DIGITS)}`;

/** The pollers that work with another store than this: what they would do is lost to it. */
export const ofOtherStores = (identities: readonly string[], storeId: string): readonly string[] =>
  identities.filter((identity) => {
    const store = STORE.exec(identity)?.[1];
    return store !== undefined && store !== storeId.slice(0, SHOWN_DIGITS);
  });
