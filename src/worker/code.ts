/** Which code a worker runs: Temporal's runtime, the bundle of the workflows; and which open runs that bundle would not replay. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import {
  DefaultLogger,
  makeTelemetryFilterString,
  Runtime,
  type LogLevel,
  type Logger as SdkLogger,
  type MetricsExporterConfig,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import type { Logger } from 'pino';
import { OUR_WORKFLOWS } from '../client/types.js';
import { BOUNDS } from '../shared/limits.js';
import type { ClientConnection } from '../temporal/connection.js';
import { WORKER_BEAT_MS } from '../temporal/live-workers.js';

/** The bundle made by the build; without one (running from source) the workflows are bundled at start. */
export function workflows({
  interceptors,
  dataConverter,
}: Pick<WorkerOptions, 'interceptors' | 'dataConverter'> = {}) {
  const codePath = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));
  const { payloadConverterPath, failureConverterPath } = dataConverter ?? {};
  const own = interceptors?.workflowModules?.[0] ?? payloadConverterPath ?? failureConverterPath;
  if (own === undefined && existsSync(codePath)) return { workflowBundle: { codePath } };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return {
    workflowsPath: fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url)),
  };
}

/** Each worker of ours serves one role: the SDK's warning that a queue has no workflows or no activities is no news. */
const ONE_ROLE = /^No (activities|workflows) registered, not polling for /;

/** Writes what the SDK logs into a worker's log: warnings and errors, one JSON line each like all its events. */
export const sdkLog = (logger: Logger): SdkLogger =>
  new DefaultLogger('WARN', ({ level, message, meta = {} }) => {
    if (ONE_ROLE.test(message)) return;
    const { error, ...fields }: Readonly<Record<string, unknown>> = meta;
    // Pino writes an Error with its stack only under the name `err`.
    const line = error === undefined ? fields : { ...fields, err: error };
    if (level === 'ERROR') logger.error(line, message);
    else logger.warn(line, message);
  });

interface RuntimeChoice {
  readonly logger: SdkLogger;
  /** The least severe level that is logged of the SDK's native core, which would print to standard output by itself. */
  readonly core: LogLevel;
  readonly metrics?: MetricsExporterConfig;
}
/** Temporal's own runtime is one a process; its signal handlers would stop workers behind our back. */
let runtimeInstalled = false;
/** Returns what ends the runtime if this call installed it. Without a worker or connection it would keep the process alive. */
export function installRuntime({ logger, core, metrics }: RuntimeChoice): () => Promise<void> {
  if (runtimeInstalled) return () => Promise.resolve();
  runtimeInstalled = true;
  setFlagsFromString(`--heap-growing-percent=${BOUNDS.heapGrowing_percent}`);
  const filter = makeTelemetryFilterString({ core, other: 'ERROR' });
  const runtime = Runtime.install({
    shutdownSignals: [],
    logger,
    workerHeartbeatInterval: WORKER_BEAT_MS,
    telemetryOptions: {
      logging: { forward: {}, filter },
      ...(metrics === undefined ? {} : { metrics }),
    },
  });
  return () => runtime.shutdown();
}

/** Of the open runs of a namespace: how many there are, and why some would not replay. */
export interface Replayed {
  readonly runs: number;
  readonly failed: readonly { readonly workflowId: string; readonly why: string }[];
}
/** In the debugging form of a failure, which is all that the SDK gives: its own words. */
const QUOTED = /message: "((?:[^"\\]|\\.)+)"/;
/** Nothing that a replayed workflow tells is heard. */
const SINKS = { archive: { append: { fn: () => undefined, callDuringReplay: false } } };

/** Replays the open runs of the namespace, whatever their queue, through this build's workflows. Changes nothing on the server. */
export async function replayOpen({ client }: Pick<ClientConnection, 'client'>): Promise<Replayed> {
  // What the SDK's native part says of a run that does not replay is in its error.
  installRuntime({ logger: new DefaultLogger('ERROR'), core: 'ERROR' });
  const { payloadCodecs } = client.options.loadedDataConverter;
  const open = client.workflow.list({ query: `${OUR_WORKFLOWS} AND ExecutionStatus = "Running"` });
  const failed: Replayed['failed'][number][] = [];
  let runs = 0;
  const options = { ...workflows(), dataConverter: { payloadCodecs }, sinks: SINKS };
  for await (const { workflowId, error } of Worker.runReplayHistories(
    options,
    open.intoHistories(),
  )) {
    runs += 1;
    if (error !== undefined)
      failed.push({ workflowId, why: QUOTED.exec(error.message)?.[1] ?? error.message });
  }
  return { runs, failed };
}
