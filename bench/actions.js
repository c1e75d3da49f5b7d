/** Temporal actions, from the dev server's own counter: what a cluster would bill. */
import { setTimeout as sleep } from 'node:timers/promises';

/** The counter lags: it is read until it has stood still this long. */
const STILL_MS = 3_000;
const POLL_MS = 500;
const LIMIT_MS = 60_000;

/** Lines as `action{action_type="grpc_StartWorkflowExecution",...} 12`; sums by type. */
export const readActions = (text) => {
  const counts = {};
  for (const [, labels, value] of text.matchAll(/^action\{([^}]*)\} (\S+)$/gm)) {
    const type = /action_type="([^"]*)"/.exec(labels)?.[1] ?? 'unknown';
    counts[type] = (counts[type] ?? 0) + Number(value);
  }
  return counts;
};

/** The counts once they are still. */
export const actionCounts = async (port) => {
  const read = async () => readActions(await (await globalThis.fetch(`http://127.0.0.1:${port}/metrics`)).text());
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
