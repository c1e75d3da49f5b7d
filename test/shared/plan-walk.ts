/**
 * A plan's moves without Temporal, driven by a row of numbers: each chooses what comes of a move, which answer a person gives, what people
 * wish. Where the row ends everything works and every question gets its first answer, so a walk can be followed to its end from anywhere.
 */
import type { ActivityName } from '../../src/shared/activities.js';
import type { Answer, DecisionRequest, PauseReason } from '../../src/shared/decisions.js';
import { validateDecision } from '../../src/shared/validate-decision.js';
import { TIMINGS, type Timings } from '../../src/shared/limits.js';
import type { ReadPlanResult } from '../../src/shared/plan-activities.js';
import type { ApplyReplanResult } from '../../src/shared/replan-activities.js';
import { checkpointOf } from '../../src/workflows/plan/checkpoint.js';
import type { PlanEffect, PlanFact } from '../../src/workflows/plan/protocol.js';
import { reducePlan } from '../../src/workflows/plan/reduce.js';
import {
  commandsOf,
  isHeld,
  lacksWorktree,
  phaseOf,
  worktreeName,
} from '../../src/workflows/plan/selectors.js';
import { nextPlanEffect } from '../../src/workflows/plan/stages/index.js';
import { type PlanState, type Revising, initialPlan } from '../../src/workflows/plan/state.js';
import { within } from '../../src/workflows/frame/machine.js';
import type { PhaseReading, ReadyPlan } from '../../src/shared/plan.js';
import type { PlanSetup, PlanOptions, StepResult } from '../../src/shared/run.js';
import { detailsOfPlan, statusOfPlan } from '../../src/workflows/plan/views.js';
import { queueNames } from '../../src/shared/names.js';
import { currentRules } from '../../src/shared/rules.js';
import type { TestRun } from '../../src/shared/test-activities.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import { blob } from '../workflows/step/world.js';

/** Why an activity of a plan can fail for good (src/workflows/frame/failures.ts). */
export const FAILURES = [
  'engine_failed',
  'model_unavailable',
  'workspace_unreachable',
  'blob_lost',
] as const satisfies readonly PauseReason[];

export interface Wanted {
  readonly phases: number;
  readonly approval: 'ask' | 'auto';
  readonly together: boolean;
  readonly complex: boolean;
  readonly second: boolean;
  readonly test: 'none' | 'configured' | 'found' | 'tasks' | 'unset';
  /** Each phase has files that hold changes. */
  readonly dirty?: boolean;
  readonly left: 'nothing' | 'counts' | 'asked';
  readonly budget: number | null;
  readonly options: PlanOptions;
}
/** A plan of two phases about which no question comes before the first. */
export const plainPlan: Wanted = {
  phases: 2,
  approval: 'ask',
  together: false,
  complex: false,
  second: false,
  test: 'configured',
  left: 'nothing',
  budget: null,
  options: {
    phase: null,
    mode: 'auto',
    forceReplan: false,
    drift: null,
    estimate: 'approved',
    restart: false,
  },
};

/** Moves that wait for the server (an activity, a child, a timer) or for a person; all others only change the state. */
const WAITS: ReadonlySet<PlanEffect['kind']> = new Set([
  ...([
    'read',
    'score',
    'revise',
    'job',
    'worktree',
    'merge',
    'clean',
    'mark',
    'checkpoint',
    'wait',
  ] as const),
  ...(['await_decision', 'await_resume', 'continue', 'finish'] as const),
]);
/** The longest row of moves that wait for nothing that a plan needs. */
const MOST_IDLE = 10;
/** Of a walk in which everything works. */
const MOST_MOVES = 600;

const usage = { ...NO_USAGE, calls: 1, input_tokens: 10 };

export class PlanWalk {
  state: PlanState;
  /** What was done, for a message. */
  readonly trace: string[] = [];
  /** Moves whose activity failed, and answers that were given, by name. */
  readonly failed = new Set<string>();
  readonly answers = new Set<string>();
  private now = 1_000_000;
  private idle = 0;
  /** The move whose activity failed last, to be made again where its decision is answered so. */
  private broken: string | null = null;
  private expected: string | null = null;
  private document: { readonly id: string; readonly name: string; readonly text: string }[];
  private readonly marks = new Map<string, PhaseReading['marker']>();
  private nextPhase: number;
  private n = 0;
  private readonly wanted: Wanted;
  private readonly numbers: readonly number[];

