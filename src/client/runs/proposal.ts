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
import { fail, problemOn, sentence } from '../../shared/problems.js';
import { isRecord } from '../../shared/text.js';
import type { ArchivedRun } from '../archive/run.js';
import type { ResolvedRun } from './resolve.js';
import { shownKey, type BlobRef } from '../../shared/ids.js';

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

// Texts that a run keeps outside its archive, which may be lost.

export type KeptText =
  | { readonly text: string; readonly reason: null }
  /** `reason`: why it cannot be shown, and what to do; null: there is none. */
  | { readonly text: null; readonly reason: string | null };

/** Reads a text of the store. A problem becomes the reason; other errors are thrown. */
export const keptText = async (read: () => Promise<string>): Promise<KeptText> => {
  const text = await read().catch(problemOn());
  return typeof text === 'string' ? { text, reason: null } : { text: null, reason: sentence(text) };
};

/** Returns the text of the job as the run read it, without secrets. */
export const instructionsOf = async (
  { blobs }: Pick<Emend, 'blobs'>,
  { archived }: Pick<ResolvedRun, 'archived'>,
): Promise<KeptText> => {
  const looks = archived.activities.filter(
    ({ name, result }) => name === 'preflight' && isRecord(result),
  );
  const { snapshot } = (looks.at(-1)?.result ?? {}) as { readonly snapshot?: BlobRef };
  if (snapshot === undefined) return { text: null, reason: reasonWithoutSnapshot(archived) };
  return keptText(async () => {
    const { instructions } = await getJson<{ readonly instructions: BlobRef }>(
      blobs,
      snapshot,
      'snapshot',
    );
    return hideSecrets(new TextDecoder().decode(await blobs.get(instructions)));
  });
};

const reasonWithoutSnapshot = ({ events, closed, omitted, stepKey }: ArchivedRun): string => {
  if (omitted !== null) return omitted;
  if (events.some(({ type }) => type === 'plan_started'))
    return 'The run of a plan has no instructions of its own. The runs of its phases have them.';
  return closed === null
    ? 'The run has not read its job yet.'
    : `The run ended before it had read its job. To see how: emend show ${shownKey(stepKey)}`;
};

/** Its rules are loaded where they are needed: most commands show no instructions. */
export const hideSecrets = async <T>(told: T): Promise<T> =>
  (await import('../../system/secrets.js')).hideSecrets(told);
