/** Outcomes, attempts, the fallbacks and what they add up to: each row is a case. */
import { detailsOf } from '../../../../src/workflows/step/views.js';
import { describe, expect, test } from '@jest/globals';
import { play, type Case, type Saying } from '../step-driver.js';

const TWO = ['a.ts', 'b.ts'];
const THREE = ['a.ts', 'b.ts', 'c.ts'];
const TO_REVIEW = 'preflight > propose *';
/** Two files in one call. */
const WHOLE = {
  files: TWO,
  ready: { shouldSplit: false, whole: { format: 'whole-file', outputBudget_tokens: 16_384 } },
} as const;

const check = (it: Case): void => {
  expect(play(it).trace.join(' > ')).toBe(it.effects);
};

describe('one file: outcome x attempt x fallback -> next', () => {
  test.each<Case>([
    { name: 'edited', effects: `${TO_REVIEW} > build > ask approval a.ts` },
    {
      name: 'unchanged',
      words: { propose: ['unchanged'] },
      effects: `${TO_REVIEW} > build > unchanged`,
    },
    {
      name: 'invalid once',
      words: { propose: ['invalid'] },
      effects: `${TO_REVIEW} > propose *#2 told > build > ask approval a.ts`,
    },
    {
      name: 'refused once',
      words: { propose: ['refused'] },
      effects: `${TO_REVIEW} > propose *#2 told > build > ask approval a.ts`,
    },
    {
      name: 'invalid and refused count together',
      words: { propose: ['invalid', 'refused'] },
      effects: `${TO_REVIEW} > propose *#2 told > ask attempts_exhausted a.ts`,
    },
    {
      name: 'attempts by their limit',
      limits: { maxAttemptsPerFile: 3 },
      words: { propose: ['refused', 'refused', 'refused'] },
      effects: `${TO_REVIEW} > propose *#2 told > propose *#3 told > ask attempts_exhausted a.ts`,
    },
    {
      name: 'unmarked is asked for once more the same way: not told, not counted',
      words: { propose: ['unmarked', 'invalid'] },
      effects: `${TO_REVIEW} > propose *#2 > propose *#3 told > build > ask approval a.ts`,
    },
    {
      name: 'unmarked twice is a decision',
      words: { propose: ['unmarked', 'unmarked'] },
      effects: `${TO_REVIEW} > propose *#2 > ask unmarked a.ts`,
    },
    {
      name: 'unmarked after a refusal keeps what was refused',
      words: { propose: ['invalid', 'unmarked'] },
      effects: `${TO_REVIEW} > propose *#2 told > propose *#3 told > build > ask approval a.ts`,
    },
    ...(['declined', 'prompt_cut', 'call_lost'] as const).map((outcome) => ({
      name: `${outcome} is not tried again without a person`,
      words: { propose: [outcome] },
      effects: `${TO_REVIEW} > ask ${outcome} a.ts`,
    })),
    {
      name: 'truncated: larger budget, same draw',
      words: { propose: ['truncated>budget:32768'] },
      effects: `${TO_REVIEW} > propose * 32768 > build > ask approval a.ts`,
    },
    {
      name: 'truncated: every fallback, then a decision',
      words: {
        propose: [
          'truncated>budget:32768',
          'truncated>budget:65536',
          'truncated>format',
          'truncated>exhausted',
        ],
      },
      effects: `${TO_REVIEW} > propose * 32768 > propose * 65536 > propose * structured-edit 65536 > ask truncation a.ts`,
    },
    {
      name: 'attempts are counted per format: a truncation moves on and they start again',
      words: { propose: ['invalid', 'truncated>budget:32768', 'invalid', 'invalid'] },
      effects: `${TO_REVIEW} > propose *#2 told > propose *#2 32768 told > propose *#3 32768 told > ask attempts_exhausted a.ts`,
    },
    {
      name: 'another format is not told what another format said',
      words: { propose: ['invalid', 'truncated>format'] },
      effects: `${TO_REVIEW} > propose *#2 told > propose *#2 structured-edit > build > ask approval a.ts`,
    },
    {
      name: 'unmarked once per format',
      words: { propose: ['unmarked', 'truncated>budget:32768', 'unmarked', 'unmarked'] },
      effects: `${TO_REVIEW} > propose *#2 > propose *#2 32768 > propose *#3 32768 > ask unmarked a.ts`,
    },
  ])('$name', check);
});

