/** Asks for one recorded call in a process of its own, with a fault; prints the outcome as JSON. */
import { readFileSync } from 'node:fs';
import { createAnthropicModel } from '../../src/model/anthropic/client.js';
import { createCallLog } from '../../src/stores/directory/records.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import type { ModelRequest, CallKeyParts } from '../../src/model/ports.js';
import { realSys } from '../../src/system/sys.js';
import { shimSys, type ShimPlan } from '../support/sys-shim.js';

export interface AskTask {
  readonly dir: string;
  readonly url: string;
  readonly owner_ms: number;
  readonly key: CallKeyParts;
  readonly request: ModelRequest;
  readonly nonce: string;
  readonly plan?: ShimPlan;
}

const task = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as AskTask;
const { sys, names } = shimSys(realSys, task.plan);
const journal = createCallJournal({
  calls: createCallLog({ dir: task.dir, sys }),
  model: createAnthropicModel({ env: { ANTHROPIC_BASE_URL: task.url }, streamIdle_ms: 10_000 }),
  callOwner_ms: task.owner_ms,
  sys,
});
const outcome = await journal.ask({
  key: task.key,
  makeRequest: () => Promise.resolve({ request: task.request, nonce: task.nonce }),
  maxUnknownCalls: 2,
  prices: { input_usd: 1, output_usd: 10, cacheRead_usd: 0, cacheWrite_usd: 0 },
  signal: new AbortController().signal,
});
process.stdout.write(JSON.stringify({ outcome, names: names() }));
