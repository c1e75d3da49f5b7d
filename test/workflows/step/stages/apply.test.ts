/** From the proposal to the commit, with every answer on the way: each row is a case. */
import { describe, expect, test } from '@jest/globals';
import { play, StepDriver, inOrder, type Case, type Saying, type Words } from '../step-driver.js';

const TWO = ['a.ts', 'b.ts'];
const TESTED = { test: { commands: ['npm test'], found: null } };
const check = (it: Case): void => {
  expect(play(it).trace.join(' > ')).toBe(it.effects);
};
const A = 'preflight > propose * > build';
const AB = 'preflight > propose a.ts > propose b.ts > build';

describe('build', () => {
  test.each<Case>([
    {
      name: 'refused: the file is asked for again, told why, then a decision',
      words: { build: ['refused:a.ts', 'refused:a.ts'] },
      effects: `${A} > propose a.ts#2 told > build > ask attempts_exhausted a.ts`,
    },
    {
      name: 'refused: only the files that it names',
      files: TWO,
      words: { build: ['refused:b.ts'] },
      effects: `${AB} > propose b.ts#2 told > build > ask approval a.ts,b.ts`,
    },
    {
      name: 'refused without a file that could be asked for again is a decision, not a loop',
      words: { build: ['refused:moved.ts', 'refused:moved.ts'] },
      decisions: ['retry'],
      effects: `${A} > ask engine_failed > say retry > build > ask engine_failed`,
    },
    {
      name: 'refused: what a person wrote is not asked of the model',
      ready: { overEstimate: ['too much'] },
      words: { build: ['touch:a.ts;refused:a.ts'] },
      decisions: ['manual'],
      effects: 'preflight > ask estimate > say manual > build > ask engine_failed a.ts',
    },
    { name: 'empty', words: { build: ['empty'] }, effects: `${A} > unchanged` },
    {
      name: 'its activity fails: retry builds again',
      words: { build: ['fails'] },
      decisions: ['retry'],
      effects: `${A} > ask engine_failed > say retry > build > ask approval a.ts`,
    },
    {
      name: 'its activity fails: skip',
      words: { build: ['fails'] },
      decisions: ['skip'],
      effects: `${A} > ask engine_failed > say skip > skipped`,
    },
  ])('$name', check);
});