  constructor(wanted: Wanted, numbers: readonly number[]) {
    this.wanted = wanted;
    this.numbers = numbers;
    this.document = Array.from({ length: wanted.phases }, (_, at) => ({
      id: `p${at + 1}`,
      name: `N${at + 1}`,
      text: 'a',
    }));
    this.nextPhase = wanted.phases + 1;
    const input: PlanSetup = {
      stepKey: 'feedc0de'.repeat(4),
      workspace: '/w',
      planPath: 'plans/010_demo',
      title: '010_demo',
      queues: queueNames('t', 'h'),
      timings: Object.fromEntries(
        Object.entries(TIMINGS).map(([name, spec]) => [name, spec.default]),
      ) as Timings,
      rules: currentRules(),
      overrides: {},
      hints: [],
      searchAttributes: false,
      approval: 'auto' as const,
      options: wanted.options,
    };
    this.state = initialPlan(input, this.now);
  }

  /** The same walk from here on, with everything working. */
  fork(): PlanWalk {
    const other = new PlanWalk(this.wanted, []);
    other.state = this.state;
    other.now = this.now;
    other.broken = this.broken;
    other.document = [...this.document];
    for (const [id, marker] of this.marks) other.marks.set(id, marker);
    other.nextPhase = this.nextPhase;
    other.trace.push(...this.trace);
    return other;
  }

  /** One of `count`, 0 where the row has ended. */
  private draw(count: number): number {
    const value = this.numbers[this.n];
    this.n += 1;
    return value === undefined ? 0 : value % count;
  }
  get spent(): boolean {
    return this.n >= this.numbers.length;
  }

  next(): PlanEffect {
    return nextPlanEffect(this.state, this.now, false);
  }

  /** Makes the next move; true where the plan has ended. At a question: answers it, unless `stop` says that it is to be looked at. */
  step(): boolean {
    this.control();
    const move = this.next();
    const label = labelOf(move);
    this.trace.push(label);
    if (this.trace.length > MOST_MOVES + this.numbers.length)
      throw new Error(`no end: ${this.shown()}`);
    this.idle =
      WAITS.has(move.kind) || (move.kind === 'run' && move.phases.length > 0) ? 0 : this.idle + 1;
    if (move.kind === 'verify' && this.tests(move)) this.idle = 0;
    if (this.idle > MOST_IDLE) throw new Error(`spins: ${this.shown()}`);
    if (move.kind === 'finish') return true;
    if (this.expected !== null && !['pause', 'await_decision', 'wait'].includes(move.kind)) {
      if (label !== this.expected)
        throw new Error(`${this.expected} was to be made again: ${this.shown()}`);
      this.expected = null;
    }
    this.perform(move, label);
    return false;
  }

  answer(answer: Answer): void {
    const { decision } = this.state;
    if (decision === null) throw new Error('nothing is asked');
    this.trace.push(`${decision.reason}: ${answer}`);
    this.answers.add(`${decision.reason} ${answer}`);
    const parts = decision.parts?.map(({ name, accepts }) => [
      name,
      accepts[this.draw(accepts.length)] ?? '',
    ]);
    const set = {
      ...(answer === 'other' ? { set: { command: 'make check' } } : {}),
      ...(answer === 'revise' ? { note: 'in another way' } : {}),
      ...(parts ? { set: Object.fromEntries(parts) as object } : {}),
    };
    const by = { name: 'ann', from: 'cli' };
    const request = {
      decision: decision.id,
      answer,
      requestId: `r${this.now}`,
      by,
      ...set,
    } as const;
    const validation = validateDecision(this.state, request);
    if (!validation.counts)
      throw new Error(`${answer} is offered by ${decision.reason}: ${validation.message}`);
    const anew = answer === 'regenerate' && ['choosing', 'jobs'].includes(this.state.stage.at);
    if (this.broken !== null && ['retry', 'wait', 'regenerate'].includes(answer))
      this.expected = anew ? 'read' : this.broken;
    this.broken = null;
    this.dispatch({ type: 'decided', request });
  }

