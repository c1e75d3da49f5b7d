import { afterEach, describe, expect } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { resolveRun, type ResolvedRun } from '../../src/client/index.js';
import { DOCUMENTED } from '../documents/plan/support.js';
import { sampled, WHOLE } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import { lockOf } from './ends.js';
import {
  answerFor,
  phaseRun,
  planText,
  startDemo,
  TWO_WAVES,
  type DemoPhase,
} from './plan-support.js';
import { check } from './check-history.js';
import { scene, whole, type Scene } from './support.js';

const long = longOnly(
  'up to a minute and a half each; merges and worktrees by themselves are in test/workspace',
);

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const noWorktrees = (s: Scene): void => {
  expect(s.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  expect(s.git('branch', '--list', 'emend/*').trim()).toBe('');
  const dir = `${s.home}-worktrees`;
  expect(existsSync(dir) ? readdirSync(dir) : []).toEqual([]);
  expectClean(s, s.repo);
};
/** Nothing differs from HEAD in the directory, and nothing is there that git does not know or ignores. */
const expectClean = (s: Scene, dir: string): void => {
  expect(s.git('-C', dir, 'status', '--porcelain', '--ignored')).toBe('');
};
/** Directories of the worktrees that a plan made. */
const worktreesOf = (s: Scene): readonly string[] =>
  s
    .git('worktree', 'list', '--porcelain')
    .split('\n')
    .flatMap((line) => (line.startsWith('worktree ') ? [line.slice('worktree '.length)] : []))
    .filter((dir) => dir !== s.repo);

/** Each of the seven steps, and what a wave adds to them: worktrees, merges, the tests of what came together. */
const STEPS = [
  ...[
    'readPlan:after:1',
    'prepareWorktree:after:1',
    'runTests:after:1',
    'writePhaseJob:after:2',
    'proposeEdit:after:1',
  ],
  ...[
    'runTests:after:2',
    'commit:after:1',
    'mergePhase:before:1',
    'mergePhase:after:1',
    'runTests:after:4',
  ],
  ...[
    'markPhase:before:1',
    'markPhase:after:2',
    'saveCheckpoint:after:1',
    'removeWorktree:after:1',
    'readPlan:before:2',
  ],
];

describe('phases side by side', () => {
  long.each(sampled('steps of a wave at which the worker dies', STEPS, 1, [], WHOLE))(
    'a wave of two in worktrees, merged and tested together, then the third; the worker dies at %s',
    async (fault) => {
      const test_ = 'test: [node -e 0]\n';
      const s = (open = await scene(
        { 'plans/010_demo.md': planText(TWO_WAVES), 'emend.yaml': test_ },
        TWO_WAVES.map((p) => answerFor(p)),
      ));
      const first = await s.worker(fault);
      const run = await startDemo(s, { approval: 'auto' });
      await first.exited;
      expect(first.fired()).toBe(true);
      await s.worker();
      const result = await s.end(run, 200);
      expect(result).toMatchObject({ outcome: 'completed' });
      // The worker may have died while the other phase's call was under way: that one is asked again, and both count.
      expect(result.usage.calls - result.usage.unknownCalls).toBe(3);
      expect(result.usage.unknownCalls).toBeLessThanOrEqual(1);
      expect(
        ['one', 'two', 'three'].map((name) => s.read(`src/${name}.js`).includes(`src/${name}.js`)),
      ).toEqual([true, true, true]);
      const subjects = s
        .git('log', '--first-parent', '--reverse', '--format=%s')
        .trim()
        .split('\n');
      expect(subjects).toEqual([
        'base',
        'Merge Phase 1: One',
        'Merge Phase 2: Two',
        expect.stringMatching(/^Mark Phase 2/),
        'Phase 3: Three',
        expect.stringMatching(/^Mark Phase 3/),
      ]);
      // Marks of a wave are one commit after its merges, which names them.
      expect(
        s
          .git('log', '-1', '--grep=^Mark Phase 2', '--format=%(trailers:valueonly)')
          .trim()
          .split('\n')
          .sort(),
      ).toEqual([`${run.stepKey}-p1-m1`, `${run.stepKey}-p2-m1`]);
      // Resolved again, so that its archive is read as it is now where a busy machine's worker does not answer in time.
      const events = await s.events(await resolveRun(s.emend, run.stepKey));
      expect(events.filter(({ type }) => type === 'phase_merged')).toHaveLength(2);
      expect(events.filter(({ type }) => type === 'merged_tested')).toMatchObject([
        { outcome: 'pass' },
      ]);
      expect(events.filter(({ type }) => type === 'worktree_removed')).toHaveLength(2);
      expect(s.read('plans/010_demo.md').match(/\[COMPLETED\]/g)).toHaveLength(3);
      noWorktrees(s);
      await check(s, run.live!.workflowId, 'plan-waves-completed');
    },
    300_000,
  );

  long(
    'tests of phases side by side, and of what was merged, leave nothing in the worktrees and in the workspace',
    async () => {
      const script =
        'test -e README.md || exit 1; echo x > left.txt; mkdir -p out; echo y > out/object; echo z >> README.md; rm other.txt\n';
      const s = (open = await scene(
        {
          'plans/010_demo.md': planText(TWO_WAVES),
          'emend.yaml': 'test: [sh test.sh]\n',
          'test.sh': script,
          '.gitignore': 'out/\n',
          'README.md': '# Demo\n',
          'other.txt': 'other\n',
        },
        TWO_WAVES.map((p) => answerFor(p)),
      ));
      await s.worker();
      const run = await startDemo(s, { approval: 'ask' });
      const tested = async (phase: ResolvedRun): Promise<void> => {
        const { decision } = (await s.settle(phase, 120)).status;
        expect(decision).toMatchObject({
          reason: 'approval',
          message: expect.stringContaining('tests of the proposal: pass'),
        });
        const events = await s.events(phase);
        expect(
          events.flatMap((event) => (event.type === 'warning' ? [event.message] : [])),
        ).toContain(
          'the tests also wrote other files, which are not kept: README.md, left.txt, other.txt',
        );
      };
      const both = await Promise.all(['p1-1', 'p2-1'].map((name) => phaseRun(s, run, name)));
      for (const phase of both) await tested(phase);
      const worktrees = worktreesOf(s);
      expect(worktrees).toHaveLength(2);
      for (const dir of [s.repo, ...worktrees]) expectClean(s, dir);
      for (const phase of both) await s.answer(phase, 'approve');
      // The third phase works in the plan's workspace, once the two were merged and tested together.
      const third = await phaseRun(s, run, 'p3-1', 120);
      await tested(third);
      expect((await s.events(run)).filter(({ type }) => type === 'merged_tested')).toMatchObject([
        { outcome: 'pass' },
      ]);
      expectClean(s, s.repo);
      expect(await lockOf(s)).toBeNull();
      await s.answer(third, 'approve');
      expect(await s.end(run, 150)).toMatchObject({ outcome: 'completed' });
      for (const phase of [...both, third]) {
        const types = (await s.events(phase)).map(({ type }) => type);
        expect(types.filter((type) => type === 'verified')).toHaveLength(1);
        expect(types).not.toContain('rolled_back');
      }
      noWorktrees(s);
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
      const s = (open = await scene(
        { 'plans/010_demo.md': planText(both), 'emend.yaml': 'test: false\n' },
        [
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
        ],
      ));
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
      await check(s, run.live!.workflowId, 'plan-completed-made-again-onto-a-merge');
      noWorktrees(s);
    },
    300_000,
  );

  long(
    'the plan of docs/plans.md: what is done is left out, the other two are made side by side, and only marks are added to its text',
    async () => {
      const s = (open = await scene(
        {
          'plans/010_demo.md': DOCUMENTED,
          'emend.yaml': 'test: [node -e 0]\n',
          'README.md': '# Users\n',
          'notes/users.md': '# Tables\n\nusers\n',
          'src/a.ts': 'export {};\n',
        },
        [
          {
            name: 'brief',
            match: { contains: ['# Phase 2: Core Logic', 'Now write the brief'] },
            answer: 'Users are posted.\nEMEND-COMPLETE {{nonce}} 0 0\n',
          },
          answerFor({ name: 'Core Logic', file: 'src/schema.sql' }, 'CREATE TABLE users;\n'),
          answerFor({ name: 'Core Logic', file: 'src/users.ts' }, 'export const users = 1;\n'),
          {
            name: 'documentation',
            match: {
              contains: [
                '# Phase 3: Documentation',
                '- docs/users.md',
                'it is about documentation',
              ],
            },
            answer: whole({ 'docs/users.md': '# Users\n\nPost them.\n' }),
          },
        ],
      ));
      await s.worker();
      const run = await startDemo(s, { approval: 'auto' });
      const result = await s.end(run, 150);
      // A brief for the two files of Phase 2, and one call for each file.
      expect(result).toMatchObject({ outcome: 'completed', usage: { calls: 4 } });
      expect(result.plan?.phases.map(({ number, status }) => [number, status])).toEqual([
        [1, 'completed'],
        [2, 'completed'],
        [3, 'completed'],
      ]);
      expect(s.git('log', '--first-parent', '--reverse', '--format=%s').trim().split('\n')).toEqual(
        [
          'base',
          'Merge Phase 2: Core Logic',
          'Merge Phase 3: Documentation',
          expect.stringMatching(/^Mark Phase 3/),
        ],
      );
      const marked = DOCUMENTED.replaceAll('[ ]', '[x]').replace(
        /^### Phase [23]: .*$/gm,
        '$& [COMPLETED]',
      );
      const [before = '', after = ''] = marked.split('## Implementation Progress\n');
      const document = s.read('plans/010_demo.md');
      expect(document.startsWith(`${before}## Implementation Progress\n`)).toBe(true);
      expect(document.endsWith(after)).toBe(true);
      expect(document).toContain('**Last Completed**: Phase 3 - Documentation\n');
      expect(s.read('src/schema.sql')).toBe('CREATE TABLE users;\n');
      expect(s.read('docs/users.md')).toBe('# Users\n\nPost them.\n');
      noWorktrees(s);
    },
    300_000,
  );
});
