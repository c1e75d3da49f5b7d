/** A client's connection to the Temporal server. Workers have worker/run-workers.ts: their native library is slow to load. */
import { InterceptingCall, status, type Interceptor } from '@grpc/grpc-js';
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type ClientOptions,
  type ConnectionLike,
} from '@temporalio/client';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DevServerRecord } from './dev-record.js';
import type { Environment } from '../system/environment.js';
import { errnoOf } from '../system/sys.js';
import { openStores, resolveStore } from '../stores/location.js';
import type { BlobStore } from '../stores/ports.js';
import { configuredDataConverter } from './data-converter.js';
import { asProblem, withBlobs } from './payloads.js';
import { serverSettings, type ServerSettings } from './settings.js';
import { fail, ProblemError, problem } from '../shared/problems.js';
import { innermost } from './failures.js';
import { pageLinks } from './page-record.js';
import { ownServer, toEnd } from './own-server.js';

// What both kinds of connection share: how long to wait, and what to say when nobody answers.

/** Connects within the time, or throws ProblemError `no_server` saying where, why, and what to type. */
export const reach = async <T extends ConnectionLike>(
  settings: ServerSettings,
  connect_ms: number,
  connect: () => Promise<T>,
): Promise<T> => {
  await refuseClosedLoopback(settings);
  const connecting = connect();
  try {
    const proved = connecting.then((connection) => prove(connection, settings));
    return await answered(settings, connect_ms, proved);
  } catch (error) {
    // Whoever comes after the time-out is not left open.
    connecting.then((connection) => connection.close()).catch(() => undefined);
    throw error;
  }
};

/** Throws ProblemError `no_server` if `answer` does not come within the time, or fails. */
const answered = async <T>(
  settings: ServerSettings,
  connect_ms: number,
  answer: Promise<T>,
): Promise<T> => {
  const end = new AbortController();
  const late = sleep(connect_ms, undefined, { signal: end.signal }).then(() =>
    Promise.reject(new Error(`no answer within ${connect_ms} ms.`)),
  );
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    throw error instanceof ProblemError ? error : noServer(settings, error);
  } finally {
    end.abort();
  }
};

/** A connection alone proves little: the SDK takes any HTTP/2 server (the UI's port, a proxy) for an old Temporal server. */
const prove = async <T extends ConnectionLike>(
  connection: T,
  { address, own, namespace }: ServerSettings,
): Promise<T> => {
  const { workflowService } = connection;
  const [cluster] = await Promise.all([
    own === null ? null : workflowService.getClusterInfo({}),
    workflowService.describeNamespace({ namespace }),
  ]);
  if (own === null || cluster === null || cluster.clusterId === own.clusterId) return connection;
  return fail(
    'no_server',
    `Another Temporal server than the dev server of this home answers at ${address}: its cluster id is ${cluster.clusterId}, but dev-server.json records ${own.clusterId}.`,
    `Start the dev server of this home again: ${await toEnd(own)}; emend dev`,
  );
};

/** gRPC waits its whole time-out for a port that nobody listens on; on this machine one look tells. */
const refuseClosedLoopback = async (settings: ServerSettings): Promise<void> => {
  const at = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/.exec(settings.address);
  if (!at) return;
  const host = at[1] === '[::1]' ? '::1' : (at[1] ?? 'localhost');
  // Temporal's clients take this port if an address has none.
  const socket = connectSocket({ host, port: Number(at[2] ?? 7233) });
  const error = await once(socket, 'connect', { signal: AbortSignal.timeout(1_000) }).catch(
    (why: unknown) => why,
  );
  socket.destroy();
  // `localhost` tried over both families reports an AggregateError with the code of its first.
  if (errnoOf(error) === 'ECONNREFUSED') throw noServer(settings, error);
};

