/** What is sent of a review: verdicts by file, and comments as the instructions of a revision. Pure. */
import type { Answer, DecisionPoint, Selection } from '../../../shared/decisions.js';
import type { Spot } from './rows.js';

/** `select`: some of its hunks, by their own verdicts. */
export type Verdict = 'approve' | 'skip' | 'revise' | 'select';
export interface Comment {
  readonly spot: Spot;
  /** The line that it is about, as shown. */
  readonly quoted: string;
  readonly text: string;
}
export interface Request {
  readonly decision: string;
  readonly answer: Answer;
  readonly files?: readonly string[];
  readonly note?: string;
  readonly set?: Readonly<Record<string, number | string>>;
  readonly select?: Selection;
}

const QUOTED_chars = 200;

const commentText = ({ spot, quoted, text }: Comment): string => {
  if (spot.line === 0) return `${spot.path}: ${text}`;
  const where =
    spot.side === 'after' ? `line ${spot.line} of the proposed text` : `line ${spot.line} of the text before`;
  const line = quoted.trim() === '' ? '' : ` (\`${quoted.trim().slice(0, QUOTED_chars)}\`)`;
  return `${spot.path}, ${where}${line}: ${text}`;
};

/** Empty where nothing was said. */
const noteOf = (general: string, comments: readonly Comment[]): string =>
  [general.trim(), ...comments.filter(({ text }) => text.trim() !== '').map(commentText)]
    .filter((part) => part !== '')
    .join('\n\n');

/** Paths that have no answer yet. */
export const openPaths = (decision: DecisionPoint): readonly string[] =>
  decision.files.map((file) => file.path).filter((path) => !Object.hasOwn(decision.answered, path));

/**
 * One request a verdict, and for files to be revised each its own note: general words first, then what was said of that file's lines.
 * Files without a verdict are left open. What is taken in part (`parts`) goes last: with it the run seals a new proposal.
 */
export const requestsOf = (
  decision: DecisionPoint,
  verdicts: ReadonlyMap<string, Verdict>,
  general: string,
  comments: readonly Comment[],
  parts: Selection = {},
): readonly Request[] => {
  const open = openPaths(decision);
  const of = (verdict: Verdict): readonly string[] => open.filter((path) => verdicts.get(path) === verdict);
  const note = general.trim();
  const selected = Object.entries(parts).filter(([path]) => of('select').includes(path));
  const simple = (['approve', 'skip'] as const).flatMap((answer): readonly Request[] => {
    const files = of(answer);
    return files.length === 0 ? [] : [{ decision: decision.id, answer, files, ...(note === '' ? {} : { note }) }];
  });
  const byNote = new Map<string, string[]>();
  for (const path of of('revise')) {
    const text = noteOf(
      general,
      comments.filter(({ spot }) => spot.path === path),
    );
    byNote.set(text, [...(byNote.get(text) ?? []), path]);
  }
  return [
    ...simple,
    ...[...byNote].map(([text, files]): Request => ({ decision: decision.id, answer: 'revise', files, note: text })),
    ...(selected.length === 0
      ? []
      : [{ decision: decision.id, answer: 'select', select: Object.fromEntries(selected) } as const]),
  ];
};

/** Why it cannot be sent; null: it can. */
export const missingIn = (requests: readonly Request[]): string | null => {
  if (requests.length === 0) return 'No file has a verdict yet.';
  const silent = requests.find(({ answer, note = '' }) => answer === 'revise' && note.trim() === '');
  return silent === undefined
    ? null
    : `Say what to change in ${(silent.files ?? []).join(', ')}: a comment on a line, or a note below.`;
};
