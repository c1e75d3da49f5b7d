/** A client's connection to the Temporal server. Workers have worker-connection.ts: their native library is slow to load. */
import { Client, Connection } from '@temporalio/client';
import type { Environment } from '../workspace/runner-env.js';
import { openStores, resolveStore } from '../workspace/store.js';
import type { BlobStore } from '../workspace/types.js';
import { BlobPayloadCodec, asProblem } from './payloads.js';
import { reach } from './reach.js';
import { serverSettings } from './settings.js';

export interface ConnectOptions {
  readonly env: Environment;
  /** EMEND_HOME, absolute. */
  readonly home: string;
  /** How long to wait for the server to answer. */
  readonly connect_ms: number;
  /** Where payloads too large for the history are kept, the same store for clients and workers; the home's store by default. */
  readonly blobs?: BlobStore;
}

export interface ClientConnection {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
  readonly address: string;
  /** Address of the Temporal UI, where known. */
  readonly uiUrl: string | null;
  close(): Promise<void>;
}

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
    namespace: settings.namespace,
    address: settings.address,
    uiUrl: settings.uiUrl,
    close: () => connection.close(),
  };
};
