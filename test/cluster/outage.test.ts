/** PostgreSQL and the Temporal server, killed without a word in the middle of runs and started again: the runs end right. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { scene, whole, type Scene } from '../e2e/support.js';
import { control, eventually } from './support.js';

let open: Scene | null = null;
let down: 'start-postgres' | 'start-temporal' | null = null;
afterEach(async () => {
  if (down !== null) await control(down);
  down = null;
  await open?.close();
  open = null;
});

const AFTER = 'module.exports = 2;\n';
const edit = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': AFTER }) };
const JOB = (test: string): string =>
  `---\ntarget_files: [a.js]\ncommit: true\napproval: auto\nsandbox: off\nbaseline: off\ntest: ${test}\n---\n# Raise it\n\nTwo, please.\n`;
const LIMIT_MS = 300_000;

const KILLS = [
  ['PostgreSQL', 'kill-postgres', 'start-postgres'],
  ['the Temporal server', 'kill-temporal', 'start-temporal'],
] as const;

const outage = async (
  kill: (typeof KILLS)[number][1],
  start: (typeof KILLS)[number][2],
  during: () => void,
) => {
  await control(kill);
  down = start;
  during();
  await control(start);
  down = null;
};

const expectOneCommit = async (
  s: Scene,
  run: Awaited<ReturnType<Scene['start']>>,
): Promise<void> => {
  expect(await s.end(run, 180)).toMatchObject({
    outcome: 'committed',
    usage: { calls: 1, unknownCalls: 0 },
  });
  expect(s.rehearsal.requests()).toHaveLength(1);
  expect(s.git('log', '--format=%s').trim().split('\n')).toHaveLength(2);
  expect(s.git('show', 'HEAD:a.js')).toBe(AFTER);
  expect(s.git('status', '--porcelain', 'a.js')).toBe('');
};

describe.each(KILLS)('%s is killed', (_name, kill, start) => {
  test(
    'in the middle of a model call, which ends while it is away: asked and paid for once',
    async () => {
      const held = { ...edit, fault: { kind: 'hold' as const, after_bytes: 400 } };
      const s = (open = await scene({ 'a.js': 'module.exports = 1;\n' }, [held]));
      await s.worker();
      const run = await s.start('job.md', JOB('node --check a.js'));
      await s.until(() => s.rehearsal.requests().length === 1, 90);
      await outage(kill, start, () => {
        s.rehearsal.release();
      });
      await expectOneCommit(s, run);
    },
    LIMIT_MS,
  );

  test(
    'in the middle of apply, which ends while it is away: written once',
    async () => {
      const s = (open = await scene({ 'a.js': 'module.exports = 1;\n' }, [edit]));
      const worker = await s.worker('applyProposal:hold-after:1');
      const run = await s.start('job.md', JOB('node --check a.js'));
      await s.until(() => worker.fired(), 90);
      expect(s.read('a.js')).toBe(AFTER);
      await outage(kill, start, () => {
        writeFileSync(`${worker.mark}-go`, '');
      });
      await expectOneCommit(s, run);
    },
    LIMIT_MS,
  );

  test(
    'in the middle of tests, which go on: the run waits for it and ends',
    async () => {
      const s = (open = await scene({ 'a.js': 'module.exports = 1;\n' }, [edit]));
      await s.worker();
      const [begun, go] = ['begun', 'go'].map((name) => join(s.home, '..', name)) as [
        string,
        string,
      ];
      const run = await s.start(
        'job.md',
        JOB(`"touch '${begun}'; until test -e '${go}'; do sleep 0.1; done"`),
      );
      await eventually('the tests run', async () => (await s.show(run)).status.stage === 'verify');
      await outage(kill, start, () => {
        writeFileSync(go, '');
      });
      await expectOneCommit(s, run);
    },
    LIMIT_MS,
  );

  test(
    'while a run is paused: it says that no server answers, then the approval counts',
    async () => {
      const s = (open = await scene({ 'a.js': 'module.exports = 1;\n' }, [edit]));
      await s.worker();
      const run = await s.start('job.md', JOB('node --check a.js').replace('approval: auto\n', ''));
      expect((await s.settle(run, 90)).status.decision?.reason).toBe('approval');
      await control(kill);
      down = start;
      // The archive answers with what it has.
      expect((await s.show(run)).status.title).toBe('Raise it');
      await control(start);
      down = null;
      await eventually('the approval is taken', async () =>
        s.answer(run, 'approve').then(
          () => true,
          () => false,
        ),
      );
      await expectOneCommit(s, run);
    },
    LIMIT_MS,
  );
});
