/** What every prompt of a step shows beside the files: instructions, rules, hints, context. */
import { decodeFile } from '../edits/text.js';
import type { Text } from '../edits/types.js';
import type { BlobStore } from '../workspace/types.js';
import { getText, type Snapshot, type SnapshotTarget, type TextRef } from './snapshot.js';

const readAll = (blobs: BlobStore, refs: readonly TextRef[]) =>
  Promise.all(refs.map(async ({ path, ref }) => ({ path, content: await getText(blobs, ref) })));

export async function references(blobs: BlobStore, snapshot: Snapshot) {
  const [instructions, rules, context] = await Promise.all([
    getText(blobs, snapshot.instructions),
    readAll(blobs, snapshot.rules),
    readAll(blobs, snapshot.context),
  ]);
  return { instructions, rules, context, hints: snapshot.hints };
}

export interface LoadedTarget extends SnapshotTarget {
  readonly content: Uint8Array | null;
  readonly text: Text | null;
}

export const loadTargets = (blobs: BlobStore, targets: readonly SnapshotTarget[]): Promise<readonly LoadedTarget[]> =>
  Promise.all(
    targets.map(async (target) => {
      const content = target.base === null ? null : await blobs.get(target.base.ref);
      const decoded = content === null ? null : decodeFile(content, target.encoding ?? undefined);
      return { ...target, content, text: decoded?.ok === true ? decoded.text : null };
    }),
  );
