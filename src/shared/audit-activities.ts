/** Arguments and result of the activity that has a model audit a change. */
import type { AuditReport } from './audit.js';
import type { PauseReason } from './decisions.js';
import type { BlobRef } from './ids.js';
import type { Limits } from './limits.js';
import type { ModelDown } from './outage.js';
import type { ActivityBase, Application } from './proposal-activities.js';
import type { StepUsage } from './usage.js';

export interface AuditInput extends ActivityBase {
  readonly snapshot: BlobRef;
  /** What is to be audited: first base and last result of each file. */
  readonly applications: readonly Application[];
  readonly regeneration: number;
  /** Answers that may be asked for until one is an audit. */
  readonly calls: number;
  /** Limits that decisions changed since preflight; absent: none. */
  readonly limits?: Partial<Limits>;
  readonly secrets?: 'mask' | 'send';
}
export type AuditResult = { readonly usage: StepUsage } &
  /** `refusal`: what the next attempt is told; null: it passed. */
  (
    | { readonly outcome: 'audited'; readonly report: AuditReport; readonly refusal: BlobRef | null }
    /** There is no audit, which is no pass. */
    | {
        readonly outcome: 'failed';
        readonly reason: PauseReason;
        readonly message: string;
        readonly down?: ModelDown;
      }
  );
