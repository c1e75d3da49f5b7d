/** Placeholders for secrets and back. */
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { maskRequest, restoreAnswer } from '../../../src/activities/frame/secrets.js';
import { Vault } from '../../../src/system/vault.js';
import { ports } from '../../exam/secrets/exam.js';

const KEY = ['MIIEq8ZrT2vL', 'k0XnB5wYc7Jd', 'F1sH=='];
const QUOTED = 'a"b\\c7d9';
const vault = new Vault('key', [KEY, [QUOTED], ['tok_1'], ['tok_1_longer']]);
const of = (line: string): string => vault.mask(line);

test('one placeholder for each line, the same for the same key', () => {
  const masked = KEY.map((line) => vault.mask(`12:ab| ${line}`));
  expect(masked.map((line) => line.replace(/[0-9a-f]{8}_/, 'HASH_'))).toEqual(
    [1, 2, 3].map((n) => `12:ab| EMEND_SECRET_HASH_${n}`),
  );
  expect(new Vault('key', [KEY]).mask(KEY.join())).toBe(vault.mask(KEY.join()));
  expect(new Vault('other', [KEY]).mask(KEY.join())).not.toBe(vault.mask(KEY.join()));
});

test('every occurrence, the longest first, beside letters, digits and each other', () => {
  const text = `tok_1tok_1_longer2 ${KEY[0]!}9${QUOTED}x`;
  const masked = vault.mask(text);
  expect(masked).toBe(`${of('tok_1')}${of('tok_1_longer')}2 ${of(KEY[0]!)}9${of(QUOTED)}x`);
  expect(vault.restore(masked, false)).toEqual({ text, unknown: [] });
});

test('as JSON quotes it: hidden too, and quoted again in an answer that is JSON', () => {
  const json = JSON.stringify({ content: `say ${QUOTED}` });
  expect(vault.mask(json)).toBe(`{"content":"say ${of(QUOTED)}"}`);
  expect(vault.restore(vault.mask(json), true).text).toBe(json);
});

test('what looks like a placeholder and is none of ours is told', () => {
  const made = 'EMEND_SECRET_00000000_1';
  expect(vault.restore(`${of('tok_1')} ${made} EMEND_SECRET_x`, false)).toEqual({
    text: `tok_1 ${made} EMEND_SECRET_x`,
    unknown: [made, 'EMEND_SECRET_x'],
  });
  expect(new Vault('', []).restore(made, false).unknown).toEqual([made]);
});

test('one that a file holds is hidden like a secret, and comes back', () => {
  const own = 'EMEND_SECRET_00000000_1';
  const with1 = new Vault('key', [[own]]);
  expect(with1.mask(own)).not.toBe(own);
  expect(with1.restore(with1.mask(own), false)).toEqual({ text: own, unknown: [] });
});

test('nothing to hide changes nothing', () => {
  expect(new Vault('', []).mask('a')).toBe('a');
});

