/** What faces show of a proposal beside its diff: which changes need others, its files whole, what changed since an earlier one, what was asked. */
import { getJson } from '../../stores/ports.js';
import {
  changeNeeds,
  combinedDiff,
  wordsOf,
  type ChangeNeed,
  type DiffSection,
} from '../../edits/index.js';
import type { FileSince } from '../../shared/event-text.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import type { Proposal, ProposalFile } from '../../workspace/proposal.js';
import type { Emend } from '../types.js';
import { fail, nullOn } from '../../shared/problems.js';
import { isRecord } from '../../shared/text.js';
import type { ResolvedRun } from './resolve.js';
import type { BlobRef } from '../../shared/ids.js';

/**
 * Which changes use names that other changes bring: for faces that let people take a part of it. `sections`: of the proposal's diff. Only a
 * warning hangs on it: where a base is not in reach, nothing is said.
 */
export const proposalNeeds = async (
  { blobs }: Pick<Emend, 'blobs'>,
  summary: ProposalSummary,
  sections: readonly DiffSection[],
): Promise<readonly ChangeNeed[]> => {
  try {
    const { files } = await getJson<Proposal>(blobs, summary.ref, 'proposal');
    const bases = new Map<string, ReadonlySet<string>>();
    for (const { path, base } of files)
      if (base !== null)
        bases.set(path, new Set(wordsOf(new TextDecoder().decode(await blobs.get(base.ref)))));
    return changeNeeds(sections, (path) => bases.get(path) ?? null);
  } catch {
    return [];
  }
};

// A file of a proposal before and after, as text: for faces that show more of it than the diff does.

/**
 * Null: there is no such file before (or after), or its bytes are no UTF-8. Only what the proposal itself names can be asked for. Throws
 * ProblemError `usage` for another path, `blob_lost`, `version_unknown`.
 */
export const proposalTexts = async (
  { blobs }: Pick<Emend, 'blobs'>,
  summary: ProposalSummary,
  path: string,
) => {
  const proposal = await getJson<Proposal>(blobs, summary.ref, 'proposal');
  const file = proposal.files.find((each) => each.path === path);
  if (file === undefined)
    return fail('usage', `The proposal ${summary.id.slice(0, 8)} has no file of this name.`);
  const movedFrom = proposal.renames.find((move) => move.to === path)?.from;
  const base = file.base ?? proposal.files.find((each) => each.path === movedFrom)?.base ?? null;
  const text = async (ref: BlobRef | undefined): Promise<string | null> => {
    if (ref === undefined) return null;
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        await blobs.get(ref),
      );
    } catch (error) {
      if (error instanceof TypeError) return null;
      throw error;
    }
  };
  return { before: await text(base?.ref), after: await text(file.result?.ref) };
};

// What changed from one proposal of a run to a later one: not of the files on disk, but of what they would become.

export interface ProposalSince {
  readonly files: readonly FileSince[];
  /** From the files as the earlier one has them to those as the later one has them; those that are the same are left out. */
  readonly diff: string;
}

/** Throws ProblemError `blob_lost`, `version_unknown`. */
export const proposalSince = async (
  { blobs }: Pick<Emend, 'blobs'>,
  earlier: Pick<ProposalSummary, 'ref'>,
  later: Pick<ProposalSummary, 'ref'>,
): Promise<ProposalSince> => {
  const [before, after] = await Promise.all(
    [earlier, later].map(async ({ ref }) => {
      const { files } = await getJson<Proposal>(blobs, ref, 'proposal');
      return new Map(files.map((file) => [file.path, file]));
    }),
  );
  const files = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])]
    .sort()
    .map((path) => {
      const [was, now] = [before?.get(path), after?.get(path)];
      const isSame =
        was !== undefined && now !== undefined && sideKey(was.result) === sideKey(now.result);
      const is = isSame
        ? 'same'
        : was === undefined
          ? 'new'
          : now === undefined
            ? 'gone'
            : 'changed';
      const baseMoved =
        was !== undefined && now !== undefined && sideKey(was.base) !== sideKey(now.base);
      return {
        path,
        is,
        baseMoved,
        from: was === undefined ? now?.base : was.result,
        to: now === undefined ? was?.base : now.result,
      } as const;
    });
  const bytes = async (side: ProposalFile['base'] | undefined) =>
    side == null ? null : blobs.get(side.ref);
  const inputs = files
    .filter(({ is }) => is !== 'same')
    .map(async ({ path, from, to }) => ({
      path,
      base: await bytes(from),
      result: await bytes(to),
      baseMode: from?.mode,
      resultMode: to?.mode,
    }));
  const diff = combinedDiff(await Promise.all(inputs));
  return { files: files.map(({ path, is, baseMoved }) => ({ path, is, baseMoved })), diff };
};

const sideKey = (side: ProposalFile['base']): string =>
  side === null ? '' : `${side.ref} ${side.mode}`;

/**
 * What the job asks for, as the run read it; secrets are left out of it. Null: nothing was read yet (a plan's run reads none itself), or it
 * is not in reach.
 */
export const instructionsOf = async (
  { blobs }: Pick<Emend, 'blobs'>,
  { archived }: Pick<ResolvedRun, 'archived'>,
): Promise<string | null> => {
  const looks = archived.activities.filter(
    ({ name, result }) => name === 'preflight' && isRecord(result),
  );
  const { snapshot } = (looks.at(-1)?.result ?? {}) as { readonly snapshot?: BlobRef };
  if (snapshot === undefined) return null;
  const read = async (): Promise<string> => {
    const { instructions } = await getJson<{ readonly instructions: BlobRef }>(
      blobs,
      snapshot,
      'snapshot',
    );
    return hideSecrets(new TextDecoder().decode(await blobs.get(instructions)));
  };
  return read().catch(nullOn());
};

/** Its rules are loaded where they are needed: most commands show no instructions. */
export const hideSecrets = async <T>(told: T): Promise<T> =>
  (await import('../../system/secrets.js')).hideSecrets(told);
