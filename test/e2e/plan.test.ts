import { afterEach, describe, expect, test } from '@jest/globals';
import { archivedRun } from '../../src/client/archive/run.js';
import { listRuns, resolveRun, showRun, signalPlan, planOfPath } from '../../src/client/index.js';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { printedFaults } from '../support/json-schema.js';
import { longOnly } from '../support/skipped.js';
import { answerFor, planText, startDemo, type DemoPhase } from './plan-support.js';
import { drawn, sampled, WHOLE } from '../support/seeded.js';
import { check } from './check-history.js';
import { scene, type Scene } from './support.js';

const long = longOnly('the first two show the whole way; this one takes too long beside them');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PHASES: readonly DemoPhase[] = [
  { name: 'Foundation', file: 'src/one.js' },
  { name: 'Core logic', file: 'src/two.js', tasks: 2 },
  { name: 'Documentation', file: 'docs/three.md' },
];
const files = { 'plans/010_demo.md': planText(PHASES), 'emend.yaml': 'test: [node -e 0]\n' };
const script = PHASES.map((phase) => answerFor(phase));

const PLAN = 'plans/010_demo.md';

/** What a command prints; with `--json` as data, held against its documented schema. */
const emend = async (s: Scene, exit: number, args: readonly string[]): Promise<unknown> => {
  const io = fakeIo({ env: s.env, cwd: s.repo, isTty: false });
  const found = await main(args, io);
  expect({ args, exit: found, ...io.printed }).toMatchObject({ exit });
  if (!args.includes('--json')) return io.printed.out;
  expect(printedFaults(args, io.printed.out)).toEqual([]);
  return JSON.parse(io.printed.out);
};

