/**
 * The workflow's loop without Temporal: `nextEffect` says what comes next, a word of the case says what came of it, `reduce` folds
 * it in. A case is data: words per activity, decisions in order, and the moves that must follow. Invariants are checked at every fold.
 */
import type { ActivityName } from '../../../src/shared/activities.js';
import { validateDecision, outcomeOf } from '../../../src/shared/validate-decision.js';
import type { Answer, DecisionRequest, PauseReason } from '../../../src/shared/decisions.js';
import { TIMINGS, type Timings } from '../../../src/shared/limits.js';
import { nextEffect } from '../../../src/workflows/step/stages/index.js';
import type { Chunk, Effect, Fact } from '../../../src/workflows/step/protocol.js';
import { queueNames } from '../../../src/shared/names.js';
import { currentRules } from '../../../src/shared/rules.js';
import type { StepSetup, StepOutcome } from '../../../src/shared/run.js';
import { reduce } from '../../../src/workflows/step/reduce.js';
import { baseQuestion } from '../../../src/workflows/step/stages/verify/base.js';
import { initialState, type StepState } from '../../../src/workflows/step/state.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { checkFold, checkMove, checkNumber, type ShownNumber } from './invariants.js';
import { blob, downOf, USAGE, World, type Wanted } from './world.js';

const STEP_KEY = 'feedc0de'.repeat(4);
const inputOf = (more: Partial<StepSetup> = {}): StepSetup => ({
  stepKey: STEP_KEY,
  workspace: '/w',
  job: blob('job'),
  jobPath: 'job.md',
  title: 'Grow',
  queues: queueNames('t', 'h'),
  timings: Object.fromEntries(
    Object.entries(TIMINGS).map(([name, spec]) => [name, spec.default]),
  ) as Timings,
  rules: currentRules(),
  overrides: {},
  hints: [],
  searchAttributes: false,
  ...more,
});

/** What an activity gives: the word for this call, or undefined for its natural work. `about` is a chunk's file, else ''. */
export type Choose = (activity: string, about: string) => string | undefined;
export type Saying =
  | Answer
  | readonly [
      Answer,
      Partial<
        Pick<DecisionRequest, 'files' | 'note' | 'set' | 'select' | 'decision' | 'requestId'>
      >,
    ];
/** Words in order, by activity; `propose` by file. */
export type Words = Readonly<
  Record<string, readonly string[] | Readonly<Record<string, readonly string[]>>>
>;

export const inOrder = (words: Words): Choose => {
  const queues = new Map<string, string[]>();
  for (const [activity, list] of Object.entries(words)) {
    if (Array.isArray(list)) queues.set(`${activity} `, [...(list as readonly string[])]);
    else
      for (const [about, each] of Object.entries(list))
        queues.set(`${activity} ${about}`, [...(each as readonly string[])]);
  }
  return (activity, about) =>
    queues.get(`${activity} ${about}`)?.shift() ?? queues.get(`${activity} `)?.shift();
};

/** Of moves that are not called as their activity is. */
export const ACTIVITY: Readonly<Record<string, ActivityName>> = {
  pick: 'pickFiles',
  brief: 'writeBrief',
  propose: 'proposeEdit',
  build: 'buildProposal',
  apply: 'applyProposal',
  rebase: 'rebaseProposal',
  roll_back: 'rollBack',
  try_base: 'runTests',
  test_proposal: 'runTests',
  verify: 'runTests',
  release: 'releaseWorkspace',
};
const MODEL = new Set(['pick', 'brief', 'propose']);
/** Work that an abort cuts short; the rest runs to its end first. */
const INTERRUPTIBLE = new Set(['pick', 'brief', 'propose', 'verify', 'try_base', 'test_proposal']);
/** Moves in a row that wait for nothing. */
const MOST_IDLE = 5;
const DEFAULT_BUDGET = 16_384;

const NOT_YET = { outcome: 'busy' } as const;

export class StepDriver {
  state: StepState;
  now = 1_000_000;
  readonly world: World;
  readonly trace: string[] = [];
  /** How many times the usual time each run of the tests after an apply got. */
  readonly verifyTimes: number[] = [];
  private requests = 0;
  private number: ShownNumber | null = null;
  private abortRequested = false;
  private readonly choose: Choose;

  constructor(wanted: Wanted, choose: Choose, input: Partial<StepSetup> = {}) {
    this.choose = choose;
    this.world = new World(wanted);
    this.state = initialState(inputOf(input), this.now);
  }

  /** Null while it has not ended. */
  get outcome(): StepOutcome | null {
    const { stage } = this.state;
    return stage.at === 'closed' ? stage.outcome : null;
  }

