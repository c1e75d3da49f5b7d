/** Moves that an answer of `emend patch` does not name: it deletes one file and creates another with similar content. */
import type { AnswerOutcome, OfferedFile } from '../../edits/index.js';
import { renamesAmong } from '../../edits/internal.js';

/** Adds these moves to the outcome. A file that moves is not reported as deleted. */
export const withSimilarRenames = (
  outcome: AnswerOutcome,
  offered: ReadonlyMap<string, OfferedFile>,
): AnswerOutcome => {
  if (outcome.outcome !== 'edited') return outcome;
  const known = new Set(outcome.renames.flatMap(({ from, to }) => [from, to]));
  const others = [...outcome.files].filter(([path]) => !known.has(path));
  const found = renamesAmong(
    others.map(([path, result]) => ({
      path,
      base: offered.get(path)?.bytes ?? null,
      result: result === 'absent' ? null : result.bytes,
    })),
  );
  const sources = new Set(found.map(({ from }) => from));
  return {
    ...outcome,
    renames: [...outcome.renames, ...found],
    findings: outcome.findings.filter(
      ({ guard, path }) => guard !== 'deletion' || !sources.has(path),
    ),
  };
};