describe('what guards find in an answer', () => {
  test.each<Case>([
    {
      name: 'goes to the model first',
      words: { propose: ['found'] },
      effects: `${TO_REVIEW} > propose *#2 told > build > ask approval a.ts`,
    },
    {
      name: 'a second time with the same result: meant',
      limits: { maxAttemptsPerFile: 3 },
      words: { propose: ['found=1', 'found=1'] },
      effects: `${TO_REVIEW} > propose *#2 told > build > ask approval a.ts`,
    },
    {
      name: 'a second time with another result: counts as an attempt',
      limits: { maxAttemptsPerFile: 3 },
      words: { propose: ['found=1', 'found=2', 'found=3', 'found=4'] },
      effects: `${TO_REVIEW} > propose *#2 told > propose *#3 told > build > ask approval a.ts`,
    },
    {
      name: 'the answer that fits is proposed where nothing better comes',
      words: { propose: ['found', 'refused'] },
      effects: `${TO_REVIEW} > propose *#2 told > build > ask approval a.ts`,
    },
    ...(['declined', 'prompt_cut', 'call_lost', 'truncated>exhausted', 'unmarked'] as const).map(
      (outcome) => ({
        name: `so it is after ${outcome}`,
        words: {
          propose: outcome === 'unmarked' ? ['found', outcome, outcome] : ['found', outcome],
        },
        effects: `${TO_REVIEW} > propose *#2 told > ${outcome === 'unmarked' ? 'propose *#3 told > ' : ''}build > ask approval a.ts`,
      }),
    ),
    {
      name: 'one attempt: nobody is asked but the person',
      limits: { maxAttemptsPerFile: 1 },
      words: { propose: ['found'] },
      effects: `${TO_REVIEW} > build > ask approval a.ts`,
    },
    {
      name: 'in a call for all files: it is not split',
      ...WHOLE,
      words: { propose: ['found', 'invalid'] },
      effects: 'preflight > propose * > propose *#2 told > build > ask approval a.ts,b.ts',
    },
    {
      name: 'names that are left behind: files that use them are asked for once more',
      files: TWO,
      words: { build: ['dangling:b.ts', 'dangling:b.ts'] },
      effects:
        'preflight > propose a.ts > propose b.ts > build > propose b.ts#2 told > build > ask approval a.ts,b.ts',
    },
    {
      name: 'what was there stands where the model has nothing better',
      files: TWO,
      words: {
        propose: { 'b.ts': ['edited', 'refused'] },
        build: ['dangling:b.ts', 'dangling:b.ts'],
      },
      effects:
        'preflight > propose a.ts > propose b.ts > build > propose b.ts#2 told > build > ask approval a.ts,b.ts',
    },
  ])('$name', check);
});