describe('review', () => {
  const APPLIED = 'apply a.ts > commit > committed';
  test.each<Case>([
    {
      name: 'approved after a reset, and older than the commit of the run: no tests, the commit is found',
      ready: TESTED,
      words: { apply: ['already_committed'] },
      decisions: ['approve'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > commit > committed`,
    },
    {
      name: 'approved after a reset of a run that wants no commit any more',
      ready: { commitMessage: null },
      words: { apply: ['already_committed'] },
      decisions: ['approve'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > unchanged`,
    },
    {
      name: 'ask',
      decisions: ['approve'],
      effects: `${A} > ask approval a.ts > say approve > ${APPLIED}`,
    },
    { name: 'auto', ready: { approval: 'auto' }, effects: `${A} > approve_by_policy > ${APPLIED}` },
    {
      name: 'auto, but a person must look',
      ready: { approval: 'auto' },
      mustAsk: ['package.json is protected'],
      decisions: ['approve'],
      effects: `${A} > ask approval a.ts > say approve > ${APPLIED}`,
    },
    {
      name: 'skip all',
      files: TWO,
      decisions: ['skip'],
      effects: `${AB} > ask approval a.ts,b.ts > say skip > skipped`,
    },
    {
      name: 'apply starts when every file has its verdict',
      files: TWO,
      decisions: [
        ['approve', { files: ['b.ts'] }],
        ['skip', { files: ['a.ts'] }],
      ],
      effects: `${AB} > ask approval a.ts,b.ts > say approve b.ts > say skip a.ts > apply b.ts > commit > committed`,
    },
    {
      name: 'approve alone covers the rest',
      files: TWO,
      decisions: [['skip', { files: ['a.ts'] }], 'approve'],
      effects: `${AB} > ask approval a.ts,b.ts > say skip a.ts > say approve > apply b.ts > commit > committed`,
    },
    {
      name: 'the first verdict on a file stands',
      files: TWO,
      decisions: [['skip', { files: ['a.ts'] }], ['approve', { files: ['a.ts'] }], 'approve'],
      effects: `${AB} > ask approval a.ts,b.ts > say skip a.ts > say approve a.ts > no: a.ts is already answered: skip; the first answer counts > say approve > apply b.ts > commit > committed`,
    },
    {
      name: 'revise: from the original, with the note and the rejected edit; a verdict on the same bytes stands',
      files: TWO,
      decisions: [
        ['approve', { files: ['b.ts'] }],
        ['revise', { files: ['a.ts'], note: 'make it four' }],
        'approve',
      ],
      effects:
        `${AB} > ask approval a.ts,b.ts > say approve b.ts > say revise a.ts > propose a.ts#2 told "make it four" > build > ` +
        'ask approval a.ts > say approve > apply a.ts,b.ts > commit > committed',
    },
    {
      name: 'revise that gives the approved bytes of nobody: the new ones are asked about',
      words: { propose: ['edited=1', 'edited=1'] },
      decisions: [['revise', { note: 'again' }], 'approve'],
      effects: `${A} > ask approval a.ts > say revise > propose a.ts#2 told "again" > build > ask approval a.ts > say approve > ${APPLIED}`,
    },
    {
      name: 'no commit asked for',
      ready: { commitMessage: null },
      decisions: ['approve'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > applied`,
    },
    {
      name: 'part of a file is taken and asked about again; what was approved stands',
      files: TWO,
      changes: 3,
      decisions: [
        ['approve', { files: ['b.ts'] }],
        ['select', { select: { 'a.ts': [1, 3] } }],
        'approve',
      ],
      effects:
        `${AB} > ask approval a.ts,b.ts > say approve b.ts > say select a.ts[1,3] > build > ` +
        'ask approval a.ts > say approve > apply a.ts,b.ts > commit > committed',
    },
    {
      name: 'a part of a part',
      changes: 3,
      decisions: [
        ['select', { select: { 'a.ts': [1, 3] } }],
        ['select', { select: { 'a.ts': [2] } }],
        'approve',
      ],
      effects: `${A} > ask approval a.ts > say select a.ts[1,3] > build > ask approval a.ts > say select a.ts[2] > build > ask approval a.ts > say approve > ${APPLIED}`,
    },
    {
      name: 'a part of one file while another is asked for again',
      files: TWO,
      changes: 3,
      decisions: [
        ['select', { select: { 'a.ts': [2] } }],
        ['revise', { files: ['b.ts'], note: 'make it four' }],
        'approve',
      ],
      effects:
        `${AB} > ask approval a.ts,b.ts > say select a.ts[2] > say revise b.ts > propose b.ts#2 told "make it four" > build > ` +
        'ask approval a.ts,b.ts > say approve > apply a.ts,b.ts > commit > committed',
    },
    {
      name: 'a part that is revised is asked for from the original, all of it',
      changes: 3,
      decisions: [['select', { select: { 'a.ts': [2] } }], ['revise', { note: 'x' }], 'approve'],
      effects: `${A} > ask approval a.ts > say select a.ts[2] > build > ask approval a.ts > say revise > propose a.ts#2 told "x" > build > ask approval a.ts > say approve > ${APPLIED}`,
    },
    {
      name: 'a part of files carried over to newer ones: the others stay carried over',
      files: TWO,
      changes: 3,
      words: { apply: ['base_changed:a.ts,b.ts'] },
      decisions: [
        'approve',
        'rebase',
        ['select', { select: { 'a.ts': [1] } }],
        'approve',
        'approve',
      ],
      effects:
        `${AB} > ask approval a.ts,b.ts > say approve > apply a.ts,b.ts > ask conflict a.ts,b.ts > say rebase > rebase > ask approval a.ts,b.ts > ` +
        'say select a.ts[1] > say approve > build > ask approval a.ts > say approve > apply a.ts,b.ts > commit > committed',
    },
    {
      name: 'a file named constructor is a file like any other',
      files: ['constructor', '__proto__', 'toString'],
      decisions: [['skip', { files: ['toString'] }], 'approve'],
      effects:
        'preflight > propose constructor > propose __proto__ > propose toString > build > ask approval constructor,__proto__,toString > ' +
        'say skip toString > say approve > apply constructor,__proto__ > commit > committed',
    },
  ])('$name', check);
});

describe('apply', () => {
  const ASKED = `${AB} > ask approval a.ts,b.ts > say approve > apply a.ts,b.ts`;
  test.each<Case>([
    {
      name: 'busy is waited for and told once',
      words: { apply: ['busy', 'busy'] },
      decisions: ['approve'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > wait > apply a.ts > wait > apply a.ts > commit > committed`,
    },
    {
      name: 'base_changed, rebase: reviewed again, then applied',
      files: TWO,
      words: { apply: ['base_changed:a.ts'] },
      decisions: ['approve', 'rebase', 'approve'],
      effects: `${ASKED} > ask conflict a.ts > say rebase > rebase > ask approval a.ts > say approve > apply a.ts,b.ts > commit > committed`,
    },
    {
      name: 'base_changed, regenerate: only that file gets a new base',
      files: TWO,
      words: { apply: ['base_changed:a.ts'] },
      decisions: ['approve', 'regenerate', 'approve'],
      effects: `${ASKED} > ask conflict a.ts > say regenerate > preflight 2 > propose a.ts > build > ask approval a.ts > say approve > apply a.ts,b.ts > commit > committed`,
    },
    {
      name: 'base_changed, take_theirs: the rest is applied',
      files: TWO,
      words: { apply: ['base_changed:a.ts'] },
      decisions: ['approve', 'take_theirs'],
      effects: `${ASKED} > ask conflict a.ts > say take_theirs > apply b.ts > commit > committed`,
    },
    {
      name: 'base_changed, take_theirs for all: nothing is left',
      words: { apply: ['base_changed:a.ts'] },
      decisions: ['approve', 'take_theirs'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > ask conflict a.ts > say take_theirs > skipped`,
    },
    {
      name: 'each file of a conflict has its own answer',
      files: TWO,
      words: { apply: ['base_changed:a.ts,b.ts'] },
      decisions: [
        'approve',
        ['regenerate', { files: ['a.ts'] }],
        ['take_theirs', { files: ['b.ts'] }],
        'approve',
      ],
      effects: `${ASKED} > ask conflict a.ts,b.ts > say regenerate a.ts > say take_theirs b.ts > preflight 2 > propose a.ts > build > ask approval a.ts > say approve > apply a.ts > commit > committed`,
    },
    {
      name: 'conflict: the others are on disk; take_theirs commits them',
      files: TWO,
      words: { apply: ['conflict:b.ts'] },
      decisions: ['approve', 'take_theirs'],
      effects: `${ASKED} > ask conflict b.ts > say take_theirs > commit > committed`,
    },
    {
      name: 'conflict, regenerate: a second application, one commit',
      files: TWO,
      words: { apply: ['conflict:b.ts'] },
      decisions: ['approve', 'regenerate', 'approve'],
      effects: `${ASKED} > ask conflict b.ts > say regenerate > preflight 2 > propose b.ts > build > ask approval b.ts > say approve > apply b.ts > commit > committed`,
    },
    {
      name: 'conflict, rebase: a second application',
      files: TWO,
      words: { apply: ['conflict:b.ts'] },
      decisions: ['approve', 'rebase', 'approve'],
      effects: `${ASKED} > ask conflict b.ts > say rebase > rebase > ask approval b.ts > say approve > apply b.ts > commit > committed`,
    },
    {
      name: 'conflict, rebase in conflict, regenerate',
      files: TWO,
      words: { apply: ['conflict:b.ts'], rebase: ['conflict:b.ts'] },
      decisions: ['approve', 'rebase', 'regenerate'],
      effects: `${ASKED} > ask conflict b.ts > say rebase > rebase > ask conflict b.ts > say regenerate > preflight 2 > propose b.ts > build > ask approval b.ts`,
    },
    {
      name: 'rebase in conflict, take_theirs for it: the others stand as approved',
      files: TWO,
      words: { apply: ['base_changed:b.ts'], rebase: ['conflict:b.ts'] },
      decisions: ['approve', 'rebase', 'take_theirs'],
      effects: `${ASKED} > ask conflict b.ts > say rebase > rebase > ask conflict b.ts > say take_theirs > apply a.ts > commit > committed`,
    },
    {
      name: 'rebase that leaves nothing to change',
      words: { apply: ['base_changed:a.ts'], rebase: ['empty'] },
      decisions: ['approve', 'rebase'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > ask conflict a.ts > say rebase > rebase > unchanged`,
    },
    {
      name: 'a full disk asks; retry applies',
      words: { apply: ['failed'] },
      decisions: ['approve', 'retry'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > ask engine_failed > say retry > apply a.ts > commit > committed`,
    },
    {
      name: 'a full disk asks; skip ends with nothing to roll back',
      words: { apply: ['failed'] },
      decisions: ['approve', 'skip'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > ask engine_failed > say skip > skipped`,
    },
    {
      name: 'an apply that never said whether it wrote is rolled back when the step ends',
      words: { apply: ['late'] },
      decisions: ['approve', 'abort'],
      effects: `${A} > ask approval a.ts > say approve > apply a.ts > ask engine_failed > say abort > roll_back > aborted`,
    },
    {
      name: 'a new base that is refused does not leave the first part applied',
      files: TWO,
      words: { apply: ['conflict:b.ts'], preflight: ['ready', 'refused'] },
      decisions: ['approve', 'regenerate'],
      effects: `${ASKED} > ask conflict b.ts > say regenerate > preflight 2 > roll_back > refused`,
    },
  ])('$name', check);

  test('the wait for a busy workspace grows, so that weeks of it do not fill a history', () => {
    const driver = new StepDriver(
      {},
      inOrder({ apply: Array.from({ length: 4000 }, () => 'busy') }),
    );
    driver.run();
    driver.say('approve');
    let waited_ms = 0;
    let tries = 0;
    const waits: number[] = [];
    expect(() => {
      for (;;) {
        driver.run(1);
        throw new Error('not reached');
      }
    }).toThrow(/still going/);
    while (waited_ms < 60 * 86_400_000) {
      driver.dispatch({
        type: 'applied',
        result: { outcome: 'busy', holder: 'feedbeef', since: 'now' },
      });
      tries += 1;
      const ms = driver.nextWait();
      waits.push(ms);
      waited_ms += ms;
      driver.dispatch({ type: 'waited' });
    }
    expect(waits.slice(0, 6)).toEqual([4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    // 60 days of it: some eight events a try, against the 51,200 at which the server ends a run.
    expect(tries * 8).toBeLessThan(40_000);
    expect(driver.state.events.filter((event) => event.type === 'apply_busy')).toHaveLength(1);
  });
});

describe('verify and roll_back', () => {
  test('the same bytes again: a person who is asked is told', () => {
    const again = {
      words: { propose: ['edited=1', 'edited=1', 'edited=2'], verify: ['fail:x', 'fail:y'] },
    };
    const ready = { ...TESTED, approval: 'ask' } as const;
    const driver = play({ ...again, ready, decisions: ['approve'] });
    const FIRST = `${A} > ask approval a.ts > say approve > apply a.ts > verify > roll_back`;
    expect(driver.trace.join(' > ')).toBe(
      `${FIRST} > propose a.ts#2 told > build > ask approval a.ts`,
    );
    expect(driver.state.decision?.message).toContain(
      'the proposal is ready, but the tests already failed with exactly these changes: 1 file',
    );
    // Other bytes are another matter.
    const other = play({ ...again, ready, decisions: ['approve', 'approve'] });
    expect(other.trace.at(-1)).toBe('ask approval a.ts');
    expect(other.state.decision?.message).toContain('the proposal is ready: 1 file');
  });

  test('the same bytes again under approval: auto: told where a person must look anyway', () => {
    const words = { propose: ['edited=1', 'edited=1'], verify: ['fail:x', 'fail:x'] };
    const ready = { ...TESTED, approval: 'auto' } as const;
    const ONCE = 'approve_by_policy > apply a.ts > verify > roll_back';
    expect(play({ words, ready }).trace.join(' > ')).toBe(
      `${A} > ${ONCE} > propose a.ts#2 told > build > ${ONCE} > ask tests_failed`,
    );
    const driver = play({ words, ready, mustAsk: ['a guard'], decisions: ['approve'] });
    expect(driver.state.decision?.message).toContain(
      'approval is auto, but a person must review: the tests already failed with exactly these changes; a guard: 1 file',
    );
  });

  const GO = `${A} > ask approval a.ts > say approve > apply a.ts`;
  const tested = (
    name: string,
    verify: readonly string[],
    decisions: readonly Saying[],
    effects: string,
    more: Partial<Case> = {},
    words: Words = {},
  ): Case => ({
    name,
    words: { ...words, verify },
    decisions: ['approve', ...decisions],
    effects: `${GO} > ${effects}`,
    ready: TESTED,
    ...more,
  });
  const AGAIN =
    'roll_back > propose a.ts#2 told > build > ask approval a.ts > say approve > apply a.ts';
  const THIRD =
    'roll_back > propose a.ts#3 told > build > ask approval a.ts > say approve > apply a.ts';
  const TRIED = 'approve_by_policy > apply a.ts > verify > roll_back';
  test.each<Case>([
    ...(['pass', 'pass_with_warnings', 'no_tests'] as const).map((word) =>
      tested(word, [word], [], 'verify > commit > committed'),
    ),
    tested(
      'the sandbox blocks a hook: retry',
      ['pass'],
      ['retry'],
      `verify > commit > ask sandbox_blocks_tests > say retry > commit > committed`,
      { words: { commit: ['sandbox_blocks', 'committed'] } },
    ),
    tested(
      'no sandbox: once is for the tests, and the hooks ask anew',
      ['no_sandbox', 'pass'],
      ['run_once', 'run_without'],
      `verify > ask sandbox_unavailable > say run_once > verify > commit > ask sandbox_unavailable > say run_without > commit > committed`,
      { words: { verify: ['no_sandbox', 'pass'], commit: ['no_sandbox', 'committed'] } },
    ),
    tested(
      'tests that changed the file: skip',
      ['changed_files'],
      ['skip'],
      'verify > ask tests_changed_files > say skip > roll_back > skipped',
    ),
    tested('pass, no commit asked for', ['pass'], [], 'verify > release > applied', {
      ready: { ...TESTED, commitMessage: null },
    }),
    tested(
      'a failure is rolled back and asked for again, told what the tests said',
      ['fail:x', 'pass'],
      ['approve'],
      `verify > ${AGAIN} > verify > commit > committed`,
    ),
    tested(
      'the same signature twice in a row is a decision',
      ['fail:x', 'fail:x'],
      ['approve'],
      `verify > ${AGAIN} > verify > roll_back > ask tests_failed`,
    ),
    tested(
      'another signature is another try, up to maxFailedVerifications',
      ['fail:x', 'fail:y', 'fail:z'],
      ['approve', 'approve'],
      `verify > ${AGAIN} > verify > ${THIRD} > verify > roll_back > ask tests_failed`,
    ),
    tested('maxFailedVerifications: 1', ['fail:x'], [], 'verify > roll_back > ask tests_failed', {
      limits: { maxFailedVerifications: 1 },
    }),
    {
      name: 'maxCallsPerFile: answers before and after a failed verification count together, until a person asks again',
      limits: { maxCallsPerFile: 3 },
      ready: { ...TESTED, approval: 'auto' },
      words: { propose: ['invalid'], verify: ['fail:x', 'fail:y', 'fail:z'] },
      decisions: [['revise', { note: 'mind' }]],
      effects: [
        `preflight > propose * > propose *#2 told > build > ${TRIED}`,
        `propose a.ts#3 told > build > ${TRIED} > ask tests_failed > say revise`,
        `propose a.ts#4 told "mind" > build > ${TRIED} > propose a.ts#5 told "mind" > build > approve_by_policy > apply a.ts > verify > commit > committed`,
      ].join(' > '),
    },
    {
      name: 'maxCallsPerFile: answers for all files count for each, after a failed verification too',
      files: TWO,
      limits: { maxCallsPerFile: 2 },
      ready: { ...TESTED, approval: 'auto', shouldSplit: false },
      words: { propose: ['invalid'], verify: ['fail:x'] },
      effects:
        'preflight > propose * > propose *#2 told > build > approve_by_policy > apply a.ts,b.ts > verify > roll_back > ask tests_failed',
    },
    tested(
      'no signature is never the same',
      ['fail', 'fail', 'pass'],
      ['approve', 'approve'],
      `verify > ${AGAIN} > verify > ${THIRD} > verify > commit > committed`,
    ),
    tested(
      'a transient failure is run again first',
      ['transient:x', 'pass'],
      [],
      'verify > verify > commit > committed',
    ),
    tested(
      'transient twice counts',
      ['transient:x', 'transient:x', 'pass'],
      ['approve'],
      `verify > verify > ${AGAIN} > verify > commit > committed`,
    ),
    tested(
      'the same bytes once more after a rollback are asked about again: their application has a number of its own',
      ['fail:x', 'pass'],
      ['approve'],
      `verify > ${AGAIN} > verify > commit > committed`,
      {},
      { propose: ['edited=1', 'edited=1'] },
    ),
    tested(
      'tests_failed: keep applies the last proposal again, marked',
      ['fail:x'],
      ['keep'],
      'verify > roll_back > ask tests_failed > say keep > apply a.ts > commit [INCOMPLETE] > committed',
      {
        limits: { maxFailedVerifications: 1 },
      },
    ),
    tested(
      'tests_failed: skip',
      ['fail:x'],
      ['skip'],
      'verify > roll_back > ask tests_failed > say skip > skipped',
      {
        limits: { maxFailedVerifications: 1 },
      },
    ),
    tested(
      'tests_failed: revise starts counting anew',
      ['fail:x', 'fail:x', 'pass'],
      [['revise', { note: 'mind the zero' }], 'approve'],
      'verify > roll_back > ask tests_failed > say revise > propose a.ts#2 told "mind the zero" > build > ask approval a.ts > say approve > apply a.ts > verify > roll_back > ask tests_failed',
      { limits: { maxFailedVerifications: 1 } },
    ),
    tested(
      'tests_failed: manual takes the files as they are, and they are verified',
      ['fail:x', 'touch:a.ts', 'pass'],
      ['manual'],
      'verify > roll_back > ask tests_failed > say manual > build > apply a.ts > verify > commit > committed',
      { limits: { maxFailedVerifications: 1 } },
      { build: ['built', 'touch:a.ts'] },
    ),
    tested(
      'what a person wrote is not asked of the model when the tests fail; revise takes it as the base',
      ['fail:x', 'fail:y', 'pass'],
      ['manual', ['revise', { note: 'mind the zero' }], 'approve'],
      'verify > roll_back > ask tests_failed > say manual > build > apply a.ts > verify > roll_back > ask tests_failed > ' +
        'say revise > preflight 2 > propose a.ts#2 "mind the zero" > build > ask approval a.ts > say approve > apply a.ts > verify > commit > committed',
      { limits: { maxFailedVerifications: 1 } },
      { build: ['built', 'touch:a.ts'] },
    ),
    tested(
      'its activity fails: retry',
      ['fails', 'pass'],
      ['retry'],
      'verify > ask engine_failed > say retry > verify > commit > committed',
    ),
    tested(
      'its activity fails: skip rolls back',
      ['fails'],
      ['skip'],
      'verify > ask engine_failed > say skip > roll_back > skipped',
    ),
    tested(
      'its activity fails: manual takes what a person made of the applied files',
      ['fails', 'pass'],
      ['manual'],
      'verify > ask engine_failed > say manual > build > apply a.ts > verify > commit > committed',
      {},
      { build: ['built', 'touch:a.ts'] },
    ),
    tested(
      'roll_back fails: retry',
      ['fail:x'],
      ['retry'],
      'verify > roll_back > ask engine_failed > say retry > roll_back > ask tests_failed',
      { limits: { maxFailedVerifications: 1 } },
      { roll_back: ['fails'] },
    ),
    tested(
      'roll_back of an abort fails: manual says that the person has put the files right',
      ['fails'],
      ['abort', 'manual'],
      'verify > ask engine_failed > say abort > roll_back > ask engine_failed > say manual > aborted',
      {},
      { roll_back: ['fails'] },
    ),
    tested(
      'roll_back that finds no blobs: a new base would not help, so it asks as any failure does',
      ['fails'],
      ['abort', 'skip'],
      'verify > ask engine_failed > say abort > roll_back > ask engine_failed > say skip > roll_back > aborted',
      {},
      { roll_back: ['fails:blob_lost'] },
    ),
    {
      name: 'after a conflict both applications are rolled back, and both are asked for again',
      files: TWO,
      ready: TESTED,
      words: { apply: ['conflict:b.ts'], verify: ['fail:x'] },
      decisions: ['approve', 'regenerate', 'approve'],
      effects:
        `${AB} > ask approval a.ts,b.ts > say approve > apply a.ts,b.ts > ask conflict b.ts > say regenerate > preflight 2 > propose b.ts > build > ` +
        'ask approval b.ts > say approve > apply b.ts > verify > roll_back > propose a.ts#2 told > propose b.ts#2 told > build > ask approval a.ts,b.ts',
    },
    {
      name: 'keep after a conflict applies both parts again',
      files: TWO,
      ready: TESTED,
      limits: { maxFailedVerifications: 1 },
      words: { apply: ['conflict:b.ts'], verify: ['fail:x'] },
      decisions: ['approve', 'regenerate', 'approve', 'keep'],
      effects:
        `${AB} > ask approval a.ts,b.ts > say approve > apply a.ts,b.ts > ask conflict b.ts > say regenerate > preflight 2 > propose b.ts > build > ` +
        'ask approval b.ts > say approve > apply b.ts > verify > roll_back > ask tests_failed > say keep > build > apply a.ts,b.ts > commit [INCOMPLETE] > committed',
    },
  ])('$name', check);

  test('what gets no turn on its host is asked for again, and nothing else changes', () => {
    const busy = new StepDriver(
      { ready: TESTED },
      inOrder({
        build: ['busy', 'busy', 'built'],
        verify: ['busy', 'pass'],
        commit: ['busy', 'committed'],
      }),
    );
    busy.run();
    busy.say('approve');
    busy.run();
    expect(busy.outcome).toBe('committed');
    expect(busy.state.tests.failures).toBe(0);
    const told = busy.state.events.flatMap((event) =>
      event.type === 'warning' ? [event.message.split(' ')[0]] : [],
    );
    expect(told).toEqual(['buildProposal', 'buildProposal', 'runTests', 'commit']);
  });

  test('a transient failure gets twice the time, a later verification the usual one', () => {
    const driver = new StepDriver(
      { ready: TESTED },
      inOrder({ verify: ['transient:x', 'pass'], commit: ['conflict'] }),
    );
    driver.run();
    driver.say('approve');
    driver.run();
    driver.say('regenerate');
    driver.run();
    driver.say('approve');
    driver.run();
    expect(driver.verifyTimes).toEqual([1, 2, 1]);
  });
});

describe('test_command', () => {
  const from = {
    commands: ['npm test'],
    source: 'package.json',
    key: 'test-commands/k',
    confirmed: false,
  };
  const FOUND = { test: { commands: [], found: 'npm test', from } };
  const ASK = 'preflight > ask test_command';
  const GO = 'propose * > build > ask approval a.ts';
  test.each<
    Case & { readonly commands: readonly string[]; readonly remember: readonly string[] | null }
  >([
    {
      name: 'run it, and remember',
      decisions: ['run'],
      effects: `${ASK} > say run > ${GO}`,
      commands: ['npm test'],
      remember: ['test-commands/k'],
    },
    {
      name: 'another one',
      decisions: [['other', { set: { command: 'make check' } }]],
      effects: `${ASK} > say other > ${GO}`,
      commands: ['make check'],
      remember: null,
    },
    {
      name: 'no tests',
      decisions: ['no_tests'],
      effects: `${ASK} > say no_tests > ${GO}`,
      commands: [],
      remember: null,
    },
    {
      name: 'other without a command',
      decisions: ['other'],
      effects: `${ASK} > say other > no: other needs set.command`,
      commands: [],
      remember: null,
    },
  ])('$name', (it) => {
    const { trace, state } = play({ ...it, ready: FOUND });
    expect(trace.join(' > ')).toBe(it.effects);
    expect(state.tests.commands).toEqual(it.commands);
    expect(state.tests.remember).toEqual(it.remember);
  });
});

describe('commit', () => {
  const GO = `${A} > ask approval a.ts > say approve > apply a.ts > commit`;
  test.each<Case>([
    {
      name: 'nothing to commit',
      words: { commit: ['nothing'] },
      decisions: ['approve'],
      effects: `${GO} > unchanged`,
    },
    ...(['conflict', 'hook_changed'] as const).flatMap((reason): Case[] => [
      {
        name: `${reason}: rebase commits onto what is there now, or takes what the hook made of the files`,
        words: { commit: [reason] },
        decisions: ['approve', 'rebase'],
        effects: `${GO} > ask ${reason} (commit) > say rebase > ${reason === 'hook_changed' ? 'build > ' : ''}commit > committed`,
      },
      {
        name: `${reason}: take_theirs rolls back`,
        words: { commit: [reason] },
        decisions: ['approve', 'take_theirs'],
        effects: `${GO} > ask ${reason} (commit) > say take_theirs > roll_back > skipped`,
      },
      {
        name: `${reason}: regenerate rolls back and starts from the files as they are`,
        words: { commit: [reason] },
        decisions: ['approve', 'regenerate', 'approve'],
        effects: `${GO} > ask ${reason} (commit) > say regenerate > roll_back > preflight 2 > propose *#2 > build > ask approval a.ts > say approve > apply a.ts > commit > committed`,
      },
    ]),
    {
      name: 'failed: retry',
      words: { commit: ['failed'] },
      decisions: ['approve', 'retry'],
      effects: `${GO} > ask engine_failed > say retry > commit > committed`,
    },
    {
      name: 'failed: skip rolls back',
      words: { commit: ['failed'] },
      decisions: ['approve', 'skip'],
      effects: `${GO} > ask engine_failed > say skip > roll_back > skipped`,
    },
    {
      name: 'failed (a hook refused): manual commits what the person made of it',
      words: { commit: ['failed'], build: ['built', 'touch:a.ts'] },
      decisions: ['approve', 'manual'],
      effects: `${GO} > ask engine_failed > say manual > build > apply a.ts > commit > committed`,
    },
    {
      name: 'its activity fails',
      words: { commit: ['fails'] },
      decisions: ['approve', 'retry'],
      effects: `${GO} > ask engine_failed > say retry > commit > committed`,
    },
    {
      name: 'what a person skipped stays out of a new base',
      files: TWO,
      words: { commit: ['conflict'] },
      decisions: [['skip', { files: ['a.ts'] }], 'approve', 'regenerate'],
      effects: `${AB} > ask approval a.ts,b.ts > say skip a.ts > say approve > apply b.ts > commit > ask conflict (commit) > say regenerate > roll_back > preflight 2 > propose b.ts#2 > build > ask approval b.ts`,
    },
  ])('$name', check);
});
