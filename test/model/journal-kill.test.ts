/** Guarantee 6 against real deaths: processes killed, stopped and woken in the middle of a call. */
import { spawn, type ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { drawn, sampled } from '../support/seeded.js';
import type { ShimPlan, SysCall } from '../support/sys-shim.js';
import { transpile } from '../support/transpile.js';
import type { CallOutcome } from '../../src/model/ports.js';
import type { AskTask } from './journal-child.js';
import {
  askFor,
  eventually,
  journalAt,
  keyParts,
  NONCE,
  request,
  rule,
  withDir,
  withRehearsal,
} from './support.js';

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('journal', 'test/model/journal-child.ts');
});
afterAll(() => {
  child.remove();
});

interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}
const start = (
  dir: string,
  url: string,
  plan?: ShimPlan,
): { process: ChildProcess; ended: Promise<Ended> } => {
  const file = join(dir, `task-${Math.random()}.json`);
  const task: AskTask = {
    dir: join(dir, 'calls'),
    url,
    owner_ms: 1000,
    key: keyParts,
    request,
    nonce: NONCE,
  };
  fs.writeFileSync(file, JSON.stringify(plan === undefined ? task : { ...task, plan }));
  const started = spawn(process.execPath, [child.path, file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  started.stdout.on('data', (part: Buffer) => (out += part.toString()));
  started.stderr.on('data', (part: Buffer) => (err += part.toString()));
  const ended = new Promise<Ended>((resolve) => {
    started.on('close', (code, signal) => {
      resolve({ code, signal, out, err });
    });
  });
  return { process: started, ended };
};
const outcomeOf = (ended: Ended) =>
  (JSON.parse(ended.out) as { outcome: CallOutcome; names: SysCall[] }).outcome;

/** Call logs that hold the whole answer, and all of them. */
const logsOf = (dir: string) => {
  const found = fs.existsSync(join(dir, 'calls'))
    ? fs.readdirSync(join(dir, 'calls'), { recursive: true, encoding: 'utf8' })
    : [];
  const attempts = found.filter((name) => /attempt-\d+\.json$/.test(name));
  const logs = found
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => fs.readFileSync(join(dir, 'calls', name), 'utf8'));
  return {
    attempts: attempts.length,
    begun: logs.filter((text) => text.includes('"message_start"')).length,
    whole: logs.filter((text) => /"message_stop"\},"sum":"\w+"\}\n/.test(text)).length,
  };
};

const answer = `FILE a ${'x'.repeat(300)}\nEMEND-COMPLETE {{nonce}} 1 1\n`;
const whole = answer.replace('{{nonce}}', NONCE);

