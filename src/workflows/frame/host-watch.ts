/**
 * A command that waits for a slot of its host waits as long as the host lives: its activity has no schedule-to-start time-out. Meanwhile
 * the run looks from time to time whether a worker serves the host.
 */
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';

const SILENT_LOOKS = 2; // bound: Looks in a row that find no worker, before the host counts as unreachable: a worker that is restarted is away for one.

/** Nobody serves the host on whose commands a run waits. */
export class HostGone extends Error {}

export class HostWatch {
  private readonly period_ms: number;
  /** Runs under way share a timer: each timer is an action of the server. */
  private period: Promise<void> | null = null;

  constructor(period_ms: number) {
    this.period_ms = period_ms;
  }

  /** Returns the result of a command. Throws HostGone if nobody serves its host while the command waits; the command is cancelled then. */
  async during<T>(command: () => Promise<T>, isServed: () => Promise<boolean>): Promise<T> {
    const scope = new CancellationScope();
    const seen = { isOver: false, isGone: false };
    const watch = async (): Promise<void> => {
      for (let silentLooks = 0; silentLooks < SILENT_LOOKS;) {
        await (silentLooks === 0 ? this.nextPeriod() : pause(this.period_ms / 2));
        if (seen.isOver) return;
        silentLooks = (await isServed()) ? 0 : silentLooks + 1;
      }
      seen.isGone = true;
      scope.cancel();
    };
    const result = scope.run(command);
    void watch();
    try {
      return await result;
    } catch (error) {
      if (seen.isGone && isCancellation(error)) throw new HostGone();
      throw error;
    } finally {
      seen.isOver = true;
    }
  }

  private nextPeriod(): Promise<void> {
    this.period ??= pause(this.period_ms).finally(() => {
      this.period = null;
    });
    return this.period;
  }
}

/** No cancel of the command ends it: other commands wait for the same timer. */
const pause = (period_ms: number): Promise<void> =>
  CancellationScope.nonCancellable(() =>
    sleep(period_ms, { summary: 'until the run looks for its host, on which a command may wait' }),
  );