  dispatch(fact: Fact): void {
    const before = this.state;
    this.state = reduce(before, fact, (this.now += 1000));
    if (this.state.input.workspace !== before.input.workspace) this.world.move();
    checkFold(before, this.state, fact);
    this.number = checkNumber(this.number, this.state);
  }

  /** Performs moves until the step waits for a person or has ended; more than `bound` moves is a loop without end. */
  run(bound = 400 + 10 * this.state.edits.files.length): 'waits' | 'closed' {
    let idle = 0;
    for (let count = 0; count < bound; count += 1) {
      const move = nextEffect(this.state, this.now);
      idle = move.kind === 'pause' || move.kind === 'approve_by_policy' ? idle + 1 : 0;
      if (idle > MOST_IDLE)
        throw new Error(`waits for nothing: ${this.trace.slice(-10).join(' > ')}`);
      if (move.kind === 'finish') {
        if (this.outcome === null) this.dispatch({ type: 'finished' });
        return 'closed';
      }
      if (move.kind === 'await_decision') return 'waits';
      this.step();
    }
    throw new Error(`still going after ${bound} moves: ${this.trace.slice(-10).join(' > ')}`);
  }

  /** Performs the next move. */
  step(): void {
    const move = nextEffect(this.state, this.now);
    if (move.kind === 'finish' || move.kind === 'await_decision')
      throw new Error(`${move.kind} is no move to perform`);
    checkMove(this.state, move);
    this.trace.push(labelOf(move, this.state));
    this.perform(move);
    if (this.abortRequested) this.takeUpAbort();
  }

  abort(): void {
    this.dispatch({ type: 'decided', request: this.request('abort', '') });
  }

  /** The abort comes in the middle of the next move. */
  abortDuringNext(): void {
    this.abortRequested = true;
  }

  next(): Effect['kind'] {
    return nextEffect(this.state, this.now).kind;
  }

  /** Chunks of the next move. */
  chunks(): readonly Chunk[] {
    const move = nextEffect(this.state, this.now);
    return move.kind === 'propose' ? move.chunks : [];
  }

  /** How long the next move waits, in ms. */
  nextWait(): number {
    const move = nextEffect(this.state, this.now);
    return move.kind === 'wait' ? move.ms : 0;
  }

  private takeUpAbort(): void {
    this.abortRequested = false;
    if (this.outcome !== null) return;
    this.abort();
  }

  request(answer: Answer, decision = this.state.decision?.id ?? ''): DecisionRequest {
    this.requests += 1;
    return { decision, answer, requestId: `r${this.requests}`, by: { name: 'ann', from: 'cli' } };
  }

  /** Answers as a face does: judged first. Returns why it does not count, or null. */
  say(saying: Saying): string | null {
    const [answer, more] = typeof saying === 'string' ? [saying, {}] : saying;
    const request = { ...this.request(answer), ...more };
    const validation = validateDecision(this.state, request);
    if (!validation.counts) return validation.message;
    const before = this.state;
    this.dispatch({ type: 'decided', request });
    outcomeOf(before, this.state, request);
    return null;
  }

  private perform(move: Exclude<Effect, { kind: 'finish' | 'await_decision' }>): void {
    if (move.kind === 'pause') return this.dispatch({ type: 'paused', pause: move.pause });
    if (move.kind === 'wait') return this.dispatch({ type: 'waited' });
    if (move.kind === 'back_off') {
      this.now += move.ms - 1000;
      return this.dispatch({ type: 'waited' });
    }
    if (move.kind === 'approve_by_policy') return this.dispatch({ type: 'approved_by_policy' });
    if (move.kind === 'propose') return this.propose(move.chunks);
    if (this.abortRequested && INTERRUPTIBLE.has(move.kind)) return;
    if (move.kind === 'try_base') return this.tryBase(move);
    if (move.kind === 'verify') this.verifyTimes.push(this.state.tests.longer ? 2 : 1);
    if (move.kind === 'test_proposal') return this.testProposal(move);
    const word = this.touched(this.choose(move.kind, ''));
    // `late`: it did its work, and then its worker died for good before it could say so.
    if (word === 'late') this.work(move.kind, undefined);
    const failed = this.failure(word === 'late' ? 'fails' : word, move.kind, null);
    this.dispatch(failed ?? this.work(move.kind, word));
  }

  private testProposal({ files, isFresh }: Extract<Effect, { kind: 'test_proposal' }>): void {
    const word = this.touched(this.choose('test_proposal', ''));
    const failed = this.failure(word, 'test_proposal', null);
    const result = word === 'busy' ? NOT_YET : this.world.runTests('proposal', word ?? 'pass');
    const proposal = this.state.proposal?.ref ?? blob('none');
    const on = {
      kind: 'proposal',
      proposal,
      files,
      applications: this.state.applied.all,
      run: 0,
      ...(isFresh ? { isFresh: true as const } : {}),
    } as const;
    this.dispatch(failed ?? { type: 'tested', on, result });
  }

