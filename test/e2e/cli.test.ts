/** The command line against a real server, a real worker process and the rehearsal: what people and scripts see. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { resolveRun } from '../../src/client/index.js';
import type { StepEvent } from '../../src/shared/events.js';
import { fakeIo, type FakeIo } from '../cli/io.js';
import { printedFaults } from '../support/json-schema.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const JOB =
  '---\ntarget_files: [greet.js]\ntest: node --check greet.js\ncommit: true\n---\n# Greet politely\n\nSay good day.\n';

const newGreeting = async (): Promise<Scene> => {
  const s = await scene({ 'greet.js': 'export const greet = () => "hello";\n' }, [
    {
      name: 'edit',
      match: { contains: 'greet.js' },
      answer: whole({ 'greet.js': 'export const greet = () => "good day";\n' }),
    },
  ]);
  writeFileSync(join(s.repo, 'job.md'), JOB);
  return s;
};
const greeting = async (): Promise<Scene> => (open = await newGreeting());
/** With a worker, for both tests that `npm test` has: starting one takes longer than a run. */
let shared: Scene;
beforeAll(async () => {
  shared = await newGreeting();
  await shared.worker();
});
afterAll(() => shared.close());
type Typed = { isTty?: boolean; typed?: (string | null)[] };
const ioOf = (s: Scene, more: Typed = {}): FakeIo =>
  fakeIo({ env: { ...s.env, GIT_PAGER: 'cat', NO_COLOR: '1' }, cwd: s.repo, ...more });
/** Runs one command; a wrong exit code shows what was printed. */
const emend = async (
  s: Scene,
  exit: number,
  args: string[],
  more: Typed = {},
): Promise<FakeIo['printed']> => {
  const io = ioOf(s, more);
  const found = await main(args, io);
  expect({ args, exit: found, ...io.printed }).toMatchObject({ exit });
  // Flags that do not go together are told before anything is read: on stderr alone.
  if (args.includes('--json') && (found !== 2 || io.printed.out !== ''))
    expect(printedFaults(args, io.printed.out)).toEqual([]);
  return io.printed;
};
const json = (printed: FakeIo['printed']) => JSON.parse(printed.out) as Record<string, never>;

