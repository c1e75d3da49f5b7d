/** What a person has said of a proposal so far; kept in the browser, by the proposal's hash, until it is sent. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { spotKey, type Spot } from '../model/rows.js';
import type { DiffFile } from '../model/parse-diff.js';
import { saidOf, verdictOf, type HunkVerdict, type Said } from '../model/parts.js';
import type { Comment, Verdict } from '../model/requests.js';

interface Kept {
  readonly verdicts: readonly (readonly [string, Verdict])[];
  readonly comments: readonly Comment[];
  readonly hunks: readonly (readonly [string, readonly (readonly [number, HunkVerdict])[]])[];
}
const NOTHING: Kept = { verdicts: [], comments: [], hunks: [] };
const placeOf = (proposalId: string): string => `emend-review-${proposalId}`;

const read = (proposalId: string): Kept => {
  try {
    return { ...NOTHING, ...(JSON.parse(sessionStorage.getItem(placeOf(proposalId)) ?? 'null') as Kept | null) };
  } catch {
    return NOTHING;
  }
};

export interface Review {
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly comments: readonly Comment[];
  /** By the key of their places. */
  readonly texts: ReadonlyMap<string, string>;
  /** By path: what was said of single hunks, where not of the file as a whole. */
  readonly hunks: ReadonlyMap<string, Said>;
  readonly setHunk: (file: DiffFile, hunk: number, said: HunkVerdict | null) => void;
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
  const hunks = useMemo(() => new Map(kept.hunks.map(([path, said]) => [path, new Map(said)])), [kept]);
  return {
    verdicts,
    hunks,
    comments: kept.comments,
    texts,
    setHunk: (file, hunk, word) => {
      setKept((had) => {
        const { path } = file;
        const before = had.hunks.find(([each]) => each === path)?.[1];
        const said = new Map(saidOf(file, new Map(had.verdicts).get(path), before && new Map(before)));
        if (word === null) said.delete(hunk);
        else said.set(hunk, word);
        const verdict = verdictOf(file, said);
        const others = had.verdicts.filter(([each]) => each !== path);
        return {
          ...had,
          verdicts: verdict === null ? others : [...others, [path, verdict] as const],
          hunks: [...had.hunks.filter(([each]) => each !== path), [path, [...said]] as const],
        };
      });
    },
    setVerdict: (paths, verdict) => {
      setKept((had) => {
        const others = had.verdicts.filter(([path]) => !paths.includes(path));
        return {
          ...had,
          hunks: had.hunks.filter(([path]) => !paths.includes(path)),
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
        return { ...had, verdicts, comments: [...others, { spot, quoted, text }] };
      });
    },
    clear: () => {
      setKept(NOTHING);
    },
  };
};
