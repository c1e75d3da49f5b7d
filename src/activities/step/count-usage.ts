/** What a step has used so far, by its journal: every call that may have been paid for, whatever became of the activity that made it. */
import type { JournaledCall } from '../../model/ports.js';
import type { TallyInput, TallyResult } from '../../shared/step-activities.js';
import { sumUsage } from '../../shared/usage.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';

const TALLY_POLL_MS = 200; // bound: Calls under way are looked at this often while a step's usage is counted.
// bound: Cancelled model calls get this long to say how they ended before a step's usage is counted; the count as a whole, this long.
export const TALLY_WAIT_MS = 5_000;

export const tally =
  ({ clock, journal }: ActivityPorts) =>
  async (input: TallyInput, { signal }: ActivityScope): Promise<TallyResult> => {
    // A call that was cancelled hears of it with its next heartbeat: its last words are waited for, not for ever.
    for (let waited_ms = 0; ; waited_ms += TALLY_POLL_MS) {
      const calls = await journal.calls(input.stepKey);
      const open = calls.filter((call) => call.state === 'open').length;
      if (open === 0 || waited_ms >= TALLY_WAIT_MS) return { v: 1, open, usage: sumUsage(calls.map(asEnded)) };
      await clock.sleep(TALLY_POLL_MS, signal);
    }
  };

/** Nobody wants the answer of a call that is still open any more: as far as known it is cut off. */
const asEnded = ({ state, usage }: JournaledCall): JournaledCall['usage'] =>
  state === 'open' ? { ...usage, unknownCalls: 1 } : usage;
