/** Which answers count: every refusal with its words, and what counts once however often it comes. */
import { describe, expect, test } from '@jest/globals';
import { judge, validateDecision, outcomeOf } from '../../src/shared/validate-decision.js';
import type { DecisionRequest } from '../../src/shared/decisions.js';
import { BOUNDS, LIMITS } from '../../src/shared/limits.js';
import { versioned } from '../../src/shared/problems.js';
import { currentRules } from '../../src/shared/rules.js';
import { readMessage, type MessageName } from '../../src/shared/messages.js';
import { play, type Saying, type StepDriver } from '../workflows/step/step-driver.js';

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

/** What becomes of a message that is sent now, as a signal or as the update `updateId`. */
const sent = (driver: StepDriver, name: MessageName, body?: unknown, updateId?: string) =>
  judge(driver.state, readMessage(name, body, updateId));

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
  expect(judged({}, 'longer')).toMatchObject({
    message: 'the note has 6 bytes; at most 4 are allowed',
  });
});

describe('refused, with the reason', () => {
  test.each<[string, () => StepDriver, Saying, RegExp]>([
    [
      'an unknown id',
      atApproval,
      ['approve', { decision: '9-feedc0de' }],
      /^decision 9-feedc0de is not open; open is 1-feedc0de-/,
    ],
    ['no id', atApproval, ['approve', { decision: '' }], /^it must name the decision you saw$/],
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
      /^the note has \d+ bytes/,
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

describe('messages', () => {
  const BARE = [undefined, null, '', {}];

  test('an abort counts whatever its note is, which is cut before it enters the state', () => {
    const verdict = sent(atApproval(), 'abort', { note: 'x'.repeat(1_000_000) });
    expect(verdict).toMatchObject({ kind: 'counts' });
    expect(JSON.stringify(verdict).length).toBeLessThan(10_000);
  });

  test('approve and revise must name the decision, and a refusal has the body that counts', () => {
    for (const driver of [atApproval(), revised()])
      for (const [name, more] of [
        ['approve', ''],
        ['revise', ', "note": "…"'],
      ] as const) {
        const { id = '' } = driver.state.decision ?? {};
        for (const body of [...BARE, 17, [], { decision: 5 }, { decison: id }, { decision: 'x' }]) {
          const verdict = sent(driver, name, body);
          expect(verdict).toMatchObject({
            kind: 'refused',
            message: expect.stringMatching(`: send {"decision": "${id}"${more}}$`),
          });
        }
        const text = `{"decision": "${id}"${more}}`;
        expect(sent(driver, name, JSON.parse(text))).toMatchObject({ kind: 'counts' });
      }
  });

  test('the id alone is a body', () => {
    for (const name of ['approve', 'skip', 'abort'] as const) {
      const driver = atApproval();
      const { id = '' } = driver.state.decision ?? {};
      expect(sent(driver, name, id)).toMatchObject({
        kind: 'counts',
        request: { answer: name, decision: id },
      });
      expect(sent(driver, name, `${id}0`)).toMatchObject({ kind: 'refused' });
    }
  });

  test('skip and retry without an id count for the one open decision, and for no other', () => {
    for (const [name, driver] of [
      ['skip', atApproval()],
      ['retry', atFailed()],
    ] as const) {
      for (const body of BARE)
        expect(sent(driver, name, body)).toMatchObject({
          kind: 'counts',
          request: { answer: name, decision: driver.state.decision?.id },
        });
      expect(sent(driver, name, { decision: '9-feedc0de' })).toMatchObject({ kind: 'refused' });
      expect(sent(running(), name)).toMatchObject({
        kind: 'refused',
        message: 'no decision is open; see `emend show`',
      });
    }
    expect(sent(atApproval(), 'retry')).toMatchObject({
      message: expect.stringMatching(/^retry is not an answer to approval; answers are: approve/),
    });
    expect(sent(atApproval(), 'answer', { answer: 'skip' })).toMatchObject({ kind: 'counts' });
    expect(sent(atApproval(), 'answer', { answer: 'approve' })).toMatchObject({ kind: 'refused' });
  });

  test('abort counts whatever its body says, unless it names another decision', () => {
    for (const driver of [atApproval(), running(), atFailed()])
      for (const body of [...BARE, { reason: 'a mistake' }, { files: 3, note: 5 }])
        expect(sent(driver, 'abort', body)).toMatchObject({ kind: 'counts' });
    expect(sent(atApproval(), 'abort', { decision: '9-feedc0de' })).toMatchObject({
      kind: 'refused',
    });
    expect(sent(closed(), 'abort')).toMatchObject({ message: 'the run has ended: skipped' });
  });

  test('retry with a reason counts if the run waits for that reason', () => {
    const driver = atFailed();
    expect(sent(driver, 'retry', { reason: 'declined' })).toMatchObject({ kind: 'counts' });
    expect(sent(driver, 'retry', { reason: 'model_unavailable' })).toMatchObject({
      kind: 'refused',
      message: `the run waits for declined, not for model_unavailable: send {"decision": "${driver.state.decision?.id}"}`,
    });
    expect(sent(running(), 'retry', { reason: 'declined' })).toMatchObject({ kind: 'refused' });
  });

  test('a body without `v` is ours; one with another `v` is not', () => {
    const driver = atApproval();
    const body = { decision: driver.state.decision?.id, answer: 'skip' };
    expect(sent(driver, 'answer', body)).toMatchObject({ kind: 'counts' });
    expect(sent(driver, 'answer', versioned(body))).toMatchObject({ kind: 'counts' });
    expect(sent(driver, 'answer', { ...body, v: 3 })).toMatchObject({
      message: expect.stringMatching(/^The answer has version 3/),
    });
    expect(sent(driver, 'abort', { v: 3 })).toMatchObject({ kind: 'refused' });
  });

  test.each([
    ['files', 3, 'a list of paths'],
    ['note', 5, 'a text'],
    ['set', [], 'an object of limits'],
    ['select', { 'a.ts': ['1'] }, 'an object: a list of change numbers by path'],
    ['signed', { at: 'now' }, '{"at": "…", "signature": "…"}'],
    ['by', 7, 'a name, or {"name": "…", "from": "…"}'],
    ['requestId', '', 'a text that is not empty'],
  ])('a wrong %s is refused and named', (field, value, expected) => {
    const driver = atApproval();
    const body = { decision: driver.state.decision?.id, answer: 'skip', [field]: value };
    expect(sent(driver, 'answer', body)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(`${field} must be ${expected}: send {`),
    });
  });

  test("an unknown field is refused in a typed body, and no matter in a program's", () => {
    const driver = atApproval();
    const body = { decision: driver.state.decision?.id, reson: 'x' };
    expect(sent(driver, 'skip', body)).toMatchObject({
      message: expect.stringMatching(/^"reson" is not a field of `skip`; fields are: v, decision,/),
    });
    expect(sent(driver, 'skip', versioned(body))).toMatchObject({ kind: 'counts' });
  });

  test('the sender is a name, or a name with its origin', () => {
    const driver = atApproval();
    const byOf = (by?: unknown): unknown => {
      const verdict = sent(driver, 'skip', by === undefined ? {} : { by });
      return verdict.kind === 'counts' ? verdict.request.by : verdict;
    };
    expect(byOf()).toEqual({ name: 'someone', from: 'signal' });
    expect(byOf('ada')).toEqual({ name: 'ada', from: 'signal' });
    expect(byOf({ name: 'ada', from: 'bot' })).toEqual({ name: 'ada', from: 'bot' });
  });
});

describe('counts once', () => {
  const decided = (driver: StepDriver): number =>
    driver.state.events.filter((event) => event.type === 'decided').length;

  test('the same request by update and by signal', () => {
    const driver = atApproval();
    const request = driver.request('approve');
    driver.dispatch({ type: 'decided', request });
    const again = JSON.parse(JSON.stringify(versioned(request))) as unknown;
    expect(sent(driver, 'answer', again)).toMatchObject({ kind: 'again' });
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
  ])('resolved or answered for the file: %s', (_, made, saying, more, again) => {
    const [answer] = typeof saying === 'string' ? [saying] : saying;
    const driver = made();
    const { id, files } = driver.state.decision!;
    driver.say(saying);
    expect(
      validateDecision(driver.state, { ...driver.request(answer, id), ...more }),
    ).toMatchObject({
      counts: false,
      again,
    });
    // While the decision still waits for the other file.
    if (files.length < 2 || typeof saying === 'string' || answer === 'select') return;
    const partly = made();
    partly.say([answer, { ...saying[1], files: ['a.ts'] }]);
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

  test.each([
    ['as it is', {}],
    ['for one file', { files: ['a.ts'] }],
    ['with a note', { note: 'good' }],
  ])('a signal sent twice, %s: its id follows from decision and content', (_, more) => {
    const driver = atApproval();
    const body = { decision: driver.state.decision?.id, ...more };
    const first = sent(driver, 'approve', body);
    expect(first).toMatchObject({ kind: 'counts' });
    expect(sent(driver, 'approve', body)).toEqual(first);
    expect(sent(driver, 'approve', { ...body, note: 'other words' })).not.toEqual(first);
    if (first.kind !== 'counts') return;
    driver.dispatch({ type: 'decided', request: first.request });
    expect(sent(driver, 'approve', body)).toMatchObject({ kind: 'again' });
    expect(decided(driver)).toBe(1);
  });

  test('an update without a request id has the id of the update', () => {
    expect(sent(atApproval(), 'approve', atApproval().state.decision?.id, 'typed')).toMatchObject({
      kind: 'counts',
      request: { requestId: 'typed', by: { from: 'update' } },
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
