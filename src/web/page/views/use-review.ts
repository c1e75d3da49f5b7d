/** What a person has said of a proposal so far; kept in the browser, by the proposal's hash, until it is sent. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { spotKey } from '../model/rows.js';
import type { Spot } from '../model/rows.js';
import type { Comment, Verdict } from '../model/requests.js';

interface Kept {
  readonly verdicts: readonly (readonly [string, Verdict])[];
  readonly comments: readonly Comment[];
}
const NOTHING: Kept = { verdicts: [], comments: [] };
const placeOf = (proposalId: string): string => `emend-review-${proposalId}`;

const read = (proposalId: string): Kept => {
  try {
    return (JSON.parse(sessionStorage.getItem(placeOf(proposalId)) ?? 'null') as Kept | null) ?? NOTHING;
  } catch {
    return NOTHING;
  }
};

export interface Review {
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly comments: readonly Comment[];
  /** By the key of their places. */
  readonly texts: ReadonlyMap<string, string>;
  readonly setVerdict: (paths: readonly string[], verdict: Verdict | null) => void;
  readonly setComment: (spot: Spot, quoted: string, text: string | null) => void;
  readonly clear: () => void;
}

export const useReview = (proposalId: string): Review => {
  const [kept, setKept] = useState(() => read(proposalId));
  useEffect(() => {
    sessionStorage.setItem(placeOf(proposalId), JSON.stringify(kept));
  }, [kept]);
  const verdicts = useMemo(() => new Map(kept.verdicts), [kept]);
  const texts = useMemo(() => new Map(kept.comments.map((each) => [spotKey(each.spot), each.text])), [kept]);
  return {
    verdicts,
    comments: kept.comments,
    texts,
    setVerdict: (paths, verdict) => {
      setKept((had) => {
        const others = had.verdicts.filter(([path]) => !paths.includes(path));
        return {
          ...had,
          verdicts: verdict === null ? others : [...others, ...paths.map((path) => [path, verdict] as const)],
        };
      });
    },
    setComment: (spot, quoted, text) => {
      setKept((had) => {
        const others = had.comments.filter((each) => spotKey(each.spot) !== spotKey(spot));
        if (text === null) return { ...had, comments: others };
        // Who says what to change wants it changed.
        const said = had.verdicts.some(([path]) => path === spot.path);
        const verdicts = said ? had.verdicts : [...had.verdicts, [spot.path, 'revise'] as const];
        return { verdicts, comments: [...others, { spot, quoted, text }] };
      });
    },
    clear: () => {
      setKept(NOTHING);
    },
  };
};
