/**
 * Metrics of a worker, by Temporal's meters: whatever exporter the Runtime has serves them next to the SDK's own. What model calls used is
 * counted where it is used; the open runs are looked at again and again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricMeter } from '@temporalio/common';
import type { ActivityInterceptorsFactory, NativeConnection } from '@temporalio/worker';
import { readAmongOthers } from '../client/archive/run.js';
import { archivedStatus } from '../client/archive/status.js';
import { openEmend, type OpenOptions } from '../client/open.js';
import { ourRuns, type Emend, type RunGateway } from '../client/types.js';
import { groupBy } from '../shared/text.js';
import { SEARCH_ATTRIBUTES, type Queues } from '../shared/names.js';
import type { StepUsage } from '../shared/usage.js';
import { together } from '../system/together.js';

const RUNS_LOOK_MS = 15_000; // bound: Time between two looks at the runs, which is Prometheus' usual time between two scrapes.
const WAITING_READ = 200; // bound: Runs that wait for a decision whose age is read at a look, newest first.

/** Results of activities that call a model. */
type CallResult = Partial<Readonly<Record<'outcome' | 'reason', string>>> & {
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

/** A counter of Temporal's meters counts whole numbers, so money is a histogram, whose sum is what was spent. */
export const USD_METRIC = 'emend_model_usd';
// bound: Upper ends of the histogram's classes, in US dollars of one activity.
export const USD_CLASSES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10];

const countUsage = (meter: MetricMeter, usage: StepUsage): void => {
  const count = (name: string, value: number, what: string, labels: Record<string, string> = {}) =>
    meter.createCounter(name, undefined, what).add(value, labels);
  count('emend_model_calls_total', usage.calls, 'Model calls');
  count('emend_model_calls_interrupted_total', usage.unknownCalls, 'Model calls that were cut off');
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const)
    count('emend_model_tokens_total', usage[`${kind}_tokens`], 'Tokens', { kind });
  if (usage.usd !== null)
    meter.createHistogram(USD_METRIC, 'float', undefined, 'US dollars').record(usage.usd);
};

/** Counts what model calls used, and why their responses could not be. */
export const countCalls: ActivityInterceptorsFactory = ({ info, metricMeter }) => ({
  inbound: {
    execute: async (input, next) => {
      const result = (await next(input)) as CallResult;
      const { usage, outcome, reason = 'failed' } = result;
      // `countUsage` reports again what calls used that gave no result.
      if (usage === undefined || info.activityType === 'countUsage') return result;
      countUsage(metricMeter, usage);
      if (outcome !== undefined && !USED.includes(outcome))
        metricMeter
          .createCounter('emend_refusals_total', undefined, 'Responses that could not be used')
          .add(1, { reason: outcome === 'failed' ? reason : outcome });
      return result;
    },
  },
});

export interface MeasuredGroup extends Pick<OpenOptions, 'env' | 'dataConverter'> {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly queues: Queues;
}

/** Gauges of the runs of a whole `EMEND_QUEUE`. A gauge keeps its value, so that a reason without decisions is set to 0. */
const runGauges = (meter: MetricMeter) => {
  const gauge = (name: string, what: string) => meter.createGauge(name, 'float', undefined, what);
  const up = gauge('emend_server_up', '1: Temporal server and store answered');
  const runs = gauge('emend_runs', 'Runs that the server knows');
  const waiting = gauge('emend_decisions_waiting', 'Open decisions');
  const oldest_s = gauge('emend_decision_oldest_seconds', 'Age of the oldest open decision');
  const reasons = new Set<string>();
  return {
    up: (isUp: boolean) => up.set(isUp ? 1 : 0),
    runs: (state: string, count: number) => runs.set(count, { state }),
    decisions: (openedAt: ReadonlyMap<string, readonly number[]>, currentTime_ms: number) => {
      for (const reason of openedAt.keys()) reasons.add(reason);
      for (const reason of reasons) {
        const times_ms = openedAt.get(reason) ?? [];
        waiting.set(times_ms.length, { reason });
        const oldest_ms = Math.min(currentTime_ms, ...times_ms);
        oldest_s.set((currentTime_ms - oldest_ms) / 1000, { reason });
      }
    },
  };
};

/** Times at which the open decisions of waiting runs were opened, by their reasons. */
const openDecisions = async (emend: Emend, runs: RunGateway, waits: string) => {
  const listed = await runs.list(waits, WAITING_READ);
  const found = await together(listed, async ({ memo }) =>
    memo === null ? null : archivedStatus(await readAmongOthers(emend, memo.stepKey)).decision,
  );
  const byReason = groupBy(
    found.flatMap((decision) => decision ?? []),
    ({ reason }) => reason as string,
  );
  return new Map([...byReason].map(([reason, open]) => [reason, open.map((one) => one.openedAt)]));
};

const lookAtRuns = async (
  group: MeasuredGroup,
  gauges: ReturnType<typeof runGauges>,
): Promise<void> => {
  const { connection, namespace } = group;
  const emend = await openEmend(group);
  try {
    gauges.up(emend.runs !== null);
    if (emend.runs === null) return;
    const ours = ourRuns(group);
    const count = async (query: string): Promise<number> => {
      const request = { namespace, query };
      return Number((await connection.workflowService.countWorkflowExecutions(request)).count);
    };
    const waits = `${ours} AND ExecutionStatus = "Running" AND ${SEARCH_ATTRIBUTES.state} = "waiting"`;
    const waiting = await count(waits);
    gauges.runs('waiting', waiting);
    for (const state of ['Running', 'Completed', 'Failed', 'Canceled', 'Terminated']) {
      const all = await count(`${ours} AND ExecutionStatus = "${state}"`);
      gauges.runs(state.toLowerCase(), state === 'Running' ? all - waiting : all);
    }
    gauges.decisions(await openDecisions(emend, emend.runs, waits), Date.now());
  } finally {
    await emend.close();
  }
};

/** Sets gauges of the runs again and again, without an action on the server, until the function that it returns is called. Keeps no process alive. */
export const measureRuns = (meter: MetricMeter, group: MeasuredGroup): (() => void) => {
  const stop = new AbortController();
  const gauges = runGauges(meter);
  const look = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await lookAtRuns(group, gauges).catch(() => gauges.up(false));
      await sleep(RUNS_LOOK_MS, undefined, { signal: stop.signal, ref: false });
    }
  };
  // The runtime has ended, or the wait.
  void look().catch(() => undefined);
  return () => stop.abort();
};
