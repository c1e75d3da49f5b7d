/** What a review says: prompts, help, warnings, the summary. Pure. */
import { changesByPath, readDiff, type ChangeNeed, neededName } from '../../edits/index.js';
import type { Selection, DecisionPoint } from '../../shared/decisions.js';
import { fail } from '../../shared/problems.js';
import { proposalNeeds } from '../../client/runs/proposal.js';
import { diffText } from '../../client/runs/show.js';
import type { Emend } from '../../client/types.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import {
  type ReviewFile,
  currentPiece,
  isTaken,
  type FileVerdict,
  type Piece,
  type Navigation,
} from './session.js';
import { count, plain } from '../render/text.js';

// What a review goes through: the files of the open decision with their part of the proposal's diff, and which hunk needs which.

export interface Review {
  readonly decision: DecisionPoint;
  readonly proposal: ProposalSummary;
  readonly diff: string;
  readonly files: readonly ReviewFile[];
  readonly needs: readonly ChangeNeed[];
}

/** `whole`: files that are asked about in one piece at first. */
export const loadReview = async (
  emend: Emend,
  decision: DecisionPoint,
  proposal: ProposalSummary,
  whole: ReadonlySet<string>,
): Promise<Review> => {
  const diff = await diffText(emend, proposal);
  const sections = readDiff(diff);
  const open = new Set(
    decision.files
      .map(({ path }) => path)
      .filter((path) => !Object.hasOwn(decision.answered, path)),
  );
  const files = proposal.files
    .filter(({ path }) => open.has(path))
    .map(({ path, changes = 0 }): ReviewFile => {
      const section = sections.find((each) => each.path === path);
      return { path, section, changes, whole: whole.has(path) };
    });
  return { decision, proposal, diff, files, needs: await proposalNeeds(emend, proposal, sections) };
};

/** Number of the hunk that a change stands in, as the review and `emend diff` count them; 0: in none. */
const hunkOf = ({ files }: Pick<Review, 'files'>, path: string, n: number): number => {
  const hunks = files.find((file) => file.path === path)?.section?.hunks ?? [];
  return hunks.findIndex((hunk) => hunk.changes.some((change) => change.n === n)) + 1;
};

export const KEYS = {
  y: 'accept this hunk',
  n: 'reject this hunk',
  a: 'accept this hunk and the rest of this file',
  d: 'reject this hunk and the rest of this file',
  s: 'split this hunk',
  c: 'comment: ask the model for this file again, with your note ($EDITOR)',
  p: 'show the full diff in the pager',
  q: 'quit: send answers for reviewed files, or none',
  '?': 'show this help',
} as const;
export type Key = keyof typeof KEYS;

export const keysFor = (piece: Piece): readonly Key[] =>
  (Object.keys(KEYS) as Key[]).filter((key) => key !== 's' || piece.parts.length > 0);

export const promptFor = (piece: Piece): string => {
  const what = piece.label === 'file' ? 'this file' : piece.label;
  return `Take ${what} [${keysFor(piece).join(',')}]? `;
};

/** Needs of this piece that are not taken (yet): `needs hunk 1 (shout), which you rejected`. */
export const needLines = (review: Review, walk: Navigation): readonly string[] => {
  const piece = currentPiece(walk);
  if (piece === null || piece.changes.length === 0) return [];
  const own = (path: string, n: number): boolean =>
    path === piece.path && piece.changes.includes(n);
  const lines = review.needs
    .filter(({ user, needs }) => own(user.path, user.n) && !own(needs.path, needs.n))
    .map((need) => {
      const taken = isTaken(walk, need.needs.path, need.needs.n);
      return `  needs ${nameOf(review, need)} (${need.name})${taken === false ? ', which you rejected' : ''}`;
    });
  return [...new Set(lines)].map(plain);
};

const nameOf = (review: Review, need: ChangeNeed): string =>
  neededName(need, hunkOf(review, need.needs.path, need.needs.n));

/** What was taken and uses a name that only something left out brings. */
export const missedLines = (review: Review, walk: Navigation): readonly string[] => {
  const missed = review.needs.filter(
    ({ user, needs }) =>
      isTaken(walk, user.path, user.n) === true && isTaken(walk, needs.path, needs.n) === false,
  );
  const lines = missed.map((need) => {
    const hunk = hunkOf(review, need.user.path, need.user.n);
    return `  hunk ${hunk} of ${need.user.path} needs ${nameOf(review, need)} (${need.name}), which you rejected`;
  });
  return [...new Set(lines)].map(plain);
};

export const summaryLines = (
  verdicts: readonly FileVerdict[],
  waiting: number,
): readonly string[] => [
  ...verdicts.map((verdict) => plain(`  ${verdictText(verdict)}`)),
  ...(waiting === 0 ? [] : [`  ${count(waiting, 'file')} not reviewed: still waiting`]),
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
      return `select   ${verdict.path}: ${verdict.changes.length} of ${count(verdict.of, 'change')}; ${left} rejected, not requested again`;
    }
  }
};

// `--hunk PATH:1,3`: hunks as `emend diff` shows them, counted from 1 in each file, to the changes in them. Pure.

/** Throws ProblemError `usage`. */
export const hunkSelection = (written: readonly string[], diff: string): Selection => {
  const sections = readDiff(diff);
  const known = changesByPath(sections);
  const chosen = new Map<string, Set<number>>();
  for (const text of written) {
    const [, named = '', list = ''] = /^(.+):([0-9]+(?:,[0-9]+)*)$/.exec(text) ?? [];
    const path = named.replace(/^\.\//, '');
    if (path === '')
      fail('usage', `--hunk ${text}: expected PATH:N or PATH:N,N, for example src/a.ts:1,3.`);
    const hunks = sections.find((section) => section.path === path)?.hunks;
    if (hunks === undefined || !known.has(path))
      fail(
        'usage',
        `--hunk ${text}: the proposal has no file ${path} that can be accepted in part.`,
        'See `emend diff RUN`.',
      );
    const taken = chosen.get(path) ?? new Set();
    chosen.set(path, taken);
    for (const n of list.split(',').map(Number)) {
      const hunk = hunks?.[n - 1];
      if (hunk === undefined)
        fail('usage', `--hunk ${text}: ${path} has hunks 1 to ${hunks?.length ?? 0}.`);
      for (const change of hunk?.changes ?? []) taken.add(change.n);
    }
  }
  return Object.fromEntries(
    [...chosen].map(([path, changes]) => [path, [...changes].sort((a, b) => a - b)]),
  );
};
