import { afterEach, describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { answerFor, planText, startDemo, type DemoPhase } from './plan-support.js';
import { check } from './check-history.js';
import { scene, type Scene } from './support.js';

/** Up to a minute and a half each: part of `npm run test:long`; merges and worktrees by themselves are in test/workspace. */
const long = process.env.EMEND_LONG === '1' ? test : test.skip;

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PHASES: readonly DemoPhase[] = [
  { name: 'One', file: 'src/one.js', dependencies: [] },
  { name: 'Two', file: 'src/two.js', dependencies: [] },
  { name: 'Three', file: 'src/three.js', dependencies: [1, 2] },
];
const noWorktrees = (s: Scene): void => {
  expect(s.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  expect(s.git('branch', '--list', 'emend/*').trim()).toBe('');
  const dir = `${s.home}-worktrees`;
  expect(existsSync(dir) ? readdirSync(dir) : []).toEqual([]);
  expect(s.git('status', '--porcelain')).toBe('');
};

describe('phases side by side', () => {
  long(
    'a wave of two in worktrees, merged and tested together, then the third; the worker dies after a merge',
    async () => {
      const test_ = 'test: [node -e 0]\n';
      const s = (open = await scene(
        { 'plans/010_demo.md': planText(PHASES), 'emend.yaml': test_ },
        PHASES.map((p) => answerFor(p)),
      ));
      const first = await s.worker('mergePhase:after:1');
      const run = await startDemo(s, { approval: 'auto' });
      await first.exited;
      expect(first.fired()).toBe(true);
      await s.worker();
      const result = await s.end(run, 200);
      expect(result).toMatchObject({ outcome: 'completed', usage: { calls: 3 } });
      expect(['one', 'two', 'three'].map((name) => s.read(`src/${name}.js`).includes(`src/${name}.js`))).toEqual([
        true,
        true,
        true,
      ]);
      const subjects = s.git('log', '--first-parent', '--reverse', '--format=%s').trim().split('\n');
      expect(subjects).toEqual([
        'base',
        'Merge Phase 1: One',
        'Merge Phase 2: Two',
        expect.stringMatching(/^Mark Phase 1/),
        expect.stringMatching(/^Mark Phase 2/),
        'Phase 3: Three',
        expect.stringMatching(/^Mark Phase 3/),
      ]);
      const events = await s.events(run);
      expect(events.filter(({ type }) => type === 'phase_merged')).toHaveLength(2);
      expect(events.filter(({ type }) => type === 'merged_tested')).toMatchObject([{ outcome: 'pass' }]);
      expect(events.filter(({ type }) => type === 'worktree_removed')).toHaveLength(2);
      expect(s.read('plans/010_demo.md').match(/\[COMPLETED\]/g)).toHaveLength(3);
      noWorktrees(s);
      await check(s, run.live!.workflowId, 'plan-waves-completed');
    },
    300_000,
  );

  long(
    'both change the same file: the second is asked about, and made again onto the first',
    async () => {
      const both: readonly DemoPhase[] = [
        { name: 'One', file: 'src/same.js', dependencies: [] },
        { name: 'Two', file: 'src/same.js', dependencies: [] },
      ];
      const s = (open = await scene({ 'plans/010_demo.md': planText(both) }, [
        {
          ...answerFor(both[0]!, 'export const made = [1, 2];\n'),
          match: { contains: ['- src/same.js', 'Phase 2', 'made = [1]'] },
        },
        {
          ...answerFor(both[0]!, 'export const made = [1];\n'),
          match: { contains: ['- src/same.js', 'Phase 1: One'] },
        },
        {
          ...answerFor(both[0]!, 'export const made = [2];\n'),
          match: { contains: ['- src/same.js', 'Phase 2: Two'] },
        },
      ]));
      await s.worker();
      const run = await startDemo(s, { approval: 'auto' });
      expect((await s.settle(run, 150)).status.decision).toMatchObject({
        reason: 'merge_conflict',
        accepts: ['regenerate', 'manual', 'skip', 'abort'],
      });
      await check(s, run.live!.workflowId, 'plan-paused-merge-conflict');
      await s.answer(run, 'regenerate');
      expect(await s.end(run, 150)).toMatchObject({ outcome: 'completed' });
      expect(s.read('src/same.js')).toBe('export const made = [1, 2];\n');
      noWorktrees(s);
    },
    300_000,
  );
});
