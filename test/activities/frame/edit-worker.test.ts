/** Large edits in a thread of their own: same results, bounded, and never a crash of the worker. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createEditRunner } from '../../../src/activities/frame/edit-worker.js';
import type { PromptInput } from '../../../src/activities/frame/edit-work.js';
import type { ApplyAnswerInput } from '../../../src/edits/types.js';
import { NOTHING_ELSE } from '../../../src/model/prompts/edit.js';
import { LIMITS } from '../../../src/shared/limits.js';
import { longOnly } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';

let thread: ReturnType<typeof transpile>;
beforeAll(() => {
  thread = transpile('edit-thread', 'src/activities/frame/edit-thread.ts');
});
afterAll(() => {
  thread.remove();
});
const entry = () => pathToFileURL(thread.path);
const never = () => new AbortController().signal;

const lines = (count: number, last: string): string =>
  Array.from({ length: count }, (_, i) => `const value${i} = compute(${i});\n`).join('') + last;
const answer = (count: number): ApplyAnswerInput => ({
  format: 'search-replace',
  answer:
    'FILE: a.ts\nFIND:\nthe last line\nREPLACE:\nthe new line\nEND 0123456789abcdef0123\nEMEND-COMPLETE 0123456789abcdef0123 1 1\n',
  files: new Map([['a.ts', { bytes: Buffer.from(lines(count, 'the last line\n')) }]]),
  options: { nonce: '0123456789abcdef0123', requireMarker: true },
});

test('a thread gives what the calling thread gives, bytes and maps included', async () => {
  const input = answer(20_000);
  const here = await createEditRunner({ entry: entry(), inline_bytes: Infinity }).run(
    'answer',
    input,
    never(),
  );
  const there = await createEditRunner({ entry: entry(), inline_bytes: 0 }).run(
    'answer',
    input,
    never(),
  );
  expect(here.outcome).toBe('edited');
  const bytesOf = (outcome: typeof here) =>
    outcome.outcome === 'edited'
      ? [...outcome.files].map(([path, file]) => [
          path,
          file === 'absent' ? null : Buffer.from(file.bytes).toString(),
        ])
      : outcome;
  expect(bytesOf(there)).toEqual(bytesOf(here));
  expect(bytesOf(there)).toEqual([['a.ts', lines(20_000, 'the new line\n')]]);
});

test('a place by symbol is found in either place', async () => {
  const input: ApplyAnswerInput = {
    format: 'structured-edit',
    answer: JSON.stringify({
      operations: [{ type: 'delete', file_path: 'a.ts', at: { symbol: 'value1' } }],
      complete: true,
    }),
    files: new Map([['a.ts', { bytes: Buffer.from(lines(3, '')) }]]),
    options: { requireMarker: false },
  };
  for (const inline_bytes of [0, Infinity]) {
    const outcome = await createEditRunner({ entry: entry(), inline_bytes }).run(
      'answer',
      input,
      never(),
    );
    const file = outcome.outcome === 'edited' ? outcome.files.get('a.ts') : undefined;
    expect(
      file === undefined || file === 'absent' ? outcome : Buffer.from(file.bytes).toString(),
    ).toBe('const value0 = compute(0);\nconst value2 = compute(2);\n');
  }
});

test('the calling thread goes on meanwhile', async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await createEditRunner({ entry: entry(), inline_bytes: 0 }).run(
    'answer',
    answer(50_000),
    never(),
  );
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});

test('too little memory is an engine failure with its size, not the end of the process', async () => {
  const runner = createEditRunner({ entry: entry(), inline_bytes: 0, memory_MiB: 8 });
  await expect(runner.run('answer', answer(400_000), never())).rejects.toMatchObject({
    problem: {
      code: 'engine_failed',
      message: expect.stringMatching(/\(\d{7,} bytes\): it needed more than 8 MiB/),
    },
  });
});

test('a time limit ends the thread', async () => {
  const runner = createEditRunner({ entry: entry(), inline_bytes: 0, timeout_ms: 1 });
  await expect(runner.run('answer', answer(100_000), never())).rejects.toMatchObject({
    problem: {
      code: 'engine_failed',
      message: expect.stringContaining('it took more than 0.001 s'),
    },
  });
});

test('what throws in the engine is named, in either place', async () => {
  const broken = { ...answer(1), format: 'no-such-format' as 'whole-file' };
  for (const inline_bytes of [0, Infinity])
    await expect(
      createEditRunner({ entry: entry(), inline_bytes }).run('answer', broken, never()),
    ).rejects.toMatchObject({
      problem: {
        code: 'engine_failed',
        message: expect.stringContaining('parsing and locating an answer'),
      },
    });
});

test('a cancelled activity ends its thread and is no engine failure', async () => {
  const stop = new AbortController();
  const running = createEditRunner({ entry: entry(), inline_bytes: 0 }).run(
    'answer',
    answer(200_000),
    stop.signal,
  );
  stop.abort(new Error('cancelled by a person'));
  await expect(running).rejects.toThrow('cancelled by a person');
});

const TASK = 'Make `value777777` the sum of two values.';
const prompt = (bytes: Uint8Array): PromptInput => ({
  model: 'm',
  format: 'structured-edit',
  outputBudget_tokens: 1000,
  inputBudget_tokens: 20_000,
  files: [{ path: 'a.txt', bytes, encoding: null }],
  instructions: TASK,
  ...NOTHING_ELSE,
});

test('requests, descriptions, regions and moves: a thread gives what the calling thread gives', async () => {
  const bytes = Buffer.from(lines(5_000, 'the last line'));
  const file = { path: 'a.ts', bytes, encoding: null };
  const moved = [
    { path: 'a.ts', base: bytes, result: null },
    { path: 'b.ts', base: null, result: Buffer.concat([bytes, Buffer.from('more\n')]) },
  ];
  const [here, there] = await Promise.all(
    [Infinity, 0].map(async (inline_bytes) => {
      const runner = createEditRunner({ entry: entry(), inline_bytes });
      return {
        prompt: await runner.run('prompt', prompt(bytes), never()),
        brief: await runner.run('brief', prompt(bytes), never()),
        description: await runner.run('describe', file, never()),
        regions: await runner.run('regions', { file, range: null, parts: 3 }, never()),
        renames: await runner.run('renames', moved, never()),
      };
    }),
  );
  expect(there).toEqual(here);
  expect(here).toMatchObject({
    description: { lines: 5_001, finalNewline: false },
    regions: { length: 3 },
    renames: [{ from: 'a.ts', to: 'b.ts' }],
  });
  expect([...(here?.prompt.seen.keys() ?? [])]).toEqual(['a.txt']);
  expect(here?.prompt.open.blocks.map(({ text }) => text).join('')).toMatch(
    /^5001[a-z]{3}\| the last line$/m,
  );
});

/** Milliseconds that the main thread has had a processor: what others do on the machine does not count. Elsewhere than on Linux the clock. */
const cpu_ms = (): number => {
  try {
    return (
      Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
    );
  } catch {
    return performance.now();
  }
};

