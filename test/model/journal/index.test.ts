import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { estimateRequestTokens } from '../../../src/model/tokens.js';
import { callKey } from '../../../src/model/journal/records.js';
import type { ModelPort, ModelRequest } from '../../../src/model/ports.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { realSys } from '../../../src/system/sys.js';
import { drawn, sampled } from '../../support/seeded.js';
import { shimSys } from '../../support/sys-shim.js';
import {
  askFor,
  eventually,
  journalAt,
  keyParts,
  modelAt,
  NONCE,
  request,
  rule,
  withDir,
  withRehearsal,
} from '../support.js';

const callDir = (dir: string): string => join(dir, keyParts.stepKey, callKey(keyParts));

describe('one recorded call, one answer', () => {
  test('a second ask returns the record: same answer, usage and money, no call', async () => {
    const usage = { input_tokens: 100, output_tokens: 7, cache_read_input_tokens: 40 };
    await withDir((dir) =>
      withRehearsal([rule('hello {{nonce}}', { usage })], async ({ url, requests }) => {
        const first = await journalAt(dir, url).ask(askFor());
        expect(first).toMatchObject({
          outcome: 'answered',
          recorded: false,
          request,
          nonce: NONCE,
          answer: {
            text: `hello ${NONCE}`,
            stopReason: 'end_turn',
            usage: { input_tokens: 100, output_tokens: 7, cacheRead_tokens: 40 },
          },
          usage: {
            calls: 1,
            unknownCalls: 0,
            input_tokens: 100,
            output_tokens: 7,
            cacheRead_tokens: 40,
            usd: 170 / 1e6,
          },
        });
        const makeRequest = () => Promise.reject(new Error('made again'));
        const again = await journalAt(dir, url).ask(
          askFor({ makeRequest, prices: { ...askFor().prices, input_usd: null } }),
        );
        expect(again).toEqual({ ...first, recorded: true });
        expect(requests()).toHaveLength(1);
      }),
    );
  });

  test('asks at once share one call', async () => {
    await withDir((dir) =>
      withRehearsal(
        [rule('hello', { fault: { kind: 'slow', chunk_ms: 50 } })],
        async ({ url, requests }) => {
          const journals = [
            journalAt(dir, url),
            journalAt(dir, url),
            journalAt(dir, url),
            journalAt(dir, url),
          ];
          const outcomes = await Promise.all(journals.map((journal) => journal.ask(askFor())));
          expect(outcomes.map((o) => o.outcome)).toEqual(Array(4).fill('answered'));
          expect(outcomes.filter((o) => o.outcome === 'answered' && !o.recorded)).toHaveLength(1);
          expect(requests()).toHaveLength(1);
        },
      ),
    );
  });

  test('another draw is another recorded call', async () => {
    await withDir((dir) =>
      withRehearsal([rule('one', { match: { nth: 1 } }), rule('two')], async ({ url }) => {
        const journal = journalAt(dir, url);
        const texts = [];
        for (const regeneration of [0, 1, 0]) {
          const outcome = await journal.ask(askFor({ key: { ...keyParts, regeneration } }));
          texts.push(outcome.outcome === 'answered' && outcome.answer.text);
        }
        expect(texts).toEqual(['one', 'two', 'one']);
      }),
    );
  });

  test('what a server does not say it read, or says in no number of tokens, is counted as it was sent', async () => {
    const usd = ((input: number, output: number) => (input * 1 + output * 10) / 1e6)(
      estimateRequestTokens(request),
      2,
    );
    for (const said of [0, -7, 5.5, 1e300, '9', null])
      await withDir(async (dir) => {
        const usage = { input_tokens: said, output_tokens: said };
        const model: ModelPort = {
          stream: async (_request, { onEvent }) => {
            await onEvent({ type: 'message_start', message: { usage } });
            await onEvent({
              type: 'content_block_delta',
              delta: { type: 'text_delta', text: 'hello' },
            });
            await onEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
            await onEvent({ type: 'message_stop' });
          },
        };
        const outcome = await journalAt(dir, '', { model }).ask(askFor());
        expect(outcome).toMatchObject({
          answer: { usage: { input_tokens: 0, output_tokens: 2 } },
          usage: { input_tokens: estimateRequestTokens(request), output_tokens: 2, usd },
        });
      });
  });

  test('of a stop reason without end no more is told than a word', () =>
    withDir((dir) =>
      withRehearsal([rule('hello', { stop_reason: 'x'.repeat(100_000) })], async ({ url }) => {
        const outcome = await journalAt(dir, url).ask(askFor());
        expect(outcome).toMatchObject({ answer: { text: 'hello', stopReason: 'x'.repeat(100) } });
      }),
    ));

  test('truncated and declined answers are recorded too', async () => {
    for (const [fault, stopReason] of [
      [{ kind: 'truncate', bytes: 3 }, 'max_tokens'],
      [{ kind: 'refusal' }, 'refusal'],
    ] as const)
      await withDir((dir) =>
        withRehearsal([rule('hello', { fault })], async ({ url, requests }) => {
          const journal = journalAt(dir, url);
          await journal.ask(askFor());
          const text = stopReason === 'refusal' ? '' : 'hel';
          expect(await journal.ask(askFor())).toMatchObject({
            answer: { text, stopReason },
            recorded: true,
          });
          expect(requests()).toHaveLength(1);
        }),
      );
  });
});