const noServer = (settings: ServerSettings, error: unknown): ProblemError => {
  const { address, from, namespace } = settings;
  const { code, why } = innermost(error);
  const said = (clause: string, next: string): ProblemError =>
    new ProblemError(
      problem('no_server', `No Temporal server at ${address} (${from}): ${clause}`, next),
    );
  switch (code) {
    case status.NOT_FOUND:
      return said(
        `it has no namespace "${namespace}".`,
        `export TEMPORAL_NAMESPACE=default, or create it: temporal operator namespace create --address ${address} --namespace ${namespace}`,
      );
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
      return said(
        `it denies access (${why}).`,
        'Check TEMPORAL_API_KEY, the TLS certificate and TEMPORAL_NAMESPACE of your profile.',
      );
    case status.RESOURCE_EXHAUSTED:
      return said(
        `it refuses calls for now (${why}).`,
        'Wait a little, and check the limits of your namespace.',
      );
    case status.UNIMPLEMENTED:
      return said(
        'the service there is not Temporal.',
        `Set TEMPORAL_ADDRESS to the address of the server: ${GRPC_PORT}.`,
      );
    default:
      return said(
        code === 'ECONNREFUSED' ? 'nothing is listening there.' : why,
        toReach(settings, code),
      );
  }
};

/** Returns what to type if no server answers. */
const toReach = ({ from, without }: ServerSettings, code: unknown): string => {
  if (from === 'connection of this program')
    return `Start that server, or have the program connect to another one (${GRPC_PORT}).`;
  if (without === null)
    return 'Start one with `emend dev`, or set TEMPORAL_ADDRESS to the address of your server.';
  const port = code === 'ECONNREFUSED' ? '' : ` (${GRPC_PORT})`;
  return `Start that server${port}, or use a local server: ${without}; emend dev`;
};

const GRPC_PORT = 'with its gRPC port, usually 7233, not that of its UI, 8233';
/** Of a program that Emend is a part of, the same in all its clients and workers. Without a data converter `EMEND_DATA_CONVERTER` names it. */
export type OwnConversion = Readonly<Pick<ClientOptions, 'dataConverter' | 'interceptors'>>;
export interface ConnectOptions extends OwnConversion {
  readonly env: Environment;
  /** EMEND_HOME, absolute. */
  readonly home: string;
  /** How long to wait for the server to answer. */
  readonly connect_ms: number;
  /** Where payloads too large for the history are kept, the same store for clients and workers; the home's store by default. */
  readonly blobs?: BlobStore;
}

/** What a client and a worker know of the server that they are connected to. */
export interface ServerPlace extends Pick<ServerSettings, 'namespace' | 'address' | 'uiUrl'> {
  /** It is the dev server of this home. */
  readonly own?: true;
}
export interface ClientConnection extends ServerPlace {
  readonly client: Client;
  readonly connection: ConnectionLike;
  close(): Promise<void>;
}

export const placeOf = ({ namespace, address, uiUrl, own }: ServerSettings): ServerPlace => ({
  namespace,
  address,
  uiUrl,
  ...(own === null ? {} : { own: true }),
});

/** gRPC would ask the proxy of `http_proxy` for this very machine. */
const direct = (address: string): { channelArgs?: Record<string, number> } =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]):/.test(address)
    ? { channelArgs: { 'grpc.enable_http_proxy': 0 } }
    : {};

const none = (): void => undefined;
/** What a call is once its connection is closed. */
const CLOSED: ReturnType<Parameters<Interceptor>[1]> = {
  start: (metadata, listener) =>
    void setImmediate(() => {
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.({
        code: status.CANCELLED,
        details: 'the connection was closed',
        metadata,
      });
    }),
  sendMessage: none,
  sendMessageWithContext: none,
  startRead: none,
  halfClose: none,
  cancelWithStatus: none,
  getPeer: () => '',
  getAuthContext: () => null,
};
/** The SDK repeats a failed call from a timer. Closed meanwhile, the connection throws there, where nobody can catch it: the process would end. */
const endsWithConnection: Interceptor = (options, next) => {
  try {
    return new InterceptingCall(next(options));
  } catch {
    return new InterceptingCall(CLOSED);
  }
};
const LIMITED_TRIES = 2; // bound: A call that a rate limit of the server refuses is made this often, 2 s apart: that ends before the time for the call does, with its reason.
const usual = defaultGrpcRetryOptions();
const retryableDecider: typeof usual.retryableDecider = (tries, last) =>
  (last.code !== status.RESOURCE_EXHAUSTED || tries < LIMITED_TRIES) &&
  usual.retryableDecider(tries, last);
