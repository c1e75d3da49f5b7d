/** What a person has said of a proposal so far; kept in the browser, by the proposal's hash, until it is sent. */
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { ChangeNeed } from '../../../edits/proposal/index.js';
import type { RunView } from '../../../client/runs/show.js';
import type { DecisionPoint, Selection } from '../../../shared/decisions.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import { getJson } from '../api.js';
import { keep, toggled, useAnswer } from '../hooks.js';
import type { DiffFile } from '../model/diff.js';
import {
  hasParts,
  hunkNeeds,
  missedNeeds,
  hunkVerdictsOf,
  selectionOf,
  type HunkNeed,
  type HunkVerdicts,
  verdictOf,
  type HunkVerdict,
  type Comment,
  type Verdict,
} from '../model/verdicts.js';
import { spotKey, type Spot } from '../model/rows.js';

interface Kept {
  readonly verdicts: readonly (readonly [string, Verdict])[];
  readonly comments: readonly Comment[];
  readonly hunks: readonly (readonly [string, readonly (readonly [number, HunkVerdict])[]])[];
  /** The comment that is being written, and the note of the review as far as it is. */
  readonly editing: Comment | null;
  readonly note: string;
}
const NOTHING: Kept = { verdicts: [], comments: [], hunks: [], editing: null, note: '' };
const placeOf = (proposalId: string): string => `emend-review-${proposalId}`;

const read = (proposalId: string): Kept => {
  try {
    return {
      ...NOTHING,
      ...(JSON.parse(sessionStorage.getItem(placeOf(proposalId)) ?? 'null') as Kept | null),
    };
  } catch {
    return NOTHING;
  }
};

/** Its box is closed. Without text there is no comment (any more). */
const withComment = (had: Kept, { spot, quoted, text }: Comment): Kept => {
  const others = had.comments.filter((each) => spotKey(each.spot) !== spotKey(spot));
  if (text.trim() === '') return { ...had, comments: others, editing: null };
  // Who says what to change wants it changed.
  const said = had.verdicts.some(([path]) => path === spot.path);
  const verdicts = said ? had.verdicts : [...had.verdicts, [spot.path, 'revise'] as const];
  return {
    ...had,
    verdicts,
    comments: [...others, { spot, quoted, text: text.trim() }],
    editing: null,
  };
};

export interface Review extends Pick<Kept, 'comments' | 'editing' | 'note'> {
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** By the key of their places. */
  readonly texts: ReadonlyMap<string, string>;
  /** By path: what was said of single hunks, where not of the file as a whole. */
  readonly hunks: ReadonlyMap<string, HunkVerdicts>;
  readonly setHunk: (file: DiffFile, hunk: number, said: HunkVerdict | null) => void;
  readonly setVerdict: (paths: readonly string[], verdict: Verdict | null) => void;
  readonly setComment: (comment: Comment) => void;
  /** Opens the box at a place; what was written in another one is kept as a comment. */
  readonly write: (spot: Spot, quoted: string) => void;
  readonly setTyped: (typed: Partial<Pick<Kept, 'editing' | 'note'>>) => void;
}

export const useReview = (proposalId: string): Review => {
  const [kept, setKept] = useState(() => read(proposalId));
  // A reload may come before the next frame, after which an ordinary effect would run.
  useLayoutEffect(() => keep(sessionStorage, placeOf(proposalId), kept), [kept]);
  const verdicts = useMemo(() => new Map(kept.verdicts), [kept.verdicts]);
  const texts = useMemo(
    () => new Map(kept.comments.map((each) => [spotKey(each.spot), each.text])),
    [kept.comments],
  );
  const hunks = useMemo(
    () => new Map(kept.hunks.map(([path, said]) => [path, new Map(said)])),
    [kept.hunks],
  );
  return {
    ...kept,
    verdicts,
    hunks,
    texts,
    setHunk: (file, hunk, word) =>
      setKept((had) => {
        const { path } = file;
        const before = had.hunks.find(([each]) => each === path)?.[1];
        const said = new Map(
          hunkVerdictsOf(file, new Map(had.verdicts).get(path), before && new Map(before)),
        );
        if (word === null) said.delete(hunk);
        else said.set(hunk, word);
        const verdict = verdictOf(file, said);
        const others = had.verdicts.filter(([each]) => each !== path);
        return {
          ...had,
          verdicts: verdict === null ? others : [...others, [path, verdict] as const],
          hunks: [...had.hunks.filter(([each]) => each !== path), [path, [...said]] as const],
        };
      }),
    setVerdict: (paths, verdict) =>
      setKept((had) => {
        const others = had.verdicts.filter(([path]) => !paths.includes(path));
        return {
          ...had,
          hunks: had.hunks.filter(([path]) => !paths.includes(path)),
          verdicts:
            verdict === null
              ? others
              : [...others, ...paths.map((path) => [path, verdict] as const)],
        };
      }),
    setComment: (comment) => setKept((had) => withComment(had, comment)),
    write: (spot, quoted) =>
      setKept((before) => {
        const had = before.editing === null ? before : withComment(before, before.editing);
        const known = had.comments.find((each) => spotKey(each.spot) === spotKey(spot));
        return { ...had, editing: known ?? { spot, quoted, text: '' } };
      }),
    setTyped: (typed) => setKept((had) => ({ ...had, ...typed })),
  };
};

