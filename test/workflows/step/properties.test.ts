/**
 * Whatever the activities give and the people answer, in whatever order: a step ends or waits within a bound of moves, and every
 * invariant (invariants.ts) holds at every fold. `EMEND_FUZZ_RUNS` raises the number of runs, `EMEND_FUZZ_SEED` repeats one.
 */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WHOLE_ANSWERS, type DecisionRequest } from '../../../src/shared/decisions.js';
import { readMessage } from '../../../src/shared/messages.js';
import { judge, validateDecision } from '../../../src/shared/validate-decision.js';
import { detailsOf, statusOf } from '../../../src/workflows/step/views.js';
import { fuzz } from '../../support/fuzz.js';
import { StepDriver } from './step-driver.js';
import type { Wanted } from './world.js';

const FILES = ['a.ts', 'constructor', '__proto__', 'd.ts', 'e.ts'];
const FAILS = [
  '',
  ':blob_lost',
  ':workspace_unreachable',
  ':engine_failed',
  ':model_unavailable',
].map((why) => `fails${why}`);
/** Undefined (the natural outcome) three times as often as all the others together, so that plans get far. */
const often = (words: readonly string[]): readonly (string | undefined)[] => [
  ...words,
  ...Array<undefined>(3 * words.length).fill(undefined),
];
const path = (n: number): string => FILES[n % FILES.length] ?? 'a.ts';
const WORDS: Readonly<Record<string, (n: number) => readonly (string | undefined)[]>> = {
  preflight: () => often(['pick', 'refused', 'untrusted', ...FAILS]),
  pick: () => often(['down', 'declined', 'attempts_exhausted', ...FAILS]),
  brief: () => often(['down', 'none', ...FAILS]),
  propose: () =>
    often([
      'edited=1',
      'found=1',
      'found',
      'unchanged',
      'invalid',
      'refused',
      'refused>repeated',
      'refused>format:structured-edit',
      'unmarked',
      'declined',
      'prompt_cut',
      'call_lost',
      'secret',
      'down',
      'down>unreached',
      'down>401',
      'down>after:600',
      'truncated>split',
      'truncated>budget:32768',
      'truncated>format',
      'truncated>exhausted',
      ...FAILS,
    ]),
  order: () => ['reversed', undefined],
  build: (n) =>
    often(['empty', `refused:${path(n)}`, `dangling:${path(n)}`, `touch:${path(n)}`, ...FAILS]),
  apply: (n) =>
    often([
      'busy',
      'base_moved',
      'failed',
      `base_changed:${path(n)}`,
      `conflict:${path(n)}`,
      `touch:${path(n)}`,
      'late',
      ...FAILS,
    ]),
  rebase: (n) => often([`conflict:${path(n)}`, 'empty', ...FAILS]),
  verify: (n) => [
    ...[
      'fail:x',
      'fail:y',
      'fail',
      'transient:x',
      'no_tests',
      'pass',
      'no_sandbox',
      'changed_files',
    ],
    ...[`touch:${path(n)}`, ...FAILS],
  ],
  try_base: () => [
    'fail',
    'missing',
    'no_sandbox',
    'blocked',
    'inside',
    'refused',
    'slow;fail',
    'slow;pass',
    'pass',
    ...FAILS,
  ],
  test_proposal: () =>
    often([
      'fail:x',
      'fail:y',
      'transient',
      'changed_files',
      'no_sandbox',
      'no_overlay',
      'unbound',
      ...FAILS,
    ]),
  roll_back: (n) => often([`touch:${path(n)}`, 'late', ...FAILS]),
  commit: () =>
    often([
      'nothing',
      'conflict',
      'hook_changed',
      'failed',
      'no_sandbox',
      'sandbox_blocks',
      ...FAILS,
    ]),
};

