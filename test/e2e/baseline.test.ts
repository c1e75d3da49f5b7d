/** Tests before anything is applied: on the untouched base, before a call is paid for, and on a proposal, before a person approves it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { describeIf, longOnly } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const TWO = whole({ 'a.js': 'module.exports = 2;\n' });
const job = (front: string): string =>
  `---\ntarget_files: [a.js]\ncommit: true\n${front}\n---\n# Two\n\nTwo, please.\n`;
const RULE = { name: 'a', match: { contains: '- a.js' }, answer: TWO };
type Rules = Parameters<typeof scene>[1];
const begin = async (front: string, files: Record<string, string> = {}, rules: Rules = [RULE]) => {
  const s = (open = await scene({ 'a.js': 'module.exports = 1;\n', ...files }, rules));
  await s.worker();
  return { s, run: await s.start('job.md', job(front)) };
};
/** Counts its runs where a sandbox does not keep it from that. */
const counted = (command: string): string => `echo x >> ../runs; ${command}`;
const runs = (s: Scene): number =>
  existsSync(join(s.repo, '../runs'))
    ? readFileSync(join(s.repo, '../runs'), 'utf8').length / 2
    : 0;

const long = longOnly('each starts a run of its own');
const WANTS_TWO = `test: node -e "require('assert').strictEqual(require('./a.js'), 2)"`;

test('tests that fail on the untouched base are a decision before anything is paid for', async () => {
  const { s, run } = await begin(`approval: auto\n${WANTS_TWO}`);
  const { status } = await s.settle(run);
  expect(status.decision).toMatchObject({
    reason: 'baseline',
    accepts: ['fix', 'known', 'retry', 'other', 'no_tests', 'outside', 'abort'],
  });
  expect(status.decision?.message).toContain('the tests fail on the untouched files: node -e');
  expect(status.usage.calls).toBe(0);
  await s.answer(run, 'fix');
  expect(await s.end(run)).toMatchObject({
    outcome: 'committed',
    verification: 'pass',
    usage: { calls: 1 },
  });
});

long('`baseline: fix`: an unattended job mends the test that fails', async () => {
  const { s, run } = await begin(`approval: auto\nbaseline: fix\n${WANTS_TWO}`);
  expect(await s.end(run)).toMatchObject({
    outcome: 'committed',
    verification: 'pass',
    usage: { calls: 1 },
  });
  const events = await s.events(run);
  expect(events.find(({ type }) => type === 'base_tested')).toMatchObject({ outcome: 'fail' });
});

long(
  'a command that is missing is asked about, whatever is known; another one is tried in its place',
  async () => {
    const { s, run } = await begin('approval: auto\nbaseline: known\ntest: no-such-command-at-all');
    const { status } = await s.settle(run);
    expect(status.decision).toMatchObject({ reason: 'baseline' });
    expect(status.decision?.message).toContain(
      'the test command cannot be run on the untouched files',
    );
    await s.answer(run, 'other', { set: { command: 'node --check a.js' } });
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
  },
);

/** Two tests of node's own runner; the second fails on the base and ever after. */
const SUITE = [
  "const { test } = require('node:test');",
  "const assert = require('node:assert');",
  "test('is a number', () => assert.ok(typeof require('./a.js') === 'number'));",
  "test('is old', () => assert.fail('always'));",
  '',
].join('\n');

long(
  'tests that failed before do not count where that is known; new failures do, and the next prompt tells them apart',
  async () => {
    const text = whole({ 'a.js': "module.exports = 'two';\n" });
    const told = 'newly failing: is a number; also failing before the change';
    const rules = [
      { name: 'second', match: { contains: told }, answer: TWO },
      { name: 'first', match: { contains: '- a.js' }, answer: text },
    ];
    const { s, run } = await begin(
      'approval: auto\nbaseline: known\ntest: node --test',
      { 'a.test.js': SUITE },
      rules,
    );
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      verification: 'pass_with_warnings',
      usage: { calls: 2 },
    });
    const verified = (await s.events(run)).flatMap((event) =>
      event.type === 'verified' ? [event.summary] : [],
    );
    expect(verified[0]).toContain('newly failing: is a number; also failing before the change');
    expect(verified[1]).toContain('passed, except 1 that failed before the change: is old');
  },
);

long('the base is tested once for two steps that start from it', async () => {
  const command = `sandbox: off\ntest: ${JSON.stringify(counted('exit 0'))}`;
  const { s, run } = await begin(`approval: ask\n${command}`);
  await s.settle(run);
  expect(runs(s)).toBe(1);
  await s.answer(run, 'abort');
  const again = await s.start('job.md', job(`approval: ask\n${command}`), { again: true });
  expect((await s.settle(again)).status.decision).toMatchObject({ reason: 'approval' });
  expect(runs(s)).toBe(1);
  await s.answer(again, 'approve');
  expect(await s.end(again)).toMatchObject({ outcome: 'committed' });
  expect(runs(s)).toBe(2);
});

long(
  'the first call waits for slow tests no longer than `baselineWait_s`; what they say is asked before the next',
  async () => {
    const { s, run } = await begin(
      'approval: auto\ntest: sleep 4; exit 1\nlimits: { baselineWait_s: 1 }',
    );
    await s.until(() => s.rehearsal.requests().length > 0, 20);
    expect((await s.show(run)).status.decision).toBeNull();
    const { status } = await s.settle(run);
    expect([status.decision?.reason, status.usage.calls]).toEqual(['baseline', 1]);
    await s.answer(run, 'no_tests');
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      verification: 'no_tests',
      usage: { calls: 1 },
    });
  },
);

