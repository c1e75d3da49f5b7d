/** Tests before anything is applied: what they lead to. The activity itself runs in test/e2e/baseline.test.ts. */
import { describe, expect, test } from '@jest/globals';
import { baseChoice } from '../../../../../src/workflows/step/selectors.js';
import { play, type Case } from '../../step-driver.js';
import { blob } from '../../world.js';

const ready = { test: { commands: ['npm test'], found: null }, baseline: 'ask' } as const;
const A = 'propose * > build > ask approval a.ts';

describe('the base', () => {
  test.each<Case>([
    { name: 'passes: the call follows', ready, effects: `preflight > try_base > ${A}` },
    {
      name: 'fails: asked before the call, which comes once it is answered',
      words: { try_base: ['fail'] },
      ready,
      decisions: ['fix'],
      effects: `preflight > try_base > ask baseline > say fix > ${A}`,
    },
    {
      name: 'fails, and is known to: nobody is asked',
      words: { try_base: ['fail'] },
      ready: { ...ready, baseline: 'known' },
      effects: `preflight > try_base > ${A}`,
    },
    {
      name: 'a command that is missing: asked all the same; installed, tried again',
      words: { try_base: ['missing', 'pass'] },
      ready: { ...ready, baseline: 'fix' },
      decisions: ['retry'],
      effects: `preflight > try_base > ask baseline > say retry > try_base > ${A}`,
    },
    {
      name: 'another command is tried, too',
      words: { try_base: ['missing', 'fail'] },
      ready,
      decisions: [['other', { set: { command: 'make' } }]],
      effects: 'preflight > try_base > ask baseline > say other > try_base > ask baseline',
    },
    {
      name: 'no tests',
      words: { try_base: ['fail'] },
      ready,
      decisions: ['no_tests', 'approve'],
      effects: `preflight > try_base > ask baseline > say no_tests > ${A} > say approve > apply a.ts > commit > committed`,
    },
    {
      name: 'slower than the call waits: asked once the call is there',
      words: { try_base: ['slow;fail'] },
      ready,
      decisions: ['known'],
      effects:
        'preflight > try_base > propose * > ask baseline > say known > build > ask approval a.ts',
    },
    {
      name: 'the workspace is held by another run until it is to be applied',
      words: { try_base: ['busy', 'busy', 'fail'] },
      ready,
      decisions: ['approve', 'fix'],
      effects: `preflight > try_base > ${A} > say approve > try_base > wait > try_base > ask baseline > say fix > apply a.ts > verify > commit > committed`,
    },
    {
      name: 'only the sandbox stands in the way',
      words: { try_base: ['blocked'] },
      ready,
      decisions: ['run_without'],
      effects: `preflight > try_base > ask sandbox_blocks_tests > say run_without > ${A}`,
    },
    {
      name: 'fails in the sandbox: asked before it runs outside; fails there too: asked what to do',
      words: { try_base: ['inside', 'fail'] },
      ready,
      decisions: ['outside', 'fix'],
      effects: `preflight > try_base > ask baseline > say outside > try_base > ask baseline > say fix > ${A}`,
    },
    {
      name: 'fails in the sandbox and passes outside: asked about the sandbox',
      words: { try_base: ['inside', 'blocked'] },
      ready,
      decisions: ['outside', 'run_without'],
      effects: `preflight > try_base > ask baseline > say outside > try_base > ask sandbox_blocks_tests > say run_without > ${A}`,
    },
    {
      name: 'fails in the sandbox, and a person goes on without running it outside',
      words: { try_base: ['inside'] },
      ready,
      decisions: ['known'],
      effects: `preflight > try_base > ask baseline > say known > ${A}`,
    },
    {
      name: 'fails in the sandbox and may: nobody is asked, and it does not run outside',
      words: { try_base: ['inside'] },
      ready: { ...ready, baseline: 'fix' },
      effects: `preflight > try_base > ${A}`,
    },
    {
      name: 'fails and may, but the sandbox refused something: asked',
      words: { try_base: ['refused'] },
      ready: { ...ready, baseline: 'fix' },
      decisions: ['fix'],
      effects: `preflight > try_base > ask baseline > say fix > ${A}`,
    },
    {
      name: 'the same in a later phase of a plan: asked before the first alone',
      words: { try_base: ['refused'] },
      ready: { ...ready, baseline: 'known' },
      input: { modelBase: true },
      effects: `preflight > try_base > ${A}`,
    },
    {
      name: 'another command after a run outside is tried in the sandbox first',
      words: { try_base: ['inside', 'fail', 'inside'] },
      ready,
      decisions: ['outside', ['other', { set: { command: 'make' } }]],
      effects:
        'preflight > try_base > ask baseline > say outside > try_base > ask baseline > say other > try_base > ask baseline',
    },
    {
      name: 'nobody looks',
      ready: { test: ready.test },
      effects: `preflight > ${A}`,
    },
  ])('$name', (it) => {
    expect(play(it).trace.join(' > ')).toBe(it.effects);
  });

  test('what it said goes to the tests of the change: old failures count unless they are known', () => {
    const choiceWith = (baseline: 'known' | 'fix') =>
      baseChoice(play({ words: { try_base: ['fail'] }, ready: { ...ready, baseline } }).state);
    expect([choiceWith('known'), choiceWith('fix')]).toEqual([
      { base: blob('base fail'), known: true },
      { base: blob('base fail') },
    ]);
    const answered = play({ words: { try_base: ['fail'] }, ready, decisions: ['known'] });
    expect(baseChoice(answered.state)).toMatchObject({ known: true });
  });

  test('outside is an answer only after the tests failed in the sandbox, and for one run of them', () => {
    const it = { words: { try_base: ['inside', 'fail'] }, ready };
    const driver = play(it);
    expect(driver.state.decision?.accepts).toContain('outside');
    expect(driver.state.decision?.message).toContain('may run outside: inside');
    const ran = play({ ...it, decisions: ['outside'] });
    expect(ran.state.tests.outside).toBe(false);
    expect(ran.state.decision?.accepts).not.toContain('outside');
    const failed = play({ words: { try_base: ['fail'] }, ready });
    expect(failed.state.decision?.accepts).not.toContain('outside');
  });

  test.each(['inside', 'fail', 'missing'])(
    'retry after the tests of the base came to %s reads the settings of the sandbox again',
    (word) => {
      const { sandbox } = play({
        words: { try_base: [word, 'pass'] },
        ready,
        decisions: ['retry'],
      }).state;
      expect(sandbox).toEqual({ reread: true });
    },
  );

  test('run_once is no answer before there is a proposal: a formatter would take it up', () => {
    const driver = play({ words: { try_base: ['blocked'] }, ready });
    expect(driver.state.decision?.accepts).toEqual(['retry', 'run_without', 'skip', 'abort']);
  });
});
