/** What a kind of fault is: the job that it wants, and what it does to it. */
import type { ResolvedRun } from '../../src/client/runs/resolve.js';
import type { DecisionPoint } from '../../src/shared/decisions.js';
import type { Carrier, Traits } from './jobs.js';
import type { Random } from './random.js';
import type { World } from './world.js';

export interface Scene {
  readonly world: World;
  readonly carrier: Carrier;
  readonly random: Random;
}
/** One fault, from its plan to the evidence that it fired. */
export interface Acts {
  /** Arms what must be there before the run begins. */
  beforeStart?(): void;
  /** Goes on beside the run, until `ended` aborts; waited for at its end. */
  afterStart?(run: ResolvedRun, ended: AbortSignal): Promise<void>;
  /** True: the decision is dealt with here; false: the person answers as usual. */
  onDecision?(point: DecisionPoint, run: ResolvedRun): Promise<boolean>;
  /** True: the run goes on (it was reset). A stepKey: the plan goes on in another run. */
  afterEnd?(run: ResolvedRun): Promise<boolean | string>;
  /** Where it fired; null: it has not. */
  fired(): string | null;
}
/**
 * `committed`: as if nothing had happened. `changed`: committed, with a person's lines or another version in it. Else how it ends; a
 * stop that came too late may find it committed. `unchanged`: a person's save has the edit in it already.
 */
export type End =
  | 'committed'
  | 'changed'
  | 'unchanged'
  | 'skipped'
  | 'aborted'
  | 'cancelled'
  | 'terminated'
  /** A phase's commit that went with the worktree of a plan that was aborted. */
  | 'dropped';
export type PlanEnd = 'completed' | 'incomplete' | 'aborted' | 'cancelled';

export interface Kind {
  readonly name: string;
  /** `kill`: a process is killed, stopped or asked to go. */
  readonly bag: 'kill' | 'other';
  readonly traits?: Partial<Traits>;
  readonly ends?: readonly End[];
  /** Of the carrier's plan; `ends` are then those of its phases. Default: completed. */
  readonly planEnds?: readonly PlanEnd[];
  /** How a run of the plan ends that another one goes on from. Default: stopped. */
  readonly planCuts?: readonly ('stopped' | 'terminated')[];
  acts(scene: Scene): Acts;
}
