import * as fs from 'node:fs/promises';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from '@jest/globals';
import { startRehearsal } from '../../../src/model/rehearsal/server.js';
import type { RehearsalScript } from '../../../src/model/rehearsal/script.js';
import { NONCE, rule, withDir } from '../support.js';

const using = async <T>(
  script: string | RehearsalScript,
  use: (client: Anthropic, rehearsal: Awaited<ReturnType<typeof startRehearsal>>) => Promise<T>,
  record?: string,
): Promise<T> => {
  const rehearsal = await startRehearsal(script, record === undefined ? {} : { record });
  try {
    return await use(
      new Anthropic({ apiKey: 'none', baseURL: rehearsal.url, maxRetries: 0, logLevel: 'off' }),
      rehearsal,
    );
  } finally {
    await rehearsal.close();
  }
};
const say = (client: Anthropic, text: string, system = 'You edit.') =>
  client.messages.create({
    model: 'm',
    max_tokens: 5,
    system,
    messages: [{ role: 'user', content: text }],
  });
const said = async (client: Anthropic, text: string, system?: string): Promise<string> => {
  const { content, stop_reason } = await say(client, text, system);
  return `${content.map((block) => (block.type === 'text' ? block.text : '')).join('')}|${String(stop_reason)}`;
};
const script = (...rules: RehearsalScript['rules']): RehearsalScript => ({ v: 1, rules });

describe('choosing', () => {
  test('the first rule that fits and is not used up answers', async () => {
    const rules = script(
      rule('second', { match: { contains: 'a', nth: 2 } }),
      rule('once', { match: { contains: ['a', 'b'], times: 1 } }),
      rule('by role', { match: { contains: 'secret word', role: 'system' } }),
      rule('by regex', { match: { regex: '^x+$' } }),
      rule('rest', { match: { contains: 'a' } }),
    );
    await using(rules, async (client, { requests }) => {
      const texts = [];
      for (const text of ['a b', 'a b', 'a b', 'q\nxxx\nq']) texts.push(await said(client, text));
      texts.push(await said(client, 'q', 'the secret word'));
      expect(texts.map((t) => t.split('|')[0])).toEqual([
        'once',
        'second',
        'rest',
        'by regex',
        'by role',
      ]);
      await expect(say(client, 'q secret word')).rejects.toMatchObject({ status: 400 });
      expect(requests().at(-1)).toMatchObject({ rule: null, status: 400 });
    });
  });

  test('the default answers what no rule fits', async () => {
    await using({ v: 1, rules: [], default: { answer: 'what?' } }, async (client) => {
      expect(await said(client, 'q')).toBe('what?|end_turn');
    });
  });
});

const fill = (answer: string, more: Partial<RehearsalScript['rules'][number]> = {}) =>
  script(rule(answer, more));

describe('answers', () => {
  const asked = `1200kef| const a = 1;\n12zzz| other\nold nonce ${'a'.repeat(20)}\nEMEND-COMPLETE ${NONCE}`;

  test('placeholders are filled from the request', async () => {
    await using(fill('{{nonce}} {{line:1200}} {{other}}'), async (client) => {
      expect(await said(client, asked)).toBe(`${NONCE} 1200kef {{other}}|end_turn`);
    });
  });
  test('a placeholder without a value is a mistake that is told', async () => {
    for (const answer of ['{{line:7}}', '{{nonce}}'])
      await using(fill(answer), async (client) => {
        await expect(say(client, 'nothing here')).rejects.toMatchObject({
          status: 400,
          apiMessage: expect.stringMatching(
            /^rehearsal: rule "only": (line 7|the last message)/,
          ) as unknown,
        });
      });
  });
  test.each([
    [
      'truncate by bytes, between characters',
      'aäb',
      { kind: 'truncate', bytes: 2 },
      'a|max_tokens',
    ],
    ['truncate by tokens', 'abcdefgh', { kind: 'truncate', tokens: 1 }, 'abcd|max_tokens'],
    ['truncate behind the end', 'ab', { kind: 'truncate', bytes: 9 }, 'ab|max_tokens'],
    ['prose', 'x', { kind: 'prose', before: 'Sure! ', after: ' Done.' }, 'Sure! x Done.|end_turn'],
    ['missing nonce', '<{{nonce}}>', { kind: 'missing_nonce' }, '<>|end_turn'],
    ['wrong nonce', '{{nonce}}', { kind: 'wrong_nonce' }, `f${NONCE.slice(1)}|end_turn`],
    ['refusal', 'x', { kind: 'refusal', text: 'No.' }, 'No.|refusal'],
  ] as const)('%s', async (_name, answer, fault, expected) => {
    await using(fill(answer, { fault }), async (client) => {
      expect(await said(client, asked)).toBe(expected);
    });
  });
  test.each([
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, ''],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }, ''],
    [{ thinking: { type: 'enabled', budget_tokens: 1_023 } }, 'budget_tokens'],
    [{ thinking: { type: 'enabled' } }, 'budget_tokens'],
    [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }, 'less than max_tokens'],
    [{ thinking: { type: 'adaptive' }, temperature: 0 }, 'temperature'],
    [{ output_config: { effort: 'most' } }, 'effort'],
  ])('thinking %j is taken, or refused as the API does: %s', async (keys, refused) => {
    await using(fill('x'), async (client) => {
      const messages = [{ role: 'user' as const, content: 'q' }];
      const body = {
        model: 'm',
        max_tokens: 2_000,
        messages,
        ...keys,
      } as Anthropic.MessageCreateParamsNonStreaming;
      const answer = await client.messages.create(body).then(
        () => '',
        (error: unknown) =>
          error instanceof Anthropic.BadRequestError ? error.message : String(error),
      );
      if (refused === '') expect(answer).toBe('');
      else expect(answer).toMatch(new RegExp(`^400 .*${refused}`));
    });
  });
  test('max_tokens is kept where the script says so', async () => {
    await using({ ...fill('x'.repeat(100)), enforce_max_tokens: true }, async (client) => {
      expect(await said(client, 'q')).toBe(`${'x'.repeat(20)}|max_tokens`);
    });
  });
  test('usage is about a quarter of the bytes, or what the script says', async () => {
    await using(
      script(
        rule('x'.repeat(40), { match: { nth: 1 } }),
        rule('x', { usage: { input_tokens: 3 } }),
      ),
      async (client) => {
        expect((await say(client, 'q'.repeat(400))).usage).toMatchObject({
          input_tokens: 103,
          output_tokens: 10,
        });
        expect((await say(client, 'q')).usage).toMatchObject({ input_tokens: 3, output_tokens: 1 });
      },
    );
  });
});

