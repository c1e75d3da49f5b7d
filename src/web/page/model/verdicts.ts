/** Verdicts by hunk: what they come to for a file, which hunk needs which, and what is sent of them. Pure. */
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
/** By number of the hunk in its file, from 0. */
export type Said = ReadonlyMap<number, HunkVerdict>;
const WHOLE: Partial<Record<Verdict, HunkVerdict>> = { approve: 'take', skip: 'leave' };

/** Can it be taken in part? A file of one hunk is approved or skipped. */
export const hasParts = (file: DiffFile, { files }: Pick<ProposalSummary, 'files'>): boolean =>
  file.hunks.length > 1 && (files.find(({ path }) => path === file.path)?.changes ?? 0) > 1;

/** Of each hunk; a verdict on the file is one on all of its hunks. */
export const saidOf = (
  file: DiffFile,
  verdict: Verdict | undefined,
  said: Said | undefined,
): Said => {
  const whole = verdict === undefined ? undefined : WHOLE[verdict];
  return whole === undefined
    ? (said ?? new Map())
    : new Map(file.hunks.map((_, hunk) => [hunk, whole]));
};

/** Null: not every hunk has a verdict. */
export const verdictOf = (file: DiffFile, said: Said): Verdict | null => {
  const each = file.hunks.map((_, hunk) => said.get(hunk));
  if (each.includes(undefined)) return null;
  if (each.every((word) => word === 'take')) return 'approve';
  return each.every((word) => word === 'leave') ? 'skip' : 'select';
};

/** The changes of the hunks that are taken, of the files that are taken in part. */
export const selectionOf = (
  files: readonly DiffFile[],
  verdicts: ReadonlyMap<string, Verdict>,
  hunks: ReadonlyMap<string, Said>,
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
  /** Of the hunk that uses the name. */
  readonly path: string;
  readonly hunk: number;
  /** `hunk 1 (shout)`. */
  readonly text: string;
  readonly needs: { readonly path: string; readonly hunk: number };
}

/** Needs between changes as needs between hunks; those within one hunk are none. */
export const hunkNeeds = (
  files: readonly DiffFile[],
  needs: readonly ChangeNeed[],
): readonly HunkNeed[] => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const at = ({ path, n }: ChangeNeed['user']): number =>
    byPath.get(path)?.hunks.findIndex(({ changes }) => changes.includes(n)) ?? -1;
  const found = new Map<string, HunkNeed>();
  for (const need of needs) {
    const [user, from] = [at(need.user), at(need.needs)];
    if (user < 0 || (need.user.path === need.needs.path && user === from)) continue;
    const text = `${neededName(need, from + 1)} (${need.name})`;
    const one = {
      path: need.user.path,
      hunk: user,
      text,
      needs: { path: need.needs.path, hunk: from },
    };
    found.set(JSON.stringify([one.path, user, text]), one);
  }
  return [...found.values()];
};

/** What is taken and uses a name that only something left out brings, in words. `said`: of a file's hunks. */
export const missedNeeds = (
  needs: readonly HunkNeed[],
  said: (path: string) => Said,
): readonly string[] =>
  needs
    .filter(
      ({ path, hunk, needs: from }) =>
        said(path).get(hunk) === 'take' && said(from.path).get(from.hunk) === 'leave',
    )
    .map(({ path, hunk, text }) => `hunk ${hunk + 1} of ${path} needs ${text}, which you rejected`);

// What is sent of a review: verdicts by file, and comments as the instructions of a revision. Pure.

/** `select`: some of its hunks, by their own verdicts. */
export type Verdict = 'approve' | 'skip' | 'revise' | 'select';
/** Those on whole files, with the words of their buttons. */
export const VERDICTS: readonly (readonly [Exclude<Verdict, 'select'>, string])[] = [
  ['approve', 'Approve'],
  ['skip', 'Skip'],
  ['revise', 'Revise'],
];
export interface Comment {
  readonly spot: Spot;
  /** The line that it is about, as shown. */
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

/** Empty where nothing was said. */
const noteOf = (general: string, comments: readonly Comment[]): string =>
  [general.trim(), ...comments.filter(({ text }) => text.trim() !== '').map(commentText)]
    .filter((part) => part !== '')
    .join('\n\n');

export const openPaths = (decision: DecisionPoint): readonly string[] =>
  decision.files.map((file) => file.path).filter((path) => !Object.hasOwn(decision.answered, path));

/**
 * One request a verdict, and for files to be revised each its own note: general words first, then what was said of that file's lines.
 * Files without a verdict are left open. What is taken in part (`parts`) goes last: with it the run builds a new proposal.
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
  const of = (verdict: Verdict): readonly string[] =>
    open.filter((path) => verdicts.get(path) === verdict);
  const said = general.trim() === '' ? {} : { note: general.trim() };
  const selected = Object.entries(parts).filter(([path]) => of('select').includes(path));
  const simple = (['approve', 'skip'] as const).flatMap((answer): readonly Request[] => {
    const files = of(answer);
    return files.length === 0 ? [] : [{ decision: decision.id, answer, files, ...said }];
  });
  const byFile = groupBy(comments, ({ spot }) => spot.path);
  const byNote = groupBy(of('revise'), (path) => noteOf(general, byFile.get(path) ?? []));
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
            ...said,
          },
        ]),
  ];
};

/** Why it cannot be sent; null: it can. */
export const missingIn = (requests: readonly Request[]): string | null => {
  if (requests.length === 0) return 'No file has a verdict yet.';
  for (const request of requests) {
    const fault = partsFault(currentRules(), request);
    if (fault !== null) return `${(namedFiles(request) ?? []).join(', ')}: ${fault}`;
  }
  return null;
};