describeIf(process.env.EMEND_BWRAP !== undefined, 'there is no sandbox here')(
  'in a sandbox',
  () => {
    const WRITES = "require('fs').writeFileSync('left', ''); ";

    long(
      'a proposal is tested in the place of the workspace before it is approved, and not again after',
      async () => {
        const s = (open = await scene({ 'a.js': 'module.exports = 1;\n', 'b.js': '' }, [RULE]));
        // Another file that is not committed is part of the base.
        s.write('b.js', 'module.exports = 3;\n');
        await s.worker();
        const sum = "process.exit(require('./a.js') + require('./b.js') - 5)";
        const enter = `process.chdir('${s.repo}'); `;
        const check = `node -e "${enter}${WRITES}${sum}"`;
        const run = await s.start(
          'job.md',
          job(`approval: ask\nbaseline: off\ntest: ${JSON.stringify(check)}`),
        );
        const { status } = await s.settle(run);
        expect(status.decision).toMatchObject({ reason: 'approval' });
        expect(status.decision?.message).toContain('tests of the proposal: pass: ');
        expect([s.read('a.js'), existsSync(join(s.repo, 'left'))]).toEqual([
          'module.exports = 1;\n',
          false,
        ]);
        await s.answer(run, 'approve');
        expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
        const types = (await s.events(run)).map(({ type }) => type);
        const seen = types.filter((type) => /^(?:verified|decided|applied)$/.test(type));
        expect(seen).toEqual(['verified', 'decided', 'applied']);
        expect(existsSync(join(s.repo, 'left'))).toBe(false);
        expect(await s.events(run)).toContainEqual(
          expect.objectContaining({
            type: 'warning',
            message: 'the tests also wrote other files, which are not kept: left',
          }),
        );
        expect(s.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
      },
    );

    long('a file that changes after the tests makes them run again before the apply', async () => {
      const s = (open = await scene({ 'a.js': 'module.exports = 1;\n', 'b.js': '' }, [RULE]));
      s.write('b.js', 'module.exports = 3;\n');
      await s.worker();
      const check = `node -e "process.exit(require('./b.js') - 3)"`;
      const run = await s.start(
        'job.md',
        job(`approval: ask\nbaseline: off\ntest: ${JSON.stringify(check)}`),
      );
      await s.settle(run);
      s.write('b.js', 'module.exports = 4;\n');
      await s.answer(run, 'approve');
      const { status } = await s.settle(run);
      expect(status.decision).toMatchObject({
        reason: 'tests_failed',
        message: expect.stringContaining('exit 1'),
      });
      expect(s.read('a.js')).toBe('module.exports = 1;\n');
      const types = (await s.events(run)).map(({ type }) => type);
      expect(types).not.toContain('applied');
      expect(types).not.toContain('rolled_back');
    });

    long('two runs test side by side; the commit of one makes the other test again', async () => {
      const files = { 'a.js': 'module.exports = 1;\n', 'b.js': 'module.exports = 1;\n' };
      const rules = ['a', 'b'].map((name) => ({
        name,
        match: { contains: `- ${name}.js` },
        answer: whole({ [`${name}.js`]: 'module.exports = 2;\n' }),
      }));
      const s = (open = await scene(files, rules));
      await s.worker();
      const texts = ['a', 'b'].map((name) => {
        // Tests that see the other change before it is committed fail.
        const check = `git diff --quiet HEAD -- ${name === 'a' ? 'b' : 'a'}.js`;
        const text = job(`baseline: off\ntest: ${check}`).replace('[a.js]', `[${name}.js]`);
        // The job of the other run is part of the base.
        s.write(`${name}.md`, text);
        return [`${name}.md`, text] as const;
      });
      const runs = [];
      for (const [path, text] of texts) runs.push(await s.start(path, text));
      for (const run of runs)
        expect((await s.settle(run)).status.decision?.message).toContain('of the proposal: pass: ');
      for (const run of runs) {
        await s.answer(run, 'approve');
        expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
      }
      const verified = [];
      for (const run of runs)
        verified.push((await s.events(run)).filter(({ type }) => type === 'verified').length);
      expect(verified).toEqual([1, 2]);
      expect(await s.events(runs[1]!)).toContainEqual(
        expect.objectContaining({
          type: 'warning',
          message: 'files changed since the tests passed: the tests run again before the apply',
        }),
      );
    });

    long('revise shows the model what the tests of the proposal said', async () => {
      const rules = [
        {
          name: 'second',
          match: { contains: ['that is no two', 'Look at the tests.'] },
          answer: TWO,
        },
        {
          name: 'first',
          match: { contains: '- a.js' },
          answer: whole({ 'a.js': 'module.exports = 3;\n' }),
        },
      ];
      const check = `node -e "if (require('./a.js') === 3) throw new Error('that is no two')"`;
      const { s, run } = await begin(`approval: ask\ntest: ${JSON.stringify(check)}`, {}, rules);
      const { status } = await s.settle(run);
      // The model answered with the same bytes again.
      expect(status.decision).toMatchObject({
        reason: 'tests_failed',
        message: expect.stringContaining('that is no two'),
      });
      await s.answer(run, 'revise', { note: 'Look at the tests.' });
      expect((await s.settle(run)).status.decision?.message).toContain(
        'tests of the proposal: pass: ',
      );
      await s.answer(run, 'approve');
      expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
      expect(s.rehearsal.requests().map(({ rule }) => rule)).toEqual(['first', 'first', 'second']);
    });
  },
);
