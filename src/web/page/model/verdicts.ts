/** Combines the verdicts on hunks into verdicts on files, finds hunks that need other hunks, and builds the requests of a review. Pure. */
import { type ChangeNeed, neededName } from '../../../edits/proposal/index.js';
import {
  namedFiles,
  type DecisionPoint,
  type DecisionRequest,
  type Selection,
} from '../../../shared/decisions.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import { currentRules } from '../../../shared/rules.js';
import { groupBy } from '../../../shared/text.js';
import { partsFault } from '../../../shared/validate-decision.js';
import type { DiffFile } from './diff.js';
import type { Spot } from './rows.js';

export type HunkVerdict = 'take' | 'leave';
/** Verdicts by the number of the hunk in its file, from 0. */
export type HunkVerdicts = ReadonlyMap<number, HunkVerdict>;
const WHOLE: Partial<Record<Verdict, HunkVerdict>> = { approve: 'take', skip: 'leave' };

/** Returns true if the file can be taken in part. A file of one hunk is only approved or skipped. */
export const hasParts = (file: DiffFile, { files }: Pick<ProposalSummary, 'files'>): boolean =>
  file.hunks.length > 1 && (files.find(({ path }) => path === file.path)?.changes ?? 0) > 1;

/** Returns the verdict on each hunk. A verdict on the file applies to all of its hunks. */
export const hunkVerdictsOf = (
  file: DiffFile,
  verdict: Verdict | undefined,
  hunkVerdicts: HunkVerdicts | undefined,
): HunkVerdicts => {
  const whole = verdict === undefined ? undefined : WHOLE[verdict];
  return whole === undefined
    ? (hunkVerdicts ?? new Map())
    : new Map(file.hunks.map((_, hunk) => [hunk, whole]));
};

/** Returns the verdict on the file that follows from its hunks. Null: a hunk has no verdict yet. */
export const verdictOf = (file: DiffFile, hunkVerdicts: HunkVerdicts): Verdict | null => {
  const verdicts = file.hunks.map((_, hunk) => hunkVerdicts.get(hunk));
  if (verdicts.includes(undefined)) return null;
  if (verdicts.every((verdict) => verdict === 'take')) return 'approve';
  return verdicts.every((verdict) => verdict === 'leave') ? 'skip' : 'select';
};

/** Returns the numbers of the changes to take, for each file that is taken in part. */
export const selectionOf = (
  files: readonly DiffFile[],
  verdicts: ReadonlyMap<string, Verdict>,
  hunks: ReadonlyMap<string, HunkVerdicts>,
): Selection =>
  Object.fromEntries(
    files
      .filter(({ path }) => verdicts.get(path) === 'select')
      .map((file) => [
        file.path,
        file.hunks.flatMap(({ changes }, hunk) =>
          hunks.get(file.path)?.get(hunk) === 'take' ? changes : [],
        ),
      ]),
  );

export interface HunkNeed {
  /** Path of the file whose hunk uses the name. */
  readonly path: string;
  readonly hunk: number;
  /** The hunk and the name that are needed, for example `hunk 1 (shout)`. */
  readonly text: string;
  readonly needs: { readonly path: string; readonly hunk: number };
}

/** Converts needs between changes into needs between hunks. A need within one hunk is dropped. */
export const hunkNeeds = (
  files: readonly DiffFile[],
  needs: readonly ChangeNeed[],
): readonly HunkNeed[] => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const hunkIndex = ({ path, n }: ChangeNeed['user']): number =>
    byPath.get(path)?.hunks.findIndex(({ changes }) => changes.includes(n)) ?? -1;
  const found = new Map<string, HunkNeed>();
  for (const need of needs) {
    const [user, from] = [hunkIndex(need.user), hunkIndex(need.needs)];
    if (user < 0 || (need.user.path === need.needs.path && user === from)) continue;
    const text = `${neededName(need, from + 1)} (${need.name})`;
    const hunkNeed = {
      path: need.user.path,
      hunk: user,
      text,
      needs: { path: need.needs.path, hunk: from },
    };
    found.set(JSON.stringify([hunkNeed.path, user, text]), hunkNeed);
  }
  return [...found.values()];
};

