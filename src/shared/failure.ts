/** A failed verification: of tests or of an audit. The same value goes from the step that failed to the replan of its phase. Types only. */
import type { BlobRef } from './ids.js';

export interface Failure {
  /** Class of the failure (`syntax`, `test_failure`, …); null: unknown. */
  readonly kind: string | null;
  /** The same failure has the same signature; null: nothing identifies it. */
  readonly signature: string | null;
  readonly summary: string;
  /** Output of the tests (JSON blob, `TestOutput`); null: none was kept. */
  readonly output: BlobRef | null;
  /** What helps with a failure of this kind. */
  readonly suggestions: readonly string[];
}
