/** Two homes on one store, their workers in processes of their own: what either may do for a run of the other, and what only its own host may. */
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect } from '@jest/globals';
import { decide, resolveRun, runDiff, showRun } from '../../src/client/index.js';
import { examine } from '../../src/cli/commands/doctor.js';
import { freshStore, testInBucket } from '../e2e/bucket-store.js';
import { whole } from '../e2e/support.js';
import { eventually, transactionsOf, twoHomes, type TwoHomes } from './support.js';

const inBucket = testInBucket();
let open: TwoHomes | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const BEFORE = 'module.exports = 1;\n';
const AFTER = 'module.exports = 2;\n';
const FILES = { 'a.js': BEFORE, 'b.js': BEFORE };
const edit = (path: string) => ({
  name: path,
  match: { contains: `- ${path}` },
  answer: whole({ [path]: AFTER }),
});
const RULES = [edit('a.js'), edit('b.js')];
const job = (path: string, ...keys: readonly string[]): string =>
  [
    '---',
    `target_files: [${path}]`,
    ...keys,
    '---',
    `# Raise ${path}`,
    '',
    'Two, please.',
    '',
  ].join('\n');
const LIMIT_MS = 240_000;

inBucket(
  'a run goes on with the other home: its worker takes workflow and model work, its client shows and decides; files are the first host alone',
  async () => {
    const s = (open = await twoHomes(FILES, RULES));
    const first = await s.worker('proposeEdit:before:1');
    const run = await s.start('job.md', job('a.js', 'test: node --check a.js', 'commit: true'));
    await s.until(() => first.fired(), 90);
    await first.exited;
    await s.otherWorker();
    await eventually('the other home asks the model', async () =>
      (await s.activitiesOf('other', run)).includes('proposeEdit'),
    );
    expect(s.rehearsal.requests()).toHaveLength(1);
    // Nothing of the first home lives: the next step waits for its host, and the other home's worker answers for the run.
    await eventually('the other home answers', async () => {
      const { status } = await showRun(s.other.emend, run);
      return status.doing === 'building the proposal' && status.decision === null;
    });
    expect(await s.activitiesOf('other', run)).toEqual(['proposeEdit']);

    await s.worker();
    const seen = await resolveRun(s.other.emend, run.stepKey.slice(0, 8));
    let wanted: string | undefined;
    await eventually(
      'the proposal is there',
      async () => (wanted = (await showRun(s.other.emend, seen)).status.decision?.id) !== undefined,
    );
    expect((await runDiff(s.other.emend, seen))?.diff).toContain('+module.exports = 2;');
    await decide(s.other.emend, seen, {
      answer: 'approve',
      decision: wanted!,
      by: { name: 'tester', from: 'cli' },
    });
    const result = await s.end(run, 120);
    expect(result.outcome).toBe('committed');
    expect(s.read('a.js')).toBe(AFTER);
    expect(s.git('log', '--format=%s').trim().split('\n')).toHaveLength(2);
    expect(s.rehearsal.requests()).toHaveLength(1);
    // What touches files was done by the first home only, and is recorded there only.
    expect(await s.activitiesOf('first', run)).toEqual(
      expect.arrayContaining(['preflight', 'buildProposal', 'runTests', 'applyProposal', 'commit']),
    );
    expect(await s.activitiesOf('other', run)).toEqual(['proposeEdit']);
    expect([transactionsOf(s.home), transactionsOf(join(s.home, '..', 'home-2'))]).toEqual([
      [run.stepKey],
      [],
    ]);
  },
  LIMIT_MS,
);

