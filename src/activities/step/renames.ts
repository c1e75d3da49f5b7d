/** Moves of a proposal: those that a response names, and those that show in the content of the files. */
import type { Proposal, ProposalFile } from '../../workspace/proposal.js';
import type { ActivityPorts } from '../frame/ports.js';
import type { Accepted, FileChange } from './accepted.js';
import { diffInput } from './prompt-inputs.js';

type Renames = Proposal['renames'];

/** Files of a proposal that move, at the other path. */
export interface Moves {
  /** The file at its old path, by its new path. */
  readonly byNewPath: ReadonlyMap<string, ProposalFile>;
  /** The file at its new path, by its old path. */
  readonly byOldPath: ReadonlyMap<string, ProposalFile>;
}

/** Returns the moves of which the proposal has both paths: the old one is removed, and the new one is created. */
export const movesIn = (files: readonly ProposalFile[], renames: Renames): Moves => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const pairs = renames.flatMap(({ from, to }) => {
    const [source, target] = [byPath.get(from), byPath.get(to)];
    const isMove = source?.result === null && target?.base === null;
    return isMove ? [{ source, target }] : [];
  });
  return {
    byNewPath: new Map(pairs.map(({ source, target }) => [target.path, source])),
    byOldPath: new Map(pairs.map(({ source, target }) => [source.path, target])),
  };
};

/** Adds the old paths of moves whose new paths are left out: without the new file the old one stays. */
export const withOldPaths = (out: ReadonlySet<string>, renames: Renames): ReadonlySet<string> =>
  new Set([...out, ...renames.filter(({ to }) => out.has(to)).map(({ from }) => from)]);

/** Returns the moves that the responses name, then those of files that are deleted and created with similar content. */
export async function withSimilar(
  { blobs, edits }: Pick<ActivityPorts, 'blobs' | 'edits'>,
  changes: readonly FileChange[],
  results: readonly Accepted[],
  signal: AbortSignal,
): Promise<Renames> {
  const named = results.flatMap((result) => result.renames);
  const known = new Set(named.flatMap(({ from, to }) => [from, to]));
  const others = changes.filter(({ path }) => !known.has(path));
  const candidates = others.filter(({ base, result }) => base === null || result === null);
  const isPossible =
    candidates.some(({ base }) => base === null) &&
    candidates.some(({ result }) => result === null);
  if (!isPossible) return named;
  const inputs = await Promise.all(candidates.map((change) => diffInput(blobs, change)));
  return [...named, ...(await edits.run('renames', inputs, signal))];
}
