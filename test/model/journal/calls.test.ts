/** Live text from a real journal that a real client fills from the rehearsal server. */
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { LiveLines } from '../../../src/cli/live.js';
import {
  callsOfStep,
  followCalls,
  type CallNews,
  type RunningCall,
} from '../../../src/model/journal/calls.js';
import { damaged } from '../../support/json-schema.js';
import { createCallLog } from '../../../src/stores/directory/records.js';
import {
  askFor,
  eventually,
  journalAt,
  keyParts,
  rule,
  withDir,
  withRehearsal,
} from '../support.js';

/** Followers of a test that failed must not go on for ever. */
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});
const follow = (dir: string) => {
  const stop = new AbortController();
  stops.push(stop);
  const news: CallNews[] = [];
  const done = followCalls({
    calls: createCallLog({ dir }),
    stepKey: keyParts.stepKey,
    signal: stop.signal,
    poll_ms: 20,
    onNews: (each) => news.push(each),
  });
  return {
    news,
    text: () => news.map((each) => (each.kind === 'text' ? each.text : '')).join(''),
    end: () => {
      stop.abort();
      return done;
    },
  };
};

const at = new Date(0).toISOString();
const RECORDED = {
  'call.json': {
    v: 2,
    at,
    key: keyParts,
    nonce: 'n',
    request: { model: 'm', max_tokens: 1, system: [], messages: [] },
    prices: { input_usd: null, output_usd: null, cacheRead_usd: null, cacheWrite_usd: null },
  },
  'attempt-1.json': {
    v: 2,
    at,
    owner: { id: 'x', process: { boot: '-', pid: 1, started: '0' }, pidNamespace: null },
  },
  'attempt-1.end.json': { v: 2, at, state: 'unknown', why: 'owner_lost' },
};

test('a record with a field that is missing or of another type is named, whichever it is', () =>
  withDir(async (dir) => {
    const call = join(dir, keyParts.stepKey, 'a'.repeat(64));
    await mkdir(call, { recursive: true });
    const put = (name: string, value: object) => writeFile(join(call, name), JSON.stringify(value));
    for (const [name, value] of Object.entries(RECORDED)) await put(name, value);
    const read = () => callsOfStep(createCallLog({ dir }), keyParts.stepKey);
    const whole = { found: [{ call: { n: 1, state: 'unknown' } }], unread: [] };
    expect(await read()).toMatchObject(whole);
    for (const [name, { v, ...value }] of Object.entries(RECORDED)) {
      for (const wrong of damaged(value)) {
        await put(name, { v, ...(wrong as object) });
        const { found, unread } = await read();
        const message = `${join(call, name)} is damaged: a field is missing or has the wrong type.`;
        if (found.length === 0) expect(unread).toMatchObject([{ message }]);
        else expect(found).toMatchObject([{ call: { n: 1 } }]);
      }
      await put(name, {});
      // Of a claim nothing is needed: what came of the attempt is in its log and its end.
      if (name === 'attempt-1.json') expect(await read()).toMatchObject(whole);
      else expect(await read()).toMatchObject({ found: [], unread: [{ code: 'disk' }] });
      await put(name, { v, ...value });
    }
  }));

const ANSWER = Array.from({ length: 1000 }, (_, index) => `line ${index + 1} grün\n`).join('');

test('the words of a call are told while it still runs, each once, and its end', () =>
  withDir((dir) =>
    withRehearsal(
      [rule(ANSWER, { fault: { kind: 'hold', after_bytes: 2000 } })],
      async (rehearsal) => {
        const calls = join(dir, 'calls');
        const live = follow(calls);
        const asked = journalAt(calls, rehearsal.url).ask(askFor());
        await eventually('text of a call that is held', () =>
          live.text().startsWith('line 1 grün\n'),
        );
        expect(live.news.some((each) => each.kind === 'ended')).toBe(false);
        expect(live.text()).not.toContain('line 900');

        rehearsal.release();
        expect(await asked).toMatchObject({ outcome: 'answered' });
        await live.end();
        expect(live.text()).toBe(ANSWER);
        expect(live.news.map((each) => each.kind).filter((kind) => kind !== 'text')).toEqual([
          'begun',
          'ended',
        ]);
        expect(live.news[0]?.call).toEqual({ role: 'edit', file: 'src/a.ts', attempt: 1 });

        // Whoever comes later is told nothing of calls that have ended.
        const late = follow(calls);
        await late.end();
        expect(late.news).toEqual([]);
      },
    ),
  ));

test('half a line, and half a character, wait for their other half', () =>
  withDir(async (dir) => {
    const call = join(dir, keyParts.stepKey, 'a'.repeat(64));
    await mkdir(call, { recursive: true });
    await writeFile(join(call, 'call.json'), JSON.stringify(RECORDED['call.json']));
    await writeFile(join(call, 'attempt-1.json'), JSON.stringify(RECORDED['attempt-1.json']));
    const log = join(call, 'attempt-1.events.jsonl');
    const delta = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'grün' },
    };
    const line = Buffer.from(`${JSON.stringify({ t: 1, e: delta })}\n`);
    const half = line.indexOf(0xc3) + 1;
    await writeFile(log, '{"v":2,"attempt":1}\n');
    const live = follow(dir);
    await eventually('the call', () => live.news.length > 0);
    await appendFile(log, line.subarray(0, half));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(live.text()).toBe('');
    await appendFile(log, line.subarray(half));
    await eventually('the text', () => live.text() === 'grün');
    await live.end();
  }));

test('on a terminal: whole lines with their file, long ones in pieces, nothing that moves the cursor', () => {
  const lines = new LiveLines();
  const a: RunningCall = { role: 'edit', file: 'a.js', attempt: 1 };
  const b: RunningCall = { role: 'brief', file: '*', attempt: 2 };
  const text = (call: RunningCall, piece: string) =>
    lines.take({ kind: 'text', call, text: piece });
  expect(lines.take({ kind: 'begun', call: b })).toEqual(['brief all files: attempt 2 begins']);
  expect(text(a, 'let a')).toEqual([]);
  expect(text(b, 'x\n\ny')).toEqual(['brief all files | x', 'brief all files | ']);
  expect(text(a, ' = 1;\n\u001b[2J')).toEqual(['edit a.js | let a = 1;']);
  expect(lines.take({ kind: 'ended', call: a })).toEqual([
    'edit a.js | \\x1b[2J',
    'edit a.js: attempt 1 has ended',
  ]);
  expect(text(b, 'z'.repeat(450))).toEqual([
    `brief all files | y${'z'.repeat(199)}`,
    `brief all files | ${'z'.repeat(200)}`,
  ]);
});