inBucket(
  'the host takes no work: workspace_unreachable, wait asks it again, and the run goes on where its restored home comes back',
  async () => {
    const s = (open = await twoHomes(FILES, RULES, { EMEND_SCHEDULETOSTART_MS: '3000' }));
    await s.otherWorker();
    const run = await s.start('job.md', job('a.js'));
    const paused = await s.settle(run, 90);
    expect(paused.status.decision).toMatchObject({
      reason: 'workspace_unreachable',
      accepts: expect.arrayContaining(['wait']),
    });
    await s.answer(run, 'wait');
    // Waiting in vain asks again, with a decision of its own.
    await eventually('asked again', async () => {
      const { decision } = (await s.show(run)).status;
      return decision !== null && decision.id !== paused.status.decision?.id;
    });
    // The host's home, put back from a copy in another place: its id is what counts.
    const restored = join(s.home, '..', 'restored');
    cpSync(s.home, restored, { recursive: true });
    await s.worker(undefined, { EMEND_HOME: restored });
    await s.answer(run, 'wait');
    await eventually(
      'it goes on',
      async () => (await s.show(run)).status.decision?.reason === 'approval',
    );
    await s.answer(run, 'approve');
    expect((await s.end(run, 120)).outcome).toBe('applied');
    expect(s.read('a.js')).toBe(AFTER);
  },
  LIMIT_MS,
);

inBucket(
  'two homes, one workspace: the lock in its git directory keeps the second out until the first has committed',
  async () => {
    const s = (open = await twoHomes(FILES, RULES));
    await Promise.all([s.worker(), s.otherWorker()]);
    const go = join(s.home, '..', 'go');
    const waits = `sandbox: off\ntest: until test -e '${go}'; do sleep 0.1; done`;
    const mine = await s.start(
      'mine.md',
      job('a.js', 'commit: true', 'approval: auto', 'baseline: off', waits),
    );
    await eventually(
      'the first has locked the workspace',
      async () => (await s.show(mine)).status.stage === 'verify',
    );
    const theirs = await s.startFromOther(
      'theirs.md',
      job('b.js', 'commit: true', 'approval: auto', 'test: node --check b.js'),
    );
    const theirView = () => showRun(s.other.emend, theirs);
    await eventually(
      'the second waits',
      async () =>
        (await theirView()).status.doing === 'waiting for another step to unlock the workspace',
    );
    expect([s.read('a.js'), s.read('b.js')]).toEqual([AFTER, BEFORE]);
    expect(existsSync(join(s.repo, '.git', 'emend', 'lock'))).toBe(true);
    writeFileSync(go, '');
    expect((await s.end(mine, 120)).outcome).toBe('committed');
    await eventually(
      'the second ends',
      async () => (await theirView()).status.result !== null,
      120,
    );
    expect((await theirView()).status.result?.outcome).toBe('committed');
    expect(s.git('log', '--format=%s', '-2').trim().split('\n')).toHaveLength(2);
    expect([
      s.read('a.js'),
      s.read('b.js'),
      s.git('status', '--porcelain', 'a.js', 'b.js'),
    ]).toEqual([AFTER, AFTER, '']);
    expect(await s.activitiesOf('first', mine)).toContain('applyProposal');
    expect(await s.activitiesOf('other', theirs)).toContain('applyProposal');
    expect([transactionsOf(s.home), transactionsOf(join(s.home, '..', 'home-2'))]).toEqual([
      [mine.stepKey],
      [theirs.stepKey],
    ]);
  },
  LIMIT_MS,
);

describe('emend doctor', () => {
  inBucket(
    'is content with workers of two homes on one store, and names one that works with another store',
    async () => {
      const s = (open = await twoHomes(FILES, RULES));
      await Promise.all([s.worker(), s.otherWorker()]);
      const check = async (name: string) =>
        (await examine(s.env)).find((each) => each.name === name);
      await eventually('all queues are polled', async () => (await check('worker'))?.ok === true);
      expect((await check('EMEND_STORE'))?.found).toMatch(
        new RegExp(`^${s.store} \\(id [0-9a-f]{8}\\), a write takes \\d+ ms$`),
      );
      const stranger = await s.worker(undefined, {
        ...(await freshStore()),
        EMEND_HOME: join(s.home, '..', 'apart'),
      });
      const named = new RegExp(
        `^${stranger.pid}@.*, store [0-9a-f]{8} also serves them, but uses a different store`,
      );
      // One answer has both: before its first beat the stranger is known by its poll, which counts where nobody beats.
      await eventually('the stranger is named', async () => {
        const { ok, found } = (await check('worker')) ?? {};
        return ok === false && named.test(found ?? '');
      });
    },
    LIMIT_MS,
  );
});