interface Plan {
  readonly wanted: Wanted;
  readonly words: readonly number[];
  readonly answers: readonly number[];
}
const plan: fc.Arbitrary<Plan> = fc
  .record({
    count: fc.integer({ min: 1, max: FILES.length }),
    whole: fc.boolean(),
    auto: fc.boolean(),
    mustAsk: fc.boolean(),
    inPart: fc.boolean(),
    overlay: fc.boolean(),
    brief: fc.boolean(),
    commit: fc.boolean(),
    tests: fc.constantFrom('none', 'configured', 'found'),
    over: fc.boolean(),
    before: fc.constantFrom(
      {},
      ...(['ask', 'known', 'fix'] as const).map((baseline) => ({
        baseline,
      })),
    ),
    limits: fc.record(
      {
        concurrency: fc.integer({ min: 1, max: 3 }),
        maxTotalChunks: fc.integer({ min: 1, max: 12 }),
        budget_tokens: fc.integer({ min: 1, max: 2000 }),
        budget_usd: fc.constantFrom(0, 0.01, 1),
        wallClock_s: fc.integer({ min: 1, max: 100 }),
        maxAttemptsPerFile: fc.integer({ min: 1, max: 3 }),
        maxFailedVerifications: fc.integer({ min: 1, max: 4 }),
      },
      { requiredKeys: [] },
    ),
    words: fc.array(fc.nat(10_000), { maxLength: 150 }),
    answers: fc.array(fc.nat(1_000_000), { maxLength: 40 }),
  })
  .map((it) => ({
    words: it.words,
    answers: it.answers,
    wanted: {
      files: FILES.slice(0, it.count),
      mustAsk: it.mustAsk ? ['package.json is protected'] : [],
      ...(it.inPart ? { changes: 3 } : {}),
      ...(it.overlay ? { overlay: true as const } : {}),
      limits: it.limits,
      ready: {
        shouldSplit: !it.whole,
        whole: it.whole ? { format: 'whole-file' as const, outputBudget_tokens: 16_384 } : null,
        approval: it.auto ? 'auto' : 'ask',
        briefWanted: it.brief,
        commitMessage: it.commit ? 'Grow' : null,
        test: {
          commands: it.tests === 'configured' ? ['npm test'] : [],
          found: it.tests === 'found' ? 'npm test' : null,
        },
        overEstimate: it.over ? ['too much'] : [],
        ...it.before,
      },
    },
  }));

/** An answer made of a number: mostly one that counts, now and then an old id, a stranger's file or a limit out of bounds. */
function answerOf(driver: StepDriver, n: number): DecisionRequest {
  const open = driver.state.decision;
  if (open === null) throw new Error('nothing is open');
  const accepts = open.accepts.filter((answer) => answer !== 'abort' || n % 41 === 0);
  const answer = accepts[n % accepts.length] ?? 'abort';
  const request = driver.request(answer, n % 23 === 0 ? `${open.n}-feedc0de-00000000` : open.id);
  const some = open.files
    .filter((_, index) => ((n >> (index + 3)) & 1) === 1)
    .map((file) => file.path);
  const files = n % 29 === 0 ? ['stranger.ts'] : some;
  const named = files.length > 0 && n % 3 === 0 && !WHOLE_ANSWERS.includes(answer) ? { files } : {};
  const set =
    answer === 'other'
      ? { set: { command: 'make check' } }
      : answer === 'move'
        ? { set: { host: 'b'.repeat(32), workspace: `/there/${n}` } }
        : n % 7 === 0
          ? { set: { budget_tokens: n % 5000 } }
          : {};
  if (answer === 'select') {
    const one = named.files ?? [open.files[n % open.files.length]?.path ?? 'a.ts'];
    return {
      ...request,
      select: Object.fromEntries(one.map((path) => [path, n % 2 === 0 ? [1] : [1 + (n % 4), 2]])),
    };
  }
  return {
    ...request,
    ...named,
    ...set,
    ...(answer === 'revise' || n % 5 === 0 ? { note: `note ${n}` } : {}),
  };
}

interface Told {
  /** Somebody said that they had put the files right themselves, where the step could not. */
  leftByHand: boolean;
  answered: number;
}

/** Plays a plan to its end: after its answers a person gives up, after its words everything works. */
function playOut({ wanted, words, answers }: Plan): { driver: StepDriver; told: Told } {
  const left = [...words];
  const driver = new StepDriver(wanted, (activity) => {
    const n = left.shift();
    const options = WORDS[activity]?.(n ?? 0) ?? [];
    if (n === undefined) return activity === 'verify' ? 'pass' : undefined;
    return options[n % options.length];
  });
  const told: Told = { leftByHand: false, answered: 0 };
  const queue = [...answers];
  for (let turn = 0; turn < 400; turn += 1) {
    if (driver.run() === 'closed') return { driver, told };
    const { state } = driver;
    expect(detailsOf(state).length).toBeLessThan(20_000);
    expect(statusOf(state).state).toBe('waiting');
    const n = queue.shift();
    const request = n === undefined ? driver.request('abort') : answerOf(driver, n);
    const validation = validateDecision(state, request);
    if (n === undefined || validation.counts) told.answered += 1;
    if (request.answer === 'manual' && state.stage.at === 'roll_back') told.leftByHand = true;
    if (n !== undefined && n % 31 === 0) {
      const body = [undefined, 'x', { decision: 7 }, []][n % 4];
      const verdict = judge(state, readMessage('approve', body));
      if (verdict.kind === 'refused')
        driver.dispatch({ type: 'ignored', what: 'approve', why: verdict.message });
    }
    if (!validation.counts) {
      driver.dispatch({ type: 'ignored', what: request.answer, why: validation.message });
      continue;
    }
    driver.dispatch({ type: 'decided', request });
    // The same request once more (update and signal of one decision) is known.
    expect(validateDecision(driver.state, request)).toMatchObject({ counts: false, again: true });
  }
  throw new Error(`no end in sight: ${driver.trace.slice(-12).join(' > ')}`);
}

