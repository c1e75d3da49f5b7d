/** What a step has used so far, by its journal: every call that may have been paid for, whatever became of the activity that made it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JournaledCall } from '../model/types.js';
import { BOUNDS } from '../shared/limits.js';
import type { TallyInput, TallyResult } from '../shared/protocol.js';
import { sumUsage } from '../shared/usage.js';
import type { ActivityScope } from './boundary.js';
import type { ActivityDependencies } from './dependencies.js';
import { MODEL_BOUNDS } from '../shared/bounds.js';

export const tally =
  ({ journal }: ActivityDependencies) =>
  async (input: TallyInput, { signal }: ActivityScope): Promise<TallyResult> => {
    // A call that was cancelled hears of it with its next heartbeat: its last words are waited for, not for ever.
    for (let waited_ms = 0; ; waited_ms += MODEL_BOUNDS.tallyPoll_ms) {
      const calls = await journal.calls(input.stepKey);
      const open = calls.filter((call) => call.state === 'open').length;
      if (open === 0 || waited_ms >= BOUNDS.tallyWait_ms) return { v: 1, open, usage: sumUsage(calls.map(asEnded)) };
      await sleep(MODEL_BOUNDS.tallyPoll_ms, undefined, { signal });
    }
  };

/** Nobody wants the answer of a call that is still open any more: as far as known it is cut off. */
const asEnded = ({ state, usage }: JournaledCall): JournaledCall['usage'] =>
  state === 'open' ? { ...usage, unknownCalls: 1 } : usage;
