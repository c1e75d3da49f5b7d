/** What a model says of a change, and what it is asked with. */
import type { PauseReason } from './decisions.js';
import type { Finding } from './formats.js';
import type { BlobRef } from './ids.js';
import type { Limits } from './limits.js';
import type { ModelDown } from './outage.js';
import type { ActivityBase, Application } from './proposal-activities.js';

import type { StepUsage } from './usage.js';

export const AUDIT_VERDICTS = ['pass', 'pass_with_warnings', 'fail_soft', 'fail_hard'] as const;
/** What a model says of a change. */
export interface AuditReport {
  readonly verdict: (typeof AUDIT_VERDICTS)[number];
  /** Each in a file of the change, in one line of bounded length. */
  readonly findings: readonly Finding[];
  /** What it was not shown whole: files of which it saw the changed places and an outline, or the diff. */
  readonly partly: readonly string[];
}
/** `PATH:LINE: SENTENCE` of each finding. */
export const auditLines = ({ findings }: Pick<AuditReport, 'findings'>): readonly string[] =>
  findings.map(({ path, lines, message }) => `${path}${lines === undefined ? '' : `:${lines[0]}`}: ${message}`);
/** In one line. */
export const auditText = (report: AuditReport): string =>
  [
    report.verdict + (report.partly.length === 0 ? '' : ` (read in part: ${report.partly.join(', ')})`),
    ...auditLines(report),
  ].join('; ');

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
