import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { preflight, readPlan, type ActivityPorts } from '../activities/index.js';
import type { Overrides } from '../shared/limits.js';
import { ProblemError } from '../shared/problems.js';
import type { RepositoryBase } from '../shared/repository.js';
import { currentRules, defaultBudget_usd } from '../shared/rules.js';
import {
  moneyBudget,
  sumEstimates,
  type MoneyBudget,
  type PhaseEstimate,
  type StepEstimate,
} from '../shared/usage.js';
import { resolveStore } from '../stores/location.js';
import { withScratch } from '../system/scratch.js';
import { createPorts, type PortsOptions } from './adapters.js';

/** A job or a plan. */
export interface ToEstimate {
  readonly workspace: string;
  /** Looked at in a checkout, from which nothing is pushed. */
  readonly repository?: RepositoryBase | undefined;
  /** A job's, or a plan's without its level. */
  readonly path: string;
  /** The job file; absent: it is a plan. */
  readonly job?: Uint8Array;
  readonly overrides: Overrides;
  readonly pick?: true | undefined;
}
/** What a run is expected to take. */
export interface Estimated {
  readonly estimate: StepEstimate;
  /** Of a plan: its phases that are not done, and what they take at most where their tests fail. */
  readonly phases?: number;
  readonly most?: PhaseEstimate;
  /** Null: there is no money budget, as no price is known. */
  readonly budget: MoneyBudget | null;
  /** Limits that it is over, in words. */
  readonly over: readonly string[];
}

/**
 * What a job or a plan is expected to take, and whether a run of it would be refused: by the activity that its run begins with, in stores
 * of their own that are gone afterwards. Nothing is started, and no model is asked. Throws ProblemError as the run would be refused.
 */
export const estimateOnly = (
  asked: ToEstimate,
  env: PortsOptions['env'],
  logger: Logger,
): Promise<Estimated> =>
  withScratch('estimate', async (dir) => {
    // A checkout is beside it.
    const home = join(dir, 'home');
    await mkdir(home);
    const alone = { ...env, EMEND_STORE: '' };
    const ports = await createPorts(
      { env: alone, home, logger },
      await resolveStore(alone, home),
      NOBODY,
    );
    // Whether commands could run is none of this question.
    const commands = { ...ports.commands, withoutSandbox: () => Promise.resolve(null) };
    const { repository } = asked;
    const own = repository && (await ports.checkouts.look({ ...LOOK, repository, signal }));
    return (asked.job === undefined ? ofPlan : ofJob)({ ...ports, ...own, commands }, asked);
  });

const never = () => Promise.reject(new Error('an estimate asks about no run'));
const NOBODY = {
  stateOfHolder: never,
  endOf: never,
  group: { facts: never, hosts: never, runsCommands: never, lastCheckpoint: never },
};
/** Nobody cancels it. */
const { signal } = new AbortController();
const LOOK = { stepKey: '0'.repeat(32), log: [], approval: null } as const;

async function ofJob(
  ports: ActivityPorts,
  { workspace, repository, path: jobPath, job, overrides, pick }: ToEstimate,
): Promise<Estimated> {
  const input = {
    ...LOOK,
    workspace,
    jobPath,
    job: await ports.blobs.put(job ?? new Uint8Array()),
    overrides,
  };
  const all = {
    ...input,
    snapshotNumber: 1,
    hints: [],
    picked: null,
    only: null,
    ...(pick && { pick }),
  };
  const looked = await preflight(ports, { ...all, ...(repository && { repository }) }, { signal });
  if (looked.outcome === 'refused') throw new ProblemError(looked.problem);
  if (looked.outcome === 'untrusted') throw new Error('an estimate opens no decision');
  const { estimate } = looked;
  const set_usd = looked.outcome === 'ready' ? looked.limits.budget_usd : looked.budget_usd;
  return {
    estimate,
    budget: budgetFor(estimate, set_usd),
    over: looked.outcome === 'ready' ? looked.overEstimate : [],
  };
}

const budgetFor = ({ usd }: PhaseEstimate, set_usd: number | null): MoneyBudget | null =>
  moneyBudget(set_usd, defaultBudget_usd(currentRules().bounds, usd));

async function ofPlan(
  ports: ActivityPorts,
  { workspace, path: planPath, overrides }: ToEstimate,
): Promise<Estimated> {
  const read = await readPlan(ports, {
    ...LOOK,
    workspace,
    planPath,
    reading: 1,
    known: [],
    overrides,
  });
  if (read.outcome === 'refused') throw new ProblemError(read.problem);
  if (read.outcome === 'untrusted') throw new Error('an estimate opens no decision');
  if (read.outcome === 'same') throw new Error('a first reading that is the same');
  const open = read.phases.filter(({ marker }) => marker !== 'completed' && marker !== 'skipped');
  const most = open.flatMap((phase) => phase.most ?? []);
  const estimate = sumEstimates(open.map((phase) => phase.estimate ?? {}));
  return {
    estimate,
    budget: budgetFor(estimate, read.limits.budget_usd),
    phases: open.length,
    ...(most.length < open.length || open.length === 0 ? {} : { most: sumEstimates(most) }),
    over: [],
  };
}