describe('another format, and an end of all answers', () => {
  test.each<Case>([
    {
      name: 'attempts spent: the next format has its own, and is not told',
      words: {
        propose: [
          'refused>format:structured-edit',
          'refused>format:structured-edit',
          'refused',
          'refused',
        ],
      },
      effects: `${TO_REVIEW} > propose *#2 told > propose *#3 structured-edit > propose *#4 structured-edit told > ask attempts_exhausted a.ts`,
    },
    {
      name: 'retried by a person: in the format of the file',
      words: {
        propose: [
          'refused>format:structured-edit',
          'refused>format:structured-edit',
          'refused',
          'refused',
        ],
      },
      decisions: ['retry'],
      effects: `${TO_REVIEW} > propose *#2 told > propose *#3 structured-edit > propose *#4 structured-edit told > ask attempts_exhausted a.ts > say retry > propose *#5 > build > ask approval a.ts`,
    },
    {
      name: 'the same refusal twice: at once',
      limits: { maxAttemptsPerFile: 5 },
      words: { propose: ['refused', 'refused>repeated'] },
      effects: `${TO_REVIEW} > propose *#2 told > ask attempts_exhausted a.ts`,
    },
    {
      name: 'maxCallsPerFile: refused, truncated and unmarked answers together',
      limits: { maxCallsPerFile: 3 },
      words: { propose: ['unmarked', 'truncated>budget:32768', 'refused>format:structured-edit'] },
      effects: `${TO_REVIEW} > propose *#2 > propose *#2 32768 > ask attempts_exhausted a.ts`,
    },
    {
      name: 'maxCallsPerFile: the last answer that fits is proposed',
      limits: { maxCallsPerFile: 2 },
      words: { propose: ['found', 'truncated>budget:32768'] },
      effects: `${TO_REVIEW} > propose *#2 told > build > ask approval a.ts`,
    },
    {
      name: 'maxCallsPerFile: answers for all files count for each',
      ...WHOLE,
      limits: { maxCallsPerFile: 3 },
      words: { propose: { '*': ['invalid', 'invalid'], 'a.ts': ['truncated>budget:32768'] } },
      effects:
        'preflight > propose * > propose *#2 told > brief > propose a.ts > propose b.ts > build > ask truncation a.ts',
    },
  ])('$name', check);
});

