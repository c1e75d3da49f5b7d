/** A run that spends without success asks whether it should go on: its two causes, each answer, and the money budget that nobody set. */
import { describe, expect, test } from '@jest/globals';
import { describeEvent } from '../../../src/shared/event-text.js';
import { currentRules, defaultBudget_usd, type Rules } from '../../../src/shared/rules.js';
import type { StepEstimate } from '../../../src/shared/usage.js';
import { statusOf } from '../../../src/workflows/step/views.js';
import { play, type Case } from './step-driver.js';

const FIVE = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'];
const declined = (...paths: readonly string[]) => ({
  propose: Object.fromEntries(paths.map((path) => [path, ['declined']])),
});
const ALL_DECLINED = { propose: Array.from({ length: 20 }, () => 'declined') };
const THREE_FAIL = 'preflight > propose a.ts > propose b.ts > propose c.ts';
/** Each call of the world uses 150 tokens and $0.01. */
const estimateOf = (usd: number | null, tokens = 100_000): StepEstimate => ({
  calls: 5,
  input_tokens: tokens,
  output_tokens: 0,
  usd,
});
const rulesWith = (bounds: Partial<Rules['bounds']>): Rules => {
  const rules = currentRules();
  return { ...rules, bounds: { ...rules.bounds, ...bounds } };
};

/** The world's calls are cheap: its runs ask at three times the estimate, however little that is. */
const NO_LEAST = { leastOverEstimate_usd: 0, leastOverEstimate_tokens: 0 };
const check = (it: Case): void => {
  const input = { rules: rulesWith(NO_LEAST) };
  expect(play({ ...it, input }).trace.join(' > ')).toBe(it.effects);
};

describe('the same failure', () => {
  test.each<Case>([
    {
      name: 'after the third file no further call starts',
      files: FIVE,
      words: ALL_DECLINED,
      effects: `${THREE_FAIL} > ask runaway`,
    },
    {
      name: 'each of the three files has its attempts first',
      files: FIVE,
      words: { propose: Array.from({ length: 20 }, () => 'invalid') },
      effects:
        'preflight > propose a.ts > propose a.ts#2 told > propose b.ts > propose b.ts#2 told > propose c.ts > propose c.ts#2 told > ask runaway',
    },
    {
      name: 'one file that was edited is a success: the others are asked about at the end',
      files: FIVE,
      words: declined('a.ts', 'c.ts', 'd.ts', 'e.ts'),
      effects: `${THREE_FAIL} > propose d.ts > propose e.ts > build > ask declined a.ts,c.ts,d.ts,e.ts`,
    },
    {
      name: 'an answer that leaves a file unchanged is a success',
      files: FIVE,
      words: { propose: { ...declined('b.ts', 'c.ts', 'd.ts').propose, 'a.ts': ['unchanged'] } },
      effects: `${THREE_FAIL} > propose d.ts > propose e.ts > build > ask declined b.ts,c.ts,d.ts`,
    },
    {
      name: 'failures for other reasons are counted apart',
      files: FIVE,
      words: {
        propose: {
          'a.ts': ['declined'],
          'b.ts': ['call_lost'],
          'c.ts': ['declined'],
          'd.ts': ['declined'],
        },
      },
      effects: `${THREE_FAIL} > propose d.ts > ask runaway`,
    },
    {
      name: 'calls side by side come to their end, and are recorded',
      files: FIVE,
      limits: { concurrency: 4 },
      words: ALL_DECLINED,
      effects: 'preflight > propose a.ts + b.ts + c.ts + d.ts > ask runaway',
    },
    {
      name: 'three files: there is no further call to start',
      files: FIVE.slice(0, 3),
      words: ALL_DECLINED,
      effects: `${THREE_FAIL} > ask declined a.ts,b.ts,c.ts`,
    },
    {
      name: 'two files',
      files: FIVE.slice(0, 2),
      words: ALL_DECLINED,
      effects: 'preflight > propose a.ts > propose b.ts > ask declined a.ts,b.ts',
    },
    {
      name: 'is asked under approval: auto, too',
      files: FIVE,
      ready: { approval: 'auto' },
      words: ALL_DECLINED,
      effects: `${THREE_FAIL} > ask runaway`,
    },
    {
      name: 'where a model picked the files',
      files: FIVE,
      words: { preflight: ['pick'], pick: [`picked:${FIVE.join(',')}`], ...ALL_DECLINED },
      effects:
        'preflight > pick > preflight 2 > propose a.ts > propose b.ts > propose c.ts > ask runaway',
    },
  ])('$name', check);

  test('the number of files is that of the recorded rules', () => {
    const input = { rules: rulesWith({ sameFailures: 2 }) };
    const { trace } = play({ files: FIVE, words: ALL_DECLINED, input });
    expect(trace.join(' > ')).toBe('preflight > propose a.ts > propose b.ts > ask runaway');
  });

  test('the question has the reason in words, the files, what was used and the estimate', () => {
    const { state } = play({ files: FIVE, words: ALL_DECLINED });
    expect(state.decision).toMatchObject({
      reason: 'runaway',
      files: [],
      accepts: ['continue', 'change_model', 'revise', 'skip', 'abort'],
    });
    expect(state.decision?.message).toMatch(
      /^3 files failed for the same reason, and no file was edited: declined \(the model refused the task\): a\.ts, b\.ts, c\.ts; used: 3 model calls, .*\$0\.0300; estimate: about .*\$10\.0000.*; 2 files are not done yet; the last failure: /,
    );
  });
});

