/** One carrier from its start to its end: its fault is done to it, and its person answers whatever it asks. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJobFile } from '../../src/workspace/documents/read-job.js';
import type { ResolvedRun } from '../../src/client/runs/resolve.js';
import { showRun } from '../../src/client/runs/show.js';
import { planOfPath, startPlan } from '../../src/client/runs/start-plan.js';
import { startStep } from '../../src/client/runs/start.js';
import { ProblemError } from '../../src/shared/problems.js';
import type { Answer, DecisionPoint, PauseReason } from '../../src/shared/decisions.js';
import type { StepStatus } from '../../src/shared/run.js';
import type { Pause } from './evidence.js';
import type { Carrier } from './jobs.js';
import type { Acts, Kind } from './kind.js';
import { again, answer } from './person.js';
import type { Random } from './random.js';
import type { World } from './world.js';

export interface Planned {
  readonly n: number;
  readonly kind: Kind;
  readonly carrier: Carrier;
  readonly random: Random;
}
export interface Carried {
  readonly planned: Planned;
  /** Of its run; of a plan that was started again, of each. Empty: it could not be started. */
  readonly stepKeys: readonly string[];
  /** Temporal's word for how its last run ended; null: it did not, in time. */
  readonly status: string | null;
  /** What was asked, in order, by the stepKey of the run that asked: a plan's phases have their own. */
  readonly asked: ReadonlyMap<string, readonly Pause[]>;
  /** Evidence that the fault fired; null: it did not. */
  readonly fired: string | null;
  readonly trouble: string | null;
  readonly seconds: number;
}

/** Decision points of one run before its person gives it up. */
export const MAX_ROUNDS = 12;
const LOOK_MS = 300;
/** A run that has not come to its end by then hangs. */
const RUN_MS = 400_000;
/** Faults that go on beside their run end soon after it. */
const ACTS_MS = 140_000;

const USUAL: Readonly<Record<PauseReason, Answer>> = {
  approval: 'approve',
  truncation: 'retry',
  unmarked: 'retry',
  declined: 'retry',
  call_lost: 'retry',
  attempts_exhausted: 'retry',
  chunk_limit: 'retry',
  budget: 'retry',
  estimate: 'retry',
  runaway: 'continue',
  conflict: 'rebase',
  hook_changed: 'rebase',
  tests_failed: 'revise',
  test_command: 'run',
  plan_start: 'start',
  prompt_cut: 'retry',
  model_unavailable: 'retry',
  engine_failed: 'retry',
  workspace_unreachable: 'wait',
  blob_lost: 'regenerate',
  expansion: 'continue',
  replan_limit: 'continue',
  plan_changed: 'take_new',
  merge_conflict: 'regenerate',
  resume: 'resume',
  cancelled: 'retry',
  sandbox_unavailable: 'run_without',
  audit: 'keep',
  tests_changed_files: 'adopt',
  baseline: 'fix',
  sandbox_blocks_tests: 'run_without',
  secret_found: 'mask',
  configuration: 'trust',
  pick: 'take',
  nothing_found: 'retry',
};

export const carry = async (world: World, planned: Planned): Promise<Carried> => {
  const { kind, carrier, random } = planned;
  const begun = Date.now();
  const acts = kind.acts({ world, carrier, random });
  acts.beforeStart?.();
  const walk: Walk = { stepKeys: [], asked: new Map(), status: null, last: new Map() };
  let trouble: string | null = null;
  try {
    const stepKey = await begin(world, carrier);
    walk.stepKeys.push(stepKey);
    const run = await known(world, stepKey);
    const ended = new AbortController();
    const beside = acts.afterStart?.(run, ended.signal) ?? Promise.resolve();
    // Heard below; until then it must not count as unheard.
    beside.catch(() => undefined);
    await through(world, planned, acts, walk, begun + RUN_MS);
    ended.abort();
    await Promise.race([beside, sleep(ACTS_MS, undefined, { ref: false })]);
  } catch (error) {
    trouble = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  const seconds = (Date.now() - begun) / 1000;
  return { planned, ...walk, fired: acts.fired(), trouble, seconds };
};

/** A person tries again while no server answers. */
const patiently = async <T>(what: string, act: () => Promise<T | null>): Promise<T> => {
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    try {
      const done = await act();
      if (done !== null) return done;
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.code !== 'no_server') throw error;
    }
    await sleep(500);
  }
  throw new Error(`${what}: no server for a minute`);
};

