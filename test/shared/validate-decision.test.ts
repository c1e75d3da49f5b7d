/** Which answers count: every refusal with its words, and what counts once however often it comes. */
import { describe, expect, test } from '@jest/globals';
import { validateDecision, outcomeOf } from '../../src/shared/validate-decision.js';
import type { DecisionRequest } from '../../src/shared/decisions.js';
import { BOUNDS, LIMITS } from '../../src/shared/limits.js';
import { VERSION, versioned } from '../../src/shared/problems.js';
import { currentRules } from '../../src/shared/rules.js';
import { readRequest, readShortSignal } from '../../src/workflows/frame/read-signal.js';
import { play, type Saying, type StepDriver } from './step-driver.js';

const TWO = ['a.ts', 'b.ts'];
const atApproval = (): StepDriver => play({ files: TWO });
const atParts = (): StepDriver => play({ files: TWO, changes: 3 });
const revised = (): StepDriver =>
  play({ files: TWO, decisions: [['revise', { note: 'shorter' }]] });
const atFailed = (): StepDriver =>
  play({ files: TWO, words: { propose: ['declined', 'declined'] } });
const atEstimate = (): StepDriver => play({ ready: { overEstimate: ['too much'] } });
const atTests = (): StepDriver => play({ ready: { test: { commands: [], found: 'npm test' } } });
const closed = (): StepDriver => play({ decisions: ['skip'] });
const running = (): StepDriver => {
  const driver = atApproval();
  driver.say('approve');
  return driver;
};

test('what counts goes by the rules of the run, not by those of today', () => {
  const now = currentRules();
  const max = LIMITS.outputBudget_tokens.max + 1;
  const limits = { ...now.limits, outputBudget_tokens: { unit: 'tokens', min: max, max } };
  const rules = {
    ...now,
    limits,
    answers: { ...now.answers, approval: ['revise', 'keep'] as const },
  };
  const driver = play({
    files: TWO,
    input: { rules: { ...rules, bounds: { ...now.bounds, note_bytes: 4 } } },
  });
  expect(driver.state.decision?.accepts).toEqual(['revise', 'keep', 'abort']);
  const judged = (set: NonNullable<DecisionRequest['set']>, note = 'why'): unknown =>
    validateDecision(driver.state, { ...driver.request('revise'), note, set });
  expect(judged({ outputBudget_tokens: max })).toEqual({ counts: true });
  expect(judged({ outputBudget_tokens: max - 1 })).toMatchObject({
    message: expect.stringContaining(`from ${max} to`),
  });
  expect(judged({}, 'longer')).toMatchObject({ message: 'the note is longer than 4 characters' });
});

