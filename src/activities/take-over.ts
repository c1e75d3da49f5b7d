/** Applying to a workspace that an ended run may still hold: its lease is taken over where it stands for nothing any more. */
import { shownKey } from '../shared/refs.js';
import type { ApplyOutcome, ApplyRequest, LeaseHolder, StillOurs } from '../workspace/types.js';
import type { ActivityDependencies } from './dependencies.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

interface Applied {
  readonly outcome: ApplyOutcome;
  /** What a person can do about a holder that has ended; null: it is waited for. */
  readonly advice: string | null;
}

export const applyOrTakeOver = async (
  dependencies: Pick<ActivityDependencies, 'engine' | 'standingOf' | 'logger'>,
  request: ApplyRequest,
  stillOurs: StillOurs,
): Promise<Applied> => {
  const { engine, logger } = dependencies;
  for (let takeOvers = 0; ; takeOvers++) {
    const outcome = await engine.apply(request, stillOurs);
    if (outcome.outcome !== 'busy') return { outcome, advice: null };
    const found = await holderOf(dependencies, request.workspace, outcome.holder);
    if (!found.free || takeOvers === STORE_BOUNDS.takeOvers)
      return { outcome, advice: found.free ? null : found.advice };
    logger.warn({ ...found, workspace: request.workspace, holder: outcome.holder.stepKey }, 'took over a lease');
  }
};

const holderOf = async (
  { engine, standingOf }: Pick<ActivityDependencies, 'engine' | 'standingOf'>,
  workspace: string,
  holder: LeaseHolder,
): Promise<
  { readonly free: true; readonly because: string } | { readonly free: false; readonly advice: string | null }
> => {
  const run = shownKey(holder.stepKey);
  const recover = `\`emend recover --undo ${run}\` puts the files back, \`emend recover --keep ${run}\` keeps them`;
  const standing = await standingOf(holder);
  if (standing.state === 'open') return { free: false, advice: null };
  if (standing.state === 'unknown')
    return {
      free: false,
      advice:
        standing.why === 'not_known'
          ? `run ${run}, which the server does not know, holds the workspace: ${recover}`
          : null,
    };
  if (standing.elsewhere)
    return {
      free: false,
      advice: `run ${run} has ended (${standing.how}) and holds the workspace from another EMEND_HOME: \`emend recover\` with that one knows what it applied`,
    };
  const end = await engine.endLease(workspace, holder, standing.finished);
  switch (end.outcome) {
    case 'ended':
      return { free: true, because: `${standing.how}, ${end.because}` };
    case 'not_held':
      return { free: true, because: 'it was released meanwhile' };
    case 'kept':
      return {
        free: false,
        advice: `run ${run} has ended (${standing.how}) with ${counted(end.files)} applied and not committed: ${recover}`,
      };
    case 'at_work':
      return {
        free: false,
        advice: `run ${run} has ended (${standing.how}), but a process is still at work on its files`,
      };
    case 'unrecovered':
      return {
        free: false,
        advice: `run ${run} has ended (${standing.how}) half-way, and could not be recovered: \`emend recover\` says why`,
      };
  }
};

const counted = (files: readonly string[]): string => (files.length === 1 ? '1 file' : `${files.length} files`);
