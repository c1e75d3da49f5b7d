/** Ends before the end: abort at every stage, activities that fail for good, hosts and blobs that are gone. */
import { describe, expect, test } from '@jest/globals';
import { nextEffect } from '../../../src/workflows/step/stages/index.js';
import {
  ACTIVITY,
  inOrder,
  play,
  StepDriver,
  type Case,
  type Saying,
  type Words,
} from './step-driver.js';

const TESTED = { test: { commands: ['npm test'], found: null } };
const check = (it: Case): void => {
  expect(play(it).trace.join(' > ')).toBe(it.effects);
};

/** One long run through every stage, to be aborted before and during each of its moves. */
const LONG = {
  files: ['a.ts', 'b.ts'],
  ready: { ...TESTED, briefWanted: true },
  words: {
    preflight: ['pick'],
    pick: ['picked:a.ts,b.ts'],
    apply: ['busy', 'conflict:b.ts'],
    verify: ['fail:x'],
    commit: ['conflict'],
  } satisfies Words,
  decisions: [
    'approve',
    'rebase',
    'approve',
    'approve',
    'regenerate',
    'approve',
    'regenerate',
    'approve',
  ] satisfies Saying[],
};
const drive = (): { driver: StepDriver; next: () => string | null } => {
  const driver = new StepDriver(LONG, inOrder(LONG.words));
  const decisions: Saying[] = [...LONG.decisions];
  /** One move or one answer; null at the end. */
  const next = (): string | null => {
    const move = nextEffect(driver.state, driver.now);
    if (move.kind === 'finish') return null;
    if (move.kind === 'await_decision') {
      const saying = decisions.shift();
      if (saying === undefined)
        throw new Error(`no answer left for ${driver.state.decision?.reason ?? ''}`);
      expect(driver.say(saying)).toBeNull();
      return 'say';
    }
    driver.step();
    return move.kind;
  };
  return { driver, next };
};
const lengthOf = (): number => {
  const { next } = drive();
  let count = 0;
  while (next() !== null) count += 1;
  return count;
};

describe('abort', () => {
  test('the long run goes through every kind of move and ends committed', () => {
    const { driver, next } = drive();
    const seen = new Set<string>();
    for (let kind = next(); kind !== null; kind = next()) seen.add(kind);
    expect([...seen].sort()).toEqual(
      [
        'apply',
        'brief',
        'commit',
        'pause',
        'pick',
        'preflight',
        'propose',
        'rebase',
        'roll_back',
        'say',
        'build',
        'verify',
        'wait',
      ].sort(),
    );
    expect(driver.outcome).toBe('committed');
  });

  const positions = Array.from({ length: lengthOf() }, (_, index) => index);
  test.each(['before', 'during'] as const)(
    '%s every move: rolled back exactly when something is applied but not committed',
    (when) => {
      for (const at of positions) {
        const { driver, next } = drive();
        for (let count = 0; count < at; count += 1) next();
        const move = nextEffect(driver.state, driver.now);
        if (when === 'during') {
          if (move.kind === 'await_decision') continue;
          driver.abortDuringNext();
          driver.step();
        } else driver.abort();
        const committed = driver.state.commit !== null;
        const applied = driver.state.applied.all.length > 0;
        const trace: string[] = [];
        const from = driver.trace.length;
        expect(driver.run()).toBe('closed');
        trace.push(...driver.trace.slice(from));
        const what = `${when} move ${at} (${move.kind})`;
        expect({ what, outcome: driver.outcome }).toEqual({
          what,
          outcome: committed ? 'committed' : 'aborted',
        });
        expect({ what, trace }).toEqual({
          what,
          trace: applied && !committed ? ['roll_back'] : [],
        });
        expect({ what, left: driver.world.uncommitted() }).toEqual({ what, left: [] });
        expect(driver.state.abortedBy === null).toBe(committed);
      }
    },
  );

  test('an open decision is resolved by it, with who and why; what was answered before is kept and not carried on', () => {
    const driver = play({ files: ['a.ts', 'b.ts'], decisions: [['approve', { files: ['a.ts'] }]] });
    expect(driver.say(['abort', { note: 'wrong branch' }])).toBeNull();
    const [resolved] = driver.state.resolved;
    expect(resolved?.answers.map(({ answer, note, by }) => [answer, note, by.name])).toEqual([
      ['approve', null, 'ann'],
      ['abort', 'wrong branch', 'ann'],
    ]);
    expect(driver.state.pendingRecords).toEqual([]);
    expect(driver.state).toMatchObject({ stage: { outcome: 'aborted' }, abortedBy: 'ann (cli)' });
  });

  test('a cancel in the UI equals abort', () => {
    const driver = play({ decisions: ['approve'], ready: TESTED, words: { verify: ['fails'] } });
    driver.dispatch({ type: 'abort', by: 'cancel request' });
    expect(driver.run()).toBe('closed');
    expect(driver.trace.slice(-1)).toEqual(['roll_back']);
    expect(driver.state).toMatchObject({
      stage: { outcome: 'aborted' },
      abortedBy: 'cancel request',
    });
  });
});

