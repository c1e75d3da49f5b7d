/** Tests on an overlay: on the proposal before its approval, and again right before the apply if they do not hold any more. */
import { describe, expect, test } from '@jest/globals';
import { testsOfProposal } from '../../../../../src/workflows/step/selectors.js';
import { resultNotes } from '../../../../../src/shared/run.js';
import { resultOf, statusOf } from '../../../../../src/workflows/step/views.js';
import { inOrder, play, StepDriver, type Case } from '../../step-driver.js';
import { blob } from '../../world.js';

const ready = { test: { commands: ['npm test'], found: null } } as const;
const overlay = true;
const ASKED = 'preflight > propose * > build > test a.ts > ask approval a.ts';

const textsOf = ({ events }: StepDriver['state']): readonly string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));

describe('what tests report', () => {
  test('warnings are in the result of the run', () => {
    const words = { test_proposal: ['pass_with_warnings'] };
    const { state } = play({ overlay, ready, words, decisions: ['approve'] });
    expect(state.decision).toBeNull();
    const result = resultOf(state);
    expect(result).toMatchObject({
      verification: 'pass_with_warnings',
      testWarnings: ['x is deprecated'],
    });
    expect(resultNotes(result)).toContain('warning of the tests: x is deprecated');
  });

  test('warnings of a run whose tests ran again without one are not in the result', () => {
    const words = { test_proposal: ['pass_with_warnings', 'pass'] };
    const driver = play({
      overlay,
      ready,
      words,
      decisions: [['revise', { note: 'x' }], 'approve'],
    });
    expect(resultOf(driver.state)).not.toHaveProperty('testWarnings');
  });

  test('files that tests wrote by `sandbox.write` are in events and result, those before the change first', () => {
    const words = { try_base: ['writes'], test_proposal: ['writes'] };
    const asks = { ...ready, baseline: 'ask' as const };
    const { state } = play({ overlay, ready: asks, words, decisions: ['approve'] });
    expect(textsOf(state)).toEqual([
      'the tests before the change wrote into the workspace, as `sandbox.write` allows it: reports/before',
      'the tests wrote into the workspace, as `sandbox.write` allows it: reports/after',
      'not written, although `sandbox.write` names it: reports/link (it is a link)',
    ]);
    const result = resultOf(state);
    expect(result.written).toEqual(['reports/before', 'reports/after']);
    expect(resultNotes(result)).toContain(
      'written by the tests, as `sandbox.write` allows it: reports/before',
    );
  });
});