describe('a process that stands still', () => {
  test('calls that it cut off are counted, not against maxUnknownCalls; others are', async () => {
    const drop = (name: string) =>
      rule('hello', { name, match: { times: 1 }, fault: { kind: 'drop', after_bytes: 500 } });
    await withDir((dir) =>
      withRehearsal(
        [drop('1'), drop('2'), drop('3'), drop('4'), rule('hello')],
        async ({ url }) => {
          let times = 0;
          const asleep = journalAt(dir, url).ask(
            askFor({ maxUnknownCalls: 2, stoodStill: () => Math.min(times++, 6) }),
          );
          // The fourth call was cut off by itself.
          await expect(asleep).rejects.toMatchObject({ kind: 'dropped' });
          const done = await journalAt(dir, url).ask(askFor({ maxUnknownCalls: 2 }));
          expect(done).toMatchObject({ outcome: 'answered', usage: { calls: 5, unknownCalls: 4 } });
        },
      ),
    );
  });
});

describe('a call that another host holds', () => {
  /** A recorded call as a worker on another host leaves it in the middle of an attempt: its boot is not ours, though its pid may be. */
  const leftByAnotherHost = async (dir: string, url: string) => {
    await journalAt(dir, url).ask(askFor());
    const recorded = callDir(dir);
    const log = join(recorded, 'attempt-1.events.jsonl');
    const lines = (await fs.readFile(log, 'utf8')).trimEnd().split('\n');
    await fs.rm(join(recorded, 'answer.json'));
    await fs.writeFile(log, `${lines.slice(0, 2).join('\n')}\n`);
    const attempt = JSON.parse(await fs.readFile(join(recorded, 'attempt-1.json'), 'utf8')) as {
      owner: { process: { boot: string; pid: number } };
    };
    attempt.owner.process = { ...attempt.owner.process, boot: 'another-boot', pid: 4_000_000 };
    await fs.rm(join(recorded, 'attempt-1.json'));
    await fs.writeFile(join(recorded, 'attempt-1.json'), JSON.stringify(attempt));
    return { log, rest: `${lines.slice(2).join('\n')}\n` };
  };

  test('is waited for while its log grows, whatever our process table says of the pid', async () => {
    await withDir((dir) =>
      withRehearsal([rule('hello')], async ({ url, requests }) => {
        const { log, rest } = await leftByAnotherHost(dir, url);
        const asked = journalAt(dir, url, { callOwner_ms: 500 }).ask(askFor());
        // Signs of life for longer than `callOwner_ms`, then the end of the answer.
        for (let sign = 0; sign < 15; sign++) {
          await new Promise((resolve) => setTimeout(resolve, 100));
          await fs.appendFile(log, `{"t":${sign}}\n`);
        }
        await fs.appendFile(log, rest);
        expect(await asked).toMatchObject({
          outcome: 'answered',
          answer: { text: 'hello' },
          recorded: true,
        });
        expect(requests()).toHaveLength(1);
      }),
    );
  });

  test('is taken over once its log has not grown for `callOwner_ms`: both attempts are accounted for', async () => {
    await withDir((dir) =>
      withRehearsal([rule('hello')], async ({ url, requests }) => {
        await leftByAnotherHost(dir, url);
        const outcome = await journalAt(dir, url, { callOwner_ms: 300 }).ask(askFor());
        expect(outcome).toMatchObject({
          outcome: 'answered',
          usage: { calls: 2, unknownCalls: 1 },
        });
        expect(requests()).toHaveLength(2);
      }),
    );
  });

  test('wakes, and its answer is recorded before the attempt of whoever took over is sent: nothing is sent', async () => {
    await withDir((dir) =>
      withRehearsal([rule('hello')], async ({ url, requests }) => {
        const { log, rest } = await leftByAnotherHost(dir, url);
        let woken = false;
        const append: typeof realSys.append = async (path, bytes) => {
          if (path.endsWith('attempt-2.events.jsonl') && !woken) {
            woken = true;
            await fs.appendFile(log, rest);
            await journalAt(dir, url).ask(askFor());
          }
          return realSys.append(path, bytes);
        };
        const outcome = await journalAt(dir, url, {
          callOwner_ms: 300,
          sys: { ...realSys, append },
        }).ask(askFor());
        expect(outcome).toMatchObject({
          outcome: 'answered',
          answer: { text: 'hello' },
          recorded: true,
        });
        expect(requests()).toHaveLength(1);
        const attempts = await journalAt(dir, url).attempts(keyParts.stepKey);
        expect(attempts.map(({ state }) => state)).toEqual(['answered', 'failed']);
      }),
    );
  });
});

