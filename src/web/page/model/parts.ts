/** Verdicts by hunk: what they come to for a file, which hunk needs which, and what is sent of them. Pure. */
import type { ChangeNeed } from '../../../edits/change-needs.js';
import { neededName } from '../../../edits/need-name.js';
import type { Selection } from '../../../shared/decisions.js';
import type { SealedProposal } from '../../../shared/protocol.js';
import type { DiffFile } from './parse-diff.js';
import type { Verdict } from './requests.js';

export type HunkVerdict = 'take' | 'leave';
/** By number of the hunk in its file, from 0. */
export type Said = ReadonlyMap<number, HunkVerdict>;
const WHOLE: Partial<Record<Verdict, HunkVerdict>> = { approve: 'take', skip: 'leave' };

/** Can it be taken in part? A file of one hunk is approved or skipped. */
export const hasParts = (file: DiffFile, { files }: Pick<SealedProposal, 'files'>): boolean =>
  file.hunks.length > 1 && (files.find(({ path }) => path === file.path)?.changes ?? 0) > 1;

/** Of each hunk; a verdict on the file is one on all of its hunks. */
export const saidOf = (file: DiffFile, verdict: Verdict | undefined, said: Said | undefined): Said => {
  const whole = verdict === undefined ? undefined : WHOLE[verdict];
  return whole === undefined ? (said ?? new Map()) : new Map(file.hunks.map((_, hunk) => [hunk, whole]));
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
        file.hunks.flatMap(({ changes }, hunk) => (hunks.get(file.path)?.get(hunk) === 'take' ? changes : [])),
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
export const hunkNeeds = (files: readonly DiffFile[], needs: readonly ChangeNeed[]): readonly HunkNeed[] => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const at = ({ path, n }: ChangeNeed['user']): number =>
    byPath.get(path)?.hunks.findIndex(({ changes }) => changes.includes(n)) ?? -1;
  const found = new Map<string, HunkNeed>();
  for (const need of needs) {
    const [user, from] = [at(need.user), at(need.needs)];
    if (user < 0 || (need.user.path === need.needs.path && user === from)) continue;
    const text = `${neededName(need, from + 1)} (${need.name})`;
    const one = { path: need.user.path, hunk: user, text, needs: { path: need.needs.path, hunk: from } };
    found.set(JSON.stringify([one.path, user, text]), one);
  }
  return [...found.values()];
};

/** What is taken and uses a name that only something left out brings, in words. `said`: of a file's hunks. */
export const missedNeeds = (needs: readonly HunkNeed[], said: (path: string) => Said): readonly string[] =>
  needs
    .filter(
      ({ path, hunk, needs: from }) => said(path).get(hunk) === 'take' && said(from.path).get(from.hunk) === 'leave',
    )
    .map(({ path, hunk, text }) => `hunk ${hunk + 1} of ${path} needs ${text}, which you left out`);
