/**
 * Workers that are really killed. Every activity boundary and the middle of a model call: the step ends the same, no file is partial,
 * one commit, no recorded answer is asked for again. EMEND_LONG=1 runs the whole matrix, else a printed, seeded sample.
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import { listLayers } from '../../src/workspace/layers/index.js';
import { sampled } from '../support/seeded.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('waits for a worker that is taken for dead');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const FILES = {
  'a.js': 'module.exports = 1;\n',
  'b.js': 'module.exports = 1;\n',
  '.gitignore': 'cache\n',
};
const RULES = [
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'module.exports = 2;\n' }) },
  { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': 'module.exports = 2;\n' }) },
];
const JOB = `---
target_files: [a.js, b.js]
baseline: fix
test: echo x >> cache; node -e "require('assert').strictEqual(require('./a.js') + require('./b.js'), 4)"
commit: true
approval: auto
---
# Grow

Raise the numbers.
`;

/** The end that every run must come to, however often its worker died. */
async function expectWholeEnd(s: Scene, run: Awaited<ReturnType<Scene['start']>>): Promise<void> {
  expect(await s.end(run, 90)).toMatchObject({
    outcome: 'committed',
    files: ['a.js', 'b.js'],
    verification: 'pass',
  });
  expect(s.read('a.js') + s.read('b.js')).toBe('module.exports = 2;\nmodule.exports = 2;\n');
  expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
  expect(s.git('status', '--porcelain', 'a.js', 'b.js')).toBe('');
  // No keep or temp file of ours is left beside the targets, and nothing that the tests wrote.
  expect(s.git('status', '--porcelain', '--ignored').trim()).toBe('?? job.md');
  expect((await listLayers(s.home)).filter((layers) => layers.run === run.stepKey)).toEqual([]);
  expect((await s.events(run)).map(({ type }) => type)).not.toContain('rolled_back');
}

const BOUNDARIES = [
  'preflight:before:1',
  'preflight:after:1',
  'writeBrief:before:1',
  'writeBrief:after:1',
  'proposeEdit:before:1',
  'proposeEdit:after:1',
]
  .concat([
    'proposeEdit:before:2',
    'proposeEdit:after:2',
    'buildProposal:before:1',
    'buildProposal:after:1',
    'applyProposal:before:1',
    'applyProposal:after:1',
  ])
  // First the tests of the base run, then those of the proposal.
  .concat(['runTests:before:1', 'runTests:after:1'])
  .concat(['runTests:before:2', 'runTests:after:2', 'commit:before:1', 'commit:after:1'])
  // What the tests left where git ignores it.
  .concat(['removeLayers:before:1', 'removeLayers:after:1']);

describe('SIGKILL at activity boundaries', () => {
  test.each(sampled('activity boundaries', BOUNDARIES, 1))('%s', async (crash) => {
    const s = (open = await scene(FILES, RULES));
    const dying = await s.worker(crash);
    const run = await s.start('job.md', JOB);
    await dying.exited;
    expect(dying.fired()).toBe(true);
    await s.worker();
    await expectWholeEnd(s, run);
    // Each answer was recorded before its activity ended: none is paid for twice.
    expect(s.rehearsal.requests().map((request) => request.rule)).toEqual(['brief', 'a', 'b']);
  });
});

describe('SIGKILL in the middle of a model call', () => {
  long(
    'the call is counted as unknown, asked for once more, and the step ends the same',
    async () => {
      const held = {
        ...RULES[1]!,
        name: 'a-held',
        match: { contains: '- a.js', times: 1 },
        fault: { kind: 'hold' as const, after_bytes: 400 },
      };
      const s = (open = await scene(FILES, [RULES[0]!, held, ...RULES.slice(1)]));
      const dying = await s.worker();
      const run = await s.start('job.md', JOB);
      await s.until(() => s.rehearsal.requests().some((request) => request.rule === 'a-held'));
      await dying.kill('SIGKILL');
      await s.worker();
      await expectWholeEnd(s, run);
      expect(s.rehearsal.requests().map((request) => request.rule)).toEqual([
        'brief',
        'a-held',
        'a',
        'b',
      ]);
      const { usage } = await s.end(run);
      expect(usage).toMatchObject({ calls: 4, unknownCalls: 1 });
    },
  );

  long(
    'stopped in mid-stream until it is taken for dead, then woken: one recorded answer, both calls accounted for',
    async () => {
      const held = {
        ...RULES[1]!,
        name: 'a-held',
        match: { contains: '- a.js', times: 1 },
        fault: { kind: 'hold' as const, after_bytes: 400 },
      };
      // The stopped worker's polls still stand at the server: each may swallow an attempt before the other worker gets one.
      const env = { EMEND_MODELCALLATTEMPTS: '30' };
      const s = (open = await scene(FILES, [RULES[0]!, held, ...RULES.slice(1)], { env }));
      const sleeping = await s.worker();
      const run = await s.start('job.md', JOB);
      await s.until(() => s.rehearsal.requests().some((request) => request.rule === 'a-held'));
      sleeping.child.kill('SIGSTOP');
      await s.worker();
      await s.until(() => s.rehearsal.requests().some((request) => request.rule === 'a'), 60);
      sleeping.child.kill('SIGCONT');
      s.rehearsal.release();
      await expectWholeEnd(s, run);
      expect(
        s.rehearsal.requests().filter((request) => request.rule?.startsWith('a')),
      ).toHaveLength(2);
    },
    150_000,
  );
});
