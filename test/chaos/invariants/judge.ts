/** An invariant: a name and a function that lists every finding against it. */
import type { Evidence, Pause } from '../evidence.js';

export interface Invariant {
  readonly name: string;
  readonly violations: (evidence: Evidence) => readonly string[];
}

/** With its words: what a failure was is not in its reason. */
export const pausesText = (pauses: readonly Pause[]): string =>
  pauses.map(({ reason, message }) => `${reason} (${message})`).join(', ');
