/** What became of each edit of an answer: one entry an operation, hunk, block or file, whatever the format. */
import type { AnswerOutcome, EditResult, EditResults, Reason } from './types.js';
import { EDIT_BOUNDS } from '../shared/bounds.js';

/** Notes that say that an edit had nothing to do. */
const SKIPPING = new Set(['no_change', 'already_present']);

/** `count`: edits that the answer holds. An answer is used whole or not at all, so one failed edit leaves all others unused. */
export const editResults = (count: number, outcome: AnswerOutcome): EditResults => {
  const used = outcome.outcome === 'edited' || outcome.outcome === 'unchanged';
  const told = byIndex(outcome.outcome === 'edited' ? outcome.notes : outcome.reasons);
  const counts = { applied: 0, skipped: 0, failed: 0, unused: 0 };
  const results: EditResult[] = [];
  for (let index = 0; index < count; index += 1) {
    const reasons = told.get(index) ?? [];
    const status = !used
      ? reasons.length > 0
        ? 'failed'
        : 'unused'
      : reasons.some(({ code }) => SKIPPING.has(code))
        ? 'skipped'
        : 'applied';
    counts[status] += 1;
    if (results.length < EDIT_BOUNDS.listedResults) results.push({ index, status, reasons });
  }
  return { ...counts, results };
};

const byIndex = (reasons: readonly Reason[]): Map<number, Reason[]> => {
  const told = new Map<number, Reason[]>();
  for (const reason of reasons) {
    if (reason.index === undefined) continue;
    const own = told.get(reason.index);
    if (own === undefined) told.set(reason.index, [reason]);
    else own.push(reason);
  }
  return told;
};