  /** `slow;rest`: the call that waits for the tests waits no longer, and comes to its end first. */
  private tryBase({ beside }: Extract<Effect, { kind: 'try_base' }>): void {
    const word = this.choose('try_base', '');
    const isSlow = word?.startsWith('slow;') === true;
    const said = isSlow ? word.slice('slow;'.length) : word;
    const tested = (): void => {
      this.dispatch(this.failure(said, 'try_base', null) ?? this.work('try_base', said));
    };
    const call = (): void => {
      if (beside === null || baseQuestion(this.state) !== null) return;
      checkMove(this.state, beside);
      this.trace.push(labelOf(beside, this.state));
      this.perform(beside);
    };
    if (isSlow) call();
    tested();
    if (!isSlow) call();
  }

  /** `touch:a.ts;rest`: a person saves the file just before. */
  private touched(word: string | undefined): string | undefined {
    if (word?.startsWith('touch:') !== true) return word;
    const [paths = '', rest] = word.slice('touch:'.length).split(';');
    for (const path of paths.split(',')) this.world.touch(path);
    return rest;
  }

  /** `fails` or `fails:<reason>`: the activity failed for good. */
  private failure(word: string | undefined, activity: string, chunk: Chunk | null): Fact | null {
    if (word?.startsWith('fails') !== true) return null;
    const [, named] = word.split(':');
    const reason = (named ??
      (MODEL.has(activity) ? 'model_unavailable' : 'engine_failed')) as PauseReason;
    return {
      type: 'activity_failed',
      activity: ACTIVITY[activity] ?? (activity as ActivityName),
      chunk,
      reason,
      message: 'it broke',
    };
  }

  private work(kind: string, word: string | undefined): Fact {
    const { world, state } = this;
    switch (kind) {
      case 'preflight':
        return { type: 'preflighted', result: world.preflight(word ?? 'ready', state) };
      case 'pick': {
        const paths = word?.startsWith('picked:') === true ? word.slice(7).split(',') : null;
        if (word === 'down') {
          const failed = {
            outcome: 'failed',
            reason: 'model_unavailable',
            message: '',
            usage: NO_USAGE,
          } as const;
          return { type: 'picked', result: { ...failed, down: downOf('') } };
        }
        const files = (paths ?? ['a.ts']).map((path) => ({ path, why: 'named' }));
        if (word === 'look_for')
          return {
            type: 'picked',
            result: { outcome: 'look_for', words: ['parser'], usage: USAGE },
          };
        if (word === 'nothing_found')
          return {
            type: 'picked',
            result: { outcome: word, message: 'none', files, usage: USAGE },
          };
        if (word?.startsWith('many:') === true) {
          const many = word
            .slice(5)
            .split(',')
            .map((path) => ({ path, why: 'named' }));
          return {
            type: 'picked',
            result: { outcome: 'picked', files: many, tooMany: 'too many', usage: USAGE },
          };
        }
        if (paths !== null || word === undefined)
          return { type: 'picked', result: { outcome: 'picked', files, usage: USAGE } };
        return {
          type: 'picked',
          result: { outcome: 'failed', reason: word as PauseReason, message: word, usage: USAGE },
        };
      }
      case 'brief': {
        if (word === 'down') {
          const down = downOf('');
          return {
            type: 'briefed',
            result: { brief: null, usage: NO_USAGE, message: 'no brief', down },
          };
        }
        const none = word === 'none';
        const result = {
          brief: none ? null : blob('brief'),
          usage: USAGE,
          message: none ? 'no brief' : null,
        } as const;
        return { type: 'briefed', result };
      }
      case 'build':
        return {
          type: 'proposal_built',
          result: word === 'busy' ? NOT_YET : world.build(word ?? 'built', state),
        };
      case 'apply':
        return { type: 'applied', result: world.apply(word ?? 'applied', state) };
      case 'rebase':
        return { type: 'rebased', result: world.rebase(word ?? 'built', state) };
      case 'verify':
        return {
          type: 'tested',
          on: { kind: 'applied', applications: state.applied.all, run: 0 },
          result: word === 'busy' ? NOT_YET : world.runTests('applied', word ?? 'pass'),
        };
      case 'release':
        return { type: 'released' };
      case 'audit': {
        const report = { verdict: 'pass', findings: [], partly: [] } as const;
        const result = { outcome: 'audited', report, refusal: null, usage: USAGE } as const;
        return { type: 'audited', result };
      }
      case 'try_base':
        return {
          type: 'tested',
          on: { kind: 'base', again: 0 },
          result: word === 'busy' ? NOT_YET : world.testBase(word ?? 'pass'),
        };
      case 'roll_back':
        return { type: 'rolled_back', result: world.rollback(state) };
      case 'commit':
        return {
          type: 'committed',
          result: word === 'busy' ? NOT_YET : world.commit(word ?? 'committed'),
        };
      default:
        throw new Error(`no such move: ${kind}`);
    }
  }

