/**
 * Time-outs of activities, each kind in each activity: an attempt that says nothing any more (heartbeat), one that goes on too long (start
 * to close), and one whose work is done and whose answer never comes. The next attempt goes on to the same end, and the late one, woken
 * afterwards, does no harm. EMEND_WHOLE=1 runs all, else a printed, seeded sample.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { sampled, WHOLE } from '../support/seeded.js';
import { eventually, lockOf } from './ends.js';
import { numbered, scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const BEFORE = numbered(20);
const AFTER = BEFORE.replace('line 15\n', 'line fifteen\n');
const MINE = BEFORE.replace('line 2\n', 'line two\n');
const BOTH = AFTER.replace('line 2\n', 'line two\n');
const A = { name: 'a', match: { contains: '- a.txt' }, answer: whole({ 'a.txt': AFTER }) };
const RULES = [
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'Words.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  {
    name: 'pick',
    match: { contains: 'Files of the project' },
    answer: '{"files": [{"path": "a.txt", "why": "holds it"}]}\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  A,
  { name: 'b', match: { contains: '- b.txt' }, answer: whole({ 'b.txt': AFTER }) },
];
// An attempt of runTests may take as long as its tests three times, and one host activity.
const KEYS = [
  'approval: auto',
  'commit: true',
  'baseline: off',
  'test: grep -q fifteen a.txt',
  'limits: { testTimeout_s: 20 }',
];
const job = (target: string, keys: readonly string[]): string =>
  [
    '---',
    ...(target === '' ? [] : [`target_files: [${target}]`]),
    ...keys,
    '---',
    '# Raise it',
    '',
    'Words.',
    '',
  ].join('\n');

interface Kind {
  /** Default: the kind's name. */
  readonly activity?: string;
  readonly target?: string;
  readonly keys?: readonly string[];
  readonly asked: readonly string[];
  readonly end?: string;
}
const ONE: Kind = { asked: ['a'] };
const KINDS: Record<string, Kind> = {
  preflight: ONE,
  pickFiles: { target: '', asked: ['pick', 'a'] },
  writeBrief: { target: 'a.txt, b.txt', asked: ['brief', 'a', 'b'] },
  proposeEdit: ONE,
  buildProposal: ONE,
  applyProposal: ONE,
  rebaseProposal: { keys: ['commit: true'], asked: ['a'], end: BOTH },
  runTests: ONE,
  'runTests after the apply': {
    activity: 'runTests',
    keys: [...KEYS, 'sandbox: off'],
    asked: ['a'],
  },
  // The tests, which run after the apply, pass only the second time: the first answer is put back and asked for again.
  rollBack: {
    keys: [
      'approval: auto',
      'commit: true',
      'sandbox: off',
      'baseline: off',
      'test: "ls .git/once || ! touch .git/once"',
    ],
    asked: ['a', 'a'],
  },
  commit: ONE,
};
/** The mode of crash-worker.js for each way, and the time-out that it runs into. */
const WAYS = {
  'no heartbeat': 'mute-before',
  'start to close': 'hold-before',
  'done, no heartbeat': 'mute-after',
} as const;
const SHORT = {
  EMEND_HOSTACTIVITYTIMEOUT_MS: '4000',
  EMEND_MODELCALLTIMEOUT_MS: '4000',
  EMEND_HOSTHEARTBEATTIMEOUT_MS: '3000',
  EMEND_COMMANDHEARTBEATTIMEOUT_MS: '3000',
  EMEND_HEARTBEATTIMEOUT_MS: '3000',
};

