/** Parts that the model tests share: scripts in a line, a request, a journal over a real directory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropicModel } from '../../src/model/anthropic/client.js';
import { createCallLog } from '../../src/stores/directory/records.js';
import { createCallJournal, type JournalOptions } from '../../src/model/journal/index.js';
import { type Rehearsal, startRehearsal } from '../../src/model/rehearsal/server.js';
import type { RehearsalScript } from '../../src/model/rehearsal/script.js';
import type { JournalAsk, ModelRequest, CallKeyParts } from '../../src/model/ports.js';

type Rule = RehearsalScript['rules'][number];

/** Runs `use` against a rehearsal; whatever happens, the server ends. */
export const withRehearsal = async <T>(
  rules: readonly Rule[],
  use: (rehearsal: Rehearsal) => Promise<T>,
): Promise<T> => {
  const rehearsal = await startRehearsal({ v: 1, rules: [...rules] });
  try {
    return await use(rehearsal);
  } finally {
    await rehearsal.close();
  }
};

export const withDir = async <T>(use: (dir: string) => Promise<T>): Promise<T> => {
  const dir = await mkdtemp(join(tmpdir(), 'emend model '));
  try {
    return await use(dir);
  } finally {
    // A look of the journal may still be under way.
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  }
};

export const rule = (answer: string, more: Partial<Rule> = {}): Rule => ({
  name: 'only',
  match: {},
  answer,
  ...more,
});

export const NONCE = '01234567';
export const request: ModelRequest = {
  model: 'rehearsal',
  max_tokens: 1000,
  system: [{ type: 'text', text: 'You edit.' }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: `Do it.\nEMEND-COMPLETE ${NONCE}` }] },
  ],
};

export const modelAt = (url: string, streamIdle_ms = 10_000) =>
  createAnthropicModel({ env: { ANTHROPIC_BASE_URL: url }, streamIdle_ms });

export const keyParts: CallKeyParts = {
  stepKey: '00112233445566778899aabbccddeeff',
  role: 'edit',
  file: 'src/a.ts',
  region: '*',
  regeneration: 0,
  bases: ['absent'],
  format: 'whole-file',
  model: 'rehearsal',
  outputBudget_tokens: 1000,
  instructions: `sha256:${'0'.repeat(64)}`,
  notes: null,
  refusal: null,
};

export const askFor = (more: Partial<JournalAsk> = {}): JournalAsk => ({
  key: keyParts,
  makeRequest: async () => ({ request, nonce: NONCE }),
  maxUnknownCalls: 2,
  prices: { input_usd: 1, output_usd: 10, cacheRead_usd: 0, cacheWrite_usd: 0 },
  signal: new AbortController().signal,
  ...more,
});

export const journalAt = (dir: string, url: string, more: Partial<JournalOptions> = {}) =>
  createCallJournal({
    calls: createCallLog({ dir, ...(more.sys && { sys: more.sys }) }),
    model: modelAt(url),
    callOwner_ms: 1000,
    ...more,
  });

/** Waits for something that another process or a server does. */
export const eventually = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> => {
  const deadline = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