  private propose(chunks: readonly Chunk[]): void {
    for (const chunk of chunks) this.dispatch({ type: 'chunk_started', chunk });
    if (this.abortRequested) return;
    // The answers of chunks side by side come in any order.
    const order = this.choose('order', '') === 'reversed' ? [...chunks].reverse() : chunks;
    for (const chunk of order) {
      const word = this.choose('propose', chunk.file);
      const { attempt, file, seq, heads } = chunk;
      const { regeneration, format, outputBudget_tokens, model, note, refusal } = attempt;
      const { base, edits } = this.state;
      const snapshot = base.ready?.snapshot ?? blob('');
      const { secrets } = this.state;
      const told = {
        regeneration,
        format,
        outputBudget_tokens,
        model,
        note,
        refusal,
        ...(secrets === undefined ? {} : { secrets }),
      };
      const failed = this.failure(word, 'propose', chunk);
      const answer = () =>
        this.world.propose(word ?? 'edited', {
          snapshot,
          file,
          seq,
          brief: edits.brief,
          accepted: heads,
          ...told,
        });
      this.dispatch(failed ?? { type: 'proposed', chunk, result: answer() });
    }
  }
}

const chunkLabel = ({ file, attempt }: Chunk): string =>
  [
    attempt.regeneration === 1 ? file : `${file}#${attempt.regeneration}`,
    attempt.format === 'whole-file' ? '' : attempt.format,
    attempt.outputBudget_tokens === DEFAULT_BUDGET ? '' : String(attempt.outputBudget_tokens),
    attempt.refusal === null ? '' : 'told',
    attempt.model === null ? '' : `model=${attempt.model}`,
    attempt.note === null ? '' : `"${attempt.note}"`,
  ]
    .filter((part) => part !== '')
    .join(' ');

/** A move in a few words, so that a case can say what it expects. */
function labelOf(move: Effect, state: StepState): string {
  switch (move.kind) {
    case 'preflight':
      return state.base.number === 1 ? 'preflight' : `preflight ${state.base.number}`;
    case 'pick':
      return state.base.pickRegeneration === 1 ? 'pick' : `pick#${state.base.pickRegeneration}`;
    case 'propose':
      return `propose ${move.chunks.map(chunkLabel).join(' + ')}`;
    case 'apply':
      return `apply ${move.files.join(',')}`;
    case 'test_proposal':
      return `test ${move.files.join(',')}${move.isFresh ? ' fresh' : ''}`;
    case 'pause':
      return ['ask', move.pause.reason, move.pause.files.map((file) => file.path).join(',')]
        .join(' ')
        .trim();
    case 'back_off':
      return `wait ${Math.round(move.ms / 1000)}`;
    case 'commit':
      return state.applied.incomplete ? 'commit [INCOMPLETE]' : 'commit';
    default:
      return move.kind;
  }
}

export interface Case extends Wanted {
  readonly name: string;
  readonly words?: Words;
  readonly decisions?: readonly Saying[];
  /** The moves, and the answers between them, joined by ` > `; ends in the outcome or in the `ask` that waits. */
  readonly effects: string;
  readonly input?: Partial<StepSetup>;
}

/** Plays a case to its end, or to the pause that its decisions run out at. */
export function play(it: Omit<Case, 'effects' | 'name'>): StepDriver {
  const driver = new StepDriver(it, inOrder(it.words ?? {}), it.input);
  const decisions = [...(it.decisions ?? [])];
  while (driver.run(400 + 10 * (it.files?.length ?? 1)) === 'waits') {
    const saying = decisions.shift();
    if (saying === undefined) return driver;
    const [answer, more] = typeof saying === 'string' ? [saying, {}] : saying;
    const chosen = Object.entries(more.select ?? {}).map(
      ([path, list]) => `${path}[${list.join()}]`,
    );
    driver.trace.push([`say ${answer}`, ...(more.files ?? []), ...chosen].join(' '));
    const refused = driver.say(saying);
    if (refused !== null) driver.trace.push(`no: ${refused}`);
    else if (answer === 'move') driver.world.elsewhere();
  }
  if (decisions.length > 0) throw new Error(`decisions left over: ${JSON.stringify(decisions)}`);
  driver.trace.push(driver.outcome ?? 'no outcome');
  return driver;
}
