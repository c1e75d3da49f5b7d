/** Two homes that share a bucket and Temporal, nothing else: what either does for a run of the other, on a real SeaweedFS. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { decide, openEmend, resolveRun, runDiff, showRun } from '../../src/client/index.js';
import { findUnused, removeUnused } from '../../src/client/gc/index.js';
import { listCalls } from '../../src/client/runs/calls.js';
import { findSeaweed, startSeaweed, type Seaweed } from '../support/seaweed.js';
import { longOnly, testIf } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

const found = await findSeaweed();
const inBucket =
  'path' in found ? longOnly('two homes and an object store') : testIf(false, found.why);

let seaweed: Seaweed;
let s: Scene;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  if (!('path' in found) || process.env.EMEND_LONG !== '1') return;
  seaweed = await startSeaweed(found.path);
  env = {
    ...seaweed.env,
    EMEND_STORE: `s3://${seaweed.bucket}/group/one`,
    EMEND_STORE_PATH_STYLE: '1',
  };
  Object.assign(process.env, env);
}, 300_000);
afterAll(async () => {
  await s.close();
  await seaweed.close();
});

const eventually = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const end = Date.now() + 90_000; !(await holds());) {
    if (Date.now() > end) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};

inBucket(
  'a run goes on with the other home: it takes over the model call of a killed worker, shows and decides; files are the first host alone',
  async () => {
    const AFTER = 'module.exports = 2;\n';
    const answer = whole({ 'a.js': AFTER });
    s = await scene(
      { 'a.js': 'module.exports = 1;\n' },
      [
        {
          name: 'held',
          match: { contains: '- a.js', nth: 1 },
          answer,
          fault: { kind: 'hold', after_bytes: 10 },
        },
        { name: 'again', match: { contains: '- a.js' }, answer },
      ],
      { env },
    );
    const home = join(s.home, '..', 'home-2');
    const otherEnv = { ...s.env, EMEND_HOME: home };
    const other = await openEmend({ env: otherEnv });
    try {
      const first = await s.worker();
      const job = [
        '---',
        'target_files: [a.js]',
        'test: node --check a.js',
        'commit: true',
        '---',
        '# Raise a',
        '',
        'Two.',
        '',
      ];
      const run = await s.start('job.md', job.join('\n'));
      await eventually('the call is under way', () => s.rehearsal.requests().length === 1);
      await first.kill();
      await s.worker(undefined, { EMEND_HOME: home });
      await eventually('the other home has its answer', async () => {
        const { calls } = await listCalls(other, run.stepKey);
        return calls.some(({ state }) => state === 'answered');
      });
      // One that was cut off, and one that was answered: nothing is asked a third time.
      expect(
        (await listCalls(other, run.stepKey)).calls.map(({ attempt, state }) => [attempt, state]),
      ).toEqual([
        [1, 'unknown'],
        [2, 'answered'],
      ]);
      await s.worker();
      const seen = await resolveRun(other, run.stepKey.slice(0, 8));
      let wanted: string | undefined;
      await eventually('the proposal is there', async () => {
        wanted = (await showRun(other, seen)).status.decision?.id;
        return wanted !== undefined;
      });
      expect((await runDiff(other, seen))?.diff).toContain('+module.exports = 2;');
      await decide(other, seen, {
        answer: 'approve',
        decision: wanted!,
        by: { name: 'tester', from: 'cli' },
      });
      expect(await s.end(run, 120)).toMatchObject({ outcome: 'committed' });
      expect(s.read('a.js')).toBe(AFTER);
      expect(s.git('log', '--format=%s').trim().split('\n')).toHaveLength(2);
      expect(s.rehearsal.requests()).toHaveLength(2);

      // Nothing that is shared lies in a home, and no other place was taken for the bucket.
      for (const each of [s.home, home])
        for (const name of ['blobs', 'records', 'calls', 'archive', 'store-id'])
          expect(existsSync(join(each, name))).toBe(false);
      expect(readdirSync(process.cwd())).not.toContain('s3:');

      // What the commands say, each in a process of its own; the home remembers its store.
      const command = async (...args: readonly string[]) => {
        const store = args[0] === 'doctor' ? env.EMEND_STORE : '';
        const { stdout } = await promisify(execFile)(
          process.execPath,
          ['dist/client.js', ...args],
          {
            env: { ...otherEnv, EMEND_STORE: store, NODE_OPTIONS: '' },
          },
        ).catch((error: unknown) => error as { readonly stdout: string });
        return stdout;
      };
      expect(await command('doctor')).toMatch(
        /ok +EMEND_STORE +s3:\/\/\S+\/group\/one \(id [0-9a-f]{8}\), a write takes \d+ ms/,
      );
      expect(await command('hosts')).toMatch(
        /^\S+ \(\w{8}\) this home +workflows, model, hosts .* now .*\n\S+ \(\w{8}\) +workflows, model, hosts .* now /m,
      );
      expect(await command('list')).toMatch(/done .*job\.md +committed/);
      expect(await command('show', run.stepKey.slice(0, 8))).toContain('committed');
      // Of an archive in a bucket a copy is written, which is checked as any other.
      const evidence = (await command('evidence', run.stepKey.slice(0, 8))).trim();
      expect(evidence).toBe(join(home, 'evidence', 'archive', run.stepKey, 'evidence.json'));
      expect(
        await command(
          'evidence',
          'verify',
          evidence,
          '--repository',
          s.repo,
          '--archive',
          dirname(evidence),
        ),
      ).toMatch(/Everything that was checked matches\.$/m);

      // What gc may take is no part of a run that the server knows.
      const wide = { olderThan_ms: -60_000, archivesOlderThan_ms: -60_000 };
      for (let round = 0; round < 2; round++) {
        const unused = await findUnused(other, wide);
        expect(unused.steps).toEqual([]);
        await removeUnused(other, unused);
      }
      expect((await runDiff(other, seen))?.diff).toContain('+module.exports = 2;');
    } finally {
      await other.close();
    }
  },
  240_000,
);
