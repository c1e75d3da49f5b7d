/**
 * What a run has used, where a result is missing: a model call that was cancelled, timed out or failed was paid for all the same, but no
 * activity told its usage. The journal knows every call, so the step's usage is then counted anew from it (decision 0006).
 */
import { ACTIVITIES, type ActivityName } from '../../shared/activities.js';
import type { StepUsage } from '../../shared/usage.js';
import type { UsageOwed } from '../../shared/run.js';

const reportsUsage = (activity: ActivityName): boolean => 'reportsUsage' in ACTIVITIES[activity];

export class UsageCount {
  private owed: UsageOwed['owed'];
  /** Since the first count results and the journal overlap: each later result is followed by another count. */
  private counted: boolean;

  /** `left`: by the run that this one goes on from. */
  constructor({ owed, counted }: UsageOwed = { owed: 'no', counted: false }) {
    this.owed = owed;
    this.counted = counted;
  }

  left(): UsageOwed {
    return { owed: this.owed, counted: this.counted };
  }

  /** An activity ended without a result. */
  lost(activity: ActivityName): void {
    if (reportsUsage(activity)) this.owed = 'now';
  }

  /** An activity's result, with the usage that it tells, was folded in. */
  reported(activity: ActivityName): void {
    if (reportsUsage(activity) && (this.counted || this.owed === 'at_the_end')) this.owed = 'now';
  }

  /** Counts where something is owed; a count that fails is tried once more at the end of the step. Null: nothing to fold in. */
  async settle(
    atEnd: boolean,
    count: () => Promise<StepUsage>,
  ): Promise<StepUsage | 'failed' | null> {
    if (this.owed === 'no' || (this.owed === 'at_the_end' && !atEnd)) return null;
    this.owed = 'no';
    try {
      const usage = await count();
      this.counted = true;
      return usage;
    } catch {
      this.owed = atEnd ? 'no' : 'at_the_end';
      return 'failed';
    }
  }
}
