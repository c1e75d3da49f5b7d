/**
 * What keeps a run within its server's limits, however long it waits and whatever is sent to it: it goes on in a new run (continue-as-new)
 * where the server suggests that, or before it would take no more signals; and no workflow task of it goes on for ever.
 */
import { condition, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { Rules } from '../../shared/rules.js';

/** Maximum time of a wait. */
export interface WaitLimit {
  readonly ms: number;
  /** Names what the run waits for; the Temporal UI shows it at the timer. */
  readonly summary: string;
}

export class LongRun {
  private readonly bounds: Rules['bounds'];
  private signals = 0;
  private stays = false;
  private shownAt = 0;
  private stale = false;

  constructor(bounds: Rules['bounds']) {
    this.bounds = bounds;
  }

  /** A signal came: the server counts them. */
  heard(): void {
    this.signals += 1;
  }

  /** The run ends here: a cancel belongs to this run. */
  stay(): void {
    this.stays = true;
  }

  get due(): boolean {
    return (
      !this.stays &&
      (workflowInfo().continueAsNewSuggested || this.signals >= this.bounds.runSignals)
    );
  }

  /** Waits until `met`, or until a time has passed; false: the run is to go on in a new one first, and waits there. */
  async wait(met: () => boolean, limit?: WaitLimit): Promise<boolean> {
    const until = (): boolean => met() || this.due;
    await (limit === undefined
      ? condition(until)
      : condition(until, limit.ms, { summary: limit.summary }));
    return met() || !this.due;
  }

  /** Call it between two moves; true: go on in a new run now. */
  async ready(): Promise<boolean> {
    if (!this.due) return false;
    // While signals come the server refuses to end the run.
    for (let before = -1; before !== this.signals && this.signals < this.bounds.runSignals;) {
      before = this.signals;
      await sleep(this.bounds.signalPause_ms, {
        summary: 'wait until no signal comes, to continue in a new run',
      });
    }
    return this.due;
  }

  /** The run in a few words, once for all signals that came together: of a thousand nobody sees the texts between. */
  show(words: () => string): void {
    if (this.stale) return;
    if (this.shownAt === this.signals) {
      setCurrentDetails(words());
      return;
    }
    this.shownAt = this.signals;
    this.stale = true;
    void Promise.resolve().then(() => {
      this.stale = false;
      setCurrentDetails(words());
    });
  }
}

/**
 * Counts the moves of one workflow task. Waiting for an activity, a child, a timer or a condition that is not met ends the task; a task
 * that never ends is given to one worker after the other, and takes each down with all its runs.
 */
export class IdleEffects {
  readonly most: number;
  private task = 0;
  private effects = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** Call it before each move. True: too many, the run pauses; counting begins anew. */
  exceeded(): boolean {
    // The history grows from task to task, and at replay as it did then.
    const { historyLength } = workflowInfo();
    this.effects = historyLength === this.task ? this.effects + 1 : 1;
    this.task = historyLength;
    if (this.effects <= this.most) return false;
    this.effects = 0;
    return true;
  }
}
