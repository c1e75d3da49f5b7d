/**
 * A store that cannot be written, through a whole run: nothing is taken for stored that is not, the run pauses within its bound of
 * attempts with what failed and where, and goes on after `retry` once the disk is well again.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { sampled } from '../support/seeded.js';
import type { ResolvedRun } from '../../src/client/index.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
let dir = '';
afterEach(async () => {
  await open?.close();
  open = null;
  rmSync(dir, { recursive: true, force: true });
});

const JOB = `---
target_files: [a.js]
baseline: off
test: node -e "require('assert').strictEqual(require('./a.js'), 2)"
commit: true
approval: auto
---
# Grow

Raise it.
`;

interface Case {
  readonly errno: string;
  /** A part of the paths that cannot be written. */
  readonly store: string;
  /** Which calls fail; all writes unless told. */
  readonly calls?: string;
}
const CASES: readonly Case[] = [
  { errno: 'ENOSPC', store: '/blobs/' },
  { errno: 'EROFS', store: '/records/' },
  { errno: 'EIO', store: '/archive/' },
  { errno: 'ENOSPC', store: '/calls/' },
  // The log takes no byte, so no call is made.
  { errno: 'ENOSPC', store: 'events.jsonl', calls: 'append' },
  { errno: 'EIO', store: 'answer.json' },
  { errno: 'EACCES', store: '/transactions/' },
  { errno: 'ENOSPC', store: '/emend/lock/' },
  // Only part of a transaction's way: its verdict, its end.
  { errno: 'EIO', store: 'verdict-' },
  { errno: 'ENOSPC', store: 'closed.json' },
];

/** The run waits for its archive and asks nothing; once it has begun, the archive fails again. */
const expectRepeatedStart = async (s: Scene, run: ResolvedRun, on: string): Promise<void> => {
  await s.until(() => existsSync(`${on}.fired`));
  expect((await s.show(run)).status).toMatchObject({ stage: 'begin', decision: null });
  rmSync(on);
  while ((await s.show(run)).status.stage === 'begin');
  writeFileSync(on, '');
};

describe('a store fails in the middle of a run', () => {
  test.each(sampled('failing stores', CASES, 2))(
    '$errno at $store',
    async ({ errno, store, calls }) => {
      dir = mkdtempSync(join(tmpdir(), 'emend-disk-'));
      const on = join(dir, 'full');
      const fault = {
        FAULT: [errno, store, ...(calls === undefined ? [] : [calls])].join(':'),
        FAULT_ON: on,
      };
      const env = { ...fault, EMEND_HOSTACTIVITYATTEMPTS: '3', EMEND_MODELCALLATTEMPTS: '3' };
      const rule = {
        name: 'a',
        match: { contains: '- a.js' },
        answer: whole({ 'a.js': 'module.exports = 2;\n' }),
      };
      const s = (open = await scene({ 'a.js': 'module.exports = 1;\n' }, [rule], { env }));
      await s.worker();
      writeFileSync(on, '');
      const run = await s.start('job.md', JOB);
      // The first activity notes the run in the archive. A run that has not begun opens no decision: the activity is repeated.
      if (store === '/archive/') await expectRepeatedStart(s, run, on);
      const view = await s.settle(run);
      expect(existsSync(`${on}.fired`)).toBe(true);
      expect(view.status.decision).toMatchObject({ reason: 'engine_failed' });
      expect(view.status.decision?.message).toContain(errno);
      // Bounded: each attempt tries one write, and then cleans up after it.
      const fired = readFileSync(`${on}.fired`, 'utf8').trim().split('\n');
      expect(fired.length).toBeLessThan(200);
      expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('1');

      rmSync(on);
      await s.answer(run, 'retry');
      expect(await s.end(run)).toMatchObject({
        outcome: 'committed',
        files: ['a.js'],
        verification: 'pass',
      });
      expect(s.git('show', 'HEAD:a.js')).toBe('module.exports = 2;\n');
      expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
      expect(s.git('status', '--porcelain', '--ignored').trim()).toBe('?? job.md');
      expect(s.rehearsal.requests()).toHaveLength(1);
    },
  );
});
