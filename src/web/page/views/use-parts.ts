/** Taking part of a proposal: which files allow it, what was said of their hunks, and which hunk needs which. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ChangeNeed } from '../../../edits/change-needs.js';
import type { RunView } from '../../../client/show-run.js';
import type { DecisionPoint, Selection } from '../../../shared/decisions.js';
import type { SealedProposal } from '../../../shared/protocol.js';
import { getJson } from '../api.js';
import type { DiffFile } from '../model/parse-diff.js';
import { hasParts, hunkNeeds, missedNeeds, saidOf, selectionOf, type HunkNeed, type Said } from '../model/parts.js';
import type { Review } from './use-review.js';

export interface Parts {
  /** Of the hunks of a file; null: it is taken whole or not at all. */
  readonly of: (file: DiffFile) => Said | null;
  readonly needs: readonly HunkNeed[];
  readonly selection: Selection;
  /** What is taken and needs what is left out, in words. */
  readonly missed: readonly string[];
}

export const useParts = (
  { stepKey }: Pick<RunView, 'stepKey'>,
  proposal: SealedProposal,
  files: readonly DiffFile[],
  approval: DecisionPoint | null,
  { verdicts, hunks }: Review,
): Parts => {
  const [raw, setRaw] = useState<readonly ChangeNeed[]>([]);
  const wanted = approval?.accepts.includes('select') === true;
  useEffect(() => {
    // A warning only: without an answer the review goes on.
    if (wanted)
      getJson<readonly ChangeNeed[]>(`/api/runs/${stepKey}/needs/${proposal.id}`).then(setRaw, () => undefined);
  }, [stepKey, proposal.id, wanted]);
  const needs = useMemo(() => hunkNeeds(files, raw), [files, raw]);
  return useMemo(() => {
    const said = (file: DiffFile): Said => saidOf(file, verdicts.get(file.path), hunks.get(file.path));
    const byPath = new Map(files.map((file) => [file.path, file]));
    return {
      of: (file) => (wanted && hasParts(file, proposal) ? said(file) : null),
      needs,
      selection: selectionOf(files, verdicts, hunks),
      missed: missedNeeds(needs, (path) => {
        const file = byPath.get(path);
        return file === undefined ? new Map() : said(file);
      }),
    };
  }, [files, proposal, wanted, needs, verdicts, hunks]);
};
