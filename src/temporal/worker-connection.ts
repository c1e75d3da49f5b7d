/** A worker's connection to the Temporal server, with what a worker needs beside it. */
import type { DataConverter } from '@temporalio/common';
import { NativeConnection } from '@temporalio/worker';
import { storeOf, type ConnectOptions } from './connection.js';
import { BlobPayloadCodec, asFailure } from './payloads.js';
import { reach } from './reach.js';
import { serverSettings } from './settings.js';

export interface WorkerConnection {
  readonly connection: NativeConnection;
  /** For `Worker.create({ dataConverter })`; `interceptors: { activity: [boundFailures] }` belongs with it. */
  readonly dataConverter: DataConverter;
  readonly namespace: string;
  readonly address: string;
  /** Address of the Temporal UI, where known. */
  readonly uiUrl: string | null;
  close(): Promise<void>;
}

/** As `connectClient`, for a worker. `Runtime.install`, if wanted, must come before. */
export const connectWorker = async (options: ConnectOptions): Promise<WorkerConnection> => {
  const settings = await serverSettings(options.env, options.home);
  const blobs = await storeOf(options);
  const connection = await reach(settings, options.connect_ms, () => NativeConnection.connect(settings.connection));
  return {
    connection,
    dataConverter: { payloadCodecs: [new BlobPayloadCodec(blobs, asFailure)] },
    namespace: settings.namespace,
    address: settings.address,
    uiUrl: settings.uiUrl,
    close: () => connection.close(),
  };
};
