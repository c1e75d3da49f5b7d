/** Applies what a command has sealed, and waits for other commands that work in the workspace. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BOUNDS } from '../../shared/limits.js';
import { isLocal } from '../../workspace/local-holder.js';
import type { ApplyOutcome, ApplyRequest } from '../../workspace/types.js';
import type { Local } from './open-local.js';

/** Another command is done in a moment, and one that died holds nothing; a run may hold its workspace for days. */
export const applyOrWait = async (local: Local, request: ApplyRequest): Promise<ApplyOutcome> => {
  const deadline = performance.now() + BOUNDS.localWait_ms;
  for (;;) {
    const outcome = await local.engine.apply(request);
    if (outcome.outcome !== 'busy' || !isLocal(outcome.holder) || performance.now() > deadline) return outcome;
    await local.freeDead(request.workspace);
    await sleep(BOUNDS.localPoll_ms);
  }
};
