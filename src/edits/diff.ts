/** The combined diff of a proposal: what a reviewer reads and `git apply` takes. Line diffs are bounded in cost (diff-lines.ts). */
import { Buffer } from 'node:buffer';
import { formatPatch } from 'diff';
import { changedLines, hunksOf } from './diff-hunks.js';
import { decodeFile } from './text.js';

export interface DiffFile {
  readonly path: string;
  /** Null: the file is made. */
  readonly base: Uint8Array | null;
  /** Null: the file is deleted. */
  readonly result: Uint8Array | null;
  /** POSIX mode bits; git knows executable or not. */
  readonly baseMode?: number;
  readonly resultMode?: number;
  /** The path of `base` where the file is moved. */
  readonly moveFrom?: string;
  /** Configured encoding, for showing a file that is not UTF-8. */
  readonly encoding?: string;
}

export interface ChangedLines {
  readonly added: number;
  readonly removed: number;
}

const gitMode = (mode: number | undefined): string => (((mode ?? 0o644) & 0o111) === 0 ? '100644' : '100755');

/**
 * A git-style unified diff with `a/` and `b/`, modes, renames and quoted paths; files without any change are left out. A file that is
 * not UTF-8 and changes, comes or goes is shown as comment lines (`# `), which `git apply` passes over: its bytes cannot be said in a text.
 */
export const combinedDiff = (files: readonly DiffFile[]): string => files.map(fileDiff).join('');

/** Lines added and removed over all files; binary files count none. */
export const countChanged = (files: readonly DiffFile[]): ChangedLines => {
  const total = { added: 0, removed: 0 };
  for (const file of files) {
    const base = shownText(file.base, file.encoding);
    const result = shownText(file.result, file.encoding);
    if (base === null || result === null) continue;
    const { added, removed } = changedLines(base, result);
    total.added += added;
    total.removed += removed;
  }
  return total;
};

const fileDiff = (file: DiffFile): string => {
  const { path, base, result, moveFrom } = file;
  if (base === null && result === null) return '';
  const oldText = utf8Text(base);
  const newText = utf8Text(result);
  const isText = oldText !== null && newText !== null;
  const hunks = isText ? hunksOf(oldText, newText) : [];
  const modeChanges =
    base !== null && result !== null && gitMode(file.baseMode) !== gitMode(file.resultMode ?? file.baseMode);
  const isRename = moveFrom !== undefined && moveFrom !== path;
  const bothThere = base !== null && result !== null;
  const header =
    bothThere && !modeChanges && !isRename && hunks.length === 0
      ? ''
      : formatPatch(patchOf(file, modeChanges, isRename, hunks));
  // Half of a change is worse than none: where a text cannot say the new bytes, the header goes with them.
  return isText || sameBytes(base, result) ? header : commentFor(file);
};

type Patch = Exclude<Parameters<typeof formatPatch>[0], readonly unknown[]>;

const patchOf = (file: DiffFile, modeChanges: boolean, isRename: boolean, hunks: Patch['hunks']): Patch => {
  const { path, base, result } = file;
  return {
    oldFileName: base === null ? '/dev/null' : `a/${file.moveFrom ?? path}`,
    newFileName: result === null ? '/dev/null' : `b/${path}`,
    oldHeader: undefined,
    newHeader: undefined,
    isGit: true,
    hunks,
    ...(base === null ? { isCreate: true, newMode: gitMode(file.resultMode) } : {}),
    ...(result === null ? { isDelete: true, oldMode: gitMode(file.baseMode) } : {}),
    ...(modeChanges ? { oldMode: gitMode(file.baseMode), newMode: gitMode(file.resultMode) } : {}),
    ...(isRename ? { isRename } : {}),
  };
};

/** The text exactly as its UTF-8 bytes have it, BOM included; null for other encodings and binary. */
const utf8Text = (bytes: Uint8Array | null): string | null => {
  if (bytes === null) return '';
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
};

/** For people: any encoding; null for binary. */
const shownText = (bytes: Uint8Array | null, encoding: string | undefined): string | null => {
  if (bytes === null) return '';
  const decoded = decodeFile(bytes, encoding);
  if (!decoded.ok) return null;
  const { lines, ends } = decoded.text;
  return lines.map((line, i) => line + (ends[i] ?? '')).join('');
};

const sameBytes = (base: Uint8Array | null, result: Uint8Array | null): boolean =>
  base !== null && result !== null && Buffer.compare(base, result) === 0;

/** A name must not end its comment line. */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const inComment = (name: string): string => (/[\x00-\x1f]/.test(name) ? JSON.stringify(name) : name);

const commentFor = (file: DiffFile): string => {
  const from = file.base === null ? '/dev/null' : inComment(`a/${file.moveFrom ?? file.path}`);
  const to = file.result === null ? '/dev/null' : inComment(`b/${file.path}`);
  const base = shownText(file.base, file.encoding);
  const result = shownText(file.result, file.encoding);
  const shown =
    base === null || result === null
      ? [`Binary files ${from} and ${to} differ`]
      : [
          `${from} -> ${to}: not UTF-8, shown decoded; \`git apply\` passes over this part`,
          ...hunksOf(base, result).flatMap((h) => [
            `@@ -${h.oldStart},${h.oldLines} +${h.newStart},${h.newLines} @@`,
            ...h.lines,
          ]),
        ];
  return shown.map((line) => `# ${line}\n`).join('');
};