describe('picking', () => {
  test.each<Case>([
    {
      name: 'a model picks the files where the job names none',
      files: ['a.ts', 'b.ts'],
      words: { preflight: ['pick'], pick: ['picked:b.ts'] },
      effects: 'preflight > pick > preflight 2 > propose * > build > ask approval b.ts',
    },
    {
      name: 'asked for again with a new draw; nothing to do by hand before the files are known',
      words: { preflight: ['pick'], pick: ['declined', 'declined'] },
      decisions: ['manual', 'retry', 'skip'],
      effects:
        'preflight > pick > ask declined > say manual > no: manual is not an answer to declined; answers are: retry, skip, abort > ' +
        'say retry > pick#2 > ask declined > say skip > skipped',
    },
    {
      name: 'files that were picked and lead nowhere are a decision, not a loop',
      words: { preflight: ['pick', 'pick'] },
      effects: 'preflight > pick > preflight 2 > ask engine_failed',
    },
    { name: 'refused', words: { preflight: ['refused'] }, effects: 'preflight > refused' },
  ])('$name', check);
});

describe('hosts and blobs that are gone', () => {
  const A = 'preflight > propose * > build';
  const GO = `${A} > ask approval a.ts > say approve > apply a.ts`;
  test.each<Case>([
    {
      name: 'workspace_unreachable at preflight: wait asks again',
      words: { preflight: ['fails:workspace_unreachable', 'fails:workspace_unreachable'] },
      decisions: ['wait', 'wait'],
      effects:
        'preflight > ask workspace_unreachable > say wait > preflight > ask workspace_unreachable > say wait > preflight > propose * > build > ask approval a.ts',
    },
    {
      name: 'workspace_unreachable at apply: wait applies, abort has nothing to roll back',
      words: { apply: ['fails:workspace_unreachable', 'fails:workspace_unreachable'] },
      decisions: ['approve', 'wait', 'abort'],
      effects: `${GO} > ask workspace_unreachable > say wait > apply a.ts > ask workspace_unreachable > say abort > aborted`,
    },
    {
      name: 'a commit that was made by an activity that failed for good is not rolled back: abort ends committed',
      ready: { commitMessage: 'Change' },
      words: { commit: ['late'] },
      decisions: ['approve', 'abort'],
      effects: `${GO} > commit > ask engine_failed > say abort > roll_back > committed`,
    },
    {
      name: 'workspace_unreachable at roll_back: wait rolls back',
      ready: TESTED,
      words: { verify: ['fails'], roll_back: ['fails:workspace_unreachable'] },
      decisions: ['approve', 'abort', 'wait'],
      effects: `${GO} > verify > ask engine_failed > say abort > roll_back > ask workspace_unreachable > say wait > roll_back > aborted`,
    },
    {
      name: 'workspace_unreachable at verify: abort ends without the host and rolls nothing back',
      ready: TESTED,
      words: { verify: ['fails:workspace_unreachable'] },
      decisions: ['approve', 'abort'],
      effects: `${GO} > verify > ask workspace_unreachable > say abort > aborted`,
    },
    {
      name: 'workspace_unreachable at verify: move applies and tests in the new place what was approved',
      ready: TESTED,
      words: { verify: ['fails:workspace_unreachable'] },
      decisions: ['approve', ['move', { set: { host: 'b'.repeat(32), workspace: '/there' } }]],
      effects: `${GO} > verify > ask workspace_unreachable > say move > apply a.ts > verify > commit > committed`,
    },
    {
      name: 'workspace_unreachable at commit: move to a repository applies and tests in the checkout, then commits',
      ready: { ...TESTED, commitMessage: 'Change', head: 'c'.repeat(40) },
      words: { commit: ['fails:workspace_unreachable'] },
      decisions: [
        'approve',
        'move',
        ['move', { set: { repository: 'https://example.org/x.git' } }],
      ],
      effects: `${GO} > verify > commit > ask workspace_unreachable > say move > no: move needs a place, set.host (and set.workspace) or set.repository; type: emend move RUN --to DIR > say move > apply a.ts > verify > commit > committed`,
    },
    {
      name: 'workspace_unreachable at roll_back: move has nothing to put back in the new place',
      ready: TESTED,
      words: { verify: ['fails'], roll_back: ['fails:workspace_unreachable'] },
      decisions: ['approve', 'abort', ['move', { set: { host: 'b'.repeat(32) } }]],
      effects: `${GO} > verify > ask engine_failed > say abort > roll_back > ask workspace_unreachable > say move > aborted`,
    },
    {
      name: 'workspace_unreachable at roll_back: a second abort ends without the host',
      ready: TESTED,
      words: { verify: ['fails'], roll_back: ['fails:workspace_unreachable'] },
      decisions: ['approve', 'abort', 'abort'],
      effects: `${GO} > verify > ask engine_failed > say abort > roll_back > ask workspace_unreachable > say abort > aborted`,
    },
    {
      name: 'a chunk whose host is gone is asked for the same way after wait',
      files: ['a.ts', 'b.ts'],
      words: { propose: { 'a.ts': ['fails:workspace_unreachable'] } },
      decisions: ['wait'],
      effects:
        'preflight > propose a.ts > propose b.ts > ask workspace_unreachable a.ts > say wait > propose a.ts > build > ask approval b.ts,a.ts',
    },
    {
      name: 'blob_lost in a chunk: everything anew, with new answers',
      words: { propose: ['fails:blob_lost'] },
      decisions: ['regenerate'],
      effects:
        'preflight > propose * > ask blob_lost a.ts > say regenerate > preflight 2 > propose *#2 > build > ask approval a.ts',
    },
    {
      name: 'blob_lost at build: the lost answer is not looked for again',
      files: ['a.ts', 'b.ts'],
      words: { build: ['fails:blob_lost'] },
      decisions: ['regenerate'],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask blob_lost > say regenerate > preflight 2 > propose a.ts#2 > propose b.ts#2 > build > ask approval a.ts,b.ts',
    },
    {
      name: 'blob_lost after an apply: rolled back before a new base is taken',
      ready: TESTED,
      words: { verify: ['fails:blob_lost'] },
      decisions: ['approve', 'regenerate'],
      effects: `${GO} > verify > ask blob_lost > say regenerate > roll_back > preflight 2 > propose *#2 > build > ask approval a.ts`,
    },
    {
      name: 'blob_lost: what a person left out stays out',
      files: ['a.ts', 'b.ts'],
      words: { propose: { 'a.ts': ['declined'] }, apply: ['fails:blob_lost'] },
      decisions: [['skip', { files: ['a.ts'] }], 'approve', 'regenerate'],
      effects:
        'preflight > propose a.ts > propose b.ts > build > ask declined a.ts > say skip a.ts > ask approval b.ts > say approve > apply b.ts > ask blob_lost > say regenerate > preflight 2 > propose b.ts#2 > build > ask approval b.ts',
    },
  ])('$name', check);
});

