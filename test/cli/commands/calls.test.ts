/** `emend calls`: recorded calls of a run, read without a server. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { main } from '../../../src/cli/main.js';
import { createArchive } from '../../../src/stores/directory/archive.js';
import { startedData } from '../../client/fake.js';
import { hostId } from '../../../src/stores/home.js';
import { storePaths } from '../../../src/stores/location.js';
import { askFor, journalAt, keyParts, request, rule, withRehearsal } from '../../model/support.js';
import { callKey } from '../../../src/model/journal/records.js';
import { printedFaults } from '../../support/json-schema.js';
import { fakeIo } from '../io.js';

const RUN = keyParts.stepKey;
const EMPTY = 'ff'.repeat(16);
const ANSWER = 'The whole answer: \u001b[31mred\u202e.\n';
let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'emend calls '));
  const home = join(dir, 'home');
  await hostId(home);
  const { archive, calls } = storePaths(home);
  const data = startedData({ v: 1 });
  for (const key of [RUN, EMPTY])
    await createArchive({ dir: archive }).append(key, [
      { id: 'started', at: '2026-01-01T00:00:00.000Z', kind: 'started', data },
    ]);
  const usage = { input_tokens: 100, output_tokens: 7 };
  const rules = [
    rule(`The first half ${'and more '.repeat(500)}`, {
      name: 'cut',
      match: { nth: 1 },
      fault: { kind: 'drop', after_bytes: 2000 },
    }),
    rule(ANSWER, { name: 'whole', usage }),
  ];
  await withRehearsal(rules, async ({ url }) => {
    const journal = journalAt(calls, url);
    await journal.ask(askFor()).catch(() => undefined);
    await journal.ask(askFor());
  });
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const typed = async (args: readonly string[], more: { readonly isTty?: boolean } = {}) => {
  const env = {
    EMEND_HOME: join(dir, 'home'),
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    EMEND_CONNECT_MS: '300',
    HOME: dir,
  };
  const io = fakeIo({ cwd: dir, env, ...more });
  return { exit: await main(['calls', ...args], io), ...io.printed };
};

describe('the list', () => {
  test('each attempt: what for, model, tokens, money, time, and what came of it', async () => {
    const { exit, out } = await typed([RUN]);
    expect(exit).toBe(0);
    const rows = out
      .trimEnd()
      .split('\n')
      .map((text) => text.split(/ {2,}/));
    expect(rows).toHaveLength(3);
    expect(rows[1]?.slice(0, 5)).toEqual(['1', 'edit', 'src/a.ts', 'rehearsal', '1']);
    expect(rows[1]?.at(-1)).toMatch(/^cut off \(\w+\)$/);
    expect(rows[2]?.slice(0, 8)).toEqual([
      '2',
      'edit',
      'src/a.ts',
      'rehearsal',
      '2',
      '100',
      '7',
      '0.0002',
    ]);
    expect(rows[2]?.at(-1)).toBe('answered (end_turn)');
  });

  test('as JSON it holds no texts', async () => {
    const { out } = await typed([RUN, '--json']);
    const { calls } = JSON.parse(out) as { calls: readonly Record<string, unknown>[] };
    expect(calls.map(({ n, state, usage }) => ({ n, state, usage }))).toMatchObject([
      { n: 1, state: 'unknown', usage: { unknownCalls: 1 } },
      { n: 2, state: 'answered', usage: { input_tokens: 100, output_tokens: 7, usd: 170 / 1e6 } },
    ]);
    expect(out).not.toMatch(/whole answer|You edit/);
  });

  test('a run without calls says so', async () => {
    expect(await typed([EMPTY])).toMatchObject({
      exit: 0,
      out: expect.stringContaining('has no model calls'),
    });
  });
});

describe('one call', () => {
  const sent = `[system]\nYou edit.\n[user]\n${request.messages[0]?.content[0]?.text}\n`;
  test('--answer is the very text where it is piped, and shows what a terminal would obey', async () => {
    expect((await typed([RUN, '2', '--answer'])).out).toBe(ANSWER);
    const shown = (await typed([RUN, '2', '--answer'], { isTty: true })).out;
    expect(shown).not.toContain('\u001b');
    expect(shown).toContain('\\u{202E}');
  });
  test('--prompt is what was sent; of an attempt that was cut off the answer is what came', async () => {
    expect((await typed([RUN, '1', '--prompt'])).out).toBe(sent);
    const { out } = await typed([RUN, '1']);
    expect(out).toContain(sent);
    expect(out).toContain('[answer]\nThe first half and more');
  });
  test('as JSON', async () => {
    expect(JSON.parse((await typed([RUN, '2', '--json'])).out)).toMatchObject({
      v: 1,
      n: 2,
      attempt: 2,
      system: 'You edit.',
      answer: ANSWER,
      messages: [{ role: 'user' }],
    });
  });
  test.each([
    [[RUN, '3'], 'has 2 model calls, no 3'],
    [[RUN, '0'], 'not the number of a call'],
    [[RUN, 'x'], 'not the number of a call'],
    [[RUN, '--prompt'], 'Which call?'],
  ])('%j is refused with what to type', async (args, says) => {
    const { exit, err } = await typed(args);
    expect(exit).toBe(2);
    expect(err).toContain(says);
    expect(err).toContain('emend calls');
  });
});

test('a call whose record is damaged is named, the others are listed, and the exit code says so', async () => {
  const { calls } = storePaths(join(dir, 'home'));
  await withRehearsal([rule('x')], ({ url }) =>
    journalAt(calls, url).ask(askFor({ key: { ...keyParts, regeneration: 1 } })),
  );
  const path = join(calls, RUN, callKey({ ...keyParts, regeneration: 1 }), 'call.json');
  truncateSync(path, 10);
  const { exit, out, err } = await typed([RUN]);
  expect({ exit, lines: out.trim().split('\n').length }).toEqual({ exit: 1, lines: 3 });
  expect(err).toContain(
    `A model call is not listed: ${path} is damaged: it is no JSON. Restore it from a backup`,
  );
  const json = await typed([RUN, '--json']);
  expect(json.exit).toBe(1);
  expect(printedFaults(['calls', RUN, '--json'], json.out)).toEqual([]);
  expect(JSON.parse(json.out)).toMatchObject({
    calls: [{ n: 1 }, { n: 2 }],
    unread: [expect.stringContaining(`${path} is damaged`)],
  });
  expect(await typed([RUN, '2', '--answer'])).toMatchObject({ exit: 0, out: ANSWER });
  expect(await typed([RUN, '3'])).toMatchObject({
    exit: 1,
    err: expect.stringContaining(`${path} is damaged`),
  });
});
