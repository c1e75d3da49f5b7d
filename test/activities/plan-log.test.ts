/** The log of plans: a line an event, each event once, rotated. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import {
  rotatingFile,
  withPlanLog,
  PLAN_LOG_TAIL_BYTES,
} from '../../src/activities/plan/plan-log.js';
import { eventText } from '../../src/cli/render/text.js';
import { statsOf } from '../../src/documents/plan/plan-stats.js';
import type { EventBody, StepEvent } from '../../src/shared/events.js';
import { isOfKind } from '../../src/shared/event-text.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { resolveHome } from '../../src/stores/home.js';
import { resolveStore } from '../../src/stores/location.js';
import { eventEntries, type Archive } from '../../src/stores/ports.js';
import { createPorts } from '../../src/worker/adapters.js';
import { beginRevising } from '../../src/workflows/plan/stages/revise/judge.js';
import { withPhase } from '../../src/workflows/plan/ways.js';
import { Driven, reading } from '../shared/plan-driven.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'emend log-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const BEGIN = Date.UTC(2026, 0, 2, 3, 4, 5);
const numbered = (bodies: readonly EventBody[]): readonly StepEvent[] =>
  bodies.map((body, index) => ({ ...body, seq: index + 1, at: BEGIN + index * 1000 }));
const measures = {
  oldStructure: 'inline',
  newStructure: 'expanded',
  complexityBefore: 9.5,
  complexityAfter: 6.2,
};
const EVENTS = numbered([
  {
    type: 'plan_started',
    plan: 'plans/010_demo',
    phases: 2,
    done: 0,
    mode: 'sequential',
    waves: [[1], [2]],
  },
  { type: 'phase_started', phase: 2, place: 2, total: 2, name: 'N', tasks: 3 },
  { type: 'second_score', phase: 2, score: 9.5, method: 'agent', message: null },
  { type: 'score_discrepancy', phase: 2, threshold: 12, agent: 7, reasoning: 'r' },
  {
    type: 'complexity_checked',
    phase: 2,
    score: 9.5,
    threshold: 8,
    expanded: false,
    above: ['score 9.5 is above 8'],
    method: 'agent',
  },
  {
    type: 'trigger_checked',
    phase: 2,
    trigger: 'complexity',
    tier: null,
    outcome: 'replan',
    why: 'w',
    replans: 0,
    limit: 2,
  },
  {
    type: 'replan_triggered',
    phase: 2,
    trigger: 'complexity',
    replans: 0,
    limit: 2,
    status: 'invoked',
  },
  {
    type: 'replanned',
    phase: 2,
    trigger: 'complexity',
    action: 'expand_phase',
    ...measures,
    forced: false,
    replans: 1,
    commit: 'c',
    duration_ms: 84_600,
  },
  {
    type: 'phase_failed',
    phase: 2,
    run: 1,
    kind: 'syntax',
    signature: 'a',
    consecutive: 1,
    summary: 's',
  },
  {
    type: 'phase_failed',
    phase: 2,
    run: 2,
    kind: null,
    signature: 'a',
    consecutive: 2,
    summary: 's',
  },
  {
    type: 'replan_triggered',
    phase: 2,
    trigger: 'test_failure_pattern',
    replans: 1,
    limit: 2,
    status: 'invoked',
  },
  { type: 'replan_failed', phase: 2, trigger: 'test_failure_pattern', why: 'two\nlines "quoted"' },
  {
    type: 'loop_stopped',
    phase: 3,
    replans: 2,
    limit: 2,
    status: 'limit_reached',
    why: 'w',
  },
  { type: 'phase_marked', phase: 2, marker: 'completed', commit: 'c', why: null },
  { type: 'debug_report', phase: 2, path: 'debug-p2-1.json', message: null },
  { type: 'merged_tested', outcome: 'fail_soft', summary: 's' },
]);

test('lines as log readers know them; a retry adds none', async () => {
  const path = join(dir, 'logs', 'plan.log');
  const archive = withPlanLog(createArchive({ dir: join(dir, 'archive') }), path);
  const entries = eventEntries(EVENTS, 'run');
  await archive.append('ab'.repeat(16), entries);
  await archive.append('ab'.repeat(16), entries);
  expect(readFileSync(path, 'utf8').split('\n')).toEqual([
    '[2026-01-02 03:04:08] COMPLEXITY_DISCREPANCY: phase=2 threshold_score=12 agent_score=7 plan=plans/010_demo',
    '[2026-01-02 03:04:09] COMPLEXITY_CHECK: phase=2 score=9.5 threshold=8 agent_invoked=true recommendation=expand plan=plans/010_demo',
    '[2026-01-02 03:04:11] REPLAN_TRIGGER: phase=2 trigger=complexity replan_count=0/2 status=invoked plan=plans/010_demo',
    '[2026-01-02 03:04:12] REPLAN_SUCCESS: phase=2 action=expand_phase old_structure=inline new_structure=expanded duration=85s plan=plans/010_demo',
    '[2026-01-02 03:04:13] TEST_FAILURE: phase=2 iteration=1 error_type=syntax consecutive_failures=1 plan=plans/010_demo',
    '[2026-01-02 03:04:14] TEST_FAILURE: phase=2 iteration=2 error_type=unknown consecutive_failures=2 plan=plans/010_demo',
    '[2026-01-02 03:04:15] REPLAN_TRIGGER: phase=2 trigger=test_failure_pattern replan_count=1/2 status=invoked plan=plans/010_demo',
    '[2026-01-02 03:04:16] REPLAN_FAILURE: phase=2 trigger=test_failure_pattern reason="two lines \\"quoted\\"" plan=plans/010_demo',
    '[2026-01-02 03:04:17] LOOP_PREVENTION: phase=3 replan_count=2/2 status=limit_reached action=escalate plan=plans/010_demo',
    '',
  ]);
});

test('workers of one home share the log; a line names its plan, though another worker wrote its start', async () => {
  const home = await resolveHome({ EMEND_HOME: join(dir, 'home') });
  const logger = pino({ level: 'silent' });
  const openPorts = async () =>
    createPorts({ env: {}, home, logger }, await resolveStore({}, home), {} as never);
  const [one, two] = [await openPorts(), await openPorts()];
  const entries = eventEntries(EVENTS, 'run');
  await one.archive.append('ab'.repeat(16), entries.slice(0, 6));
  await two.archive.append('ab'.repeat(16), entries.slice(5));
  const lines = readFileSync(join(home, 'logs', 'plan.log'), 'utf8')
    .split('\n')
    .slice(0, -1);
  expect(lines).toHaveLength(9);
  expect(lines.filter((line) => line.endsWith(' plan=plans/010_demo'))).toEqual(lines);
});

describe('what a person wants of a plan, found by grep in the log', () => {
  /** Lines of the log for all events of this plan, without their times. */
  const grep = async (plan: Driven, word: string): Promise<readonly string[]> => {
    const path = join(dir, 'logs', 'plan.log');
    const archive = withPlanLog(createArchive({ dir: join(dir, 'archive') }), path);
    await archive.append('ab'.repeat(16), eventEntries(plan.state.events, 'run'));
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.filter((line) => line.includes(word)).map((line) => line.slice(22));
  };
  /** The phase that comes next is replanned twice, which is the limit, and a third time. */
  const thirdReplan = async (forceReplan: boolean): Promise<Driven> => {
    const plan = new Driven(['p1', 'p2'], reading(['p1', 'p2']), { forceReplan });
    plan.state = withPhase(plan.state, 'p1', { replans: 2 });
    const failure = {
      phase: 'p1',
      run: 1,
      kind: null,
      signature: 'a',
      summary: 's',
      output: null,
      suggestions: [],
      at: 0,
    };
    plan.state = withPhase(plan.state, 'p1', { failures: [failure, failure] });
    plan.state = beginRevising(
      plan.state,
      { phase: 'p1', trigger: 'test_failure_pattern', words: '' },
      0,
    );
    return plan;
  };

  test('--report-scope-drift writes the phase and the words before any phase begins', async () => {
    const drift = 'a migration is needed first';
    const plan = new Driven(['p1', 'p2'], reading(['p1', 'p2'], ['p1']), { drift });
    expect(await grep(plan, 'SCOPE_DRIFT')).toEqual([
      `SCOPE_DRIFT: phase=2 by=--report-scope-drift description="${drift}" plan=plans/010_demo`,
    ]);
  });

  test('a report while a phase runs names that phase', async () => {
    const plan = new Driven(['p1', 'p2']);
    plan.until('run');
    plan.until();
    const report = { trigger: 'scope_drift', text: 'more', by: 'ann' } as const;
    plan.dispatch({ type: 'reported', report });
    expect(await grep(plan, 'SCOPE_DRIFT')).toEqual([
      'SCOPE_DRIFT: phase=1 by=ann description=more plan=plans/010_demo',
    ]);
  });

  test('--force-replan writes forced_override where it exceeds the limit, and warns', async () => {
    const plan = await thirdReplan(true);
    expect(await grep(plan, 'LOOP_PREVENTION')).toEqual([
      'LOOP_PREVENTION: phase=1 replan_count=2/2 status=forced_override action=replan plan=plans/010_demo',
    ]);
    expect(plan.state.events.map(eventText)).toContainEqual(
      expect.stringContaining('WARNING: Forcing replan despite limit (user override'),
    );
  });

  test('an answer `force` of a person writes the same after the limit', async () => {
    const plan = await thirdReplan(false);
    plan.answer('force');
    expect(await grep(plan, 'LOOP_PREVENTION')).toEqual([
      'LOOP_PREVENTION: phase=1 replan_count=2/2 status=limit_reached action=escalate plan=plans/010_demo',
      'LOOP_PREVENTION: phase=1 replan_count=2/2 status=forced_override action=replan plan=plans/010_demo',
    ]);
    // A forced replan is no stop of the loop.
    expect(statsOf([plan.state.events]).loopStops).toBe(1);
  });
});