// Files that the person has marked as viewed: kept by the content of each, so that a new version keeps the marks of what is the same in it.

/** `toggle` marks a file, or takes its mark back. */
export const useViewed = (stepKey: string, { files }: ProposalSummary) => {
  const place = `emend-viewed-${stepKey}`;
  const [marks, setMarks] = useState(
    () => new Set(JSON.parse(localStorage.getItem(place) ?? '[]') as string[]),
  );
  const markOf = useMemo(
    () => new Map(files.map(({ path, key }) => [path, `${key} ${path}`])),
    [files],
  );
  const paths = useMemo(
    () => new Set([...markOf].flatMap(([path, mark]) => (marks.has(mark) ? path : []))),
    [marks],
  );
  const toggle = (path: string): void => {
    const next = toggled(marks, markOf.get(path) ?? '');
    keep(localStorage, place, [...next]);
    setMarks(next);
  };
  return { paths, toggle };
};

// Taking part of a proposal: which files allow it, what was said of their hunks, and which hunk needs which.

export interface Parts {
  /** Of the hunks of a file; null: it is taken whole or not at all. */
  readonly of: (file: DiffFile) => HunkVerdicts | null;
  readonly needs: readonly HunkNeed[];
  readonly selection: Selection;
  /** What is taken and needs what is left out, in words. */
  readonly missed: readonly string[];
}

export const useParts = (
  { stepKey, proposal }: Pick<RunView, 'stepKey'> & { readonly proposal: ProposalSummary },
  files: readonly DiffFile[],
  approval: DecisionPoint | null,
  { verdicts, hunks }: Review,
): Parts => {
  const wanted = approval?.accepts.includes('select') === true;
  // A warning only: without an answer the review goes on.
  const raw = useAnswer<readonly ChangeNeed[]>(
    wanted ? `/api/runs/${stepKey}/needs/${proposal.id}` : null,
    getJson,
  );
  const needs = useMemo(() => hunkNeeds(files, raw.value ?? []), [files, raw.value]);
  return useMemo(() => {
    const said = (file: DiffFile): HunkVerdicts =>
      hunkVerdictsOf(file, verdicts.get(file.path), hunks.get(file.path));
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

// Unchanged parts of files that a person wants to see, too: the file is read when the first of its parts is unfolded.

const linesOf = (text: string): readonly string[] => {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
};

export const useUnfolded = (stepKey: string, proposalId: string) => {
  const [texts, setTexts] = useState<ReadonlyMap<string, readonly string[]>>(new Map());
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const unfold = async (path: string, gap: number): Promise<void> => {
    if (!texts.has(path)) {
      const at = `/api/runs/${stepKey}/file/${proposalId}?path=${encodeURIComponent(path)}`;
      const { after } = await getJson<{ readonly after: string | null }>(at);
      if (after === null) return;
      setTexts((had) => new Map([...had, [path, linesOf(after)]]));
    }
    setUnfolded((had) => new Set([...had, `${path}:${gap}`]));
  };
  return {
    texts,
    unfolded,
    unfold: (path: string, gap: number) => void unfold(path, gap).catch(() => undefined),
  };
};