/** Returns a sentence for each hunk that is taken although it needs a rejected hunk. `verdictsOf` returns the verdicts on a file's hunks. */
export const missedNeeds = (
  needs: readonly HunkNeed[],
  verdictsOf: (path: string) => HunkVerdicts,
): readonly string[] =>
  needs
    .filter(
      ({ path, hunk, needs: from }) =>
        verdictsOf(path).get(hunk) === 'take' && verdictsOf(from.path).get(from.hunk) === 'leave',
    )
    .map(({ path, hunk, text }) => `hunk ${hunk + 1} of ${path} needs ${text}, which you rejected`);

/** The verdict on a file. `select` takes some of its hunks, by their own verdicts. */
export type Verdict = 'approve' | 'skip' | 'revise' | 'select';
/** Verdicts on whole files, with the labels of their buttons. */
export const VERDICTS: readonly (readonly [Exclude<Verdict, 'select'>, string])[] = [
  ['approve', 'Approve'],
  ['skip', 'Skip'],
  ['revise', 'Revise'],
];
export interface Comment {
  readonly spot: Spot;
  /** Text of the line that the comment is about. */
  readonly quoted: string;
  readonly text: string;
}
export type Request = Omit<DecisionRequest, 'requestId' | 'by' | 'signed'>;

const QUOTED_chars = 200;

const commentText = ({ spot, quoted, text }: Comment): string => {
  if (spot.line === 0) return `${spot.path}: ${text}`;
  const where =
    spot.side === 'after'
      ? `line ${spot.line} of the proposed text`
      : `line ${spot.line} of the text before`;
  const line = quoted.trim() === '' ? '' : ` (\`${quoted.trim().slice(0, QUOTED_chars)}\`)`;
  return `${spot.path}, ${where}${line}: ${text}`;
};

/** Returns the note of a revision: the general instructions, then the comments. It is empty if there are none. */
const noteOf = (general: string, comments: readonly Comment[]): string =>
  [general.trim(), ...comments.filter(({ text }) => text.trim() !== '').map(commentText)]
    .filter((part) => part !== '')
    .join('\n\n');

export const openPaths = (decision: DecisionPoint): readonly string[] =>
  decision.files.map((file) => file.path).filter((path) => !Object.hasOwn(decision.answered, path));

/**
 * Returns the requests of a review: one for each verdict, and one for each different note of the files to revise.
 * Files without a verdict stay open. The request for `parts` is last, because the run then builds a new proposal.
 */
export const requestsOf = (
  decision: DecisionPoint,
  {
    verdicts,
    comments,
  }: { readonly verdicts: ReadonlyMap<string, Verdict>; readonly comments: readonly Comment[] },
  general: string,
  parts: Selection = {},
): readonly Request[] => {
  const open = openPaths(decision);
  const openFilesWith = (verdict: Verdict): readonly string[] =>
    open.filter((path) => verdicts.get(path) === verdict);
  const generalNote = general.trim() === '' ? {} : { note: general.trim() };
  const selected = Object.entries(parts).filter(([path]) => openFilesWith('select').includes(path));
  const simple = (['approve', 'skip'] as const).flatMap((answer): readonly Request[] => {
    const files = openFilesWith(answer);
    return files.length === 0 ? [] : [{ decision: decision.id, answer, files, ...generalNote }];
  });
  const byFile = groupBy(comments, ({ spot }) => spot.path);
  const byNote = groupBy(openFilesWith('revise'), (path) =>
    noteOf(general, byFile.get(path) ?? []),
  );
  return [
    ...simple,
    ...[...byNote].map(([text, files]): Request => ({
      decision: decision.id,
      answer: 'revise',
      files,
      note: text,
    })),
    ...(selected.length === 0
      ? []
      : [
          {
            decision: decision.id,
            answer: 'select' as const,
            select: Object.fromEntries(selected),
            ...generalNote,
          },
        ]),
  ];
};

/** Returns the reason why the requests cannot be sent, or null if they can. */
export const sendFault = (requests: readonly Request[]): string | null => {
  if (requests.length === 0) return 'No file has a verdict yet.';
  for (const request of requests) {
    const fault = partsFault(currentRules(), request);
    if (fault !== null) return `${(namedFiles(request) ?? []).join(', ')}: ${fault}`;
  }
  return null;
};