describe('several files', () => {
  test.each<Case>([
    {
      name: 'one call over all',
      ...WHOLE,
      effects: 'preflight > propose * > build > ask approval a.ts,b.ts',
    },
    {
      name: 'truncated: split by file, with a brief',
      ...WHOLE,
      words: { propose: ['truncated>split'] },
      effects:
        'preflight > propose * > brief > propose a.ts > propose b.ts > build > ask approval a.ts,b.ts',
    },
    {
      name: 'attempts spent on the whole step: split by file with attempts of their own',
      ...WHOLE,
      words: { propose: { '*': ['invalid', 'invalid'], 'a.ts': ['invalid'] } },
      effects:
        'preflight > propose * > propose *#2 told > brief > propose a.ts > propose a.ts#2 told > propose b.ts > build > ask approval a.ts,b.ts',
    },
    {
      name: 'a brief that fails to come of it: the chunks go without',
      ...WHOLE,
      words: { propose: ['truncated>split'], brief: ['none'] },
      effects:
        'preflight > propose * > brief > propose a.ts > propose b.ts > build > ask approval a.ts,b.ts',
    },
    {
      name: 'a brief whose activity fails asks; retry asks for it again',
      files: TWO,
      ready: { briefWanted: true },
      words: { brief: ['fails'] },
      decisions: ['retry'],
      effects:
        'preflight > brief > ask model_unavailable > say retry > brief > propose a.ts > propose b.ts > build > ask approval a.ts,b.ts',
    },
    {
      name: 'a failed file does not hold up the others; one pause with all that needs deciding',
      files: THREE,
      words: { propose: { 'a.ts': ['declined'], 'b.ts': ['invalid', 'invalid'] } },
      effects:
        'preflight > propose a.ts > propose b.ts > propose b.ts#2 told > propose c.ts > build > ask declined a.ts,b.ts',
    },
    {
      name: 'each failed file has its own answer',
      files: THREE,
      words: { propose: { 'a.ts': ['declined'], 'b.ts': ['invalid', 'invalid'] } },
      decisions: [
        ['skip', { files: ['a.ts'] }],
        ['retry', { files: ['b.ts'], note: 'use tabs' }],
      ],
      effects:
        'preflight > propose a.ts > propose b.ts > propose b.ts#2 told > propose c.ts > build > ask declined a.ts,b.ts > ' +
        'say skip a.ts > say retry b.ts > propose b.ts#3 told "use tabs" > build > ask approval c.ts,b.ts',
    },
    {
      name: 'manual takes the file from the disk, without the model and without a verdict of its own',
      files: TWO,
      words: { propose: { 'a.ts': ['declined'] }, build: ['touch:a.ts'] },
      decisions: ['manual', 'approve'],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask declined a.ts > say manual > build > ask approval b.ts > say approve > apply b.ts,a.ts > commit > committed',
    },
    {
      name: 'all failed, all skipped',
      files: TWO,
      words: { propose: ['declined', 'declined'] },
      decisions: ['skip'],
      effects:
        'preflight > propose a.ts > propose b.ts > ask declined a.ts,b.ts > say skip > build > skipped',
    },
    {
      name: 'retry raises the budget and changes the model',
      files: TWO,
      words: { propose: { 'b.ts': ['truncated>exhausted'] } },
      decisions: [['retry', { set: { outputBudget_tokens: 40_000, model: 'big' } }]],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask truncation b.ts > say retry > propose b.ts#2 40000 model=big > build > ask approval a.ts,b.ts',
    },
    {
      name: 'a propose activity that fails fails its file alone',
      files: TWO,
      words: { propose: { 'a.ts': ['fails'] } },
      effects: 'preflight > propose a.ts > propose b.ts > build > ask model_unavailable a.ts',
    },
    {
      name: 'a file skipped at a limit is not in the one call for the rest',
      ...WHOLE,
      limits: { budget_tokens: 100 },
      words: { propose: { '*': ['invalid'] } },
      decisions: [['skip', { files: ['a.ts'] }], 'retry', 'retry'],
      effects:
        'preflight > propose * > ask budget a.ts,b.ts > say skip a.ts > say retry > propose b.ts > ' +
        'build > ask approval b.ts > say retry > no: retry is not an answer to approval; answers are: approve, skip, revise, abort',
    },
    {
      name: 'retry at a limit reaches the one call for all',
      ...WHOLE,
      limits: { budget_tokens: 100 },
      words: { propose: { '*': ['invalid'] } },
      decisions: [
        ['retry', { note: 'use tabs', set: { model: 'big', outputBudget_tokens: 20_000 } }],
      ],
      effects:
        'preflight > propose * > ask budget a.ts,b.ts > say retry > propose *#2 20000 told model=big "use tabs" > build > ask approval a.ts,b.ts',
    },
    {
      name: 'retry after the one call was declined asks it again',
      ...WHOLE,
      words: { propose: { '*': ['declined'] } },
      decisions: [['retry', { note: 'it is my own code' }]],
      effects:
        'preflight > propose * > ask declined a.ts,b.ts > say retry > propose *#2 "it is my own code" > build > ask approval a.ts,b.ts',
    },
    {
      name: 'answers for some files end the one call; the rest goes by file',
      ...WHOLE,
      words: { propose: { '*': ['declined'] } },
      decisions: [
        ['skip', { files: ['a.ts'] }],
        ['retry', { files: ['b.ts'] }],
      ],
      effects:
        'preflight > propose * > ask declined a.ts,b.ts > say skip a.ts > say retry b.ts > propose b.ts#2 > build > ask approval b.ts',
    },
    {
      name: 'the machinery failed, not the answer: retry asks for the same recorded call, so that a recorded answer is found',
      words: { propose: ['fails'] },
      decisions: ['retry'],
      effects:
        'preflight > propose * > ask model_unavailable a.ts > say retry > propose * > build > ask approval a.ts',
    },
    {
      name: 'revise after the one call goes by file',
      ...WHOLE,
      words: { propose: { '*': ['invalid'] } },
      decisions: [['revise', { note: 'shorter' }]],
      effects:
        'preflight > propose * > propose *#2 told > build > ask approval a.ts,b.ts > say revise > ' +
        'propose a.ts#3 told "shorter" > propose b.ts#3 told "shorter" > build > ask approval a.ts,b.ts',
    },
    {
      name: 'retry after all fallbacks of a single file goes on from its last fallback',
      words: { propose: ['truncated>budget:32768', 'truncated>format', 'truncated>exhausted'] },
      decisions: ['retry'],
      effects:
        'preflight > propose * > propose * 32768 > propose * structured-edit 32768 > ask truncation a.ts > say retry > ' +
        'propose *#2 structured-edit 32768 > build > ask approval a.ts',
    },
  ])('$name', check);

  test('a split is told, and the result says so', () => {
    const { state } = play({
      ...WHOLE,
      words: { propose: ['truncated>split'] },
      decisions: ['approve'],
    });
    expect(state.edits.split).toBe(true);
    expect(state.events.filter((event) => event.type === 'edit_split_triggered')).toMatchObject([
      { reason: 'truncated', file_count: 2 },
    ]);
    const { state: declined } = play({
      ...WHOLE,
      words: { propose: { '*': ['declined'] } },
      decisions: [['skip', { files: ['b.ts'] }], 'retry'],
    });
    expect(declined.edits.split).toBe(true);
  });
});