  /** An activity fails for good. */
  fail(activity: ActivityName, phase: string | null, reason: (typeof FAILURES)[number]): void {
    this.failed.add(activity).add(reason);
    this.trace.push(`(${reason})`);
    this.dispatch({ type: 'activity_failed', activity, phase, reason, message: 'it broke' });
    const told = this.state.ask?.message;
    if (told !== `${activity}: it broke`)
      throw new Error(`${activity} failed, and is asked about as ${told ?? 'nothing'}`);
  }

  fact(fact: PlanFact): void {
    this.dispatch(fact);
  }

  /** A whole answer, which must count. */
  said(request: DecisionRequest): void {
    const validation = validateDecision(this.state, request);
    if (!validation.counts) throw new Error(validation.message);
    this.dispatch({ type: 'decided', request });
  }

  /** The workflow found that it waits for nothing. */
  stop(): void {
    this.broken = null;
    this.dispatch({ type: 'no_progress', effects: 100 });
  }

  shown(): string {
    return this.trace.slice(-30).join(' > ');
  }

  private dispatch(fact: PlanFact): void {
    const before = this.state;
    this.state = reducePlan(before, fact, (this.now += 1000));
    const { decision } = this.state;
    // What the workflow, its queries and its activities read of a state.
    if (decision !== before.decision || this.state.stage !== before.stage) {
      detailsOfPlan(this.state);
      const { doing } = statusOfPlan(this.state);
      if (/^$|\s$/.test(doing))
        throw new Error(`nothing is said to be done: ${JSON.stringify(doing)}`);
      checkpointOf(this.state, this.now);
    }
    if (decision !== null && decision.accepts.length < 2)
      throw new Error(`${decision.reason} offers abort alone`);
    if (before.stage.at === 'closed' && this.state.stage.at !== 'closed')
      throw new Error(`opened again: ${this.shown()}`);
  }

  /** What people say in between. */
  private control(): void {
    if (this.state.stage.at === 'closed') return;
    if (this.next().kind === 'await_resume') {
      this.expected = null;
      this.dispatch({
        type: 'control_received',
        control: this.draw(3) === 1 ? 'stop' : 'resume',
        by: 'ann',
      });
      return;
    }
    const chosen = this.spent ? 0 : this.draw(40);
    // What they say may come before the move that is to be made again.
    if ((chosen >= 1 && chosen <= 5) || chosen === 7) this.broken = this.expected = null;
    if (chosen === 1 || chosen === 2)
      this.dispatch({ type: 'control_received', control: 'pause', by: 'ann' });
    if (chosen === 3 && this.draw(5) === 1)
      this.dispatch({ type: 'control_received', control: 'stop', by: 'ann' });
    if (chosen === 4 || chosen === 7)
      this.dispatch({
        type: 'reported',
        report: { trigger: chosen === 4 ? 'scope_drift' : 'person', text: 'more', by: 'ann' },
      });
    if (chosen === 5) this.edit();
    if (chosen === 6) this.dispatch({ type: 'ignored', what: 'junk', why: 'junk' });
  }

  /** A person changes the document. */
  private edit(): void {
    const at = this.draw(this.document.length + 1);
    switch (this.draw(3)) {
      case 0:
        this.document = this.document.map((phase, n) =>
          n === at ? { ...phase, text: `${phase.text}+` } : phase,
        );
        return;
      case 1:
        if (this.document.length > 1) this.document = this.document.filter((_, n) => n !== at);
        return;
      default:
        this.addPhase(at);
    }
  }

  private addPhase(at: number): void {
    if (this.document.length >= 8) return;
    const fresh = { id: `p${this.nextPhase}`, name: `N${this.nextPhase}`, text: 'a' };
    this.document = [...this.document.slice(0, at), fresh, ...this.document.slice(at)];
    this.nextPhase += 1;
  }

