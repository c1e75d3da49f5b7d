/** A model that is down: one call at a time, longer and longer waits, one question; a person may have the next try at once. */
import { describe, expect, test } from '@jest/globals';
import { readMessage } from '../../../src/shared/messages.js';
import { judge, validateDecision } from '../../../src/shared/validate-decision.js';
import { detailsOf, ledgerOf, statusOf } from '../../../src/workflows/step/views.js';
import { inOrder, play, StepDriver, type Case } from './step-driver.js';

const files = ['a.ts', 'b.ts', 'c.ts'];
const many = (count: number): readonly string[] => Array.from({ length: count }, () => 'down');

describe('the waits', () => {
  test.each<Case>([
    {
      name: 'it comes back: nobody is asked, and the other files wait for it',
      files,
      words: { propose: { 'a.ts': many(3) } },
      effects:
        'preflight > propose a.ts > wait 10 > propose a.ts > wait 20 > propose a.ts > wait 40 > propose a.ts > propose b.ts > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'half an hour at most, then one question for all that is open',
      files,
      words: { propose: { 'b.ts': many(99) } },
      effects: [
        'preflight > propose a.ts > propose b.ts',
        ...[10, 20, 40, 80, 160, 300, 300, 300, 300, 290].map((s) => `wait ${s} > propose b.ts`),
        'ask model_unavailable b.ts,c.ts',
      ].join(' > '),
    },
    {
      name: 'the answer of a person begins anew, with the same draw',
      files: ['a.ts'],
      words: { propose: ['down>401', 'down', 'edited'] },
      decisions: ['retry'],
      effects:
        'preflight > propose * > ask model_unavailable a.ts > say retry > propose * > wait 10 > propose * > build > ask approval a.ts',
    },
    {
      name: 'what is done goes on without the rest',
      files,
      words: { propose: { 'b.ts': ['down>401'] } },
      decisions: ['skip', 'approve'],
      effects:
        'preflight > propose a.ts > propose b.ts > ask model_unavailable b.ts,c.ts > say skip > build > ask approval a.ts > say approve > apply a.ts > commit > committed',
    },
    {
      name: 'the wish of the server is kept',
      files: ['a.ts'],
      words: { propose: ['down>after:700', 'down>after:5'] },
      effects:
        'preflight > propose * > wait 700 > propose * > wait 20 > propose * > build > ask approval a.ts',
    },
    {
      name: 'a wish that is longer than all waits may be is asked about at once',
      files: ['a.ts'],
      words: { propose: ['down>after:1801'] },
      effects: 'preflight > propose * > ask model_unavailable a.ts',
    },
    {
      name: 'an address that nobody answers at is asked about before the first answer, and waited for after it',
      files,
      words: {
        propose: { 'a.ts': ['down>unreached', 'edited'], 'b.ts': ['down>unreached', 'edited'] },
      },
      decisions: ['retry'],
      effects:
        'preflight > propose a.ts > ask model_unavailable a.ts,b.ts,c.ts > say retry > propose a.ts > propose b.ts > wait 10 > propose b.ts > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'side by side: one outage, one wait, one call to try it with',
      files,
      limits: { concurrency: 3 },
      words: { propose: { 'a.ts': many(2), 'b.ts': many(1), 'c.ts': many(1) } },
      effects:
        'preflight > propose a.ts + b.ts + c.ts > wait 8 > propose a.ts > wait 20 > propose a.ts > propose b.ts + c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'tries are no calls of maxTotalChunks',
      files: ['a.ts'],
      limits: { maxTotalChunks: 1 },
      words: { propose: many(3) },
      effects:
        'preflight > propose * > wait 10 > propose * > wait 20 > propose * > wait 40 > propose * > build > ask approval a.ts',
    },
    {
      name: 'calls that are cut off, too, do not make it try the next file at once and for ever',
      files,
      words: { propose: { 'a.ts': ['down', 'call_lost'], 'b.ts': ['down', 'edited'] } },
      effects:
        'preflight > propose a.ts > wait 10 > propose a.ts > propose b.ts > wait 20 > propose b.ts > propose c.ts > build > ask call_lost a.ts',
    },
    {
      name: 'the brief waits as well',
      files,
      ready: { briefWanted: true },
      words: { brief: ['down'] },
      effects:
        'preflight > brief > wait 10 > brief > propose a.ts > propose b.ts > propose c.ts > build > ask approval a.ts,b.ts,c.ts',
    },
    {
      name: 'and picking files',
      files: ['a.ts'],
      words: { preflight: ['pick'], pick: ['down'] },
      effects:
        'preflight > pick > wait 10 > pick > preflight 2 > propose * > build > ask approval a.ts',
    },
  ])('$name', ({ effects, ...it }) => {
    const driver = play(it);
    expect(driver.trace.join(' > ')).toBe(effects);
  });
});