describe('three times the estimate', () => {
  test.each<Case>([
    {
      name: 'in money, before the next call',
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      effects: `${THREE_FAIL} > ask runaway`,
    },
    {
      name: 'in tokens where no price is known',
      files: FIVE,
      ready: { estimate: estimateOf(null, 100) },
      effects: 'preflight > propose a.ts > propose b.ts > ask runaway',
    },
    {
      name: 'in tokens where the model costs nothing',
      files: FIVE,
      ready: { estimate: estimateOf(0, 100) },
      effects: 'preflight > propose a.ts > propose b.ts > ask runaway',
    },
    {
      name: 'is asked once',
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      decisions: ['continue'],
      effects: `${THREE_FAIL} > ask runaway > say continue > propose d.ts > propose e.ts > build > ask approval ${FIVE.join(',')}`,
    },
    {
      name: 'budget_usd stops it after that',
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      limits: { budget_usd: 0.04 },
      decisions: ['continue'],
      effects: `${THREE_FAIL} > ask runaway > say continue > propose d.ts > ask budget e.ts`,
    },
    {
      name: 'an answer at a budget that is reached before is one for the estimate, too',
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      limits: { budget_usd: 0.03 },
      decisions: [['retry', { set: { budget_usd: 5 } }]],
      effects: `${THREE_FAIL} > ask budget d.ts,e.ts > say retry > propose d.ts > propose e.ts > build > ask approval ${FIVE.join(',')}`,
    },
    {
      name: 'retry of a file that failed is an answer for the estimate, too',
      ready: { estimate: estimateOf(0.01) },
      words: { propose: ['declined', 'declined', 'declined'] },
      decisions: ['retry', 'retry', 'retry'],
      effects:
        'preflight > propose * > ask declined a.ts > say retry > propose *#2 > ask declined a.ts > say retry > propose *#3 > ask declined a.ts > say retry > propose *#4 > build > ask approval a.ts',
    },
    {
      name: 'stop keeps what is done',
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      decisions: ['skip'],
      effects: `${THREE_FAIL} > ask runaway > say skip > build > ask approval a.ts,b.ts,c.ts`,
    },
    {
      name: 'another model is asked from there on',
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      decisions: [['change_model', { set: { model: 'm2' } }]],
      effects: `${THREE_FAIL} > ask runaway > say change_model > propose d.ts model=m2 > propose e.ts model=m2 > build > ask approval ${FIVE.join(',')}`,
    },
    {
      name: 'files that are read again by a decision are expected, too',
      files: ['a.ts', 'b.ts'],
      ready: { estimate: estimateOf(0.01) },
      words: { apply: ['base_changed:a.ts'] },
      decisions: ['approve', 'regenerate'],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask approval a.ts,b.ts > say approve > apply a.ts,b.ts > ask conflict a.ts > say regenerate > preflight 2 > propose a.ts > build > ask approval a.ts',
    },
  ])('$name', check);

  test.each([
    ['less than a quarter of a dollar', estimateOf(0.01)],
    ['fewer than 50,000 tokens without a price', estimateOf(null, 100)],
  ])('%s is no reason to ask', (_, estimate) => {
    const { trace } = play({ files: FIVE, ready: { estimate } });
    expect(trace.at(-1)).toBe(`ask approval ${FIVE.join(',')}`);
  });

  test.each([
    ['money', estimateOf(0.01), { leastOverEstimate_usd: 0.04 }],
    ['tokens', estimateOf(null, 10), { leastOverEstimate_tokens: 600 }],
  ])('from the least amount of %s on the run asks', (_, estimate, bounds) => {
    const input = { rules: rulesWith(bounds) };
    const { trace } = play({ files: FIVE, ready: { estimate }, input });
    expect(trace.join(' > ')).toBe(`${THREE_FAIL} > propose d.ts > ask runaway`);
  });

  test('the factor is that of the recorded rules', () => {
    const input = { rules: rulesWith({ ...NO_LEAST, overEstimate_times: 1 }) };
    const { trace } = play({ files: FIVE, ready: { estimate: estimateOf(0.01) }, input });
    expect(trace.join(' > ')).toBe('preflight > propose a.ts > ask runaway');
  });

  test('both causes at one time are one question', () => {
    const { trace, state } = play({
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      words: ALL_DECLINED,
      decisions: ['continue'],
    });
    expect(trace.filter((move) => move === 'ask runaway')).toHaveLength(1);
    expect(state.decision?.reason).toBe('declined');
  });
});