describe('without a terminal', () => {
  test('the run pauses with 3 and prints what to type; typing that ends it', async () => {
    const s = shared;
    const paused = await emend(s, 3, ['run', 'job.md']);
    const command = /emend (approve \S+ --decision \S+)/.exec(paused.out)?.[1]?.split(' ') ?? [];
    expect(command).toHaveLength(4);
    const run = command[1] ?? '';

    expect(json(await emend(s, 0, ['show', run, '--json']))).toMatchObject({
      source: 'run',
      status: { state: 'waiting' },
      ledger: [{ path: 'greet.js', status: 'done' }],
    });
    expect((await emend(s, 0, ['diff', run])).out).toContain(
      '+export const greet = () => "good day";\n',
    );
    expect(json(await emend(s, 0, ['list', '--json']))).toMatchObject({
      runs: [{ state: 'waiting', decision: { reason: 'approval' } }],
    });
    // Joined, not started a second time.
    expect(json(await emend(s, 3, ['run', 'job.md', '--json']))).toMatchObject({
      started: 'already_running',
      state: 'waiting',
      exit: 3,
    });
    await emend(s, 2, ['decide', run, 'keep']);
    await emend(s, 2, ['approve', run, '--decision', '9-00000000-00000000']);
    const own = (await emend(s, 2, ['recover', '--undo', run])).err;
    expect(own).toContain(`Run ${run} has not ended`);
    expect(own).toContain(`emend abort ${run}`);

    await emend(s, 0, command);
    const events = await emend(s, 0, ['events', run, '--follow', '--json']);
    const types = events.out
      .trim()
      .split('\n')
      .map((text) => (JSON.parse(text) as { type: string }).type);
    expect(types).toContain('committed');
    // Whatever is asked of it now keeps to its schema (`emend` looks).
    for (const args of [
      ['show', run],
      ['diff', run],
      ['watch', run],
      ['report', run],
      ['stats'],
      ['stats', run],
      ['list'],
    ])
      await emend(s, 0, [...args, '--json']);
    for (const args of [['recover'], ['gc', '--dry-run'], ['doctor']])
      await emend(s, 0, [...args, '--json']);
    expect((await emend(s, 0, ['show', run])).out).toMatch(/committed 1 file as [0-9a-f]{12}/);
    expect(s.git('log', '-1', '--format=%s').trim()).toBe('Greet politely');
    await emend(s, 2, ['approve', run]);
    expect(s.rehearsal.requests()).toHaveLength(1);
  });

  long(
    '--yes approves, and the result is the exit code; a second run beside it has nothing to do with it',
    async () => {
      const s = await greeting();
      await s.worker();
      await emend(s, 2, ['run', 'job.md', '--live', '--json']);
      const done = json(await emend(s, 0, ['run', 'job.md', '--yes', '--json']));
      expect(done).toMatchObject({
        started: 'new',
        state: 'closed',
        result: { outcome: 'committed' },
        exit: 0,
      });
      // A finished run does not stand in the way of the next; its answer changes nothing any more.
      const again = json(await emend(s, 0, ['run', 'job.md', '--yes', '--json']));
      expect(again).toMatchObject({
        started: 'new',
        workflowId: done.workflowId,
        result: { outcome: 'unchanged' },
      });
      expect(again.stepKey).not.toBe(done.stepKey);
    },
  );

  long('--wait --json prints each event as it comes, and the end as the last line', async () => {
    const s = await greeting();
    await s.worker();
    const io = ioOf(s);
    const going = main(['run', 'job.md', '--wait', '--json'], io);
    const lines = () =>
      io.printed.out
        .split('\n')
        .filter(Boolean)
        .map((text) => JSON.parse(text) as { stepKey: string; event: StepEvent });
    let paused;
    while ((paused = lines().find(({ event }) => event.type === 'edit_step_paused')) === undefined)
      await sleep(50);
    const { stepKey, event } = paused;
    expect(event).toMatchObject({ reason: 'approval' });
    await emend(s, 0, [
      'approve',
      stepKey,
      '--decision',
      'decision' in event ? event.decision : '',
    ]);
    expect(await going).toBe(0);
    expect(lines().pop()).toMatchObject({
      v: 1,
      stepKey,
      state: 'closed',
      result: { outcome: 'committed' },
      exit: 0,
    });
    const events = lines().slice(0, -1);
    const { out } = await emend(s, 0, ['events', stepKey, '--json']);
    const all = out.trim().split('\n');
    expect(events).toEqual(all.map((text) => ({ stepKey, event: JSON.parse(text) as StepEvent })));
    expect(events.at(-1)?.event.type).toBe('step_finished');
    expect(printedFaults(['run', 'job.md', '--wait', '--json'], io.printed.out)).toEqual([]);
    expect(io.printed.err).toBe('');
  });

  long(
    '--live prints what the model writes, with its file, between the lines of the run',
    async () => {
      const s = await greeting();
      await s.worker();
      const { out } = await emend(s, 0, ['run', 'job.md', '--yes', '--live']);
      expect(out).toMatch(/edit \S.*: attempt 1 begins\n/);
      expect(out).toContain(' | export const greet = () => "good day";\n');
      expect(out).toMatch(/attempt 1 has ended\n[\s\S]*committed 1 file as/);
    },
  );

  long(
    'no worker: 7 and what to type; an answer given meanwhile counts when one comes',
    async () => {
      const s = await greeting();
      const alone = await emend(s, 7, ['run', 'job.md']);
      expect(alone.out).toContain('emend worker');
      const worker = await s.worker();
      const paused = json(await emend(s, 3, ['run', 'job.md', '--json'])) as unknown as {
        stepKey: string;
        decision: { id: string };
      };
      await worker.kill();

      const sent = json(
        await emend(s, 0, ['approve', paused.stepKey, '--decision', paused.decision.id, '--json']),
      );
      expect(sent).toMatchObject({ outcome: 'sent', via: 'signal' });
      await s.worker();
      const run = await resolveRun(s.emend, paused.stepKey);
      expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
      // Update and signal both arrived in the end; the answer counted once.
      expect((await s.events(run)).filter((event) => event.type === 'decided')).toHaveLength(1);
    },
  );
});

describe('in a terminal', () => {
  test('the person reads the diff and answers there', async () => {
    const s = shared;
    s.git('reset', '-q', '--hard', ':/base');
    const printed = await emend(s, 0, ['run', 'job.md'], {
      isTty: true,
      typed: ['z', 'd', 'a'],
    });
    expect(printed.out).toContain('"z" is not a key here');
    // Before anything is asked, and once more for `d`.
    const changes = [...printed.out.matchAll(/^\+export const greet = \(\) => "good day";$/gm)].map(
      ({ index }) => index,
    );
    expect(changes).toHaveLength(2);
    expect(changes[0]).toBeLessThan(printed.out.indexOf('[a] approve'));
    expect(printed.out).toMatch(/committed 1 file as/);
  });

  long(
    'q leaves it waiting with 3; revise asks for the note and for a new answer; x aborts with 1',
    async () => {
      const s = await greeting();
      await s.worker();
      await emend(s, 3, ['run', 'job.md'], { isTty: true, typed: ['q'] });
      const printed = await emend(s, 1, ['run', 'job.md'], {
        isTty: true,
        typed: ['r', 'warmer, please', 'x', 'y'],
      });
      expect(printed.out).toContain('already running');
      expect(printed.out).toContain('aborted');
      expect(s.rehearsal.requests().length).toBeGreaterThan(1);
      expect(s.read('greet.js')).toContain('hello');
    },
  );

  long('Ctrl-C leaves the run alive: 130', async () => {
    const s = await greeting();
    await s.worker();
    const io = ioOf(s, { isTty: true });
    const asked = new Promise<void>((resolve) => {
      io.key = (_question, signal) => {
        resolve();
        return new Promise((settle) => {
          signal.addEventListener('abort', () => {
            settle(null);
          });
        });
      };
    });
    const ended = main(['run', 'job.md'], io);
    await asked;
    io.interrupt();
    expect(await ended).toBe(130);
    expect(io.printed.err).toMatch(/continues without this terminal/);
    expect(json(await emend(s, 0, ['list', '--json']))).toMatchObject({
      runs: [{ state: 'waiting', open: true }],
    });
  });
});
