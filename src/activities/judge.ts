/** Guards look at the bytes that are to be sealed, whatever made them: an answer, a formatter, a merge with what a person saved. */
import type { Finding } from '../shared/formats.js';
import { namesBeside } from '../workspace/names-beside.js';
import type { Proposal } from '../workspace/types.js';
import type { FileChange } from './chain.js';
import type { ActivityDependencies } from './dependencies.js';
import { diffInput } from './propose-accepted.js';
import { guardSettings, type Snapshot } from './snapshot.js';

export interface Judged {
  readonly snapshot: Snapshot;
  readonly changes: readonly FileChange[];
  readonly moves: Proposal['moves'];
}

export async function judge(
  { blobs, edits }: Pick<ActivityDependencies, 'blobs' | 'edits'>,
  { snapshot, changes, moves }: Judged,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const encodings = new Map(snapshot.targets.map((target) => [target.path, target.encoding]));
  const movedAway = moves.map(({ from }) => from);
  const guarded = changes.filter((change) => !movedAway.includes(change.path));
  const files = await Promise.all(
    guarded.map(async (change) => {
      const encoding = encodings.get(change.path) ?? null;
      return { ...(await diffInput(blobs, change)), ...(encoding === null ? {} : { encoding }) };
    }),
  );
  const movedTo = moves.map(({ to }) => to);
  const made = [...changes.filter(({ base }) => base === null).map(({ path }) => path), ...movedTo];
  const beside = await namesBeside(snapshot.workspace, made);
  return edits.run('guards', { files, movedTo, movedAway, beside, ...(await guardSettings(blobs, snapshot)) }, signal);
}