describe('an activity that fails for good asks, and retry does it again', () => {
  const TWO = ['a.ts', 'b.ts'];
  const AT: Record<string, { words?: Words; decisions?: Saying[]; ready?: Case['ready'] }> = {
    preflight: {},
    pick: { words: { preflight: ['pick'] } },
    brief: { ready: { briefWanted: true } },
    propose: {},
    build: {},
    apply: { decisions: ['approve'] },
    rebase: { words: { apply: ['base_changed:a.ts'] }, decisions: ['approve', 'rebase'] },
    verify: { decisions: ['approve'], ready: TESTED },
    roll_back: { decisions: ['approve'], ready: TESTED, words: { verify: ['fail:x'] } },
    commit: { decisions: ['approve'] },
  };
  test.each(Object.keys(AT))('%s', (activity) => {
    const { words = {}, decisions = [], ready = {} } = AT[activity]!;
    const driver = play({
      files: TWO,
      ready,
      words: { ...words, [activity]: ['fails'] },
      decisions,
    });
    const model = ['pick', 'brief', 'propose'].includes(activity);
    expect(driver.state.decision).toMatchObject({
      reason: model ? 'model_unavailable' : 'engine_failed',
    });
    expect(driver.state.decision?.message).toContain('it broke');
    const before = driver.trace.length;
    expect(driver.say('retry')).toBeNull();
    driver.run();
    expect(driver.trace[before]).toMatch(new RegExp(`^${activity}`));
    expect(driver.state.decision?.reason ?? 'closed').toMatch(/approval|closed/);
    expect(driver.state.events.filter((event) => event.type === 'activity_failed')).toMatchObject([
      { activity: ACTIVITY[activity] ?? activity },
    ]);
  });
});