describe('calls that fail', () => {
  test('before anything was mayBePaid: thrown, counted as failed, and the stored request is sent again', async () => {
    await withDir((dir) =>
      withRehearsal(
        [rule('', { match: { nth: 1 }, fault: { kind: 'overload' } }), rule('hello')],
        async ({ url, requests }) => {
          const journal = journalAt(dir, url);
          await expect(journal.ask(askFor())).rejects.toMatchObject({
            kind: 'overloaded',
            retryable: true,
          });
          const other: ModelRequest = { ...request, max_tokens: 5 };
          const makeRequest = async () => ({ request: other, nonce: 'f'.repeat(20) });
          expect(await journal.ask(askFor({ makeRequest }))).toMatchObject({
            outcome: 'answered',
            request,
            nonce: NONCE,
            usage: { calls: 1, unknownCalls: 0 },
          });
          expect(requests()[0]!.sha256).toBe(requests()[1]!.sha256);
          expect((await journal.attempts(keyParts.stepKey)).map((c) => c.state)).toEqual([
            'failed',
            'answered',
          ]);
        },
      ),
    );
  });

  test('cut off: unknown, priced from what arrived; maxUnknownCalls of them are call_lost, and nothing more is asked', async () => {
    const fault = { kind: 'drop' as const, after_bytes: 900 };
    await withDir((dir) =>
      withRehearsal([rule('x'.repeat(400), { fault })], async ({ url, requests }) => {
        const journal = journalAt(dir, url);
        await expect(journal.ask(askFor())).rejects.toMatchObject({
          kind: 'dropped',
          mayBePaid: true,
        });
        const lost = await journal.ask(askFor());
        expect(lost).toMatchObject({ outcome: 'call_lost', usage: { calls: 2, unknownCalls: 2 } });
        expect(lost.usage.input_tokens).toBeGreaterThan(0);
        expect(lost.usage.output_tokens).toBeGreaterThan(2);
        expect(lost.usage.usd).toBeGreaterThan(0);
        expect(await journal.ask(askFor())).toEqual(lost);
        expect(requests()).toHaveLength(2);
      }),
    );
  });

  describe('after the request was sent, before anything came back', () => {
    // What was sent is known: at the price of input (a dollar per million tokens), never free.
    const sent = {
      calls: 1,
      unknownCalls: 1,
      input_tokens: estimateRequestTokens(request),
      output_tokens: 0,
    };
    const priced = { ...sent, usd: sent.input_tokens / 1e6 };

    test.each([
      ['the server falls silent', { kind: 'silence' as const }, 'idle'],
      ['the connection is cut', { kind: 'drop' as const }, 'dropped'],
      ['a proxy stops waiting', { kind: 'server_error' as const, status: 504 }, 'server'],
    ])(
      '%s: unknown, counted and priced; the second of them is call_lost',
      async (_name, fault, kind) => {
        expect(sent.input_tokens).toBeGreaterThan(0);
        await withDir((dir) =>
          withRehearsal([rule('hello', { fault })], async ({ url, requests }) => {
            const journal = journalAt(dir, url, { model: modelAt(url, 300) });
            await expect(journal.ask(askFor())).rejects.toMatchObject({ kind, retryable: true });
            expect(await journal.attempts(keyParts.stepKey)).toMatchObject([
              { state: 'unknown', usage: priced },
            ]);
            const both = { calls: 2, unknownCalls: 2, input_tokens: 2 * sent.input_tokens };
            expect(await journal.ask(askFor())).toMatchObject({
              outcome: 'call_lost',
              usage: both,
            });
            expect(requests()).toHaveLength(2);
          }),
        );
      },
    );

    test('its own end, seen by the look for another owner, is not another owner', async () => {
      for (let round = 0; round < drawn(2, 5); round++)
        await withDir((dir) =>
          withRehearsal(
            [rule('hello', { fault: { kind: 'silence' } })],
            async ({ url, requests }) => {
              const journal = journalAt(dir, url, { model: modelAt(url, 60), callOwner_ms: 3 });
              await expect(journal.ask(askFor())).rejects.toMatchObject({ kind: 'idle' });
              // None where a loaded machine takes longer than the 60 ms to hand it over.
              expect(requests().length).toBeLessThan(2);
            },
          ),
        );
    });

    test('it is cancelled: unknown; the next ask counts both', async () => {
      const fault = { kind: 'silence' as const };
      await withDir((dir) =>
        withRehearsal(
          [rule('', { match: { nth: 1 }, fault }), rule('hello')],
          async ({ url, requests }) => {
            const cancel = new AbortController();
            const asked = journalAt(dir, url).ask(askFor({ signal: cancel.signal }));
            await eventually('the call is silent', () => requests()[0]?.state === 'silent');
            cancel.abort();
            await expect(asked).rejects.toMatchObject({ kind: 'cancelled' });
            const journal = journalAt(dir, url);
            expect(await journal.attempts(keyParts.stepKey)).toMatchObject([
              { state: 'unknown', usage: priced },
            ]);
            expect(await journal.ask(askFor())).toMatchObject({
              outcome: 'answered',
              usage: { calls: 2, unknownCalls: 1 },
            });
          },
        ),
      );
    });
  });

  test('before the request was sent: failed, and free, however often', async () => {
    await withDir(async (dir) => {
      const url = await withRehearsal([], async (rehearsal) => rehearsal.url);
      const journal = journalAt(dir, url);
      for (let n = 0; n < 3; n++)
        await expect(journal.ask(askFor())).rejects.toMatchObject({ kind: 'network' });
      const attempts = await journal.attempts(keyParts.stepKey);
      expect(attempts.map(({ state, usage }) => ({ state, usage }))).toEqual(
        Array(3).fill({ state: 'failed', usage: NO_USAGE }),
      );
    });
  });

  test('cancelled while another holds the call, and while streaming', async () => {
    await withDir((dir) =>
      withRehearsal(
        [rule('hello', { fault: { kind: 'hold', after_bytes: 500 } })],
        async ({ url, requests }) => {
          const owner = new AbortController();
          const waiter = new AbortController();
          const first = journalAt(dir, url).ask(askFor({ signal: owner.signal }));
          while (requests()[0]?.state !== 'held')
            await new Promise((resolve) => setTimeout(resolve, 5));
          const second = journalAt(dir, url).ask(askFor({ signal: waiter.signal }));
          waiter.abort();
          await expect(second).rejects.toMatchObject({ kind: 'cancelled' });
          owner.abort();
          await expect(first).rejects.toMatchObject({ kind: 'cancelled', mayBePaid: true });
          expect(requests()).toHaveLength(1);
        },
      ),
    );
  });
});