/**
 * Of the processor time that the work took in all threads, how much this one needed at most between two turns of its loop: nearly all of it
 * where the work is done here, and heartbeats and other activities wait.
 */
const longestBlock = async (work: () => Promise<unknown>): Promise<number> => {
  let longest = 0;
  const begun = process.cpuUsage();
  let before = cpu_ms();
  const timer = setInterval(() => {
    const now = cpu_ms();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  await work();
  await new Promise((resolve) => setTimeout(resolve, 5));
  clearInterval(timer);
  const { user, system } = process.cpuUsage(begun);
  return (longest * 1000) / (user + system);
};

longOnly('`the calling thread goes on meanwhile` shows it of a smaller file')(
  'a file at its size limit is read and listed without holding up the calling thread',
  async () => {
    const line = (n: number): string =>
      `const value${n} = compute(${n}, 'a line of usual length');\n`;
    const bytes = Buffer.alloc(LIMITS.maxFile_bytes.default ?? 0, '\n');
    for (let n = 0, at = 0; at < bytes.length; n++) at += bytes.write(line(n), at);
    const runner = createEditRunner({ entry: entry() });
    const longest: Record<string, number> = {};
    longest.describe = await longestBlock(() =>
      runner.run('describe', { path: 'a.txt', bytes, encoding: null }, never()),
    );
    longest.prompt = await longestBlock(async () => {
      const { open } = await runner.run('prompt', prompt(bytes), never());
      expect(open.blocks.map(({ text }) => text).join('')).toContain('| const value777777 =');
    });
    process.stdout.write(
      `longest block at ${bytes.length} bytes: ${JSON.stringify(longest)} of the work\n`,
    );
    for (const [what, block] of Object.entries(longest))
      expect({ what, block, short: block < 0.5 }).toMatchObject({ what, short: true });
  },
  120_000,
);