describe('chunks side by side', () => {
  test.each<Case>([
    {
      name: 'as many as concurrency allows, the rest after them',
      files: THREE,
      limits: { concurrency: 2 },
      effects:
        'preflight > propose a.ts + b.ts > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'never more than the chunks that are left',
      files: THREE,
      limits: { concurrency: 3, maxTotalChunks: 2 },
      effects: 'preflight > propose a.ts + b.ts > ask chunk_limit c.ts',
    },
    {
      name: 'answers in another order',
      files: THREE,
      limits: { concurrency: 3 },
      words: { order: ['reversed'] },
      effects: 'preflight > propose a.ts + b.ts + c.ts > build > ask approval c.ts,b.ts,a.ts',
    },
    {
      name: 'a refused one is asked for again beside the next',
      files: THREE,
      limits: { concurrency: 2 },
      words: { propose: { 'a.ts': ['invalid'] } },
      effects:
        'preflight > propose a.ts + b.ts > propose a.ts#2 told + c.ts > build > ask approval b.ts,a.ts,c.ts',
    },
  ])('$name', check);

  test('a chunk sees what was accepted when it started; the chain keeps a head for each of them', () => {
    const { world, state } = play({ files: THREE, limits: { concurrency: 2 } });
    expect(world.asked.map((each) => each.accepted.length)).toEqual([0, 0, 2]);
    expect(state.edits.accepted).toHaveLength(1);
    const { world: inOrder } = play({ files: THREE });
    expect(inOrder.asked.map((each) => each.accepted.length)).toEqual([0, 1, 1]);
  });
});