const interceptors = [makeGrpcRetryInterceptor({ ...usual, retryableDecider }), endsWithConnection];

/** Throws ProblemError `no_server` (not reachable, or it refuses us) or `config_invalid`. */
export const connectClient = async (request: ConnectOptions): Promise<ClientConnection> => {
  const options = await withDataConverter(request);
  const { env, home, connect_ms } = options;
  const settings = await serverSettings(env, home);
  const where = {
    ...settings.connection,
    ...direct(settings.address),
    connectTimeout: connect_ms,
    interceptors,
  };
  const connection = await reach(settings, connect_ms, () => Connection.connect(where));
  return clientOf(connection, settings, options, () => connection.close());
};

/** Adds the data converter of the environment if there is no other. Before the connection is made, so that a fault leaves none open. */
const withDataConverter = async (options: ConnectOptions): Promise<ConnectOptions> => {
  const dataConverter = options.dataConverter ?? (await configuredDataConverter(options.env));
  return dataConverter === null ? options : { ...options, dataConverter };
};

const clientOf = async (
  connection: ConnectionLike,
  settings: ServerSettings,
  { env, home, dataConverter, ...options }: ConnectOptions,
  close: () => Promise<void>,
): Promise<ClientConnection> => {
  const blobs = options.blobs ?? (await openStores(home, await resolveStore(env, home))).blobs;
  const client = new Client({
    connection,
    namespace: settings.namespace,
    dataConverter: withBlobs(blobs, asProblem, dataConverter),
    interceptors: options.interceptors ?? {},
  });
  return { client, connection, ...placeOf(settings), close };
};

// A connection that the program made itself. It decides which server is used, whatever the environment names, and it stays the program's to close.

export interface ProgramConnection {
  readonly connection: ConnectionLike;
  /** Default: `default`. */
  readonly namespace?: string | undefined;
}

/** As `connectClient`, over a connection of the program. */
export const clientOver = async (
  program: ProgramConnection,
  request: ConnectOptions,
): Promise<ClientConnection> => {
  const options = await withDataConverter(request);
  const settings = await reachOver(program, options);
  return clientOf(program.connection, settings, options, () => Promise.resolve());
};

/** Proves that the server answers within the time, or throws ProblemError `no_server`. */
export const reachOver = async (
  { connection, namespace = 'default' }: ProgramConnection,
  { home, connect_ms }: Pick<ConnectOptions, 'home' | 'connect_ms'>,
): Promise<ServerSettings> => {
  const address = connection instanceof Connection ? connection.options.address : 'its address';
  const settings: ServerSettings = {
    address,
    namespace,
    from: 'connection of this program',
    own: null,
    without: null,
    uiUrl: null,
    connection: {},
  };
  const proof = connection.withDeadline(Date.now() + connect_ms, async () => {
    await prove(connection, settings);
    const own = await ownOver(connection, home);
    if (own === null) return settings;
    const { uiUrl } = await pageLinks(home, own.owner);
    return { ...settings, own, uiUrl };
  });
  // A worker's connection repeats calls for longer than their deadline.
  return answered(settings, connect_ms, proof);
};

/** The record of the home's own dev server, if the connection leads to it. A server that does not say which it is, is another. */
const ownOver = async (
  { workflowService }: ConnectionLike,
  home: string,
): Promise<DevServerRecord | null> => {
  const server = await ownServer(home);
  if (server.is !== 'serving') return null;
  const cluster = await workflowService.getClusterInfo({}).catch(() => null);
  return cluster?.clusterId === server.record.clusterId ? server.record : null;
};
