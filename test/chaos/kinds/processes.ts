/** Kinds that end or stop processes. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Traits } from '../jobs.js';
import type { Acts, Kind, Scene } from '../kind.js';
import { struck, type ArmedTrap, type Trap } from '../traps.js';
import { LID_MS, SLEEP_MS } from '../world.js';

type Place = (scene: Scene) => Trap['at'];
type Does = Trap['does'];

/** A trap for whichever step comes first; the carrier is one that comes there for sure. */
export const trapped = (
  name: string,
  activity: string | null,
  at: Place,
  does: Does,
  traits: Partial<Traits> = {},
  on?: Trap['on'],
): Kind => ({
  name,
  bag: 'kill',
  traits,
  acts: (scene): Acts => {
    let trap: ArmedTrap | null = null;
    const { world } = scene;
    return {
      beforeStart: () => {
        const where = { activity, stepKey: null, ...(on === undefined ? {} : { on }) };
        trap = world.traps.arm(name, { ...where, at: at(scene), does });
      },
      ...(does.kind === 'stop'
        ? {
            afterStart: async (_run, ended) => {
              // Woken once it was taken for dead; where it never sleeps, the fault has not fired and is told.
              while (trap?.sprung() == null && !ended.aborted) await sleep(100);
              const pid = trap?.sprung()?.pid;
              if (pid !== undefined) await world.workers.wake(pid, SLEEP_MS);
            },
          }
        : {}),
      fired: () => struck(trap),
    };
  },
});

export const anyCall =
  (
    most: number,
    rest: { only?: readonly string[]; path?: string; strict?: true } = {},
    least = 1,
  ): Place =>
  ({ random }) => ({ moment: 'call', n: random.whole(least, most), ...rest });
/** While an answer arrives: the first append makes its log, the second has the stream's first event. */
const streaming = (least: number): Place =>
  anyCall(4, { only: ['append'], path: '.events.jsonl', strict: true }, least);
const soon =
  (most_ms: number): Place =>
  ({ random }) => ({ moment: 'delay', ms: random.whole(0, most_ms) });
export const KILL: Does = { kind: 'kill' };
export const STOP: Does = { kind: 'stop' };

/** Done from outside at a random moment while the carrier is under way. */
const outside = (name: string, most_ms: number, act: (scene: Scene) => Promise<string>): Kind => ({
  name,
  bag: 'kill',
  acts: (scene): Acts => {
    let fired: string | null = null;
    return {
      afterStart: async () => {
        await sleep(scene.random.whole(0, most_ms));
        fired = await act(scene);
      },
      fired: () => fired,
    };
  },
});

/** What the tests run on, and the job for it. */
const TESTS: readonly (readonly [string, Trap['on'], Partial<Traits>])[] = [
  ['of the base', 'base', { tests: 'slow' }],
  ['of a proposal', 'proposal', { tests: 'slow' }],
  ['after the apply', 'applied', { tests: 'slow', sandbox: 'off' }],
];

/** Ended before its activity is, and tried again: nobody is asked. */
const hangingGit: Kind = {
  ...trapped('hanging git', 'preflight', () => ({ moment: 'before' }), { kind: 'hang git' }),
  bag: 'other',
};

export const processKinds: readonly Kind[] = [
  hangingGit,
  outside('SIGKILL a worker', 3_000, async ({ world, random }) => {
    const member = await world.workers.someone(random);
    await world.workers.end(member, 'SIGKILL', 'killed at random');
    return `worker ${member.pid}`;
  }),
  outside('SIGKILL all workers', 3_000, async ({ world }) => {
    const all = world.workers.everyone();
    await Promise.all(all.map((member) => world.workers.end(member, 'SIGKILL', 'killed with all')));
    return `${all.length} workers`;
  }),
  outside('SIGTERM a worker', 3_000, async ({ world, random }) => {
    const member = await world.workers.someone(random);
    await world.workers.end(member, 'SIGTERM', 'asked to go');
    return `worker ${member.pid}`;
  }),
  outside('SIGSTOP a worker', 3_000, async ({ world, random }) => {
    const member = await world.workers.someone(random);
    await world.workers.freeze(member, SLEEP_MS);
    return `worker ${member.pid}`;
  }),
  outside('SIGKILL a launcher', 3_000, async ({ world, random }) => {
    const { pid } = await world.workers.someone(random);
    // It has one once it has started a process.
    const [launcher] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter(Boolean)
      .map(Number);
    if (launcher !== undefined) process.kill(launcher, 'SIGKILL');
    return `launcher ${launcher ?? 'of none'} of worker ${pid}`;
  }),
  outside('SIGKILL the server', 3_000, async ({ world, random }) => {
    await world.server.killAndRestart(random.whole(0, 2_000));
    return 'server';
  }),
  outside('SIGSTOP the server', 3_000, async ({ world, random }) => {
    await world.server.freeze(random.whole(1_000, 6_000));
    return 'server';
  }),
  outside('sleep', 5_000, async ({ world }) => {
    let workers: readonly number[] = [];
    await world.server.sleepWith(() => (workers = world.workers.asleep()), LID_MS);
    return `server, model and ${workers.length} workers for ${LID_MS / 1000} s`;
  }),
  outside('clock set forward, then back', 3_000, async ({ world, random }) => {
    const saw = await world.traps.setClock(random.whole(1, 48) * 3_600_000, 5_000);
    if (saw === 0) throw new Error('no worker saw its clock set');
    return `seen by ${saw} workers`;
  }),
  trapped('SIGKILL in preflight', 'preflight', anyCall(12), KILL),
  trapped('SIGKILL in pickFiles', 'pickFiles', anyCall(12), KILL, { named: false }),
  trapped('SIGKILL in writeBrief', 'writeBrief', anyCall(12), KILL, { files: 2 }),
  trapped('SIGKILL in mid-stream', 'proposeEdit', streaming(2), KILL),
  trapped('SIGKILL with a torn stream', 'proposeEdit', streaming(1), { kind: 'tear' }),
  trapped(
    'SIGKILL after the last event',
    'proposeEdit',
    () => ({ moment: 'call', n: 1, only: ['link'], path: '/answer.json', strict: true }),
    KILL,
  ),
  trapped('SIGKILL in buildProposal', 'buildProposal', anyCall(20), KILL),
  trapped('SIGKILL in applyProposal', 'applyProposal', anyCall(60), KILL, { files: 2 }),
  trapped(
    'SIGKILL with a torn write in apply',
    'applyProposal',
    anyCall(4, { only: ['writeExclusive'], strict: true }),
    { kind: 'tear' },
    { files: 2 },
  ),
  ...TESTS.map(([name, on, traits]) =>
    trapped(`SIGKILL in the tests ${name}`, 'runTests', soon(900), KILL, traits, on),
  ),
  trapped('SIGKILL in rollBack', 'rollBack', anyCall(50), KILL, {
    tests: 'fails first',
    sandbox: 'off',
  }),
  trapped('SIGKILL in commit', 'commit', soon(250), KILL),
  trapped('SIGKILL between work and its report', null, () => ({ moment: 'after' }), KILL),
  trapped('SIGSTOP in mid-stream', 'proposeEdit', streaming(2), STOP),
  trapped('SIGSTOP in applyProposal', 'applyProposal', anyCall(60), STOP, { files: 2 }),
  trapped('SIGSTOP in commit', 'commit', soon(250), STOP),
];