describe('killed with SIGKILL', () => {
  test('in the middle of a stream: one unknown call, priced from what arrived, and one more is paid for', async () => {
    const rules = [
      rule(answer, { match: { nth: 1 }, fault: { kind: 'hold', after_bytes: 1100 } }),
      rule(answer),
    ];
    await withDir((dir) =>
      withRehearsal(rules, async ({ url, requests }) => {
        const first = start(dir, url);
        await eventually('held', () => requests()[0]?.state === 'held');
        await eventually('events on disk', () => logsOf(dir).begun === 1);
        first.process.kill('SIGKILL');
        expect((await first.ended).signal).toBe('SIGKILL');

        const journal = journalAt(join(dir, 'calls'), url);
        const outcome = await journal.ask(askFor());
        expect(outcome).toMatchObject({
          outcome: 'answered',
          answer: { text: whole },
          usage: { calls: 2, unknownCalls: 1 },
        });
        expect(requests()).toHaveLength(2);
        const [lost, paid] = await journal.attempts(keyParts.stepKey);
        expect(lost).toMatchObject({ attempt: 1, state: 'unknown', usage: { unknownCalls: 1 } });
        expect(lost!.usage.input_tokens).toBeGreaterThan(0);
        expect(paid).toMatchObject({ attempt: 2, state: 'answered' });
        expect(outcome.usage.usd).toBeCloseTo(lost!.usage.usd! + paid!.usage.usd!);
      }),
    );
  });

  test('after the last event is on disk, before the answer is recorded: nothing is asked again', async () => {
    await withDir((dir) =>
      withRehearsal([rule(answer)], async ({ url, requests }) => {
        // The third link would make answer.json.
        const ended = await start(dir, url, {
          at: 3,
          when: 'before',
          fault: 'kill',
          only: ['link'],
        }).ended;
        expect(ended).toMatchObject({ signal: 'SIGKILL' });
        expect(logsOf(dir)).toEqual({ attempts: 1, begun: 1, whole: 1 });
        const outcome = await journalAt(join(dir, 'calls'), url).ask(askFor());
        expect(outcome).toMatchObject({
          outcome: 'answered',
          recorded: true,
          answer: { text: whole },
          usage: { calls: 1, unknownCalls: 0 },
        });
        expect(requests()).toHaveLength(1);
      }),
    );
  });

  test('at any system call: no recorded answer is asked for again, no call goes uncounted', async () => {
    const names = await withDir((dir) =>
      withRehearsal([rule(answer)], async ({ url }) => {
        const ended = await start(dir, url).ended;
        return (JSON.parse(ended.out) as { names: SysCall[] }).names;
      }),
    );
    const points = names.flatMap((_, i) => [
      { at: i + 1, when: 'before' as const, fault: 'kill' as const },
      { at: i + 1, when: 'after' as const, fault: 'kill' as const },
      { at: i + 1, when: 'before' as const, fault: 'tear' as const },
    ]);
    let killed = 0;
    for (const plan of sampled('journal kills', points, 3, points.slice(0, 1))) {
      await withDir((dir) =>
        withRehearsal([rule(answer)], async ({ url, requests }) => {
          const ended = await start(dir, url, plan).ended;
          // The number of appends varies by the network's pieces: a point past the end kills nobody, and then nothing may be asked.
          expect([ended.signal, ended.code]).toContain(ended.signal === null ? 0 : 'SIGKILL');
          if (ended.signal === 'SIGKILL') killed++;
          const { attempts, whole: complete } = logsOf(dir);
          const before = requests().length;
          const outcome = await journalAt(join(dir, 'calls'), url).ask(askFor());
          expect({ plan, outcome }).toMatchObject({
            outcome: {
              outcome: 'answered',
              answer: { text: whole },
              nonce: NONCE,
              usage: { unknownCalls: attempts - complete },
            },
          });
          expect({ plan, asked: requests().length - before }).toEqual({
            plan,
            asked: complete > 0 ? 0 : 1,
          });
          expect(before).toBeLessThanOrEqual(attempts);
        }),
      );
    }
    expect(killed).toBeGreaterThan(drawn(0, 8));
  }, 600_000);
});

describe('stopped and woken', () => {
  const rules = [
    rule('the first answer', { match: { nth: 1 }, fault: { kind: 'hold', after_bytes: 700 } }),
    rule(answer),
  ];
  const WOKEN = [
    ['while its stream stands still', false],
    ['when its stream goes on', true],
  ] as const;
  test.each(sampled('woken', WOKEN, 1))(
    'an owner whose call was taken over returns the recorded answer: %s',
    async (_name, goesOn) => {
      await withDir((dir) =>
        withRehearsal(rules, async ({ url, requests, release }) => {
          const first = start(dir, url);
          await eventually('held', () => requests()[0]?.state === 'held');
          await eventually('begun', () => logsOf(dir).begun === 1);
          first.process.kill('SIGSTOP');
          const journal = journalAt(join(dir, 'calls'), url);
          const outcome = await journal.ask(askFor());
          expect(outcome).toMatchObject({
            outcome: 'answered',
            answer: { text: whole },
            recorded: false,
            usage: { calls: 2, unknownCalls: 1 },
          });
          if (goesOn) release();
          first.process.kill('SIGCONT');
          const woken = outcomeOf(await first.ended);
          expect(woken).toEqual({ ...outcome, recorded: true });
          expect(requests()).toHaveLength(2);
          expect(await journal.attempts(keyParts.stepKey)).toHaveLength(2);
          expect(await journal.ask(askFor())).toEqual(woken);
        }),
      );
    },
  );
});

test('three processes that ask at once pay for one call', async () => {
  await withDir((dir) =>
    withRehearsal(
      [rule(answer, { fault: { kind: 'slow', chunk_ms: 50 } })],
      async ({ url, requests }) => {
        const ended = await Promise.all([1, 2, 3].map(() => start(dir, url).ended));
        for (const one of ended)
          expect(outcomeOf(one)).toMatchObject({
            outcome: 'answered',
            answer: { text: whole },
            usage: { calls: 1 },
          });
        expect(requests()).toHaveLength(1);
      },
    ),
  );
});
