/** From the dev server's own counters: Temporal actions, which a cluster would bill, and the requests that its frontend takes. */
import { setTimeout as sleep } from 'node:timers/promises';

/** The counter lags: it is read until it has stood still this long. */
const STILL_MS = 3_000;
const POLL_MS = 500;
const LIMIT_MS = 60_000;

/** Lines as `action{action_type="grpc_StartWorkflowExecution",...} 12`; sums by the label's values. */
export const sumsBy = (text, metric, label, only = '') => {
  const counts = {};
  for (const [, labels, value] of text.matchAll(
    new RegExp(`^${metric}\\{([^}]*)\\} (\\S+)$`, 'gm'),
  )) {
    if (!labels.includes(only)) continue;
    const type = new RegExp(`\\b${label}="([^"]*)"`).exec(labels)?.[1] ?? 'unknown';
    counts[type] = (counts[type] ?? 0) + Number(value);
  }
  return counts;
};

export const actionCounts = (port) =>
  stillCounts(port, (text) => sumsBy(text, 'action', 'action_type'));

/** Polls and beats, which come without a step too, are none of its requests. */
const ALWAYS_THERE = /^(Poll|RecordWorkerHeartbeat|GetSystemInfo|Describe|List|Shutdown)/;
export const requestCounts = (port) =>
  stillCounts(port, (text) =>
    Object.fromEntries(
      Object.entries(
        sumsBy(text, 'service_requests', 'operation', 'service_name="frontend"'),
      ).filter(([name]) => !ALWAYS_THERE.test(name)),
    ),
  );

/** The counts once they are still. */
const stillCounts = async (port, of) => {
  const read = async () =>
    of(await (await globalThis.fetch(`http://127.0.0.1:${port}/metrics`)).text());
  const end = Date.now() + LIMIT_MS;
  let last = await read();
  for (let stillSince = Date.now(); Date.now() - stillSince < STILL_MS && Date.now() < end;) {
    await sleep(POLL_MS);
    const now = await read();
    if (JSON.stringify(now) !== JSON.stringify(last)) stillSince = Date.now();
    last = now;
  }
  return last;
};

/** What came between two counts, types without a change left out. */
export const actionsBetween = (before, after) =>
  Object.fromEntries(
    Object.entries(after)
      .map(([type, count]) => [type, count - (before[type] ?? 0)])
      .filter(([, count]) => count !== 0),
  );

export const sumOf = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0);