describe('answers after the same failure', () => {
  const firstMoves = `${THREE_FAIL} > ask runaway`;
  const files = FIVE;
  test.each<Case>([
    {
      name: 'continue: the files that failed stay failed, and nothing is asked again',
      files,
      words: ALL_DECLINED,
      decisions: ['continue'],
      effects: `${firstMoves} > say continue > propose d.ts > propose e.ts > ask declined ${FIVE.join(',')}`,
    },
    {
      name: 'change_model: the files that failed are asked for again',
      files,
      words: declined('a.ts', 'b.ts', 'c.ts'),
      decisions: [['change_model', { set: { model: 'm2' } }]],
      effects: `${firstMoves} > say change_model > propose a.ts#2 model=m2 > propose b.ts#2 model=m2 > propose c.ts#2 model=m2 > propose d.ts model=m2 > propose e.ts model=m2 > build > ask approval ${FIVE.join(',')}`,
    },
    {
      name: 'change_model: where that fails in the same way, the run asks again',
      files,
      words: ALL_DECLINED,
      decisions: [['change_model', { set: { model: 'm2' } }]],
      effects: `${firstMoves} > say change_model > propose a.ts#2 model=m2 > propose b.ts#2 model=m2 > propose c.ts#2 model=m2 > ask runaway`,
    },
    {
      name: 'change_model needs the name of a model',
      files,
      words: ALL_DECLINED,
      decisions: ['change_model'],
      effects: `${firstMoves} > say change_model > no: change_model needs set.model`,
    },
    {
      name: 'revise: the note is in each prompt',
      files: FIVE.slice(0, 4),
      words: declined('a.ts', 'b.ts', 'c.ts'),
      decisions: [['revise', { note: 'mind the form' }]],
      effects: `${firstMoves} > say revise > propose a.ts#2 "mind the form" > propose b.ts#2 "mind the form" > propose c.ts#2 "mind the form" > propose d.ts "mind the form" > build > ask approval a.ts,b.ts,c.ts,d.ts`,
    },
    {
      name: 'revise needs a note',
      files,
      words: ALL_DECLINED,
      decisions: ['revise'],
      effects: `${firstMoves} > say revise > no: revise needs a note that says what to change`,
    },
    {
      name: 'skip: nothing is done, so the run ends',
      files,
      words: ALL_DECLINED,
      decisions: ['skip'],
      effects: `${firstMoves} > say skip > skipped`,
    },
    {
      name: 'answers name no files',
      files,
      words: ALL_DECLINED,
      decisions: [['skip', { files: ['a.ts'] }]],
      effects: `${firstMoves} > say skip a.ts > no: skip accepts no files here`,
    },
  ])('$name', check);
});

describe('the money budget that nobody set', () => {
  const rules = currentRules();
  test('is ten times the estimate, and at least 1 US dollar; without a price there is none', () => {
    expect(defaultBudget_usd(rules.bounds, 0.64)).toBeCloseTo(6.4);
    expect(defaultBudget_usd(rules.bounds, 0.01)).toBe(1);
    expect(defaultBudget_usd(rules.bounds, null)).toBeNull();
  });

  const input = {
    rules: rulesWith({ budgetEstimate_times: 2, leastBudget_usd: 0.01, overEstimate_times: 100 }),
  };
  test('is reached as one that is set, and raised by as much again', () => {
    const { trace, state } = play({
      files: FIVE,
      ready: { estimate: estimateOf(0.01) },
      decisions: ['retry'],
      input,
    });
    expect(trace.join(' > ')).toBe(
      'preflight > propose a.ts > propose b.ts > ask budget c.ts,d.ts,e.ts > say retry > propose c.ts > propose d.ts > ask budget e.ts',
    );
    expect(state.decision?.subject).toBe('budget_usd');
  });

  test('does not hold once a model without a price was used', () => {
    const { trace } = play({
      files: FIVE,
      ready: { estimate: estimateOf(0.01), overEstimate: ['too much'] },
      decisions: [['retry', { set: { model: 'unpriced' } }]],
      input,
    });
    expect(trace.at(-1)).toBe(`ask approval ${FIVE.join(',')}`);
  });

  test.each([
    [0.64, null, 'budget $6.40 (default: ten times the estimate, at least $1)'],
    [0.64, 5, 'budget $5.00'],
    [null, null, 'no money budget: the price is not known'],
  ])('is shown at the start: estimate %p, budget_usd %p', (usd, budget_usd, words) => {
    const { state } = play({
      files: FIVE,
      ready: { estimate: estimateOf(usd) },
      limits: { budget_usd },
    });
    const shown = state.events.filter((event) => event.type === 'estimated');
    expect(shown.map(describeEvent)).toEqual([expect.stringContaining(words)]);
    expect(statusOf(state).budget?.usd ?? null).toBe(budget_usd ?? (usd === null ? null : 6.4));
  });

  test('is shown again with the estimate of the files that a model picked', () => {
    const { state } = play({
      files: FIVE,
      words: { preflight: ['pick'], pick: [`picked:${FIVE.join(',')}`] },
    });
    const shown = state.events.filter((event) => event.type === 'estimated');
    expect(shown.map(({ usd }) => usd)).toEqual([10, 10.01]);
  });
});
