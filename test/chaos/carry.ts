/** One carrier from its start to its end: its fault is done to it, and its person answers whatever it asks. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJobFile } from '../../src/client/job-file.js';
import type { ResolvedRun } from '../../src/client/resolve-run.js';
import { showRun } from '../../src/client/show-run.js';
import { startStep } from '../../src/client/start-step.js';
import { ProblemError } from '../../src/shared/problems.js';
import type { Answer, DecisionPoint, PauseReason } from '../../src/shared/decisions.js';
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
  /** Null: it could not be started. */
  readonly stepKey: string | null;
  /** Temporal's word for how its last run ended; null: it did not, in time. */
  readonly status: string | null;
  readonly rounds: number;
  readonly pauses: readonly PauseReason[];
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
  conflict: 'rebase',
  hook_changed: 'rebase',
  tests_failed: 'revise',
  test_command: 'run',
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
};

export const carry = async (world: World, planned: Planned): Promise<Carried> => {
  const { kind, carrier, random } = planned;
  const begun = Date.now();
  const acts = kind.acts({ world, carrier, random });
  acts.beforeStart?.();
  const walk = { rounds: 0, pauses: [] as PauseReason[], status: null as string | null };
  let stepKey: string | null = null;
  let trouble: string | null = null;
  try {
    stepKey = await begin(world, carrier);
    const run = await known(world, stepKey);
    const ended = new AbortController();
    const beside = acts.afterStart?.(run, ended.signal) ?? Promise.resolve();
    // Heard below; until then it must not count as unheard.
    beside.catch(() => undefined);
    await through(world, planned, acts, stepKey, walk, begun + RUN_MS);
    ended.abort();
    await Promise.race([beside, sleep(ACTS_MS, undefined, { ref: false })]);
  } catch (error) {
    trouble = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  const seconds = (Date.now() - begun) / 1000;
  return { planned, stepKey, ...walk, fired: acts.fired(), trouble, seconds };
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

const begin = async (world: World, { name, workspace, job }: Carrier): Promise<string> => {
  const dir = join(world.dir, 'jobs');
  mkdirSync(dir, { recursive: true });
  const path = join(dir, `${name}.md`);
  writeFileSync(path, job);
  const file = await readJobFile({ jobPath: path, workspace, cwd: workspace });
  return patiently(`start of ${name}`, async () => (await startStep(world.emend, { job: file })).stepKey);
};
const known = (world: World, stepKey: string): Promise<ResolvedRun> =>
  patiently(`look at ${stepKey}`, () => again(world, stepKey));

interface Walk {
  rounds: number;
  pauses: PauseReason[];
  status: string | null;
}

/** Looks, answers, looks again, until the run has ended for good. */
const through = async (world: World, planned: Planned, acts: Acts, stepKey: string, walk: Walk, until: number) => {
  let last: string | null = null;
  while (Date.now() < until) {
    await sleep(LOOK_MS);
    const run = await again(world, stepKey);
    if (run?.live == null) continue;
    if (!run.live.open) {
      if ((await acts.afterEnd?.(run)) === true) continue;
      walk.status = run.live.status;
      return;
    }
    const point = await pointOf(world, run);
    if (point === null) continue;
    const seen = `${run.live.runId} ${point.id} ${Object.keys(point.answered).length}`;
    if (seen !== last) {
      walk.rounds += 1;
      walk.pauses.push(point.reason);
    }
    last = seen;
    if (await acts.onDecision?.(point, run)) continue;
    await usual(world, planned, point, run, walk.rounds);
  }
};

const pointOf = async (world: World, run: ResolvedRun): Promise<DecisionPoint | null> => {
  try {
    const view = await showRun(world.emend, run, { full: false });
    return view.source === 'run' ? view.status.decision : null;
  } catch (error) {
    if (error instanceof ProblemError) return null;
    throw error;
  }
};

const usual = async (world: World, { carrier }: Planned, point: DecisionPoint, run: ResolvedRun, round: number) => {
  if (round > MAX_ROUNDS) return answer(world, carrier, run, { answer: 'abort', decision: point.id });
  const word = USUAL[point.reason];
  const note = word === 'revise' ? { note: 'mind the tests' } : {};
  return answer(world, carrier, run, { answer: word, decision: point.id, ...note });
};