describe('watching', () => {
  test('requests are listed over HTTP and recorded, held ones go on when released or when a file appears', async () => {
    await withDir(async (dir) => {
      const record = join(dir, 'record.jsonl');
      const file = join(dir, 'go');
      const rules = script(
        rule('one', { match: { nth: 1 }, fault: { kind: 'hold' } }),
        rule('two', { fault: { kind: 'hold', after_bytes: 100_000, until_file: file } }),
      );
      await using(
        rules,
        async (client, { url, requests }) => {
          const list = async () =>
            (await (await fetch(`${url}/rehearsal/requests`)).json()) as {
              count: number;
              requests: unknown[];
            };
          const first = said(client, 'q');
          while (requests()[0]?.state !== 'held') await new Promise((r) => setTimeout(r, 5));
          expect(await list()).toMatchObject({
            count: 1,
            requests: [{ n: 1, state: 'held', finished: false, status: null }],
          });
          await fetch(`${url}/rehearsal/release`, { method: 'POST' });
          expect(await first).toBe('one|end_turn');
          const second = said(client, 'r');
          while (requests()[1]?.state !== 'held') await new Promise((r) => setTimeout(r, 5));
          await fs.writeFile(file, '');
          expect(await second).toBe('two|end_turn');
          while (requests()[1]?.state !== 'finished') await new Promise((r) => setTimeout(r, 5));
          expect(await list()).toMatchObject({
            count: 2,
            requests: [{}, { state: 'finished', finished: true, status: 200 }],
          });
          expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({
            data: [{ id: 'rehearsal' }],
          });
          expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
        },
        record,
      );
      const lines = (await fs.readFile(record, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { n: number; body?: string });
      expect(lines.map((line) => [line.n, line.body !== undefined])).toEqual([
        [1, true],
        [1, false],
        [2, true],
        [2, false],
      ]);
    });
  });

  test('a client that goes away in the middle of a stream is cut off, and hurts nobody else', async () => {
    // Reset by the client while chunks are on their way: a write may fail before the connection is told to be closed.
    const body = JSON.stringify({
      model: 'm',
      max_tokens: 5,
      stream: true,
      messages: [{ role: 'user', content: 'q' }],
    });
    const goAway = (port: number): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          const head = [
            'POST /v1/messages HTTP/1.1',
            'Host: x',
            `Content-Length: ${body.length}`,
            '',
            body,
          ];
          socket.write(head.join('\r\n'));
        });
        socket.once('data', () => socket.resetAndDestroy());
        socket.once('close', () => {
          resolve();
        });
      });
    const slow = { chunk_bytes: 40, fault: [{ kind: 'slow' as const, chunk_ms: 1 }] };
    await using(fill('x'.repeat(8_000), slow), async (client, { port, requests }) => {
      await Promise.all(Array.from({ length: 40 }, () => goAway(port)));
      expect(await said(client, 'q')).toMatch(/^x+\|end_turn$/);
      expect(
        requests().filter(({ state, status }) => state === 'cut' && status === 200),
      ).toHaveLength(40);
    });
  });

  test('what is no request is refused with the reason', async () => {
    await using(script(), async (_client, { url }) => {
      for (const [body, reason] of [
        ['{', 'not JSON'],
        ['{"model":"m","max_tokens":0,"messages":[]}', 'max_tokens'],
        [
          '{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"x"}]}',
          'last one',
        ],
      ] as const) {
        const response = await fetch(`${url}/v1/messages`, { method: 'POST', body });
        expect(response.status).toBe(400);
        expect(await response.text()).toContain(reason);
      }
    });
  });
});

