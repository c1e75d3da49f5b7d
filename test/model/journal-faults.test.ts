/** Every write of the call journal fails once, or from some write on: calls, events, ends, answers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createCallLog } from '../../src/stores/directory/records.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import { callKey } from '../../src/model/journal/records.js';
import type { ModelPort, StreamEvent } from '../../src/model/ports.js';
import { realSys } from '../../src/system/sys.js';
import { FAULTS, SHORT_WRITES, atEachCall, type StoreWork } from '../support/store-faults.js';
import { askFor, keyParts } from './support.js';

const PIECES = ['first ', 'x'.repeat(300_000), ' last'];
const delta = (text: string): StreamEvent => ({
  type: 'content_block_delta',
  delta: { type: 'text_delta', text },
});
const EVENTS: readonly StreamEvent[] = [
  { type: 'message_start', message: { usage: { input_tokens: 100 } } },
  ...PIECES.map(delta),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
  { type: 'message_stop' },
];

/** Answers at once, so that every run makes the same writes; the time is the disk's alone. */
const model = (asked: () => void): ModelPort => ({
  stream: async (_request, { onEvent }) => {
    asked();
    for (const event of EVENTS) await onEvent(event);
  },
});

const parts = (regeneration: number) => ({ ...keyParts, regeneration });
const fileOf = (dir: string, regeneration: number, name: string): string | null => {
  try {
    return readFileSync(join(dir, keyParts.stepKey, callKey(parts(regeneration)), name), 'utf8');
  } catch {
    return null;
  }
};
/** Where an attempt's last event lies on disk, it is paid for and nobody may ask again. */
const isWhole = (dir: string, regeneration: number): boolean =>
  /\{"type":"message_stop"\},"sum":"\w+"\}\n/.test(
    fileOf(dir, regeneration, 'attempt-1.events.jsonl') ?? '',
  );

/** Calls of the model, by directory: what a fault must not make more than needed. */
const asked = new Map<string, number>();
const journal = (dir: string, sys = realSys) =>
  createCallJournal({
    calls: createCallLog({ dir, sys }),
    sys,
    callOwner_ms: 60_000,
    model: model(() => asked.set(dir, (asked.get(dir) ?? 0) + 1)),
  });

const work: StoreWork = {
  prepare: async (dir) => {
    await journal(dir).ask(askFor({ key: parts(0) }));
  },
  act: async (sys, dir, told) => {
    if (sys !== realSys) asked.set(dir, 0);
    const before = asked.get(dir) ?? 0;
    const whole = isWhole(dir, 1);
    const recorded = fileOf(dir, 1, 'call.json');
    for (const regeneration of [0, 1]) {
      const outcome = await journal(dir, sys).ask(askFor({ key: parts(regeneration) }));
      expect(outcome).toMatchObject({ outcome: 'answered', answer: { text: PIECES.join('') } });
      told(String(regeneration));
    }
    // A recorded answer is not asked for again, one that was cut off once; every call is in the usage.
    expect({ whole, more: (asked.get(dir) ?? 0) - before }).toEqual({ whole, more: whole ? 0 : 1 });
    if (recorded !== null) expect(fileOf(dir, 1, 'call.json')).toBe(recorded);
  },
  check: async (dir, told) => {
    const attempts = await journal(dir).attempts(keyParts.stepKey);
    for (const regeneration of ['0', ...told]) {
      expect(fileOf(dir, Number(regeneration), 'answer.json')).not.toBeNull();
      expect(
        attempts.find((c) => c.key.regeneration === Number(regeneration) && c.state === 'answered'),
      ).toBeDefined();
    }
    // Each attempt that was made is accounted for, and none is an answer unless its last event is on disk.
    const ours = attempts.filter((c) => c.key.regeneration === 1);
    expect(ours.length).toBeGreaterThanOrEqual(asked.get(dir) ?? 0);
    if (ours.length === 1) expect(ours[0]?.state === 'answered').toBe(isWhole(dir, 1));
  },
};

test('each fault at each write: no torn answer is read, no recorded one asked for again, the next attempt succeeds', async () => {
  const faults = [...FAULTS, ...SHORT_WRITES];
  const tally: Record<string, unknown> = {};
  for (const [name, fault] of faults)
    tally[name] = await atEachCall(`call journal, ${name}`, fault, work, 3);
  process.stdout.write(`call journal: ${JSON.stringify(tally)}\n`);
  expect(Object.keys(tally)).toHaveLength(faults.length);
}, 600_000);