describe('any fakes, any answers', () => {
  test('the step ends; what is left on disk is what the outcome says', () => {
    const outcomes = new Map<string, number>();
    fc.assert(
      fc.property(plan, (it) => {
        const { driver, told } = playOut(it);
        const { state, world, outcome } = driver;
        outcomes.set(outcome ?? '', (outcomes.get(outcome ?? '') ?? 0) + 1);
        if (['aborted', 'skipped', 'refused'].includes(outcome ?? '') && !told.leftByHand)
          // Where the host is gone what is left there is named.
          expect(
            world.uncommitted().filter((each) => state.openOnHost?.files.includes(each) !== true),
          ).toEqual([]);
        expect(outcome === 'committed').toBe(world.commits.length > 0);
        expect(world.commits.length).toBeLessThanOrEqual(1);
        // JSON and back is the same: the state is plain data.
        expect(JSON.parse(JSON.stringify(state))).toEqual(state);
        const ids = state.resolved.map((decision) => decision.id);
        expect(new Set(ids).size).toBe(ids.length);
        for (const decision of state.resolved) expect(decision.answers.length).toBeGreaterThan(0);
      }),
      fuzz('steps'),
    );
    // The plans reach every kind of end.
    for (const outcome of ['committed', 'applied', 'unchanged', 'skipped', 'aborted', 'refused'])
      expect({ outcome, seen: outcomes.has(outcome) }).toEqual({ outcome, seen: true });
    expect(outcomes.has('failed')).toBe(false);
  });

  test('activities that never give anything else, people who never give up: bounded moves from one answer to the next', () => {
    const stubborn = fc.record(
      Object.fromEntries(
        Object.keys(WORDS).map((activity) => [
          activity,
          fc.option(fc.nat(10_000), { nil: undefined }),
        ]),
      ),
    );
    fc.assert(
      fc.property(plan, stubborn, ({ wanted, answers }, always) => {
        const driver = new StepDriver(wanted, (activity) => {
          const n = always[activity];
          const options = (WORDS[activity]?.(n ?? 0) ?? []).filter((word) => word !== undefined);
          const word = n === undefined ? undefined : options[n % options.length];
          // Another step's lock is waited for as long as it is held: that wait has no bound, and grows.
          return word === 'busy' ? undefined : word;
        });
        for (const n of answers) {
          if (driver.run(60 + 40 * (wanted.files?.length ?? 1)) === 'closed') return;
          // Between two answers nobody pays for more than the limit allows.
          const most =
            driver.state.base.limits?.maxTotalChunks ??
            Math.max(10, 2 * driver.state.edits.files.length);
          // Calls to a model that was down count for none.
          expect(driver.state.edits.chunks - driver.state.edits.unanswered).toBeLessThanOrEqual(
            most,
          );
          const request = answerOf(driver, n);
          if (request.answer !== 'abort' && validateDecision(driver.state, request).counts)
            driver.dispatch({ type: 'decided', request });
        }
      }),
      fuzz('stubborn activities'),
    );
  });

  test('a step that was stopped as it made no progress is led on by each answer, from wherever it was', () => {
    fc.assert(
      fc.property(plan, fc.nat(30), fc.nat(3), (it, at, n) => {
        const left = [...it.words];
        // A limit of 0 is as far as `retry` raises it: a person is asked each time.
        const wanted = { ...it.wanted, limits: {} };
        const driver = new StepDriver(wanted, (activity) => {
          const options = WORDS[activity]?.(left[0] ?? 0) ?? [];
          const word = left.shift();
          return word === undefined
            ? activity === 'verify'
              ? 'pass'
              : undefined
            : options[word % options.length];
        });
        for (let count = 0; count < at; count += 1) {
          if (['finish', 'await_decision'].includes(driver.next())) return;
          driver.step();
        }
        left.length = 0;
        driver.dispatch({ type: 'no_progress', effects: 100 });
        for (let turn = 0; driver.run() === 'waits'; turn += 1) {
          expect(turn).toBeLessThan(20);
          // These need more than the word.
          const given = driver.state.decision?.accepts.filter(
            (each) => !['other', 'revise', 'select', 'move'].includes(each),
          );
          expect(driver.say(given?.[turn === 0 ? n % given.length : 0] ?? 'abort')).toBeNull();
        }
      }),
      fuzz('steps without progress'),
    );
  });

  test('an abort in the middle of any move leaves nothing applied and uncommitted', () => {
    fc.assert(
      fc.property(plan, fc.nat(60), (it, at) => {
        const left = [...it.words];
        const driver = new StepDriver(it.wanted, (activity) => {
          const options = WORDS[activity]?.(left[0] ?? 0) ?? [];
          const n = left.shift();
          if (n === undefined) return activity === 'verify' ? 'pass' : undefined;
          const word = options[n % options.length];
          return activity === 'roll_back' ? undefined : word;
        });
        const answers = [...it.answers];
        for (let count = 0; count < at; count += 1) {
          const move = driver.next();
          if (move === 'finish') return;
          if (move !== 'await_decision') driver.step();
          else {
            const n = answers.shift();
            const request = n === undefined ? driver.request('abort') : answerOf(driver, n);
            if (validateDecision(driver.state, request).counts)
              driver.dispatch({ type: 'decided', request });
          }
        }
        if (driver.next() === 'finish') return;
        if (driver.next() === 'await_decision') driver.abort();
        else {
          driver.abortDuringNext();
          driver.step();
        }
        for (let turn = 0; driver.run() === 'waits'; turn += 1) {
          // What could not be put back is asked about; the person says: try again.
          const [first = 'abort'] = driver.state.decision?.accepts ?? [];
          expect(turn).toBeLessThan(3);
          expect(driver.say(first)).toBeNull();
        }
        expect(driver.outcome).not.toBeNull();
        // Where the host is gone what is left there is named.
        const unnamed = driver.world
          .uncommitted()
          .filter((each) => driver.state.openOnHost?.files.includes(each) !== true);
        if (driver.outcome === 'aborted') expect(unnamed).toEqual([]);
      }),
      fuzz('aborts'),
    );
  });
});

