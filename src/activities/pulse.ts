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
/** Of this process: how often its attempts saw it stand still so long that they were given up, and when they saw it last. */
export const stoodStill = { times: 0, last_ms: -Infinity };

const CLOCK: Clock = { running_ms: () => performance.now(), wall_ms: () => Date.now() };

/** `timeout_ms`: the attempt's heartbeat time-out; null: it has none and is never given up for its silence. */
export function startPulse(timeout_ms: number | null, clock: Clock = CLOCK): Pulse {
  // Of whoever stood still this long it is certain. The server may have given up somewhat earlier, as beats reach it with a delay:
  // for that moment there are lease numbers and marks.
  const limit_ms = timeout_ms ?? Infinity;
  let running = clock.running_ms();
  let wall = clock.wall_ms();
  let longest_ms = 0;
  let told = false;
  const look = (): void => {
    const still_ms = Math.max(clock.running_ms() - running, clock.wall_ms() - wall);
    longest_ms = Math.max(longest_ms, still_ms);
    if (still_ms <= limit_ms || told) return;
    told = true;
    stoodStill.times += 1;
    stoodStill.last_ms = performance.now();
  };
  return {
    beat: () => {
      look();
      running = clock.running_ms();
      wall = clock.wall_ms();
      told = false;
    },
    stillOurs: () => {
      look();
      if (longest_ms > limit_ms)
        fail('busy', `This attempt stood still for ${Math.round(longest_ms)} ms: another may have taken its place.`);
    },
  };
}
