/** What every prompt of a step shows beside the files: instructions, rules, hints, context. */
import type { BlobStore } from '../workspace/types.js';
import type { FileBytes } from './edit-work.js';
import { deleted, getText, type Snapshot, type SnapshotTarget, type TextRef } from './snapshot.js';

const readAll = (blobs: BlobStore, refs: readonly TextRef[]) =>
  Promise.all(refs.map(async ({ path, ref }) => ({ path, content: await getText(blobs, ref) })));

export async function references(blobs: BlobStore, snapshot: Snapshot) {
  const [instructions, rules, context] = await Promise.all([
    getText(blobs, snapshot.instructions),
    readAll(blobs, snapshot.rules),
    readAll(blobs, snapshot.context),
  ]);
  return { instructions: withDeleted(instructions, snapshot), rules, context, hints: snapshot.hints };
}

/** What nobody is asked for is said, so that the other files stop using it. */
function withDeleted(instructions: string, { targets }: Snapshot): string {
  const paths = deleted(targets).map(({ path }) => `- ${path}`);
  if (paths.length === 0) return instructions;
  return `${instructions.trimEnd()}\n\nThe same change deletes these files. That is done already; nothing may use them any more:\n${paths.join('\n')}\n`;
}

/** A target with its base's bytes. */
export type LoadedTarget = SnapshotTarget & { readonly content: Uint8Array | null };

export const loadTargets = (blobs: BlobStore, targets: readonly SnapshotTarget[]): Promise<readonly LoadedTarget[]> =>
  Promise.all(
    targets.map(async (target) => ({
      ...target,
      content: target.base === null ? null : await blobs.get(target.base.ref),
    })),
  );

export const bytesOf = ({ path, content, encoding }: LoadedTarget): FileBytes => ({ path, bytes: content, encoding });
