/** Which events the archive has heard of: activities carry the new ones; before a pause and at the end a sink tells them. */
import { proxySinks } from '@temporalio/workflow';
import type { StepEvent } from '../../shared/events.js';
import type { ArchiveSink } from '../../shared/step-activities.js';

const sinks = proxySinks<{ archive: { append: ArchiveSink['append'] } }>();

interface Told {
  readonly events: readonly StepEvent[];
  readonly nextSeq: number;
}

export class ArchiveFeed {
  private readonly stepKey: string;
  /** The last event that was handed on. */
  reportedSeq: number;

  /** `told`: of the run that this one goes on from. */
  constructor(stepKey: string, reportedSeq = 0) {
    this.stepKey = stepKey;
    this.reportedSeq = reportedSeq;
  }

  /** Events not handed to an activity yet: it appends them to the archive. */
  take(state: Told): readonly StepEvent[] {
    const log = this.fresh(state);
    this.reportedSeq = state.nextSeq - 1;
    return log;
  }

  /** No activity follows soon: the archive hears of the pause or the end from here. Costs no action and no history. */
  tell(state: Told): void {
    sinks.archive.append(this.stepKey, this.fresh(state));
  }

  private fresh({ events }: Told): readonly StepEvent[] {
    return events.filter((event) => event.seq > this.reportedSeq);
  }
}
