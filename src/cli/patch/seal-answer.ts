/** An outcome as a proposal that the apply transaction takes: bytes in the blob store, one hash over all of it, the combined diff. */
import { combinedDiff, countChanged, type DiffFile, type Edited, type OfferedFile } from '../../edits/index.js';
import type { StepKey } from '../../shared/refs.js';
import { NEW_FILE_MODE } from '../../workspace/files.js';
import type { BlobStore, Proposal, ProposalFile } from '../../workspace/types.js';

export interface PatchedFile {
  readonly path: string;
  readonly change: 'edit' | 'create' | 'delete' | 'move';
  /** Where a moved file was. */
  readonly from?: string;
  readonly added: number;
  readonly removed: number;
}
export interface Drawn {
  readonly diff: string;
  readonly files: readonly PatchedFile[];
}

/** In order of paths; a move is one file. */
export const drawPatch = (edited: Edited, offered: ReadonlyMap<string, OfferedFile>): Drawn => {
  const movedTo = new Map(edited.moves.map(({ from, to }) => [to, from]));
  const movedAway = new Set(edited.moves.map(({ from }) => from));
  const drawn = [...edited.files]
    .filter(([path]) => !movedAway.has(path))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, result]): { readonly file: PatchedFile; readonly diff: DiffFile } => {
      const from = movedTo.get(path);
      const base = offered.get(from ?? path);
      const sides: DiffFile = {
        path,
        base: base?.bytes ?? null,
        result: result === 'absent' ? null : result.bytes,
        ...(base?.mode === undefined ? {} : { baseMode: base.mode }),
        ...(result === 'absent' || result.mode === undefined ? {} : { resultMode: result.mode }),
        ...(from === undefined ? {} : { moveFrom: from }),
        ...(base?.encoding === undefined ? {} : { encoding: base.encoding }),
      };
      const change =
        from !== undefined ? 'move' : result === 'absent' ? 'delete' : base === undefined ? 'create' : 'edit';
      const file = { path, change, ...(from === undefined ? {} : { from }), ...countChanged([sides]) } as const;
      return { file, diff: sides };
    });
  return { diff: combinedDiff(drawn.map(({ diff }) => diff)), files: drawn.map(({ file }) => file) };
};

/** Bases and results go into the blob store: undo needs the ones, recovery the others. */
export const sealPatch = async (
  blobs: BlobStore,
  stepKey: StepKey,
  edited: Edited,
  offered: ReadonlyMap<string, OfferedFile>,
): Promise<Proposal> => {
  const files: ProposalFile[] = [];
  for (const [path, result] of [...edited.files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const base = offered.get(path);
    const baseMode = base?.mode ?? NEW_FILE_MODE;
    files.push({
      path,
      base: base?.bytes == null ? null : { ref: await blobs.put(base.bytes), mode: baseMode },
      result: result === 'absent' ? null : { ref: await blobs.put(result.bytes), mode: result.mode ?? baseMode },
      by: 'model',
    });
  }
  return { v: 1, stepKey, files, moves: edited.moves };
};