describe('disk', () => {
  test('full at the first byte: nothing is asked for, nothing counted', async () => {
    await withDir((dir) =>
      withRehearsal([rule('hello')], async ({ url, requests }) => {
        const full = shimSys(realSys, {
          at: 1,
          when: 'before',
          fault: { errno: 'ENOSPC' },
          only: ['append'],
        });
        await expect(journalAt(dir, url, { sys: full.sys }).ask(askFor())).rejects.toMatchObject({
          problem: { code: 'disk' },
        });
        expect(full.fired()).toBe(true);
        expect(requests()).toHaveLength(0);
        expect(await journalAt(dir, url).ask(askFor())).toMatchObject({
          outcome: 'answered',
          usage: { calls: 1, unknownCalls: 0 },
        });
      }),
    );
  });

  test.each([
    ['nothing written', { errno: 'ENOSPC' }],
    ['half a line written', { errno: 'ENOSPC', short: true }],
  ])('full while events arrive: nothing is taken for stored (%s)', async (_name, fault) => {
    for (const at of [2, 3]) {
      await withDir((dir) =>
        withRehearsal([rule('hello')], async ({ url, requests }) => {
          const full = shimSys(realSys, {
            at,
            when: 'before',
            fault,
            only: ['append'],
            onwards: true,
          });
          await expect(journalAt(dir, url, { sys: full.sys }).ask(askFor())).rejects.toMatchObject({
            problem: { code: 'disk' },
          });
          expect(full.fired()).toBe(true);
          expect(await fs.readdir(callDir(dir))).not.toContain('answer.json');
          expect(await journalAt(dir, url).ask(askFor())).toMatchObject({
            outcome: 'answered',
            answer: { text: 'hello' },
            usage: { calls: 2, unknownCalls: 1 },
          });
          expect(requests()).toHaveLength(2);
        }),
      );
    }
  });

  test('the answer cannot be recorded: the next ask takes it from the events', async () => {
    await withDir((dir) =>
      withRehearsal([rule('hello')], async ({ url, requests }) => {
        const full = shimSys(realSys, {
          at: 3,
          when: 'before',
          fault: { errno: 'ENOSPC' },
          only: ['link'],
        });
        await expect(journalAt(dir, url, { sys: full.sys }).ask(askFor())).rejects.toMatchObject({
          problem: { code: 'disk' },
        });
        expect(await journalAt(dir, url).ask(askFor())).toMatchObject({
          outcome: 'answered',
          usage: { calls: 1, unknownCalls: 0 },
        });
        expect(requests()).toHaveLength(1);
      }),
    );
  });

  test('a record of a newer version is refused, not misread', async () => {
    const files = ['call.json', 'attempt-1.json', 'answer.json', 'attempt-1.events.jsonl'];
    for (const file of sampled('records of a newer version', files, 2))
      await withDir((dir) =>
        withRehearsal([rule('hello')], async ({ url }) => {
          await journalAt(dir, url).ask(askFor());
          if (file !== 'answer.json') await fs.rm(join(callDir(dir), 'answer.json'));
          const path = join(callDir(dir), file);
          const newer = (await fs.readFile(path, 'utf8'))
            .split('\n')
            .map((line) => line.replace('{"v":2', '{"v":3').replace(/,"sum":"\w+"\}$/, '}'));
          await fs.writeFile(path, newer.join('\n'));
          await expect(journalAt(dir, url).ask(askFor())).rejects.toMatchObject({
            problem: { code: 'version_unknown' },
          });
        }),
      );
  });

  test('a stepKey that is no plain name never becomes a path', async () => {
    await withDir(async (dir) => {
      const key = { ...keyParts, stepKey: '../../elsewhere' };
      await expect(journalAt(dir, 'http://127.0.0.1:9').ask(askFor({ key }))).rejects.toMatchObject(
        {
          problem: { code: 'internal' },
        },
      );
    });
  });
});