/** Starts the carrier's job or plan; its stepKey. */
export const begin = async (world: World, carrier: Carrier): Promise<string> => {
  const { name, workspace, job, plan, traits } = carrier;
  if (plan !== null) {
    const file = await planOfPath(workspace, plan.path);
    const { approval } = traits;
    return patiently(
      `start of ${name}`,
      async () => (await startPlan(world.emend, { plan: file, approval, options: {} })).stepKey,
    );
  }
  const dir = join(world.dir, 'jobs');
  mkdirSync(dir, { recursive: true });
  const path = join(dir, `${name}.md`);
  writeFileSync(path, job);
  const file = await readJobFile({ jobPath: path, workspace, cwd: workspace });
  return patiently(
    `start of ${name}`,
    async () => (await startStep(world.emend, { job: file })).stepKey,
  );
};
const known = (world: World, stepKey: string): Promise<ResolvedRun> =>
  patiently(`look at ${stepKey}`, () => again(world, stepKey));

interface Walk {
  stepKeys: string[];
  asked: Map<string, Pause[]>;
  status: string | null;
  /** The decision that each run was seen at last. */
  last: Map<string, string>;
}

/** Looks, answers, looks again, until the run has ended for good. */
const through = async (world: World, planned: Planned, acts: Acts, walk: Walk, until: number) => {
  while (Date.now() < until) {
    await sleep(LOOK_MS);
    const run = await again(world, walk.stepKeys.at(-1) ?? '');
    if (run?.live == null) continue;
    if (!run.live.open) {
      const goesOn = (await acts.afterEnd?.(run)) ?? false;
      if (typeof goesOn === 'string') walk.stepKeys.push(goesOn);
      if (goesOn !== false) continue;
      walk.status = run.live.status;
      return;
    }
    const status = await statusOf(world, run);
    if (status === null) continue;
    await settle(world, planned, acts, walk, { run, point: status.decision });
    // Phases are runs of their own, and ask for themselves.
    for (const phase of status.plan?.phases ?? [])
      if (phase.status === 'running' && phase.run !== null) {
        const child = await again(world, phase.run);
        if (child?.live?.open !== true) continue;
        const point = (await statusOf(world, child))?.decision ?? null;
        await settle(world, planned, acts, walk, { run: child, point });
      }
  }
};

interface Asking {
  readonly run: ResolvedRun;
  /** Null: it asks nothing. */
  readonly point: DecisionPoint | null;
}
const settle = async (
  world: World,
  planned: Planned,
  acts: Acts,
  walk: Walk,
  { run, point }: Asking,
) => {
  if (point === null) return;
  const asked = walk.asked.get(run.stepKey) ?? [];
  walk.asked.set(run.stepKey, asked);
  const seen = `${run.live?.runId ?? ''} ${point.id} ${Object.keys(point.answered).length}`;
  if (seen !== walk.last.get(run.stepKey))
    asked.push({ reason: point.reason, message: point.message });
  walk.last.set(run.stepKey, seen);
  if (await acts.onDecision?.(point, run)) return;
  await usual(world, planned, point, run, asked.length);
};

const statusOf = async (world: World, run: ResolvedRun): Promise<StepStatus | null> => {
  try {
    const view = await showRun(world.emend, run, { full: false });
    return view.source === 'run' ? view.status : null;
  } catch (error) {
    if (error instanceof ProblemError) return null;
    throw error;
  }
};

const usual = async (
  world: World,
  { carrier }: Planned,
  point: DecisionPoint,
  run: ResolvedRun,
  round: number,
) => {
  if (round > MAX_ROUNDS)
    return answer(world, carrier, run, { answer: 'abort', decision: point.id });
  // A plan takes other words than a step at the same reason (`estimate`).
  const word = point.accepts.includes(USUAL[point.reason]) ? USUAL[point.reason] : 'continue';
  const note = word === 'revise' ? { note: 'mind the tests' } : {};
  return answer(world, carrier, run, { answer: word, decision: point.id, ...note });
};
