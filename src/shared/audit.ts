/** What a model says of a change. */
import type { Finding } from './formats.js';

export const AUDIT_VERDICTS = ['pass', 'pass_with_warnings', 'fail_soft', 'fail_hard'] as const;
export interface AuditReport {
  readonly verdict: (typeof AUDIT_VERDICTS)[number];
  /** Each in a file of the change, in one line of bounded length. */
  readonly findings: readonly Finding[];
  /** What it was not shown whole: files of which it saw the changed places and an outline, or the diff. */
  readonly partly: readonly string[];
}
/** `PATH:LINE: SENTENCE` of each finding. */
export const auditLines = ({ findings }: Pick<AuditReport, 'findings'>): readonly string[] =>
  findings.map(
    ({ path, lines, message }) => `${path}${lines === undefined ? '' : `:${lines[0]}`}: ${message}`,
  );
/** The verdict, and which files the model read in part only. */
export const auditVerdict = ({ verdict, partly }: AuditReport): string =>
  verdict + (partly.length === 0 ? '' : ` (read in part: ${partly.join(', ')})`);
/** In one line. */
export const auditText = (report: AuditReport): string =>
  [auditVerdict(report), ...auditLines(report)].join('; ');
