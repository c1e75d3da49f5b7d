/** An invariant: a name and a function that lists every finding against it. */
import type { Evidence } from '../evidence.js';

export interface Invariant {
  readonly name: string;
  readonly violations: (evidence: Evidence) => readonly string[];
}