describe('tests before anything is applied', () => {
  test.each<Case>([
    {
      name: 'pass before the approval, and the same bytes are not tested again',
      overlay,
      ready,
      decisions: ['approve'],
      effects: `${ASKED} > say approve > apply a.ts > commit > committed`,
    },
    {
      name: 'come after the tests of the base, if those are wanted',
      overlay,
      ready: { ...ready, baseline: 'ask' },
      decisions: ['approve'],
      effects:
        'preflight > try_base > propose * > build > test a.ts > ask approval a.ts > say approve > apply a.ts > commit > committed',
    },
    {
      name: 'fail: the model is asked again, and nothing was applied or rolled back',
      overlay,
      ready,
      words: { test_proposal: ['fail:x', 'pass'] },
      decisions: ['approve'],
      effects:
        'preflight > propose * > build > test a.ts > propose a.ts#2 told > build > test a.ts > ask approval a.ts > say approve > apply a.ts > commit > committed',
    },
    {
      name: 'fail in the same way twice: the reviewer is asked, and keeps it incomplete',
      overlay,
      ready,
      words: { test_proposal: ['fail:x', 'fail:x'] },
      decisions: ['keep', 'approve'],
      effects:
        'preflight > propose * > build > test a.ts > propose a.ts#2 told > build > test a.ts > ask tests_failed > say keep > ask approval a.ts > say approve > apply a.ts > commit [INCOMPLETE] > committed',
    },
    {
      name: 'fail again on the same bytes: the reviewer is asked about the failure, not for an approval',
      overlay,
      ready,
      words: {
        propose: { '*': ['edited=1'], 'a.ts': ['edited=1'] },
        test_proposal: ['fail:x', 'fail:x'],
      },
      effects:
        'preflight > propose * > build > test a.ts > propose a.ts#2 told > build > test a.ts > ask tests_failed',
    },
    {
      name: 'come before an audit of the proposal, which is not paid for if they fail',
      overlay,
      ready: { ...ready, audit: 'before_approval' },
      words: { test_proposal: ['fail:x', 'pass'] },
      effects:
        'preflight > propose * > build > test a.ts > propose a.ts#2 told > build > test a.ts > audit > ask approval a.ts',
    },
    {
      name: 'of a slow base fail: asked before the tests of the proposal',
      overlay,
      ready: { ...ready, baseline: 'ask' },
      words: { try_base: ['slow;fail'] },
      decisions: ['fix'],
      effects:
        'preflight > try_base > propose * > ask baseline > say fix > build > test a.ts > ask approval a.ts',
    },
    {
      name: 'run under `approval: auto` before the policy approves',
      overlay,
      ready: { ...ready, approval: 'auto' },
      effects:
        'preflight > propose * > build > test a.ts > approve_by_policy > apply a.ts > commit > committed',
    },
    {
      name: 'run right before the apply if the job wants them after the approval',
      overlay,
      ready: { ...ready, testsAfterApproval: true },
      decisions: ['approve'],
      effects:
        'preflight > propose * > build > ask approval a.ts > say approve > test a.ts fresh > apply a.ts > commit > committed',
    },
    {
      name: 'run again on exactly the files that the reviewer approved',
      overlay,
      files: ['a.ts', 'b.ts'],
      ready: { ...ready, shouldSplit: false },
      decisions: [
        ['approve', { files: ['a.ts'] }],
        ['skip', { files: ['b.ts'] }],
      ],
      effects:
        'preflight > propose * > build > test a.ts,b.ts > ask approval a.ts,b.ts > say approve a.ts > say skip b.ts > test a.ts fresh > apply a.ts > commit > committed',
    },
    {
      name: 'run again if the base moved before the apply',
      overlay,
      ready,
      words: { apply: ['base_moved', 'applied'] },
      decisions: ['approve'],
      effects: `${ASKED} > say approve > apply a.ts > test a.ts fresh > apply a.ts > commit > committed`,
    },
    {
      name: 'fail after the base moved: the model is asked again',
      overlay,
      ready,
      words: { apply: ['base_moved'], test_proposal: ['pass', 'fail:x', 'pass'] },
      decisions: ['approve'],
      effects: `${ASKED} > say approve > apply a.ts > test a.ts fresh > propose a.ts#2 told > build > test a.ts > ask approval a.ts`,
    },
    {
      name: 'do not hold on a base without a hash, so they run right before the apply',
      overlay,
      ready,
      words: { test_proposal: ['unbound', 'unbound'] },
      decisions: ['approve'],
      effects: `${ASKED} > say approve > test a.ts fresh > apply a.ts > commit > committed`,
    },
    {
      name: 'do not hold on a base without a hash after the workspace was locked',
      overlay,
      ready,
      words: { test_proposal: ['unbound', 'unbound', 'unbound'], apply: ['busy', 'applied'] },
      decisions: ['approve'],
      effects: `${ASKED} > say approve > test a.ts fresh > apply a.ts > wait > test a.ts fresh > apply a.ts > commit > committed`,
    },
    {
      name: 'get more time once if the machine may have been the cause',
      overlay,
      ready,
      words: { test_proposal: ['transient', 'pass'] },
      effects: 'preflight > propose * > build > test a.ts > test a.ts > ask approval a.ts',
    },
    {
      name: 'changed files of the proposal: the reviewer may adopt them as a new proposal',
      overlay,
      ready,
      words: { test_proposal: ['changed_files', 'pass'] },
      decisions: ['adopt'],
      effects:
        'preflight > propose * > build > test a.ts > ask tests_changed_files > say adopt > build',
    },
    {
      name: 'find no overlay on the host: they run in the workspace after the apply',
      overlay,
      ready,
      words: { test_proposal: ['no_overlay'] },
      decisions: ['approve'],
      effects: `${ASKED} > say approve > apply a.ts > verify > commit > committed`,
    },
    {
      name: 'find no sandbox: after the consent they run without one, after the apply',
      overlay,
      ready,
      words: { test_proposal: ['no_sandbox'] },
      decisions: ['run_without', 'approve'],
      effects:
        'preflight > propose * > build > test a.ts > ask sandbox_unavailable > say run_without > ask approval a.ts > say approve > apply a.ts > verify > commit > committed',
    },
    {
      name: 'without a commit the lock ends with the apply',
      overlay,
      ready: { ...ready, commitMessage: null },
      decisions: ['approve'],
      effects: `${ASKED} > say approve > apply a.ts > applied`,
    },
    {
      name: 'after the apply and without a commit the lock is released last',
      ready: { ...ready, commitMessage: null },
      decisions: ['approve'],
      effects:
        'preflight > propose * > build > ask approval a.ts > say approve > apply a.ts > verify > release > applied',
    },
    {
      name: 'fail in a run whose starter takes the failure: nobody is asked',
      overlay,
      ready,
      input: { testsFailed: 'return' },
      words: { test_proposal: ['fail:x'] },
      effects: 'preflight > propose * > build > test a.ts > tests_failed',
    },
  ])('$name', (it) => {
    const { trace } = play(it);
    expect(trace.slice(0, it.effects.split(' > ').length).join(' > ')).toBe(it.effects);
  });

  test('three moves of the base in a row are asked about', () => {
    const driver = play({
      overlay,
      ready,
      words: { apply: ['base_moved', 'base_moved', 'base_moved'] },
      decisions: ['approve'],
    });
    expect(driver.state.decision).toMatchObject({
      reason: 'conflict',
      message: expect.stringContaining('other files of the workspace changed 3 times'),
    });
  });

  const MOVES_BY_RUNS = Array.from({ length: 10 }, (_, index) => `base_moved:${index + 1}`);
  test.each([
    ['other runs in the workspace move the base', MOVES_BY_RUNS.slice(0, 9), null],
    ['they move it ten times', MOVES_BY_RUNS, 'changed 10 times'],
    [
      'one run moved it once, then somebody else',
      ['base_moved:4', 'base_moved:4', 'base_moved:4'],
      null,
    ],
    [
      'one run moved it once, then somebody else three times',
      ['base_moved:4', 'base_moved:4', 'base_moved:4', 'base_moved:4'],
      'changed 4 times',
    ],
  ])('%s: the tests run again, and the reviewer is asked at a limit', (_, apply, question) => {
    const driver = play({ overlay, ready, words: { apply }, decisions: ['approve'] });
    const { decision, stage } = driver.state;
    if (question === null) expect(stage).toMatchObject({ at: 'closed', outcome: 'committed' });
    else
      expect(decision).toMatchObject({
        reason: 'conflict',
        message: expect.stringContaining(question),
      });
  });

  test('the approval says what the tests showed; revise gives the model their output', () => {
    const keeps = { words: { test_proposal: ['fail:x', 'fail:x'] }, decisions: ['keep'] } as const;
    const driver = play({ overlay, ready, ...keeps });
    expect(driver.state.decision?.message).toContain('; tests of the proposal: fail_hard: fail:x');
    expect(testsOfProposal(driver.state)?.signature).toBe('x');
    driver.say(['revise', { note: 'again' }]);
    expect(driver.chunks()[0]?.attempt.refusal).toBe(blob('output fail:x'));
    expect(driver.state.applied.incomplete).toBe(false);
  });

  test('the approval says why the tests run after the apply, or that they run right before it', () => {
    const message = (it: Omit<Case, 'effects' | 'name'>) => play(it).state.decision?.message;
    expect(message({ ready })).toContain(
      '; the tests run in the workspace after the change is applied: there is no overlay here',
    );
    expect(message({ overlay, ready: { ...ready, testsAfterApproval: true } })).toContain(
      '; the tests run on the approved files before they are applied',
    );
    expect(message({})).not.toContain('the tests run');
  });

  test('the status says that they run', () => {
    const driver = new StepDriver({ overlay, ready }, inOrder({}));
    while (driver.next() !== 'test_proposal') driver.step();
    expect(statusOf(driver.state).doing).toBe('running npm test on the proposal');
  });
});