/** What is told of a plan that has run: as data, and as a report with what each phase cost. */
const looksBack = async (s: Scene, run: string): Promise<void> => {
  const cost = { runs: 1, usage: { calls: 1 } };
  const phases = [1, 2, 3].map((phase) => ({ phase, ...cost }));
  expect(await emend(s, 0, ['report', run, '--json'])).toMatchObject({
    outcome: 'completed',
    phases,
  });
  for (const args of [['show', run], ['plan', 'status', PLAN], ['plan', 'check', PLAN], ['list']])
    await emend(s, 0, [...args, '--json']);
  expect(await emend(s, 0, ['stats', '--json'])).toMatchObject({
    plans: 1,
    steps: { runs: 4, usage: { calls: 3 } },
  });

  const html = String(await emend(s, 0, ['report', run, '--html']));
  const [, byPhase = ''] = html.split('<h2>What it cost, by phase</h2>');
  // The rehearsed model has no price.
  for (const title of ['Tokens', 'Time']) {
    const plot =
      new RegExp(`<figure><figcaption>${title}</figcaption><svg.*?</svg>`, 's').exec(
        byPhase,
      )?.[0] ?? '';
    expect({ title, phases: plot.match(/Phase \d/g) }).toMatchObject({
      phases: expect.arrayContaining(['Phase 1', 'Phase 2', 'Phase 3']),
    });
  }
  // One file: nothing in it is fetched from elsewhere, and its own policy forbids it.
  expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
  expect(html).not.toMatch(
    /<(?:script|link|img|iframe|object|embed|base)\b|\s(?:src|href|srcset)=|url\(|@import/i,
  );

  const markdown = String(await emend(s, 0, ['report', run]));
  expect(markdown).toContain('## What it cost, by phase\n');
  expect(markdown.match(/^\| Phase \d \| 1 \| 1 \| /gm)).toHaveLength(3);
};

/** Each of the seven steps, and the seams between them. */
const STEPS = [
  ...[
    'readPlan:after:1',
    'writePhaseJob:after:1',
    'proposeEdit:after:1',
    'runTests:after:4',
    'commit:after:2',
  ],
  ...[
    'markPhase:before:1',
    'markPhase:after:2',
    'saveCheckpoint:after:1',
    'readPlan:before:2',
    'readPlan:after:4',
  ],
];

describe('a plan, end to end', () => {
  test.each(sampled('steps of a plan at which the worker dies', STEPS, drawn(1, 3), [], WHOLE))(
    'three phases: each edited, tested, committed, marked; the worker dies at %s',
    async (fault) => {
      const s = (open = await scene(files, script));
      const first = await s.worker(fault);
      const run = await startDemo(s, { approval: 'auto' });
      await first.exited;
      expect(first.fired()).toBe(true);
      // Joins the run, which is open until there is a worker again.
      const joined = emend(s, 0, ['plan', 'run', PLAN, '--json']);
      await s.worker();
      const result = await s.end(run, 120);
      expect(result).toMatchObject({ outcome: 'completed', usage: { calls: 3 } });
      expect(result.plan?.phases.map(({ status, verification }) => [status, verification])).toEqual(
        [
          ['completed', 'pass'],
          ['completed', 'pass'],
          ['completed', 'pass'],
        ],
      );

      const log = s.git('log', '--reverse', '--format=%s').trim().split('\n');
      expect(log).toEqual([
        'base',
        'Phase 1: Foundation',
        'Phase 2: Core logic',
        'Phase 3: Documentation',
        'Mark Phase 3 of plans/010_demo as completed (3/3)',
      ]);
      // Each phase's commit has the mark of the one before it, and says so; `Commit:` names the phase's own.
      const [, one = '', two = '', three = ''] = s
        .git('log', '--reverse', '--format=%H')
        .trim()
        .split('\n');
      const changed = (commit: string) =>
        s.git('show', '--format=', '--name-only', commit).trim().split('\n');
      expect([one, two, three].map(changed)).toEqual([
        ['src/one.js'],
        ['plans/010_demo.md', 'src/two.js', 'summaries/010_partial.md'],
        ['docs/three.md', 'plans/010_demo.md', 'summaries/010_partial.md'],
      ]);
      expect(s.git('log', '-1', '--format=%(trailers:key=Emend-Mark,valueonly)', two).trim()).toBe(
        `${run.stepKey}-p1-m1`,
      );
      expect(s.git('show', `${two}:plans/010_demo.md`)).toContain(
        `**Commit**: ${one.slice(0, 12)}`,
      );
      const expected = planText(PHASES)
        .replaceAll('- [ ]', '- [x]')
        .replace(/^### Phase .*$/gm, '$& [COMPLETED]');
      expect(s.read('plans/010_demo.md').startsWith(expected)).toBe(true);
      const last = s.git('log', '-1', '--format=%h', '--abbrev=12', '--grep=^Phase 3').trim();
      expect(
        s
          .read('plans/010_demo.md')
          .slice(expected.length)
          .replace(/\d{4}-\d\d-\d\d/, 'DATE'),
      ).toBe(
        [
          '## Implementation Progress\n',
          '**Last Completed**: Phase 3 - Documentation',
          '**Date**: DATE',
          `**Commit**: ${last}`,
          '**Status**: Completed (3/3 phases complete)\n',
        ].join('\n'),
      );
      expect(s.read('summaries/010_partial.md').replace(/commit [0-9a-f]{12}/g, 'commit C')).toBe(
        [
          '# Partial summary: Demo plan\n',
          '**Plan**: `plans/010_demo`',
          '**Status**: 3/3 phases complete\n',
          '## Phases\n',
          '- Phase 1 (Foundation): completed, commit C, tests: pass',
          '- Phase 2 (Core logic): completed, commit C, tests: pass',
          '- Phase 3 (Documentation): completed, commit C, tests: pass\n',
        ].join('\n'),
      );
      expect(s.git('status', '--porcelain')).toBe('');

      const types = (await s.events(run)).map((event) => event.type);
      const steps = [
        ...[
          'phase_started',
          'complexity_checked',
          'phase_editing',
          'phase_tested',
          'phase_committed',
          'phase_marked',
        ],
        ...['checkpoint_saved', 'markers_checked'],
      ];
      expect(types.filter((type) => steps.includes(type))).toEqual([...steps, ...steps, ...steps]);
      const kept = (await s.emend.archive.lastFile(run.stepKey, 'checkpoint-')) as Record<
        string,
        unknown
      > | null;
      expect(kept).toMatchObject({
        plan_path: 'plans/010_demo',
        total_phases: 3,
        completed_phases: [1, 2, 3],
        current_phase: null,
        status: 'completed',
        tests_passing: true,
        phase_replan_count: { '1': 0, '2': 0, '3': 0 },
      });
      await check(s, run.live!.workflowId, 'plan-completed');
      expect(await joined).toMatchObject({ stepKey: run.stepKey, kind: 'closed', exit: 0 });
      await looksBack(s, run.stepKey.slice(0, 8));
      expect(
        archivedRun(run.stepKey, await s.emend.archive.read(run.stepKey)).started?.jobPath,
      ).toBe('plans/010_demo');
    },
    240_000,
  );

  long(
    "a phase's own decision is listed and answered by its run; pause, resume, stop and abort of the plan",
    async () => {
      const s = (open = await scene(files, script));
      await s.worker();
      const run = await startDemo(s);
      const child = async (phase: number, of = run) => {
        for (;;) {
          const found = await resolveRun(s.emend, `${of.stepKey.slice(0, 8)}-p${phase}-1`).catch(
            () => null,
          );
          if (found?.live != null) return found;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      };
      const one = await child(1);
      expect((await s.settle(one)).status.decision?.reason).toBe('approval');
      expect((await showRun(s.emend, run)).status).toMatchObject({
        state: 'running',
        doing: 'Phase 1/3 (Foundation): editing, tests, commit',
      });
      const listed = (await listRuns(s.emend)).runs;
      expect(
        listed.map(({ jobPath, decision }) => [jobPath, decision?.reason ?? null]).sort(),
      ).toEqual([
        ['plans/010_demo', null],
        ['plans/010_demo-phase-1.md', 'approval'],
      ]);
      const plan = await planOfPath(s.repo, 'plans/010_demo');
      expect(await signalPlan(s.emend, plan, 'pause', { by: 'tester' })).not.toBeNull();
      await s.answer(one, 'approve');
      await s.end(one);
      await s.until(() => s.read('plans/010_demo.md').includes('[COMPLETED]'));
      for (let state = ''; state !== 'waiting';) state = (await showRun(s.emend, run)).status.state;
      expect((await showRun(s.emend, run)).status.doing).toContain('paused by tester');
      await check(s, run.live!.workflowId, 'plan-paused-by-a-person');
      await signalPlan(s.emend, plan, 'resume', { by: 'tester' });
      const two = await child(2);
      await s.settle(two);
      await s.answer(run, 'abort');
      await s.end(two).catch(() => null);
      expect(await s.end(run)).toMatchObject({ outcome: 'aborted' });
      await check(s, run.live!.workflowId, 'plan-aborted');
      expect((await showRun(s.emend, await resolveRun(s.emend, two.stepKey))).status.state).toBe(
        'aborted',
      );
      expect(s.git('status', '--porcelain')).toBe('');

      // Begun again, it goes on with what is not marked as done, and stops when that phase is done.
      const again = await startDemo(s, { approval: 'auto' });
      await child(2, again);
      await signalPlan(s.emend, plan, 'stop', { by: 'tester' });
      expect(await s.end(again)).toMatchObject({ outcome: 'stopped' });
      expect(
        s
          .git('log', '--format=%s')
          .split('\n')
          .filter((line) => line.startsWith('Phase')),
      ).toEqual(['Phase 2: Core logic', 'Phase 1: Foundation']);
    },
    240_000,
  );

  long(
    'failed tests come back to the plan: the next attempt is told; one that fails the same way asks by itself',
    async () => {
      const script =
        "const fs = require('fs');\nfor (const f of fs.readdirSync('src')) if (fs.readFileSync('src/' + f, 'utf8').includes('bad')) { console.error(`AssertionError: ${f} is bad`); process.exit(1); }\n";
      const two = PHASES.slice(0, 2);
      const [one, core] = two as [DemoPhase, DemoPhase];
      const s = (open = await scene(
        {
          'plans/010_demo.md': planText(two),
          'emend.yaml': 'test: [node check.cjs]\nbaseline: fix\n',
          'check.cjs': script,
        },
        [
          {
            ...answerFor(one, 'export const good = 2;\n'),
            match: {
              contains: [
                '- src/one.js',
                'The last attempt failed its tests',
                'one.js is bad',
                '+export const bad = 1;',
              ],
            },
          },
          // No replan: the phase goes on as it stands.
          {
            name: 'replan',
            match: { contains: 'You revise an implementation plan' },
            answer: 'I would not change it.',
          },
          answerFor(one, 'export const bad = 1;\n'),
          answerFor(core, 'export const bad = 2;\n'),
        ],
      ));
      await s.worker();
      const run = await startDemo(s, { approval: 'auto' });
      const third = async () => {
        for (;;) {
          const found = await resolveRun(s.emend, `${run.stepKey.slice(0, 8)}-p2-3`).catch(
            () => null,
          );
          if (found?.live != null) return found;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      };
      const asking = await third();
      expect((await s.settle(asking)).status.decision?.reason).toBe('tests_failed');
      expect(s.read('src/one.js')).toContain('good');
      await s.answer(asking, 'keep');
      const result = await s.end(run, 120);
      expect(result.outcome).toBe('incomplete');
      await check(s, run.live!.workflowId, 'plan-incomplete');
      expect(result.plan?.phases.map(({ status, failures }) => [status, failures])).toEqual([
        ['completed', 1],
        ['incomplete', 2],
      ]);
      const failed = (await s.events(run)).filter((event) => event.type === 'phase_failed');
      expect(failed).toMatchObject([
        { phase: 1, run: 1, consecutive: 1 },
        { phase: 2, run: 1, consecutive: 1 },
        { phase: 2, run: 2, consecutive: 2 },
      ]);
      expect(s.read('plans/010_demo.md')).toContain('### Phase 2: Core logic [INCOMPLETE]');
      expect(s.git('log', '--format=%s').split('\n').slice(0, 2)).toEqual([
        'Mark Phase 2 of plans/010_demo as incomplete (1/2)',
        '[INCOMPLETE] Phase 2: Core logic',
      ]);
      expect(s.git('status', '--porcelain')).toBe('');
      const kept = (await s.emend.archive.lastFile(run.stepKey, 'checkpoint-')) as Record<
        string,
        unknown
      > | null;
      expect(kept).toMatchObject({
        tests_passing: false,
        completed_phases: [1],
        status: 'incomplete',
      });
      expect(kept?.test_failure_history).toHaveLength(3);
    },
    240_000,
  );
});