describe('limits are decisions', () => {
  const files = THREE;
  test.each<Case>([
    {
      name: 'chunk_limit: retry raises it by as much again',
      files,
      limits: { maxTotalChunks: 1 },
      decisions: ['retry', 'retry'],
      effects:
        'preflight > propose a.ts > ask chunk_limit b.ts,c.ts > say retry > propose b.ts > ask chunk_limit c.ts > say retry > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'chunk_limit: retry with a number',
      files,
      limits: { maxTotalChunks: 1 },
      decisions: [['retry', { set: { maxTotalChunks: 9 } }]],
      effects:
        'preflight > propose a.ts > ask chunk_limit b.ts,c.ts > say retry > propose b.ts > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'chunk_limit: answered file by file it is raised once',
      files,
      limits: { maxTotalChunks: 1, maxAttemptsPerFile: 9 },
      words: { propose: { 'b.ts': ['invalid', 'invalid'] } },
      decisions: [
        ['retry', { files: ['b.ts'] }],
        ['retry', { files: ['c.ts'] }],
      ],
      effects:
        'preflight > propose a.ts > ask chunk_limit b.ts,c.ts > say retry b.ts > say retry c.ts > propose b.ts > ask chunk_limit b.ts,c.ts',
    },
    {
      name: 'chunk_limit: its default is ten calls, or two a file',
      files,
      limits: { maxAttemptsPerFile: 20, maxCallsPerFile: 20 },
      words: { propose: { 'a.ts': Array.from({ length: 12 }, () => 'invalid') } },
      effects: [
        'preflight',
        'propose a.ts',
        ...[2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `propose a.ts#${n} told`),
        'ask chunk_limit a.ts,b.ts,c.ts',
      ].join(' > '),
    },
    {
      name: 'chunk_limit: what is done can go on without the rest',
      files,
      limits: { maxTotalChunks: 1 },
      decisions: ['skip', 'approve'],
      effects:
        'preflight > propose a.ts > ask chunk_limit b.ts,c.ts > say skip > build > ask approval a.ts > say approve > apply a.ts > commit > committed',
    },
    {
      name: 'budget_tokens',
      files,
      limits: { budget_tokens: 150 },
      decisions: ['retry'],
      effects:
        'preflight > propose a.ts > ask budget b.ts,c.ts > say retry > propose b.ts > ask budget c.ts',
    },
    {
      name: 'budget_usd: retry with a number',
      files,
      limits: { budget_usd: 0.01 },
      decisions: [['retry', { set: { budget_usd: 5 } }]],
      effects:
        'preflight > propose a.ts > ask budget b.ts,c.ts > say retry > propose b.ts > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    ...([{}, { set: { budget_usd: 9 } }] as const).map((more) => ({
      name: `budget_usd, and a model without a price was used: retry goes on without it, whatever is set: ${JSON.stringify(more)}`,
      files,
      ready: { overEstimate: ['too much'] },
      limits: { budget_usd: 5 },
      decisions: [['retry', { set: { model: 'unpriced' } }] as const, ['retry', more] as const],
      effects:
        'preflight > ask estimate > say retry > propose a.ts model=unpriced > ask budget b.ts,c.ts > say retry > propose b.ts model=unpriced > propose c.ts model=unpriced > build > ask approval a.ts,b.ts,c.ts',
    })),
    {
      name: 'a raise that is not enough asks again',
      files,
      limits: { budget_tokens: 150 },
      decisions: [['retry', { set: { budget_tokens: 100 } }]],
      effects: 'preflight > propose a.ts > ask budget b.ts,c.ts > say retry > ask budget b.ts,c.ts',
    },
    {
      name: 'wallClock_s',
      files,
      limits: { wallClock_s: 3 },
      decisions: [['retry', { set: { wallClock_s: 100 } }]],
      effects:
        'preflight > propose a.ts > ask budget b.ts,c.ts > say retry > propose b.ts > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'no limit is asked about where nothing is left to pay',
      limits: { maxTotalChunks: 1, budget_tokens: 1 },
      words: {},
      effects: 'preflight > propose * > build > ask approval a.ts',
    },
    {
      name: 'estimate: said before paying; retry goes on and hints reach the prompts',
      files: TWO,
      ready: { overEstimate: ['12 calls planned; maxTotalChunks is 10'] },
      decisions: [['retry', { note: 'be brief', set: { model: 'small' } }]],
      effects:
        'preflight > ask estimate > say retry > propose a.ts model=small "be brief" > propose b.ts model=small "be brief" > build > ask approval a.ts,b.ts',
    },
    {
      name: 'estimate: skip ends it unpaid',
      ready: { overEstimate: ['too much'] },
      decisions: ['skip'],
      effects: 'preflight > ask estimate > say skip > skipped',
    },
    {
      name: 'estimate: manual takes the files from the disk',
      ready: { overEstimate: ['too much'] },
      words: { build: ['touch:a.ts'] },
      decisions: ['manual'],
      effects: 'preflight > ask estimate > say manual > build > apply a.ts > commit > committed',
    },
  ])('$name', check);

  test('time spent waiting for a person is not counted against wallClock_s', () => {
    const driver = play({
      files: TWO,
      limits: { wallClock_s: 60 },
      words: { propose: { 'a.ts': ['declined'] } },
    });
    driver.now += 3_600_000;
    expect(driver.say('retry')).toBeNull();
    expect(driver.run()).toBe('waits');
    expect(driver.state.decision?.reason).toBe('approval');
  });

  test('budget_usd: what is not known may be any, and that is said', () => {
    const decisions: readonly Saying[] = [['retry', { set: { model: 'unpriced' } }]];
    const { state } = play({
      files: TWO,
      limits: { budget_usd: 5 },
      ready: { overEstimate: ['x'] },
      decisions,
    });
    const message =
      'the price of a model that was used is not known, so budget_usd (5) cannot be checked; retry continues without it';
    expect(state.decision).toMatchObject({ reason: 'budget', subject: 'budget_usd', message });
  });
});