  private reading(): ReadyPlan {
    const { approval, together, complex, second, test, dirty = false, left, budget } = this.wanted;
    const from = { commands: ['t'], source: 's', key: 'k', confirmed: test === 'configured' };
    const phases = this.document.map(({ id, name, text }, at): PhaseReading => ({
      id,
      number: at + 1,
      name,
      marker: this.marks.get(id) ?? null,
      expanded: false,
      category: 'code',
      text,
      second,
      dependsOn: [],
      tasks: { total: 3, done: 0 },
      score: {
        score: complex ? 9 : 3,
        keywords: {},
        tasks: 1,
        files: 0,
        tests: 0,
        above: complex ? ['9'] : [],
      },
      ...(dirty && at === 0 ? { dirty: ['a.txt'] } : {}),
    }));
    const ids = phases.map(({ id }) => id);
    const pairs = ids.flatMap((_, at) => (at % 3 === 0 ? [ids.slice(at, at + 3)] : []));
    const first = ids[0] ?? 'p1';
    const committed = { commit: 'c0', tests: 'pass' } as const;
    const counts = { replans: 1, forceSpent: false, failures: [], complexity: null };
    return {
      outcome: 'ready',
      title: 'Demo',
      level: 0,
      phases,
      declared: together,
      approval,
      hash: this.document.map(({ id, text }) => `${id}${text}`).join(),
      waves: together ? pairs.map((pair) => [pair]) : ids.map((id) => [[id]]),
      thresholds: { expansion: 8, tasks: 10, fileReferences: 10, replanLimit: 2 },
      limits: { budget_calls: budget } as ReadyPlan['limits'],
      test: {
        commands: test === 'configured' ? ['t'] : [],
        found: test === 'found' ? 't' : null,
        ...(test === 'found' ? { from } : {}),
        ...(test === 'tasks' ? { phases: { p1: from } } : {}),
        ...(test === 'unset' || test === 'tasks' ? { unset: true as const } : {}),
      },
      texts: blob(`texts ${this.state.reading.number}`),
      settings: blob('settings'),
      lostMarks: 3,
      ...(left === 'nothing'
        ? {}
        : {
            resumePoint: {
              run: null,
              why: left === 'asked' ? ['old'] : [],
              failures: [],
              replans: [],
              commits: ['c0'],
              phases: [{ id: first, committed, ...counts }],
            },
          }),
    };
  }

  /** As the activity answers where the documents ask for what the run knows. */
  private sameOr(read: ReadyPlan): ReadPlanResult {
    const { stage, reading } = this.state;
    const wanted = stage.at === 'reading' && (stage.inherit !== null || stage.renew);
    if (wanted || reading.plan?.hash !== read.hash) return read;
    const phases = read.phases.map(({ id, number, marker, expanded, tasks }) => ({
      id,
      number,
      marker,
      expanded,
      tasks,
    }));
    return { outcome: 'same', hash: read.hash, level: 0, phases };
  }

  /** Is this verification an activity, as the workflow sees it? */
  private tests({ phase }: Extract<PlanEffect, { kind: 'verify' }>): boolean {
    const { group } = this.state;
    return (
      commandsOf(this.state, group.ids).length > 0 &&
      !(phase === null ? group.mergedTested : group.baseTested)
    );
  }

  /** Does the activity fail for good? */
  private fails(activity: ActivityName, phase: string | null, label: string): boolean {
    const chosen = this.draw(20);
    if (chosen < 16) return false;
    const reason = FAILURES[chosen - 16] ?? 'engine_failed';
    this.broken = label;
    this.fail(activity, phase, reason);
    return true;
  }