describe('refused, with the reason', () => {
  test.each<[string, () => StepDriver, Saying, RegExp]>([
    [
      'an unknown id',
      atApproval,
      ['approve', { decision: '9-feedc0de' }],
      /^decision 9-feedc0de is not open; open is 1-feedc0de-/,
    ],
    [
      'no id',
      atApproval,
      ['approve', { decision: '' }],
      /^it must name the decision .*: send \{"decision": "1-feedc0de-/,
    ],
    [
      'an older proposal',
      revised,
      ['approve', { decision: '1-feedc0de-00000000' }],
      /an answer counts only for the proposal it names/,
    ],
    [
      'resolved, another answer',
      revised,
      ['approve', { decision: 'resolved' }],
      /^decision 1-.* is resolved: revise by ann/,
    ],
    ['nothing is open', running, ['approve', { decision: '7-feedc0de' }], /^no decision is open/],
    [
      'the run has ended',
      closed,
      ['approve', { decision: '7-feedc0de' }],
      /^the run has ended: skipped/,
    ],
    ['abort of a run that has ended', closed, ['abort', { decision: '' }], /^the run has ended/],
    ['abort of another decision', atApproval, ['abort', { decision: '7-feedc0de' }], /is not open/],
    [
      'not accepted here',
      atApproval,
      'retry',
      /^retry is not an answer to approval; answers are: approve, skip, revise, abort/,
    ],
    [
      'a stranger among the files',
      atApproval,
      ['approve', { files: ['a.ts', 'c.ts'] }],
      /^c\.ts is not in this decision; files are: a\.ts, b\.ts/,
    ],
    [
      'select where nothing can be chosen',
      atApproval,
      ['select', { select: { 'a.ts': [1] } }],
      /^select is not an answer/,
    ],
    ['select without changes', atParts, 'select', /^select needs the changes to accept/],
    ['select of no file', atParts, ['select', { select: {} }], /^select names no file/],
    [
      'select with files',
      atParts,
      ['select', { select: { 'a.ts': [1] }, files: ['a.ts'] }],
      /already names its files/,
    ],
    [
      'changes with another answer',
      atParts,
      ['approve', { select: { 'a.ts': [1] } }],
      /^approve accepts no selection/,
    ],
    [
      'select of a stranger',
      atParts,
      ['select', { select: { 'c.ts': [1] } }],
      /^c\.ts is not in this decision/,
    ],
    [
      'a change that is not there',
      atParts,
      ['select', { select: { 'a.ts': [4] } }],
      /^a\.ts has changes 1 to 3, got 4/,
    ],
    ['a change that is no number', atParts, ['select', { select: { 'a.ts': [1.5] } }], /got 1\.5/],
    ['a change twice', atParts, ['select', { select: { 'a.ts': [1, 1] } }], /is named twice/],
    ['nothing of a file', atParts, ['select', { select: { 'a.ts': [] } }], /is selected: skip it/],
    [
      'all of a file',
      atParts,
      ['select', { select: { 'a.ts': [3, 2, 1] } }],
      /is selected: approve it/,
    ],
    [
      'a prototype key among the files',
      atApproval,
      ['approve', { files: ['__proto__'] }],
      /^__proto__ is not in this decision/,
    ],
    ['no files', atApproval, ['approve', { files: [] }], /^files is empty/],
    [
      'files where there are none',
      atEstimate,
      ['retry', { files: ['a.ts'] }],
      /^retry accepts no files here/,
    ],
    [
      'files for an answer to the whole',
      atApproval,
      ['abort', { files: ['a.ts'] }],
      /^abort accepts no files here/,
    ],
    [
      'a note that is too long',
      atApproval,
      ['approve', { note: 'x'.repeat(BOUNDS.note_bytes + 1) }],
      /^the note is longer than/,
    ],
    [
      'a request id that is too long',
      atApproval,
      ['approve', { requestId: 'x'.repeat(BOUNDS.note_bytes + 1) }],
      /request id/,
    ],
    ['revise without a note', atApproval, 'revise', /^revise needs a note/],
    ['revise with a blank note', atApproval, ['revise', { note: ' \n' }], /^revise needs a note/],
    ['other without a command', atTests, 'other', /^other needs set\.command/],
    [
      'a blank command',
      atTests,
      ['other', { set: { command: ' ' } }],
      /^set\.command must be a text/,
    ],
    [
      'a limit that is none',
      atFailed,
      ['retry', { set: { maxBananas: 3 } as object }],
      /^set\.maxBananas is not a limit; limits are: maxLines/,
    ],
    [
      'a prototype key in set',
      atFailed,
      ['retry', { set: JSON.parse('{"__proto__": 1}') as object }],
      /^set\.__proto__ is not a limit/,
    ],
    [
      'constructor in set',
      atFailed,
      ['retry', { set: { constructor: 1 } as object }],
      /^set\.constructor is not a limit/,
    ],
    [
      'a limit below its least',
      atFailed,
      ['retry', { set: { maxTotalChunks: 0 } }],
      /^set\.maxTotalChunks must be a number of edit calls from 1 to 10000, got 0/,
    ],
    [
      'a limit above its most',
      atFailed,
      ['retry', { set: { concurrency: 33 } }],
      /from 1 to 32, got 33/,
    ],
    ['a limit as a text', atFailed, ['retry', { set: { concurrency: '3' } }], /got 3/],
    [
      'a limit that is no number',
      atFailed,
      ['retry', { set: { concurrency: Number.NaN } }],
      /must be a number/,
    ],
    [
      'a model that is no text',
      atFailed,
      ['retry', { set: { model: 3 } }],
      /^set\.model must be a text/,
    ],
    [
      'a huge id is not given back whole',
      atApproval,
      ['approve', { decision: 'x'.repeat(1_000_000) }],
      /^.{1,400}$/,
    ],
    [
      'a huge path is not given back whole',
      atApproval,
      ['approve', { files: ['x'.repeat(1_000_000)] }],
      /^.{1,400}$/,
    ],
  ])('%s', (_, made, saying, words) => {
    const driver = made();
    const { state } = driver;
    const [answer, more] = typeof saying === 'string' ? [saying, {}] : saying;
    const id = more.decision === 'resolved' ? { decision: state.resolved[0]?.id ?? '' } : {};
    const validation = validateDecision(state, { ...driver.request(answer), ...more, ...id });
    expect(validation).toMatchObject({ counts: false, again: false });
    expect(validation.counts ? '' : validation.message).toMatch(words);
  });

  test('the open decision is what it was after every refusal', () => {
    const driver = atApproval();
    const before = driver.state;
    driver.say(['approve', { files: ['c.ts'] }]);
    driver.say('retry');
    expect(driver.state).toBe(before);
  });
});

describe('counts once', () => {
  const decided = (driver: StepDriver): number =>
    driver.state.events.filter((event) => event.type === 'decided').length;

  test('the same request by update and by signal', () => {
    const driver = atApproval();
    const request = driver.request('approve');
    driver.dispatch({ type: 'decided', request });
    const reading = readRequest(driver.state, JSON.parse(JSON.stringify(versioned(request))));
    expect(reading.kind).toBe('request');
    expect(
      validateDecision(driver.state, reading.kind === 'request' ? reading.request : request),
    ).toMatchObject({
      counts: false,
      again: true,
    });
    driver.run();
    // Long after, too: the run has gone on meanwhile.
    expect(validateDecision(driver.state, request)).toMatchObject({ again: true });
    expect(decided(driver)).toBe(1);
  });

  test.each<[string, Partial<DecisionRequest>, boolean]>([
    ['the same answer of somebody else', { answer: 'approve' }, true],
    [
      'the same answer with its files in another order',
      { answer: 'approve', files: ['b.ts', 'a.ts'] },
      true,
    ],
    ['another answer', { answer: 'skip' }, false],
    ['the same answer for fewer files', { answer: 'approve', files: ['a.ts'] }, false],
  ])('resolved: %s', (_, more, again) => {
    const driver = atApproval();
    const { id } = driver.state.decision!;
    driver.say('approve');
    expect(
      validateDecision(driver.state, { ...driver.request('approve', id), ...more }),
    ).toMatchObject({
      counts: false,
      again,
    });
  });

  test.each<[string, () => StepDriver, Saying, Partial<DecisionRequest>, boolean]>([
    [
      'revise with the same note',
      atApproval,
      ['revise', { note: 'shorter' }],
      { note: 'shorter' },
      true,
    ],
    [
      'revise with another note',
      atApproval,
      ['revise', { note: 'shorter' }],
      { note: 'longer' },
      false,
    ],
    [
      'select of the same changes',
      atParts,
      ['select', { select: { 'a.ts': [1] } }],
      { select: { 'a.ts': [1] } },
      true,
    ],
    [
      'select of other changes',
      atParts,
      ['select', { select: { 'a.ts': [1] } }],
      { select: { 'a.ts': [2] } },
      false,
    ],
    [
      'another command',
      atTests,
      ['other', { set: { command: 'make' } }],
      { set: { command: 'just' } },
      false,
    ],
    ['retry with a limit', atFailed, 'retry', { set: { concurrency: 2 } }, false],
    ['retry with a hint', atFailed, 'retry', { note: 'in two' }, false],
  ])('resolved or answered for the file: %s', (_, made, said, more, again) => {
    const [answer] = typeof said === 'string' ? [said] : said;
    const driver = made();
    const { id, files } = driver.state.decision!;
    driver.say(said);
    expect(
      validateDecision(driver.state, { ...driver.request(answer, id), ...more }),
    ).toMatchObject({
      counts: false,
      again,
    });
    // While the decision still waits for the other file.
    if (files.length < 2 || typeof said === 'string' || answer === 'select') return;
    const partly = made();
    partly.say([answer, { ...said[1], files: ['a.ts'] }]);
    expect(partly.state.decision?.id).toBe(id);
    expect(
      validateDecision(partly.state, { ...partly.request(answer, id), ...more, files: ['a.ts'] }),
    ).toMatchObject({
      counts: false,
      again,
    });
  });

  test('a file named twice is answered once', () => {
    const driver = atApproval();
    driver.say(['skip', { files: ['a.ts', 'a.ts'] }]);
    expect(driver.state.pendingRecords).toMatchObject([{ files: ['a.ts'] }]);
    expect(driver.say(['skip', { files: ['a.ts'] }])).toMatch(/already/);
  });

  test('a short signal sent twice', () => {
    const driver = atApproval();
    const body = { decision: driver.state.decision?.id };
    for (const more of [{}, { files: ['a.ts'] }]) {
      const first = readShortSignal(driver.state, 'approve', { ...body, ...more });
      const second = readShortSignal(driver.state, 'approve', { ...body, ...more });
      expect(second).toEqual(first);
      expect(first.kind).toBe('request');
    }
  });

  test('a bare signal never counts, and is told the JSON to paste; abort may be bare', () => {
    for (const { state } of [atApproval(), revised()])
      for (const bare of [undefined, null, '', {}, 'approve', 17, { decision: 5 }])
        for (const answer of ['approve', 'skip', 'retry'] as const)
          expect(readShortSignal(state, answer, bare)).toMatchObject({
            kind: 'ignored',
            why: expect.stringContaining(`send {"decision": "${state.decision?.id}"}`),
          });
    for (const bare of [undefined, null, '', {}]) {
      expect(readShortSignal(revised().state, 'abort', bare)).toMatchObject({
        request: { decision: '' },
      });
      expect(readShortSignal(running().state, 'approve', bare)).toMatchObject({
        why: 'no decision is open',
      });
    }
  });

  test('`decide` without an id never counts either', () => {
    const driver = atApproval();
    const json = `{"decision": "${driver.state.decision?.id}"}`;
    expect(
      readRequest(driver.state, { v: VERSION, answer: 'approve', requestId: 'r' }),
    ).toMatchObject({
      kind: 'ignored',
      why: expect.stringContaining(json),
    });
  });

  test('what the caller is told', () => {
    const driver = atApproval();
    const before = driver.state;
    const partly = { ...driver.request('approve'), files: ['a.ts'] };
    driver.dispatch({ type: 'decided', request: partly });
    expect(outcomeOf(before, driver.state, partly)).toMatchObject({
      outcome: 'recorded',
      message: 'approve recorded; 1 file still needs an answer',
    });
    const rest = driver.request('approve');
    const open = driver.state;
    driver.dispatch({ type: 'decided', request: rest });
    expect(outcomeOf(open, driver.state, rest)).toMatchObject({
      outcome: 'resolved',
      decision: before.decision?.id,
    });
  });

  test('an abort that work under way puts off is told as what it does, not as an answer for some files', () => {
    const driver = atApproval();
    const { state } = driver;
    expect(outcomeOf(state, state, driver.request('abort'))).toEqual({
      outcome: 'resolved',
      decision: state.decision?.id,
      message: 'abort: end the run and roll back uncommitted changes',
    });
  });

  test('who, when, from where and why are kept', () => {
    const driver = atApproval();
    driver.say(['approve', { files: ['a.ts'], note: 'fine' }]);
    driver.say('skip');
    expect(driver.state.resolved).toMatchObject([
      {
        reason: 'approval',
        answers: [
          {
            answer: 'approve',
            files: ['a.ts'],
            note: 'fine',
            by: { name: 'ann', from: 'cli' },
            at: expect.any(Number),
          },
          { answer: 'skip', files: ['b.ts'], note: null, by: { name: 'ann', from: 'cli' } },
        ],
      },
    ]);
  });
});