describe('a worker that restarts', () => {
  const KEY = 'ab'.repeat(16);
  const OTHER = 'cd'.repeat(16);
  const entries = eventEntries(EVENTS, 'run');
  const log = (): string => join(dir, 'logs', 'plan.log');
  const lines = (name = log()): readonly string[] =>
    readFileSync(name, 'utf8').split('\n').slice(0, -1);
  /** As a worker makes it, with nothing in its memory. */
  const worker = (): Archive => withPlanLog(createArchive({ dir: join(dir, 'archive') }), log());

  test('adds no line that is there', async () => {
    await worker().append(KEY, entries);
    const before = lines();
    expect(before).toHaveLength(9);
    await worker().append(KEY, entries);
    await Promise.all([worker().append(KEY, entries), worker().append(KEY, entries.slice(5))]);
    expect(lines()).toEqual(before);
  });

  test('adds those that the one before could not write, once', async () => {
    await worker().append(KEY, entries.slice(0, 6));
    await createArchive({ dir: join(dir, 'archive') }).append(KEY, entries.slice(6));
    await worker().append(KEY, entries);
    await worker().append(KEY, entries);
    expect(lines()).toHaveLength(9);
    expect(new Set(lines()).size).toBe(9);
  });

  test('adds none where the file was rotated in between', async () => {
    await worker().append(KEY, entries);
    const before = lines();
    renameSync(log(), `${log()}.1`);
    await worker().append(KEY, entries.slice(0, 10));
    expect(existsSync(log())).toBe(false);
    expect(lines(`${log()}.1`)).toEqual(before);
  });

  test("adds another plan's, though it reads the same", async () => {
    await worker().append(KEY, entries);
    await worker().append(OTHER, entries);
    await worker().append(OTHER, entries);
    expect(lines()).toHaveLength(18);
  });

  test('looks at the end of a long log only', async () => {
    mkdirSync(join(dir, 'logs'));
    writeFileSync(log(), `${'x'.repeat(PLAN_LOG_TAIL_BYTES)}\n`);
    await worker().append(KEY, entries);
    await worker().append(KEY, entries);
    expect(lines()).toHaveLength(10);
  });
});