describe('while it waits', () => {
  const waiting = (): StepDriver => {
    const driver = new StepDriver({ files }, inOrder({ propose: { 'a.ts': many(2) } }));
    while (driver.next() !== 'back_off') driver.step();
    return driver;
  };

  test('status, ledger and details say what the server said and when the next try comes', () => {
    const { state, now } = waiting();
    const { outage, doing, decision, state: shown } = statusOf(state);
    expect([decision, shown]).toEqual([null, 'running']);
    expect(outage).toMatchObject({ message: 'Overloaded', tries: 1, next: now + 10_000 });
    const time = new Date(now + 10_000).toISOString().slice(11, 19);
    const texts = [doing, ledgerOf(state)[0]?.reason, detailsOf(state)];
    for (const text of texts)
      for (const part of ['Overloaded', `${time} UTC`, outage!.id]) expect(text).toContain(part);
    expect(ledgerOf(state)[1]?.reason).toBeNull();
  });

  test('retry by the id of the wait: the try comes at once, the waits begin anew, nothing is approved by it', () => {
    const driver = waiting();
    driver.step();
    driver.step();
    expect(driver.next()).toBe('back_off');
    const { id } = driver.state.outage!;
    expect(driver.say(['retry', { decision: id }])).toBeNull();
    expect([driver.next(), driver.state.resolved, driver.state.decision]).toEqual([
      'propose',
      [],
      null,
    ]);
    expect(driver.state.outage).toMatchObject({ tries: 0, waited_ms: 0 });
  });

  test('no other word counts, nor that of a wait that is over', () => {
    const driver = waiting();
    const { id } = driver.state.outage!;
    expect(driver.say(['approve', { decision: id }])).toContain('retry, abort');
    expect(driver.say(['retry', { decision: id, set: { budget_tokens: 1 } }])).toContain(
      'no files, note or settings',
    );
    expect(driver.say('retry')).toContain('no decision is open');
    driver.step();
    driver.step();
    expect(driver.state.outage!.id).not.toBe(id);
    expect(driver.say(['retry', { decision: id }])).toContain('no decision is open');
    expect(validateDecision(driver.state, driver.request('abort', ''))).toEqual({ counts: true });
    driver.abort();
    expect(driver.outcome).toBe('aborted');
  });

  test('`retry` needs no id: alone, or with the reason that all waits for a model have', () => {
    const { state } = waiting();
    const { id } = state.outage!;
    for (const body of [undefined, {}, id, { reason: 'model_unavailable' }])
      expect(judge(state, readMessage('retry', body))).toMatchObject({
        kind: 'counts',
        request: { answer: 'retry', decision: id },
      });
    expect(judge(state, readMessage('retry', { reason: 'declined' }))).toMatchObject({
      kind: 'refused',
      message: `the run waits for model_unavailable, not for declined: send {"decision": "${id}"}`,
    });
    expect(judge(state, readMessage('skip', undefined))).toMatchObject({
      message: 'skip is not an answer to a wait; answers are: retry, abort',
    });
  });

  test('a clock that is set back does not make the wait longer', () => {
    const driver = waiting();
    driver.now -= 86_400_000;
    driver.dispatch({ type: 'waited' });
    expect(driver.next()).toBe('propose');
  });
});
