/** Which code a worker runs: Temporal's runtime, the bundle of the workflows; and which open runs that bundle would not replay. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import {
  DefaultLogger,
  Runtime,
  type LogLevel,
  type Logger as SdkLogger,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { OUR_WORKFLOWS } from '../client/types.js';
import { BOUNDS } from '../shared/limits.js';
import { fail } from '../shared/problems.js';
import type { ClientConnection } from '../temporal/connection.js';
import { innermost } from '../temporal/failures.js';
import { WORKER_BEAT_MS } from '../temporal/live-workers.js';
import { USD_CLASSES, USD_METRIC } from './metrics.js';

/** Options of a program that are part of the bundle: with one of them it is made at the start. */
interface BundleChoice {
  readonly interceptors?: WorkerOptions['interceptors'] | undefined;
  readonly dataConverter?: WorkerOptions['dataConverter'] | undefined;
  readonly plugins?: readonly unknown[] | undefined;
}

/** The bundle made by the build; without one (running from source) the workflows are bundled at start. */
export function workflows({ interceptors, dataConverter, plugins = [] }: BundleChoice = {}) {
  const codePath = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));
  const { payloadConverterPath, failureConverterPath } = dataConverter ?? {};
  const own = interceptors?.workflowModules?.[0] ?? payloadConverterPath ?? failureConverterPath;
  if (own === undefined && plugins.length === 0 && existsSync(codePath))
    return { workflowBundle: { codePath } };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return {
    workflowsPath: fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url)),
  };
}

interface RuntimeChoice {
  readonly logger: SdkLogger;
  /** The least severe level that is logged of the SDK's native core, which would print to standard output by itself. */
  readonly core: LogLevel;
  /** Address at which the SDK serves `/metrics`; absent: nowhere. */
  readonly metrics?: string | undefined;
}
/** Temporal's own runtime is one a process; its signal handlers would stop workers behind our back. */
let installed: Pick<RuntimeChoice, 'metrics'> | null = null;
const ONE_RUNTIME = 'Give the first worker of a process the address; it serves for all.';
const FREE_ADDRESS = 'Name a free IP address and port: --metrics 127.0.0.1:9464';
/**
 * Returns what ends the runtime if this call installed it. Without a worker or connection it would keep the process alive. Throws
 * ProblemError `usage` for an address that is none, or is taken.
 */
export function installRuntime({ logger, core, metrics }: RuntimeChoice): () => Promise<void> {
  if (installed !== null) {
    if (metrics !== undefined && metrics !== installed.metrics)
      fail(
        'usage',
        `--metrics ${metrics}: the runtime of this process is installed already.`,
        ONE_RUNTIME,
      );
    return () => Promise.resolve();
  }
  setFlagsFromString(`--heap-growing-percent=${BOUNDS.heapGrowing_percent}`);
  try {
    const runtime = Runtime.install({
      shutdownSignals: [],
      logger,
      workerHeartbeatInterval: WORKER_BEAT_MS,
      telemetryOptions: {
        logging: { forward: {}, filter: { core, other: 'ERROR' } },
        ...(metrics === undefined ? {} : { metrics: exporterAt(metrics) }),
      },
    });
    installed = { metrics };
    return () => runtime.shutdown();
  } catch (error) {
    if (metrics === undefined) throw error;
    // The native core says first where in its options the fault is.
    const reason = innermost(error).why.replace(/^.*: /, '');
    return fail('usage', `--metrics ${metrics}: ${reason}.`, FREE_ADDRESS);
  }
}

const exporterAt = (bindAddress: string) => ({
  prometheus: { bindAddress, histogramBucketOverrides: { [USD_METRIC]: USD_CLASSES } },
});

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
  const { dataConverter } = client.options;
  const open = client.workflow.list({ query: `${OUR_WORKFLOWS} AND ExecutionStatus = "Running"` });
  const failed: Replayed['failed'][number][] = [];
  let runs = 0;
  const options = { ...workflows({ dataConverter }), dataConverter, sinks: SINKS };
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
