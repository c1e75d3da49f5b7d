/**
 * A review, hunk by hunk, as in `git add -p`: what is asked next, and what the answers come to. Pure.
 *
 * A *piece* is what is asked about: a hunk, a part of one after `s`, or a whole file where it cannot be taken in part.
 */
import type { DiffHunk, DiffSection } from '../../edits/index.js';

export interface Piece {
  readonly path: string;
  /** `hunk 2/3`, `part 1 of hunk 2/3`, `file`. */
  readonly label: string;
  /** Numbers of its changes; empty: the whole file. */
  readonly changes: readonly number[];
  /** As shown: hunk lines with their `@@` line. */
  readonly lines: readonly string[];
  /** What `s` makes of it; empty: it cannot be split. */
  readonly parts: readonly Piece[];
}

export interface Navigation {
  readonly pieces: readonly Piece[];
  readonly at: number;
  /** By piece: taken or left; a comment asks for its file again. */
  readonly answers: ReadonlyMap<Piece, 'take' | 'leave'>;
  readonly notes: ReadonlyMap<string, string>;
}

/** What the review says of a file; `select` with the numbers of the changes. */
export type FileVerdict =
  | { readonly path: string; readonly answer: 'approve' | 'skip' }
  | { readonly path: string; readonly answer: 'revise'; readonly note: string }
  | {
      readonly path: string;
      readonly answer: 'select';
      readonly changes: readonly number[];
      readonly of: number;
    };

export interface ReviewFile {
  readonly path: string;
  /** Undefined: the diff cannot show it. */
  readonly section: DiffSection | undefined;
  /** Changes that can be chosen; 0: only all of it. */
  readonly changes: number;
  /** Asked about in one piece at first: a selection that is shown again. */
  readonly whole: boolean;
}

export const startNavigation = (files: readonly ReviewFile[]): Navigation => ({
  pieces: files.flatMap(piecesOf),
  at: 0,
  answers: new Map(),
  notes: new Map(),
});

const piecesOf = ({ path, section, changes, whole }: ReviewFile): readonly Piece[] => {
  const hunks = section?.hunks ?? [];
  const byHunk =
    changes < 1 ? [] : hunks.map((hunk, index) => hunkPiece(path, hunk, index + 1, hunks.length));
  if (byHunk.length > 0 && !whole) return byHunk;
  const lines = hunks.flatMap((hunk) => [
    headOf(hunk.lines, hunk.oldStart, hunk.newStart),
    ...hunk.lines,
  ]);
  const all = byHunk.flatMap((piece) => piece.changes);
  return [{ path, label: 'file', changes: all, lines, parts: all.length > 1 ? byHunk : [] }];
};

const hunkPiece = (path: string, hunk: DiffHunk, number: number, of: number): Piece => {
  const label = `hunk ${number}/${of}`;
  const parts = hunk.changes.map((change, index): Piece => {
    // The lines between two changes are shown with both.
    const start = hunk.changes[index - 1]?.end ?? 0;
    const end = hunk.changes[index + 1]?.first ?? hunk.lines.length;
    const lines = hunk.lines.slice(start, end);
    const lead = change.first - start;
    const head = headOf(lines, change.b0 - lead + 1, change.r0 - lead + 1);
    const name = `part ${index + 1}/${hunk.changes.length} of ${label}`;
    return { path, label: name, changes: [change.n], lines: [head, ...lines], parts: [] };
  });
  return {
    path,
    label,
    changes: hunk.changes.map(({ n }) => n),
    lines: [headOf(hunk.lines, hunk.oldStart, hunk.newStart), ...hunk.lines],
    parts: parts.length > 1 ? parts : [],
  };
};

const headOf = (lines: readonly string[], oldStart: number, newStart: number): string => {
  const count = (sign: string): number =>
    lines.filter((line) => line.startsWith(' ') || line.startsWith(sign)).length;
  return `@@ -${oldStart},${count('-')} +${newStart},${count('+')} @@`;
};

export const currentPiece = ({ pieces, at }: Navigation): Piece | null => pieces[at] ?? null;

/** `rest`: this piece and all later ones of its file. */
export const answerPiece = (
  walk: Navigation,
  answer: 'take' | 'leave',
  rest: boolean,
): Navigation => {
  const piece = currentPiece(walk);
  if (piece === null) return walk;
  const answers = new Map(walk.answers);
  let at = walk.at;
  do {
    const each = walk.pieces[at];
    if (each !== undefined) answers.set(each, answer);
    at += 1;
  } while (rest && walk.pieces[at]?.path === piece.path);
  return { ...walk, answers, at };
};

export const splitPiece = (walk: Navigation): Navigation | null => {
  const piece = currentPiece(walk);
  if (piece === null || piece.parts.length === 0) return null;
  return {
    ...walk,
    pieces: [...walk.pieces.slice(0, walk.at), ...piece.parts, ...walk.pieces.slice(walk.at + 1)],
  };
};

/** The file is asked for again with the note; nothing more of it is asked about here. */
export const commentPiece = (walk: Navigation, note: string): Navigation => {
  const piece = currentPiece(walk);
  if (piece === null) return walk;
  const left = answerPiece(walk, 'leave', true);
  return { ...left, notes: new Map([...walk.notes, [piece.path, note]]) };
};

/** Verdicts on the files whose pieces all have their answer. */
export const verdictsOf = ({ pieces, answers, notes }: Navigation): readonly FileVerdict[] => {
  const paths = [...new Set(pieces.map(({ path }) => path))];
  return paths.flatMap((path): FileVerdict[] => {
    const own = pieces.filter((piece) => piece.path === path);
    const note = notes.get(path);
    if (note !== undefined) return [{ path, answer: 'revise', note }];
    if (own.some((piece) => !answers.has(piece))) return [];
    const taken = own.filter((piece) => answers.get(piece) === 'take');
    if (taken.length === own.length) return [{ path, answer: 'approve' }];
    if (taken.length === 0) return [{ path, answer: 'skip' }];
    const changes = taken.flatMap((piece) => piece.changes).sort((a, b) => a - b);
    return [{ path, answer: 'select', changes, of: own.flatMap((piece) => piece.changes).length }];
  });
};

/** Was this change taken? Null: it was not asked about yet. */
export const isTaken = (
  { pieces, answers, notes }: Navigation,
  path: string,
  n: number,
): boolean | null => {
  const piece = pieces.find(
    (each) => each.path === path && (each.changes.includes(n) || each.changes.length === 0),
  );
  if (piece === undefined || notes.has(path)) return null;
  const answer = answers.get(piece);
  return answer === undefined ? null : answer === 'take';
};
