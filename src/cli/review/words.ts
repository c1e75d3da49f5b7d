/** What a review says: prompts, help, warnings, the summary. Pure. */
import { neededName, type ChangeNeed } from '../../edits/index.js';
import { count, plain } from '../render/text.js';
import { hunkOf, type Review } from './load.js';
import { currentPiece, isTaken, type FileVerdict, type Piece, type Walk } from './walk.js';

export const KEYS = {
  y: 'take this',
  n: 'leave this',
  a: 'take this and all that follows in this file',
  d: 'leave this and all that follows in this file',
  s: 'split this into smaller parts',
  c: 'comment: ask the model for this file again, with your note ($EDITOR)',
  p: 'show the whole diff in the pager',
  q: 'quit: answer for the files that are through, or for none',
  '?': 'this help',
} as const;
export type Key = keyof typeof KEYS;

export const keysFor = (piece: Piece): readonly Key[] =>
  (Object.keys(KEYS) as Key[]).filter((key) => key !== 's' || piece.parts.length > 0);

export const promptFor = (piece: Piece): string => {
  const what = piece.label === 'file' ? 'this file' : piece.label;
  return `Take ${what} [${keysFor(piece).join(',')}]? `;
};

/** Needs of this piece that are not taken (yet): `needs hunk 1 (shout), which you left out`. */
export const needLines = (review: Review, walk: Walk): readonly string[] => {
  const piece = currentPiece(walk);
  if (piece === null || piece.changes.length === 0) return [];
  const own = (path: string, n: number): boolean => path === piece.path && piece.changes.includes(n);
  const lines = review.needs
    .filter(({ user, needs }) => own(user.path, user.n) && !own(needs.path, needs.n))
    .map((need) => {
      const taken = isTaken(walk, need.needs.path, need.needs.n);
      return `  needs ${nameOf(review, need)} (${need.name})${taken === false ? ', which you left out' : ''}`;
    });
  return [...new Set(lines)].map(plain);
};

const nameOf = (review: Review, need: ChangeNeed): string =>
  neededName(need, hunkOf(review, need.needs.path, need.needs.n));

/** What was taken and uses a name that only something left out brings. */
export const missedLines = (review: Review, walk: Walk): readonly string[] => {
  const missed = review.needs.filter(
    ({ user, needs }) => isTaken(walk, user.path, user.n) === true && isTaken(walk, needs.path, needs.n) === false,
  );
  const lines = missed.map((need) => {
    const hunk = hunkOf(review, need.user.path, need.user.n);
    return `  hunk ${hunk} of ${need.user.path} needs ${nameOf(review, need)} (${need.name}), which you left out`;
  });
  return [...new Set(lines)].map(plain);
};

export const summaryLines = (verdicts: readonly FileVerdict[], waiting: number): readonly string[] => [
  ...verdicts.map((verdict) => plain(`  ${verdictText(verdict)}`)),
  ...(waiting === 0 ? [] : [`  ${count(waiting, 'file')} not through: still waiting`]),
];

const verdictText = (verdict: FileVerdict): string => {
  switch (verdict.answer) {
    case 'approve':
      return `approve  ${verdict.path}`;
    case 'skip':
      return `skip     ${verdict.path}`;
    case 'revise':
      return `revise   ${verdict.path}: ${verdict.note.split('\n')[0] ?? ''}`;
    case 'select': {
      const left = verdict.of - verdict.changes.length;
      return `select   ${verdict.path}: ${verdict.changes.length} of ${count(verdict.of, 'change')}; ${left} left out, not asked for again`;
    }
  }
};