describe('a request under `secrets`', () => {
  const madeUp = (): string => `ghp_${randomBytes(18).toString('hex')}`;
  const NAME = 'EMEND_TEST_TOKEN';
  afterEach(() => {
    process.env[NAME] = '';
  });

  const begin = async (files: Record<string, string>, note = '') => {
    const own = ports();
    const context = await Promise.all(
      Object.entries(files).map(async ([path, text]) => ({
        path,
        ref: await own.blobs.put(Buffer.from(text)),
      })),
    );
    const call = { stepKey: '0'.repeat(32), callKey: 'call', shown: { context } };
    const text = [...Object.values(files), note].join('\n');
    const request = {
      model: 'm',
      max_tokens: 1,
      system: [],
      messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }],
    };
    return {
      as: (secrets: 'mask' | 'ask' | 'send') =>
        maskRequest(own, call, { request, secrets }, new AbortController().signal),
      restored: (answer: string) => restoreAnswer(own, call, answer, false),
    };
  };
  const sentBy = (request: object): string => JSON.stringify(request);

  test('ask: where they stand, with no part of one', async () => {
    const [token, other] = [madeUp(), madeUp()];
    const { as } = await begin(
      { 'a.ts': `a\nconst t = '${token}';\n`, 'b.ts': `// ${token}\n\n// ${token}\n` },
      other,
    );
    expect(await as('ask')).toEqual({
      paths: ['a.ts', 'b.ts'],
      message:
        'the request would contain what looks like a secret: a.ts:2, b.ts:1, b.ts:3, the instructions, a note, or test output',
    });
  });

  test('ask: 20 lines are named, the rest is counted', async () => {
    const { as } = await begin({ 'a.ts': `${madeUp()}\n`.repeat(25) });
    expect(await as('ask')).toMatchObject({
      message: expect.stringMatching(/a\.ts:20, 5 more lines$/),
    });
  });

  test('ask without a secret: the request as it is', async () => {
    const { as } = await begin({ 'a.ts': 'const a = 1;\n' });
    expect(sentBy(await as('ask'))).toBe(sentBy(await as('send')));
  });

  test("send: as it is, but for a key of the worker's and what looks like a placeholder; both come back", async () => {
    const [token, key, like] = [madeUp(), madeUp(), 'EMEND_SECRET_00000000_1'];
    process.env[NAME] = key;
    const { as, restored } = await begin({ 'a.ts': `${token}\n${key}\n${like}\n` });
    const sent = sentBy(await as('send'));
    expect(sent).toContain(token);
    expect(sent).not.toContain(key.slice(4, 20));
    expect(sent).not.toContain(like);
    const placeholders = sent.match(/EMEND_SECRET_(?!0a1b2c3d)[0-9a-f]{8}_1/g) ?? [];
    expect((await restored(placeholders.join(' '))).text).toBe(`${key} ${like}`);
  });

  test('what a file holds as JSON quotes it comes back as it stood', async () => {
    const key = (process.env[NAME] = `q8"Zr\\${madeUp()}`);
    const text = `{"value": ${JSON.stringify(key)}}\n${key}\n`;
    const { as, restored } = await begin({ 'a.json': text });
    const request = await as('mask');
    const sent = 'messages' in request ? (request.messages[0]?.content[0]?.text ?? '') : '';
    expect(sent).not.toContain(key.slice(6));
    expect(await restored(sent)).toEqual({ text: `${text}\n`, unknown: [] });
  });

  test('38: a key in other notations is hidden under every setting, and comes back as it was written', async () => {
    const key = (process.env[NAME] = `q8"Zr/${madeUp()}`);
    const writings = [encodeURIComponent(key), Buffer.from(key).toString('hex')];
    const token = madeUp();
    const text = `${writings.join('\n')}\n${token}\n`;
    for (const secrets of ['mask', 'ask', 'send'] as const) {
      const { as, restored } = await begin({
        'a.ts': text.replace(secrets === 'ask' ? token : '', ''),
      });
      const request = await as(secrets);
      const sent = 'messages' in request ? (request.messages[0]?.content[0]?.text ?? '') : '';
      expect(sent).toMatch(/^EMEND_SECRET_\w+\nEMEND_SECRET_\w+\n/);
      expect((await restored(sent)).text).toContain(`${writings.join('\n')}\n`);
    }
  });

  test('38: a token of a file in base64 in a test output is hidden', async () => {
    const token = madeUp();
    const { as } = await begin({ 'a.ts': `${token}\n` }, Buffer.from(token).toString('base64'));
    expect(sentBy(await as('mask'))).not.toContain(
      Buffer.from(token).toString('base64').slice(8, 40),
    );
  });

  test("ask asks about no key of the worker's: it is hidden", async () => {
    const key = (process.env[NAME] = madeUp());
    const { as } = await begin({ 'a.ts': `${key}\n` });
    expect(sentBy(await as('ask'))).toMatch(/EMEND_SECRET_[0-9a-f]{8}_1/);
  });
});
