/** Files that a seal takes from an earlier proposal, because a person chose among its changes. */
import {
  changeNeeds,
  changesByPath,
  readSealedDiff,
  selectChanges,
  wordsOf,
  type DiffSection,
} from '../edits/index.js';
import { SHOWN_BOUNDS } from '../shared/bounds.js';
import type { Finding } from '../shared/formats.js';
import type { PinnedFiles } from '../shared/protocol.js';
import type { BlobStore, Proposal, ProposalFile } from '../workspace/types.js';
import type { FileChange } from './chain.js';
import { getJson } from './snapshot.js';

export interface PinnedChanges {
  readonly changes: ReadonlyMap<string, FileChange>;
  /** Paths of which only some changes were taken. */
  readonly inPart: ReadonlySet<string>;
  /** What was left out, and what is missed by what was taken. */
  readonly findings: readonly Finding[];
}

/** Throws where the proposal does not hold what the pins name: the workflow made them from it. */
export const pinnedChanges = async (blobs: BlobStore, groups: readonly PinnedFiles[]): Promise<PinnedChanges> => {
  const changes = new Map<string, FileChange>();
  const inPart = new Set<string>();
  const findings: Finding[] = [];
  for (const group of groups) {
    const proposal = await getJson<Proposal>(blobs, group.proposal, 'proposal');
    const sealed = new Map(proposal.files.map((file) => [file.path, file]));
    const sections = readSealedDiff(new TextDecoder('utf-8', { ignoreBOM: true }).decode(await blobs.get(group.diff)));
    const chosen = new Map(group.files.map((file) => [file.path, file.changes]));
    for (const { path, changes: numbers } of group.files) {
      const file = sealed.get(path);
      if (file === undefined) throw new Error(`the proposal that ${path} was chosen from does not have it`);
      changes.set(path, numbers === null ? file : await partOf(blobs, file, sections, numbers));
      if (numbers !== null) inPart.add(path);
    }
    findings.push(...(await selectionFindings(blobs, sealed, sections, chosen)));
  }
  return { changes, inPart, findings };
};

const partOf = async (
  blobs: BlobStore,
  file: ProposalFile,
  sections: readonly DiffSection[],
  chosen: readonly number[],
): Promise<FileChange> => {
  const changes = changesByPath(sections).get(file.path);
  if (changes === undefined || file.base === null || file.result === null)
    throw new Error(`${file.path} cannot be taken in part`);
  const [base, result] = await Promise.all([blobs.get(file.base.ref), blobs.get(file.result.ref)]);
  const part = selectChanges({ base, result, changes, chosen });
  return { path: file.path, base: file.base, result: { ref: await blobs.put(part), mode: file.result.mode } };
};

const selectionFindings = async (
  blobs: BlobStore,
  sealed: ReadonlyMap<string, ProposalFile>,
  sections: readonly DiffSection[],
  chosen: ReadonlyMap<string, readonly number[] | null>,
): Promise<readonly Finding[]> => {
  const bases = new Map<string, ReadonlySet<string>>();
  for (const { path, base } of sealed.values())
    if (base !== null) bases.set(path, new Set(wordsOf(new TextDecoder().decode(await blobs.get(base.ref)))));
  // A file that is not pinned was skipped, or is asked for again: nothing of it is sure to be there.
  const isTaken = (path: string, n: number): boolean => {
    const numbers = chosen.get(path);
    return numbers === null || numbers?.includes(n) === true;
  };
  const missed = changeNeeds(sections, (path) => bases.get(path) ?? null).filter(
    ({ user, needs }) => isTaken(user.path, user.n) && !isTaken(needs.path, needs.n),
  );
  const leftOut = sections.flatMap(({ path, hunks }): Finding[] => {
    const numbers = chosen.get(path);
    const all = hunks.flatMap((hunk) => hunk.changes);
    if (numbers === null || numbers === undefined) return [];
    const left = all.map(({ n }) => n).filter((n) => !numbers.includes(n));
    const which = `${left.slice(0, SHOWN_BOUNDS.leftOutChanges).join(', ')}${left.length > SHOWN_BOUNDS.leftOutChanges ? '…' : ''}`;
    const message = `${numbers.length} of ${all.length} changes were chosen; left out: ${which}`;
    return [{ guard: 'selection', severity: 'ask', path, message }];
  });
  const needed = missed.map(({ user, name, needs }): Finding => {
    const where = needs.path === user.path ? '' : ` of ${needs.path}`;
    const message = `a change that was chosen uses ${name}, which only change ${needs.n}${where} brings, and that is left out`;
    return { guard: 'selection', severity: 'ask', path: user.path, message };
  });
  return [...leftOut, ...needed];
};