describe('secrets in a request that a person is asked about', () => {
  const ask = 'ask secret_found a.ts,b.ts';
  test.each<Case>([
    {
      name: 'calls side by side ask one question, and the answer holds for the run',
      files: TWO,
      limits: { concurrency: 2 },
      words: { propose: ['secret', 'secret'] },
      decisions: ['mask'],
      effects: `preflight > propose a.ts + b.ts > ${ask} > say mask > propose a.ts + b.ts > build > ask approval a.ts,b.ts`,
    },
    {
      name: 'a file is skipped, and the next one asks again',
      files: TWO,
      words: { propose: ['secret', 'secret'] },
      decisions: ['skip', 'send'],
      effects:
        'preflight > propose a.ts > ask secret_found a.ts > say skip > propose b.ts > ask secret_found b.ts > say send > propose b.ts > build > ask approval b.ts',
    },
    {
      name: 'a call for all files names those that hold secrets; without them the rest is asked for file by file',
      ...WHOLE,
      words: { propose: ['secret=a.ts'] },
      decisions: ['skip'],
      effects:
        'preflight > propose * > ask secret_found a.ts > say skip > propose b.ts > build > ask approval b.ts',
    },
    {
      name: 'nothing is left',
      ...WHOLE,
      words: { propose: [`secret=${TWO.join()}`] },
      decisions: ['skip'],
      effects: `preflight > propose * > ${ask} > say skip > build > skipped`,
    },
    {
      name: 'abort',
      words: { propose: ['secret=a.ts'] },
      decisions: ['abort'],
      effects: 'preflight > propose * > ask secret_found a.ts > say abort > aborted',
    },
  ])('$name', check);

  test('the calls that follow are told the answer, and none was counted', () => {
    const { world, state } = play({ words: { propose: ['secret=a.ts'] }, decisions: ['send'] });
    expect(world.asked.map(({ secrets }) => secrets)).toEqual([undefined, 'send']);
    expect(state.edits).toMatchObject({ chunks: 2, unanswered: 1, calls: 1 });
  });
});