describe('whatever is sent', () => {
  const json = fc.jsonValue({ maxDepth: 4 });
  const body = fc.oneof(
    json,
    fc.constantFrom(undefined, null, '', 0, -0, [], {}, 'x'.repeat(1024 * 1024), Number.NaN, true),
    fc.record(
      {
        v: fc.oneof(fc.constant(1), json),
        decision: fc.oneof(fc.constantFrom('', 'x', 'y'.repeat(10_000)), json),
        answer: fc.oneof(
          fc.constantFrom('approve', 'skip', 'retry', 'revise', 'abort', 'toString', '__proto__'),
          json,
        ),
        requestId: fc.oneof(fc.constant('r'), json),
        files: fc.oneof(fc.array(fc.constantFrom('a.ts', '__proto__', 'constructor', 'x')), json),
        note: fc.oneof(fc.string(), json),
        set: fc.oneof(
          fc.dictionary(
            fc.constantFrom(
              '__proto__',
              'constructor',
              'budget_usd',
              'model',
              'command',
              'toString',
            ),
            json,
          ),
          fc.constant(JSON.parse('{"__proto__": {"budget_usd": 1}}')),
          json,
        ),
        by: json,
      },
      { requiredKeys: [] },
    ),
  );

  test('signals and updates never throw, never change what is open unless they count', () => {
    fc.assert(
      fc.property(
        body,
        fc.constantFrom('approve', 'skip', 'retry', 'revise', 'abort'),
        fc.boolean(),
        (sent, answer, rightId) => {
          const driver = new StepDriver(
            { files: ['a.ts', '__proto__', 'constructor'] },
            () => undefined,
          );
          driver.run();
          const { state } = driver;
          const isRecord = typeof sent === 'object' && sent !== null && !Array.isArray(sent);
          const named: unknown =
            rightId && isRecord ? { ...sent, decision: state.decision?.id } : sent;
          for (const name of ['answer', answer] as const) {
            const { decision } = driver.state;
            const verdict = judge(driver.state, readMessage(name, named));
            if (verdict.kind === 'counts') {
              driver.dispatch({ type: 'decided', request: verdict.request });
              continue;
            }
            expect(verdict.message.length).toBeLessThan(3000);
            driver.dispatch({ type: 'ignored', what: name, why: verdict.message });
            expect(driver.state.decision).toEqual(decision);
          }
          expect(driver.state.ignored.join('').length).toBeLessThan(5000);
          expect(Object.prototype).not.toHaveProperty('budget_usd');
          driver.run();
        },
      ),
      fuzz('signals'),
    );
  });

  test('nested deeper than anything can write down', () => {
    let deep: unknown = [];
    for (let depth = 0; depth < 200_000; depth += 1) deep = [deep];
    const driver = new StepDriver({}, () => undefined);
    driver.run();
    const id = driver.state.decision?.id ?? '';
    for (const sent of [
      deep,
      { deep },
      { v: deep },
      { v: 2, decision: id, answer: 'approve', requestId: 'r', set: { model: deep } },
    ]) {
      for (const name of ['answer', 'approve'] as const) {
        const verdict = judge(driver.state, readMessage(name, sent));
        expect(verdict.kind).toBe('refused');
        expect(verdict.kind === 'counts' ? '' : verdict.message).toMatch(/^.{1,500}$/);
      }
    }
  });
});