describe('scripts', () => {
  const broken: [string, string, string][] = [
    ['no YAML', 'v: 1\nrules: [', 'script.yaml:2'],
    ['another version', 'v: 2\nrules: []', 'script.yaml:1: v:'],
    ['an unknown key', 'v: 1\nrules:\n  - name: a\n    match: {}\n    anwser: x\n', 'anwser'],
    [
      'an unknown fault',
      'v: 1\nrules:\n  - name: a\n    match: {}\n    answer: x\n    fault: explode\n',
      'script.yaml:6: rules.0.fault: kind: expected one of truncate, wrong_nonce, ',
    ],
    [
      'a fault without what it needs',
      'v: 1\nrules:\n  - name: a\n    match: {}\n    answer: x\n    fault: [overload, { kind: slow }]\n',
      'script.yaml:6: rules.0.fault: 1: chunk_ms: Invalid input: expected number',
    ],
    [
      'neither a text nor a list of texts',
      'v: 1\nrules:\n  - name: a\n    match: { contains: 5 }\n    answer: x\n',
      'script.yaml:4: rules.0.match.contains: expected a text or a list of texts',
    ],
    [
      'a bad regex',
      'v: 1\nrules:\n  - name: a\n    match: { regex: "(" }\n    answer: x\n',
      'script.yaml:4: rules.0.match.regex: expected a regular',
    ],
    ['no answer', 'v: 1\nrules:\n  - name: a\n    match: {}\n', 'rule "a" has neither'],
    [
      'no such file',
      'v: 1\nrules:\n  - name: a\n    match: {}\n    answer_file: gone.txt\n',
      'answer_file',
    ],
  ];
  test.each(broken)('%s is told with its place', async (_name, text, expected) => {
    await withDir(async (dir) => {
      await fs.writeFile(join(dir, 'script.yaml'), text);
      await expect(startRehearsal(join(dir, 'script.yaml'))).rejects.toMatchObject({
        problem: { code: 'usage', message: expect.stringContaining(expected) as unknown },
      });
    });
  });

  test('a script that is not there, a port that is taken', async () => {
    await expect(startRehearsal('/nowhere/script.yaml')).rejects.toMatchObject({
      problem: { code: 'usage' },
    });
    await using(script(), async (_client, { port }) => {
      await expect(startRehearsal(script(), { port })).rejects.toMatchObject({
        problem: { code: 'usage' },
      });
    });
  });

  test('answer_file is relative to the script, JSON is fine', async () => {
    await withDir(async (dir) => {
      await fs.writeFile(join(dir, 'answer.txt'), 'from a file');
      await fs.writeFile(
        join(dir, 's.json'),
        JSON.stringify({ v: 1, rules: [{ name: 'a', match: {}, answer_file: 'answer.txt' }] }),
      );
      await using(join(dir, 's.json'), async (client) => {
        expect(await said(client, 'q')).toBe('from a file|end_turn');
      });
    });
  });

  test('the example of docs/rehearsal.md does what it says', async () => {
    const page = await fs.readFile(
      resolve(import.meta.dirname, '../../../docs/rehearsal.md'),
      'utf8',
    );
    const example = /```yaml\n([^]*?)```/.exec(page)?.[1] ?? '';
    await withDir(async (dir) => {
      await fs.writeFile(join(dir, 'script.yaml'), example);
      await using(join(dir, 'script.yaml'), async (client) => {
        const text = `Edit greeting.txt\nEMEND-COMPLETE ${NONCE}`;
        expect(await said(client, text)).toMatch(/^FILE greeting\.txt .*\|max_tokens$/s);
        await expect(say(client, text)).rejects.toMatchObject({ status: 529 });
        expect(await said(client, text)).toMatch(
          new RegExp(`EMEND-COMPLETE ${NONCE} 1 1\n\\|end_turn$`),
        );
        expect(await said(client, 'other')).toBe('I have no line for this.|end_turn');
      });
    });
  });
});