describe('some files failed, the others are done: their proposal is built before a person is asked', () => {
  const FIVE = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'];
  const ASKED = FIVE.map((path) => `propose ${path}`).join(' > ');
  const stuck = { 'c.ts': ['truncated>exhausted'] };
  const TO_PAUSE = `preflight > ${ASKED} > build > ask truncation c.ts`;
  const CASES: readonly Case[] = [
    {
      name: 'approve applies what is done and leaves the failed one out',
      files: FIVE,
      words: { propose: stuck },
      decisions: ['approve'],
      effects: `${TO_PAUSE} > say approve > apply a.ts,b.ts,d.ts,e.ts > commit > committed`,
    },
    {
      name: 'skip leaves it out, and the same proposal is asked about',
      files: FIVE,
      words: { propose: stuck },
      decisions: ['skip', 'approve'],
      effects: `${TO_PAUSE} > say skip > ask approval a.ts,b.ts,d.ts,e.ts > say approve > apply a.ts,b.ts,d.ts,e.ts > commit > committed`,
    },
    {
      name: 'retry builds anew, and all of it is asked about',
      files: FIVE,
      words: { propose: stuck },
      decisions: ['retry'],
      effects: `${TO_PAUSE} > say retry > propose c.ts#2 > build > ask approval a.ts,b.ts,d.ts,e.ts,c.ts`,
    },
    {
      name: 'retry of one, approve of the rest: only the new one is asked about',
      files: THREE,
      words: { propose: { 'a.ts': ['declined'], 'b.ts': ['declined'] } },
      decisions: [['retry', { files: ['a.ts'] }], 'approve', 'approve'],
      effects:
        'preflight > propose a.ts > propose b.ts > propose c.ts > build > ask declined a.ts,b.ts > say retry a.ts > say approve > ' +
        'propose a.ts#2 > build > ask approval a.ts > say approve > apply c.ts,a.ts > commit > committed',
    },
    {
      name: 'approve names no files, and the proposal that was shown',
      files: TWO,
      words: { propose: { 'a.ts': ['declined'] } },
      decisions: [
        ['approve', { files: ['a.ts'] }],
        ['approve', { decision: '1-feedc0de' }],
      ],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask declined a.ts > say approve a.ts > no: approve accepts no files here > ' +
        'say approve > no: decision 1-feedc0de is not open; open is 1-feedc0de-d1b3aebb (an answer counts only for the proposal it names)',
    },
    {
      name: 'approval: auto does not decide about the failed one',
      files: TWO,
      ready: { approval: 'auto' },
      words: { propose: { 'a.ts': ['declined'] } },
      decisions: ['skip'],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask declined a.ts > say skip > approve_by_policy > apply b.ts > commit > committed',
    },
    {
      name: 'nothing of the others changes: there is nothing to approve',
      files: TWO,
      words: {
        propose: { 'a.ts': ['declined'], 'b.ts': ['unchanged'] },
        build: ['empty', 'empty'],
      },
      decisions: ['approve', 'skip'],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask declined a.ts > say approve > ' +
        'no: approve is not an answer to declined; answers are: retry, manual, skip, abort > say skip > build > unchanged',
    },
    {
      name: 'the build refuses a file that is done: it is asked for again first',
      files: TWO,
      words: { propose: { 'a.ts': ['declined'] }, build: ['refused:b.ts'] },
      decisions: ['approve'],
      effects:
        'preflight > propose a.ts > propose b.ts > build > propose b.ts#2 told > build > ask declined a.ts > say approve > apply b.ts > commit > committed',
    },
  ];
  test.each(CASES)('$name', check);

  test('the question and its details name what an approval takes; it consents to commands without a sandbox', () => {
    const driver = play({
      files: TWO,
      ready: { noSandbox: 'bwrap is missing' },
      words: { propose: { 'a.ts': ['declined'] } },
    });
    const { decision } = driver.state;
    expect(decision?.message).toContain(
      'approve accepts the rest without what failed: 1 file, +1 -1 lines; tests will run without a sandbox (bwrap is missing)',
    );
    expect(decision?.id).toContain(driver.state.proposal?.id.slice(0, 8));
    expect(detailsOf(driver.state)).toContain(
      'its combined diff: `emend diff feedc0de`\n\n- `b.ts` +1 -1',
    );
    expect(driver.say('approve')).toBeNull();
    expect(driver.state.sandbox).toEqual({ without: 'run' });
    expect(driver.state.events.findLast((event) => event.type === 'decided')).toMatchObject({
      files: 1,
      skipped: ['a.ts'],
    });
  });

  test('the question names the networks that commands in the sandbox reach', () => {
    const played = (ready: object) =>
      play({ files: TWO, ready, words: { propose: { 'a.ts': ['declined'] } } }).state.decision
        ?.message;
    expect(played({ network: 'public addresses, db:5432' })).toContain(
      '1 file, +1 -1 lines; its commands reach public addresses, db:5432',
    );
    expect(played({})).not.toContain('reach');
  });

  test('nobody can edit files in a checkout: of a run on a repository `manual` is no answer', () => {
    const words = { propose: { 'a.ts': ['declined'] } } as const;
    const repository = { url: 'https://example.org/x.git', base: 'main' };
    const accepts = (input = {}) => play({ files: TWO, words, input }).state.decision?.accepts;
    expect([accepts(), accepts({ repository })]).toEqual([
      ['retry', 'manual', 'skip', 'approve', 'abort'],
      ['retry', 'skip', 'approve', 'abort'],
    ]);
  });
});