const all = Object.keys(KINDS).flatMap((kind) => Object.keys(WAYS).map((way) => `${kind}: ${way}`));
test.each(sampled('time-outs', all, 0, ['commit: done, no heartbeat'], WHOLE))(
  '%s',
  async (row) => {
    const [name, way] = row.split(': ') as [string, keyof typeof WAYS];
    const kind = KINDS[name]!;
    const s = (open = await scene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, { env: SHORT }));
    const worker = await s.worker(`${kind.activity ?? name}:${WAYS[way]}:1`);
    const run = await s.start('job.md', job(kind.target ?? 'a.txt', kind.keys ?? KEYS));
    if (name === 'rebaseProposal') {
      await s.settle(run, 90);
      s.write('a.txt', MINE);
      await s.answer(run, 'approve');
      await eventually(
        'the conflict',
        async () => (await s.show(run)).status.decision?.reason === 'conflict',
        90,
      );
      await s.answer(run, 'rebase');
      await eventually(
        'the approval',
        async () => (await s.show(run)).status.decision?.reason === 'approval',
        120,
      );
      await s.answer(run, 'approve');
    }
    expect(await s.end(run, 150)).toMatchObject({
      outcome: 'committed',
      usage: { calls: kind.asked.length },
    });
    expect(worker.fired()).toBe(true);
    const whatIsThere = async () => ({
      a: s.read('a.txt'),
      commits: s.git('rev-list', '--count', 'HEAD').trim(),
      held: await lockOf(s),
      asked: s.rehearsal.requests().map(({ rule }) => rule),
    });
    const right = { a: kind.end ?? AFTER, commits: '2', held: null, asked: kind.asked };
    expect(await whatIsThere()).toEqual(right);
    // The attempt that was taken for dead goes on; a graceful stop waits for it.
    worker.go();
    await worker.kill('SIGTERM');
    expect(await whatIsThere()).toEqual(right);
    const left = s.git('status', '--porcelain', '--ignored').split('\n');
    expect(
      left.filter(
        (line) =>
          line !== '' &&
          line !== '?? job.md' &&
          !(name === 'rebaseProposal' && line.endsWith(' a.txt')),
      ),
    ).toEqual([]);
  },
  300_000,
);

describe('when the attempts are spent', () => {
  const ONCE = { ...SHORT, EMEND_HOSTACTIVITYATTEMPTS: '1', EMEND_MODELCALLATTEMPTS: '1' };
  test('apply, all written: engine_failed; an abort puts the files back, a retry finds them and goes on', async () => {
    const s = (open = await scene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, { env: ONCE }));
    const worker = await s.worker('applyProposal:mute-after:1');
    const run = await s.start('job.md', job('a.txt', KEYS));
    const view = await s.settle(run, 120);
    expect(worker.fired()).toBe(true);
    expect(view.status.decision).toMatchObject({
      reason: 'engine_failed',
      message: expect.stringContaining('timed out'),
    });
    expect([s.read('a.txt'), (await lockOf(s))?.stepKey]).toEqual([AFTER, run.stepKey]);
    await s.answer(run, 'retry');
    expect(await s.end(run, 90)).toMatchObject({ outcome: 'committed', usage: { calls: 1 } });
    expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
  }, 240_000);

  test('propose: model_unavailable; a retry finds the answer that was recorded', async () => {
    const s = (open = await scene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, { env: ONCE }));
    await s.worker('proposeEdit:mute-after:1');
    const run = await s.start('job.md', job('a.txt', KEYS));
    expect((await s.settle(run, 120)).status.decision).toMatchObject({
      reason: 'model_unavailable',
    });
    await s.answer(run, 'retry');
    expect(await s.end(run, 90)).toMatchObject({ outcome: 'committed', usage: { calls: 1 } });
    expect(s.rehearsal.requests()).toHaveLength(1);
  }, 240_000);
});

test('the host takes no work (schedule to start): workspace_unreachable, before the first look and before apply; wait goes on', async () => {
  const s = (open = await scene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, {
    env: { EMEND_SCHEDULETOSTART_MS: '1500' },
  }));
  // A worker of another home serves the workflows and the model, but not this host's workspaces.
  const home = s.env.EMEND_HOME;
  const abroad = async () => {
    s.env.EMEND_HOME = join(s.home, '..', `home-${randomUUID().slice(0, 8)}`);
    const worker = await s.worker();
    s.env.EMEND_HOME = home;
    return worker;
  };
  const first = await abroad();
  const run = await s.start('job.md', job('a.txt', ['commit: true']));
  expect((await s.settle(run, 90)).status.decision).toMatchObject({
    reason: 'workspace_unreachable',
  });
  await first.kill();
  const own = await s.worker();
  await s.answer(run, 'wait');
  await eventually(
    'the approval',
    async () => (await s.show(run)).status.decision?.reason === 'approval',
    90,
  );
  await own.kill();
  const second = await abroad();
  await s.answer(run, 'approve');
  await eventually(
    'the pause',
    async () => (await s.show(run)).status.decision?.reason === 'workspace_unreachable',
    90,
  );
  expect(s.read('a.txt')).toBe(BEFORE);
  await second.kill();
  await s.worker();
  await s.answer(run, 'wait');
  expect(await s.end(run, 90)).toMatchObject({ outcome: 'committed', usage: { calls: 1 } });
  expect(s.read('a.txt')).toBe(AFTER);
}, 300_000);