test('a full file becomes .1, and only so many are kept', () => {
  const path = join(dir, 'plan.log');
  const file = rotatingFile(path, { max_bytes: 200, files: 3 });
  for (let n = 0; n < 20; n += 1)
    file.write(`[2026-01-02 03:04:05] TEST_FAILURE: phase=${n} error_type=unknown\n`);
  expect(readdirSync(dir).sort()).toEqual(['plan.log', 'plan.log.1', 'plan.log.2']);
  for (const name of readdirSync(dir))
    expect(readFileSync(join(dir, name)).length).toBeLessThanOrEqual(200);
  expect(readFileSync(path, 'utf8')).toContain('phase=19');
  expect(readFileSync(`${path}.1`, 'utf8')).not.toContain('phase=19');
});

test('a log that cannot be written stops nothing', () => {
  expect(() => {
    rotatingFile(join(dir, 'x', '\0')).write('K\n');
  }).not.toThrow();
});

test('the four questions', () => {
  const of = (kind: Parameters<typeof isOfKind>[1]) =>
    EVENTS.filter((event) => isOfKind(event, kind)).map(({ seq }) => seq);
  expect(of('complexity')).toEqual([3, 4, 5, 6]);
  expect(of('replan')).toEqual([7, 8, 11, 12, 15]);
  expect(of('loop')).toEqual([13]);
  // The report on failures is none of them.
  expect(of('failures')).toEqual([9, 10, 16]);
});

test('what plans came to', () => {
  expect(statsOf([EVENTS, [], EVENTS.slice(2)])).toEqual({
    plans: 1,
    phases: 1,
    replans: 1,
    phasesReplanned: 1,
    secondScores: 1,
    discrepancies: 1,
    loopStops: 1,
    failures: 2,
    noTests: 0,
    replanSuccess: { count: 1, of: 1 },
    caughtWithinTwo: { count: 1, of: 1 },
    expansionAccuracy: { count: 1, of: 1 },
  });
});
