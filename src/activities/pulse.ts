/**
 * A stopped process (SIGSTOP, a suspended machine) is given up after its heartbeat time-out and another attempt takes its place. When it
 * wakes up, nobody tells it in time; but it can see by the clocks that it stood still.
 */
import { fail } from '../shared/problems.js';
import type { StillOurs } from '../workspace/types.js';

export interface Pulse {
  /** To be called at every heartbeat. */
  beat(): void;
  readonly stillOurs: StillOurs;
}
interface Clock {
  /** Goes on while a process is stopped, not while the machine sleeps. */
  readonly running_ms: () => number;
  /** Goes on while the machine sleeps. */
  readonly wall_ms: () => number;
}
const CLOCK: Clock = { running_ms: () => performance.now(), wall_ms: () => Date.now() };

/** `timeout_ms`: the attempt's heartbeat time-out; null: it has none and is never given up for its silence. */
export function startPulse(timeout_ms: number | null, clock: Clock = CLOCK): Pulse {
  // Of whoever stood still this long it is certain. The server may have given up somewhat earlier, as beats reach it with a delay:
  // for that moment there are lease numbers and marks.
  const limit_ms = timeout_ms ?? Infinity;
  let running = clock.running_ms();
  let wall = clock.wall_ms();
  let longest_ms = 0;
  const look = (): void => {
    longest_ms = Math.max(longest_ms, clock.running_ms() - running, clock.wall_ms() - wall);
  };
  return {
    beat: () => {
      look();
      running = clock.running_ms();
      wall = clock.wall_ms();
    },
    stillOurs: () => {
      look();
      if (longest_ms > limit_ms)
        fail('busy', `This attempt stood still for ${Math.round(longest_ms)} ms: another may have taken its place.`);
    },
  };
}
