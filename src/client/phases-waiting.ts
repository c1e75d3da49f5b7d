/** Which phases of a plan wait for a person: a phase's own run knows, the plan's knows only that it is at work. */
import type { PauseReason } from '../shared/decisions.js';
import type { StepKey } from '../shared/refs.js';
import { type ResolvedRun, withLive } from './resolve-run.js';
import { type RunView, showRun } from './show-run.js';
import type { Emend } from './types.js';

export interface PhaseWaiting {
  /** The phase's number. */
  readonly phase: number;
  readonly run: StepKey;
  readonly reason: PauseReason;
}

/** A run as a person asks for it once: a plan's with what its phases wait for. */
export interface ShownRun extends RunView {
  /** In the order of the phases; of a run that is no plan's none. */
  readonly phasesWaiting: readonly PhaseWaiting[];
}

/** As `showRun`, and an action more for each phase that is under way: not for whoever asks again and again. */
export const showWithPhases = async (emend: Emend, run: ResolvedRun): Promise<ShownRun> => {
  const view = await showRun(emend, run);
  return { ...view, phasesWaiting: await phasesWaiting(emend, view) };
};

const phasesWaiting = async (
  emend: Emend,
  { status: { plan } }: Pick<RunView, 'status'>,
): Promise<readonly PhaseWaiting[]> => {
  const found: PhaseWaiting[] = [];
  for (const { number, run, status } of plan?.phases ?? []) {
    if (status !== 'running' || run === null) continue;
    const { decision } = (await showRun(emend, await withLive(emend, run, null), { full: false })).status;
    if (decision !== null) found.push({ phase: number, run, reason: decision.reason });
  }
  return found;
};