  private perform(move: Exclude<PlanEffect, { kind: 'finish' }>, label: string): void {
    switch (move.kind) {
      case 'read': {
        if (this.fails('readPlan', null, label)) return;
        return this.dispatch({ type: 'plan_read', result: this.readNext() });
      }
      case 'score': {
        if (this.fails('scorePhase', move.phase, label)) return;
        const score = {
          score: this.draw(10),
          method: 'agent',
          reasoning: 'r',
          discrepancy: null,
          message: null,
        } as const;
        return this.dispatch({ type: 'scored', phase: move.phase, result: { ...score, usage } });
      }
      case 'begin_revising':
        return this.dispatch({
          type: 'revise',
          phase: move.phase,
          trigger: move.trigger,
          words: move.words,
        });
      case 'revise':
        return this.revise(move.revising, label);
      case 'begin':
        return this.dispatch({ type: 'begun', group: move.group });
      case 'job': {
        if (this.fails('writePhaseJob', move.phase, label)) return;
        const refused = { outcome: 'refused', problem: { code: 'usage', message: 'no' } } as const;
        const ready = { outcome: 'ready', job: blob('job'), path: 'j', title: 't' } as const;
        return this.dispatch({
          type: 'job_made',
          phase: move.phase,
          result: this.draw(12) === 1 ? refused : ready,
        });
      }
      case 'run':
        return this.run(move.phases);
      case 'worktree': {
        if (this.fails('prepareWorktree', move.phase, label)) return;
        const name = worktreeName(phaseOf(this.state, move.phase));
        const ready = { outcome: 'ready', workspace: `/w/${name}`, base: 'b' } as const;
        const result = this.draw(10) === 1 ? ({ outcome: 'failed', why: 'no' } as const) : ready;
        return this.dispatch({ type: 'worktree_ready', phase: move.phase, name, result });
      }
      case 'verify': {
        const base = move.phase !== null;
        if (!this.tests(move)) return this.dispatch({ type: 'group_untested', base });
        if (this.fails('runTests', move.phase, label)) return;
        const fails = this.draw(base ? 8 : 2) === 1;
        const told = { kind: null, transient: false, signature: null, summary: 's', output: null };
        const result: TestRun = {
          ...told,
          seconds: 1,
          suggestions: [],
          on: 'workspace',
          transient: false,
          baseHash: null,
          outcome: fails ? 'fail_hard' : 'pass',
        };
        return this.dispatch({ type: 'group_verified', base, result });
      }
      case 'merge': {
        if (this.fails('mergePhase', move.phase, label)) return;
        const results = [
          { outcome: 'merged', commit: 'm' },
          { outcome: 'merged', commit: null },
          { outcome: 'busy', holder: 'h' },
          { outcome: 'conflict', files: ['a.ts'] },
          { outcome: 'failed', why: 'no' },
        ] as const;
        const result = { ...(results[this.draw(results.length)] ?? results[0]) } as const;
        return this.dispatch({ type: 'phase_merged', phase: move.phase, result });
      }
      case 'clean':
        if (this.fails('removeWorktree', null, label)) return;
        return this.dispatch({
          type: 'worktree_removed',
          name: move.name,
          result: { dropped: null, kept: null },
        });
      case 'mark':
        return this.mark(move.phase, label);
      case 'checkpoint':
        if (this.fails('saveCheckpoint', null, label)) return;
        return this.dispatch({ type: 'checkpointed', result: { path: 'c' } });
      case 'wait':
        return this.dispatch({ type: 'waited' });
      case 'pause':
        return this.dispatch({ type: 'paused', pause: move.pause });
      case 'await_decision': {
        const accepts = this.state.decision?.accepts ?? [];
        // Now and then somebody gives up; most of the time they say something else.
        const given = accepts.filter((answer) => answer !== 'abort');
        return this.answer(
          (!this.spent && this.draw(60) === 1 ? 'abort' : given[this.draw(given.length)]) ??
            'abort',
        );
      }
      case 'await_resume':
        return;
      case 'continue':
        this.state = within(this.state, 'counts', { groups: 0 });
        return;
      case 'close':
        return this.dispatch({ type: 'closed', outcome: move.outcome });
      default:
        throw new Error(`a move that the walk does not know: ${(move as PlanEffect).kind}`);
    }
  }

  private mark(id: string, label: string): void {
    if (this.fails('markPhase', id, label)) return;
    const chosen = this.draw(10);
    if (chosen === 1)
      return this.dispatch({
        type: 'phase_marked',
        phase: id,
        result: { outcome: 'busy', holder: 'h' },
      });
    if (chosen === 2)
      return this.dispatch({
        type: 'phase_marked',
        phase: id,
        result: { outcome: 'conflict', why: 'no' },
      });
    const unfinished = chosen === 3 ? { unfinished: [{ text: 't', why: 'w' }] } : {};
    const { status } = phaseOf(this.state, id);
    this.marks.set(id, status === 'skipped' || status === 'incomplete' ? status : 'completed');
    this.dispatch({
      type: 'phase_marked',
      phase: id,
      result: {
        outcome: 'marked',
        files: [],
        ...unfinished,
        ...(isHeld(this.state, id)
          ? { commit: null, held: blob('m') }
          : { commit: 'k', marks: chosen !== 4 }),
      },
    });
  }

  private run(phases: readonly string[]): void {
    // As runPhases does.
    if (phases.some((id) => lacksWorktree(this.state, phaseOf(this.state, id))))
      return this.dispatch({ type: 'worktrees_wanted' });
    for (const id of phases) {
      const { job, number } = phaseOf(this.state, id);
      if (job === null) throw new Error(`Phase ${number} runs without a job: ${this.shown()}`);
    }
    this.dispatch({ type: 'phases_started', phases });
    for (const phase of phases) {
      const result = this.result(phase);
      this.dispatch({
        type: 'phase_ended',
        ended: { phase, result, how: result?.outcome ?? 'terminated' },
      });
    }
  }

