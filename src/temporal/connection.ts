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
import type { Environment } from '../system/environment.js';
import { errnoOf } from '../system/sys.js';
import { openStores, resolveStore } from '../stores/location.js';
import type { BlobStore } from '../stores/ports.js';
import { asProblem, withBlobs } from './payloads.js';
import { serverSettings, type ServerSettings } from './settings.js';
import { fail, ProblemError, problem } from '../shared/problems.js';
import { innermost } from './failures.js';
import { hasSearchAttributes } from './search-attributes.js';

// What both kinds of connection share: how long to wait, and what to say when nobody answers.

/** Connects within the time, or throws ProblemError `no_server` saying where, why, and what to type. */
export const reach = async <T extends ConnectionLike>(
  settings: ServerSettings,
  connect_ms: number,
  connect: () => Promise<T>,
): Promise<T> => {
  await refuseClosedLoopback(settings);
  const connecting = connect();
  const given = new AbortController();
  const late = sleep(connect_ms, undefined, { signal: given.signal }).then(() =>
    Promise.reject(new Error(`no answer within ${connect_ms} ms.`)),
  );
  try {
    return await Promise.race([connecting.then((connection) => prove(connection, settings)), late]);
  } catch (error) {
    // Whoever comes after the time-out is not left open.
    connecting.then((connection) => connection.close()).catch(() => undefined);
    throw error instanceof ProblemError ? error : noServer(settings, error);
  } finally {
    given.abort();
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
    `No Temporal server is configured. A Temporal server ${serverVersion} answers at ${address}, but its namespace "${namespace}" has no Emend search attributes: it may belong to someone else.`,
    // A worker creates them; from then on the server is known to everybody.
    `To use it, start a worker there: TEMPORAL_ADDRESS=${address} emend worker. To use a local server: emend dev`,
  );
};

/** What is told of a server that nobody named where no worker polls: it may be the wrong one. */
export const byDefault = ({ address, assumed }: Pick<ServerPlace, 'address' | 'assumed'>): string =>
  assumed === true
    ? ` at ${address}, used because TEMPORAL_ADDRESS is not set and it has Emend's search attributes`
    : '';

/** gRPC waits its whole time-out for a port that nobody listens on; on this machine one look tells. */
const refuseClosedLoopback = async (settings: ServerSettings): Promise<void> => {
  const at = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/.exec(settings.address);
  if (!at) return;
  const host = at[1] === '[::1]' ? '::1' : (at[1] ?? 'localhost');
  const socket = connectSocket({ host, port: Number(at[2] ?? 7233) });
  const error = await once(socket, 'connect', { signal: AbortSignal.timeout(1_000) }).catch(
    (why: unknown) => why,
  );
  socket.destroy();
  // `localhost` tried over both families reports an AggregateError with the code of its first.
  if (errnoOf(error) === 'ECONNREFUSED') throw noServer(settings, error);
};

const noServer = (settings: ServerSettings, error: unknown): ProblemError => {
  const { address, from, namespace, without } = settings;
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
        without !== null
          ? `Start that server${code === 'ECONNREFUSED' ? '' : ` (${GRPC_PORT})`}, or use a local server: ${without}; emend dev`
          : 'Start one with `emend dev`, or set TEMPORAL_ADDRESS to the address of your server.',
      );
  }
};

const GRPC_PORT = 'with its gRPC port, usually 7233, not that of its UI, 8233';
/** Of a program that Emend is a part of, the same in all its clients and workers. */
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
  /** Nobody named it: it is where Temporal's server usually is. */
  readonly assumed?: true;
  /** It is the dev server of this home. */
  readonly own?: true;
}
export interface ClientConnection extends ServerPlace {
  readonly client: Client;
  readonly connection: Connection;
  close(): Promise<void>;
}

export const placeOf = ({ namespace, address, uiUrl, from }: ServerSettings): ServerPlace => ({
  namespace,
  address,
  uiUrl,
  ...(from === 'dev server' ? { own: true } : {}),
  ...(from === 'default' ? { assumed: true } : {}),
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
export const connectClient = async (options: ConnectOptions): Promise<ClientConnection> => {
  const settings = await serverSettings(options.env, options.home);
  const { env, home, connect_ms, dataConverter } = options;
  const blobs = options.blobs ?? (await openStores(home, await resolveStore(env, home))).blobs;
  const where = {
    ...settings.connection,
    ...direct(settings.address),
    connectTimeout: connect_ms,
    interceptors,
  };
  const connection = await reach(settings, connect_ms, () => Connection.connect(where));
  const converts = { connection, dataConverter: withBlobs(blobs, asProblem, dataConverter) };
  return {
    client: new Client({
      ...converts,
      namespace: settings.namespace,
      interceptors: options.interceptors ?? {},
    }),
    connection,
    ...placeOf(settings),
    close: () => connection.close(),
  };
};
