/** Options of Temporal's own workers that a program may set on those of Emend. */
import type { InjectedSinks, WorkerOptions, WorkerPlugin, WorkerTuner } from '@temporalio/worker';
import type { Role } from '../shared/names.js';
import { fail } from '../shared/problems.js';

/** What a worker of your own is created with, next to `connection` and `namespace`: `Worker.create({ connection, ...host })`. */
export type WorkerParts = Omit<WorkerOptions, 'connection' | 'namespace'>;

export interface TemporalOptions {
  /** Slots of the worker of a role, in place of Emend's fixed numbers. If all roles share a queue, that of `hosts` counts. */
  readonly tuners?: Readonly<Partial<Record<Role, WorkerTuner>>> | undefined;
  /** Plugins of each worker. The workflows are then bundled at the start. */
  readonly plugins?: readonly WorkerPlugin[] | undefined;
}
export interface WorkflowOptions {
  /** Maximum number of runs whose state a worker keeps. Default: 200. */
  readonly maxCachedWorkflows?: number | undefined;
  /** Sinks of workflow interceptors. Emend's own sink is called `archive`. */
  readonly sinks?: AnySinks | undefined;
}
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the SDK's own type of sinks that it does not know.
type AnySinks = InjectedSinks<any>;

/** Returns the sinks of the program with those of Emend. Throws ProblemError `usage` for a name that is taken. */
export const withOwnSinks = (own: AnySinks, sinks: AnySinks = {}): AnySinks => {
  const taken = Object.keys(own).find((name) => name in sinks);
  if (taken !== undefined)
    fail('usage', `The sink "${taken}" is Emend's own.`, 'Give your sink another name.');
  return { ...sinks, ...own };
};

/** Returns the part with a tuner. The SDK refuses a part that has a tuner and a number of slots. */
export const tuned = (part: WorkerParts, tuner: WorkerTuner | undefined): WorkerParts => {
  if (tuner === undefined) return part;
  const { maxConcurrentActivityTaskExecutions: _, ...rest } = part;
  return { ...rest, tuner };
};

/** The parts of a worker that a role's tuner counts for. */
type PartsOfRoles = Readonly<Record<'workflows' | 'model' | 'host' | 'anyHost', WorkerParts>>;

/** Returns the parts with the tuner of each role. */
export const tunedByRole = <Parts extends PartsOfRoles>(
  parts: Parts,
  { workflows, model, hosts }: NonNullable<TemporalOptions['tuners']>,
): Parts => ({
  ...parts,
  workflows: tuned(parts.workflows, workflows),
  model: tuned(parts.model, model),
  host: tuned(parts.host, hosts),
  anyHost: tuned(parts.anyHost, hosts),
});