  private result(id: string): StepResult | null {
    const { asksItself, runs } = phaseOf(this.state, id);
    const nothing = {
      files: [],
      skipped: [],
      proposalId: null,
      commit: null,
      problem: null,
      pausedFor_ms: 0,
    };
    const more = { wasSplit: false, usage };
    const base: Omit<StepResult, 'outcome' | 'verification'> = {
      v: 2,
      stepKey: 'k',
      ...nothing,
      ...more,
    };
    const committed = {
      ...base,
      outcome: 'committed',
      commit: `${id}-${runs}`,
      verification: 'pass',
    } as const;
    switch (this.draw(14)) {
      case 1:
        return { ...committed, verification: 'fail_hard' };
      case 2:
        return { ...base, outcome: 'unchanged', verification: null };
      case 3:
        return { ...base, outcome: 'skipped', verification: null };
      case 4:
        return {
          ...base,
          outcome: 'refused',
          verification: null,
          problem: { code: 'usage', message: 'no' },
        };
      case 5:
        return { ...base, outcome: 'aborted', verification: null };
      case 6:
        return null;
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: {
        if (asksItself) return { ...base, outcome: 'skipped', verification: null };
        const failure = {
          kind: 'test_failure',
          signature: this.draw(2) === 1 ? 'b' : 'a',
          summary: 's',
          output: null,
          suggestions: ['look'],
        };
        return { ...base, outcome: 'tests_failed', verification: 'fail_soft', failure };
      }
      default:
        return committed;
    }
  }

  private revise(revising: Revising, label: string): void {
    const { step, phase } = revising;
    if (step === 'asked') throw new Error(`no decision asks about ${phase}: ${this.shown()}`);
    const activities = {
      debug: 'debugPhase',
      propose: 'proposeReplan',
      apply: 'applyReplan',
    } as const;
    const activity = activities[step];
    if (this.fails(activity, phase, label)) return;
    switch (step) {
      case 'debug': {
        const result = { report: blob('r'), path: 'p', message: null, usage } as const;
        return this.dispatch({ type: 'debugged', revising, result });
      }
      case 'propose': {
        const proposed = {
          outcome: 'proposed',
          replan: blob('x'),
          action: 'add_phase',
          phase: revising.phase,
          why: 'w',
        } as const;
        const result =
          this.draw(3) === 1 ? ({ outcome: 'failed', message: 'no' } as const) : proposed;
        return this.dispatch({ type: 'proposed', revising, result: { usage, ...result } });
      }
      case 'apply':
        return this.dispatch({ type: 'replanned', revising, result: this.replan(phase) });
    }
  }

  private readNext(): ReadPlanResult {
    const problem = { code: 'plan_invalid', message: 'broken' } as never;
    return this.draw(12) === 1 ? { outcome: 'refused', problem } : this.sameOr(this.reading());
  }

  private replan(id: string): ApplyReplanResult {
    switch (this.draw(6)) {
      case 1:
        return { outcome: 'busy', holder: 'h' };
      case 2:
        return { outcome: 'refused', why: 'no' };
      case 3:
        return { outcome: 'conflict', why: 'no' };
      case 4:
        this.addPhase(this.document.findIndex((phase) => phase.id === id));
        break;
      default:
        this.document = this.document.map((phase) =>
          phase.id === id ? { ...phase, text: `${phase.text}*` } : phase,
        );
    }
    const measures = {
      oldStructure: 'a',
      newStructure: 'b',
      complexityBefore: 3,
      complexityAfter: 3,
    };
    // The reading can fail after the plan is written: then the run reads it itself.
    const plan = this.draw(4) === 1 ? null : this.readNext();
    return { outcome: 'replanned', action: 'add_phase', ...measures, commit: 'c', plan };
  }
}

const labelOf = (move: PlanEffect): string => {
  if (move.kind === 'revise') return `${move.revising.step} ${move.revising.phase}`;
  if (move.kind === 'clean') return `clean ${move.name}`;
  if (move.kind === 'run') return `run ${move.phases.join('+')}`;
  return 'phase' in move ? `${move.kind} ${move.phase ?? 'all'}` : move.kind;
};
