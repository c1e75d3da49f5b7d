/** Questions of each reason, as the terminal asks them. */
import type { Question } from '../../src/cli/decision-menu.js';
import { ANSWERS_BY_REASON, type PauseReason } from '../../src/shared/decisions.js';
import type { ProposalSummary } from '../../src/shared/proposal-activities.js';

/** Every printable ASCII character. */
export const PRINTABLE: readonly string[] = Array.from({ length: 95 }, (_, index) =>
  String.fromCharCode(32 + index),
);

/** `files` 0: there is no proposal, and the decision names no files. */
export const questionOf = (reason: PauseReason, files: number): Question => {
  const paths = Array.from({ length: files }, (_, index) => `f${index + 1}.ts`);
  const proposal = {
    id: '9'.repeat(64),
    files: paths.map((path) => ({ path, added: 1, removed: 1, change: 'edit', changes: 2 })),
    findings: [],
    mustAsk: [],
    tolerances: [],
  } as unknown as ProposalSummary;
  return {
    decision: {
      id: '1-a',
      n: 1,
      reason,
      message: '',
      files: paths.map((path) => ({ path, reason, message: '' })),
      accepts: [...ANSWERS_BY_REASON[reason], 'abort'],
      proposalId: files === 0 ? null : proposal.id,
      answered: {},
      openedAt: 0,
      subject: null,
    },
    proposal: files === 0 ? null : proposal,
  };
};
