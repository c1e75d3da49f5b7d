/**
 * What a worker shows to whoever watches it: `/metrics` in Prometheus' text format (the SDK's own, what this worker's activities used, and
 * the open runs as server and store know them when asked), `/healthz` and `/readyz`. Reads only; nothing here is secret.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { ActivityInterceptorsFactory, NativeConnection } from '@temporalio/worker';
import { readAmongOthers } from '../client/archive/run.js';
import { archivedStatus } from '../client/archive/status.js';
import { openEmend, type OpenOptions } from '../client/open.js';
import { ourRuns } from '../client/types.js';
import { SEARCH_ATTRIBUTES } from '../shared/names.js';
import { fail } from '../shared/problems.js';
import type { StepUsage } from '../shared/usage.js';
import { together } from '../system/turns.js';

const ANSWER_MS = 5_000; // bound: The server and the SDK's exporter are waited for this long at each look.
const WAITING_READ = 200; // bound: Runs that wait for a decision whose age is read at a look, newest first.

type Labels = Readonly<Record<string, string>>;
/** A JSON string escapes what Prometheus' format wants escaped. */
const series = (name: string, labels: Labels): string =>
  `emend_${name}{${Object.entries(labels)
    .map(([label, text]) => `${label}=${JSON.stringify(text)}`)
    .join()}}`;
const sample = (name: string, labels: Labels, value: number): string =>
  `${series(name, labels)} ${value}`;

/** Of this process. */
const counted = new Map<string, number>();
const add = (name: string, labels: Labels, value: number): void => {
  const key = series(name, labels);
  counted.set(key, (counted.get(key) ?? 0) + value);
};

/** What activities of calls give back. */
type Told = Partial<Readonly<Record<'outcome' | 'reason', string>>> & {
  readonly usage?: StepUsage;
};
const USED = [
  'edited',
  'unchanged',
  'region_done',
  'needs_lines',
  'picked',
  'audited',
  'look_for',
  'nothing_found',
];

/** Counts what model calls used, and why their answers could not be. */
export const countCalls: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute: async (input, next) => {
      const result = (await next(input)) as Told;
      const { usage, outcome, reason = 'failed' } = result;
      // `countUsage` tells again what calls used that gave no result.
      if (usage === undefined || info.activityType === 'countUsage') return result;
      add('model_calls_total', {}, usage.calls);
      add('model_calls_interrupted_total', {}, usage.unknownCalls);
      for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const)
        add('model_tokens_total', { kind }, usage[`${kind}_tokens`]);
      if (usage.usd !== null) add('model_usd_total', {}, usage.usd);
      if (outcome !== undefined && !USED.includes(outcome))
        add('refusals_total', { reason: outcome === 'failed' ? reason : outcome }, 1);
      return result;
    },
  },
});

export interface Watched extends Pick<OpenOptions, 'env' | 'dataConverter'> {
  readonly connection: NativeConnection;
  readonly namespace: string;
  /** Port of the SDK's exporter on the loopback address; null: the program installed the runtime, and exports its metrics. */
  readonly exporter: number | null;
  /** All its Temporal workers poll. */
  readonly polls: () => boolean;
}

const runsNow = async (watched: Watched): Promise<readonly string[]> => {
  const { connection, namespace } = watched;
  const emend = await openEmend(watched);
  try {
    const ours = ourRuns(emend);
    const waits = `${ours} AND ExecutionStatus = "Running" AND ${SEARCH_ATTRIBUTES.state} = "waiting"`;
    const count = async (query: string): Promise<number> =>
      Number(
        (await connection.workflowService.countWorkflowExecutions({ namespace, query })).count,
      );
    const lines: string[] = [sample('server_up', {}, emend.runs === null ? 0 : 1)];
    if (emend.runs === null) return lines;
    const waiting = await count(waits);
    for (const state of ['Running', 'Completed', 'Failed', 'Canceled', 'Terminated']) {
      const all = await count(`${ours} AND ExecutionStatus = "${state}"`);
      lines.push(
        sample('runs', { state: state.toLowerCase() }, state === 'Running' ? all - waiting : all),
      );
    }
    lines.push(sample('runs', { state: 'waiting' }, waiting));
    const listed = await emend.runs.list(waits, WAITING_READ);
    const decisions = await together(listed, async ({ memo }) =>
      memo === null ? null : archivedStatus(await readAmongOthers(emend, memo.stepKey)).decision,
    );
    const open = decisions.flatMap((decision) => decision ?? []);
    for (const reason of new Set(open.map((decision) => decision.reason))) {
      const ages_ms = open.flatMap((one) =>
        one.reason === reason ? [Date.now() - one.openedAt] : [],
      );
      lines.push(sample('decisions_waiting', { reason }, ages_ms.length));
      lines.push(sample('decision_oldest_seconds', { reason }, Math.max(0, ...ages_ms) / 1000));
    }
    return lines;
  } finally {
    await emend.close();
  }
};

/**
 * Serves until the function that it returns is called; holds no process. `watched`: null until the worker has begun. Throws ProblemError
 * `usage` for an address that is none, or is taken.
 */
export const startWatching = async (
  address: string,
  watched: () => Watched | null,
): Promise<() => Promise<void>> => {
  const [, host, port] = /^\[?([^[\]]+)\]?:(\d{1,5})$/.exec(address) ?? [];
  const refused = (why: unknown): never =>
    fail(
      'usage',
      `--metrics ${address}: ${String(why)}.`,
      'Name a free address: --metrics 127.0.0.1:9464',
    );
  // Node listens at every address where it is told none.
  if (host === undefined || Number(port) > 65_535) return refused('not an address and a port');
  const pages: Readonly<Record<string, (of: Watched | null) => Promise<Page>>> = {
    '/metrics': async (of) => (of === null ? STARTING : [200, await metricsOf(of)]),
    '/healthz': () => Promise.resolve([200, 'ok\n']),
    '/readyz': async (of) =>
      of === null
        ? STARTING
        : !of.polls()
          ? [503, 'stopping\n']
          : (await answers(of))
            ? [200, 'ready\n']
            : [503, 'no Temporal server\n'],
  };
  const server = createServer((request, response) => {
    const page = pages[request.url?.split('?')[0] ?? ''];
    const shown = page?.(watched()) ?? Promise.resolve<Page>([404, 'not found\n']);
    void shown
      .catch((error: unknown): Page => [500, `${String(error)}\n`])
      .then(([status, text]) => {
        response
          .writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
          .end(text);
      });
  });
  server.unref().listen(Number(port), host);
  await once(server, 'listening').catch(refused);
  return async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
};

type Page = readonly [status: number, text: string];
const STARTING: Page = [503, 'starting\n'];

const answers = ({ connection }: Watched): Promise<boolean> =>
  connection
    .withDeadline(Date.now() + ANSWER_MS, () => connection.workflowService.getSystemInfo({}))
    .then(Boolean, () => false);

const metricsOf = async (watched: Watched): Promise<string> => {
  const ofSdk = watched.exporter === null ? [] : [await exported(watched.exporter)];
  const runs = await runsNow(watched).catch(() => [sample('server_up', {}, 0)]);
  const used = [...counted].map((each) => each.join(' '));
  return `${[...ofSdk, ...runs, ...used].join('\n')}\n`;
};

const exported = async (port: number): Promise<string> => {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { signal });
  return (await response.text()).trimEnd();
};
