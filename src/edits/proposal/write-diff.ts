/** The combined diff of a proposal: what a reviewer reads and `git apply` takes. Line diffs are bounded in cost (text/line-diff.ts). */
import { type StructuredPatchHunk, formatPatch } from 'diff';
import { Buffer } from 'node:buffer';
import { lineOrigins } from '../text/line-diff.js';
import { decodeFile } from '../text/codec.js';

// Hunks of two texts with three lines of context, in jsdiff's shape, from the bounded line diff. Lines end at LF only, as in git.

const CONTEXT = 3;

/** Lines with their LF. */
const gitLines = (text: string): string[] => {
  const lines = text.split('\n').map((line) => `${line}\n`);
  const last = lines.pop()?.slice(0, -1) ?? '';
  return last === '' ? lines : [...lines, last];
};

/** A maximal stretch in which base [b0, b1) became result [r0, r1). */
interface Change {
  readonly b0: number;
  readonly b1: number;
  readonly r0: number;
  readonly r1: number;
}

const changesOf = (base: readonly string[], result: readonly string[]): Change[] => {
  const origins = lineOrigins(base, result);
  const changes: Change[] = [];
  let [b, r] = [0, 0];
  for (let at = 0; at <= result.length; at += 1) {
    const origin = at < result.length ? (origins[at] ?? -1) : base.length;
    if (origin < 0) continue;
    if (origin > b || at > r) changes.push({ b0: b, b1: origin, r0: r, r1: at });
    [b, r] = [origin + 1, at + 1];
  }
  return changes;
};

const changedLines = (base: string, result: string): { added: number; removed: number } => {
  let [added, removed] = [0, 0];
  for (const { b0, b1, r0, r1 } of changesOf(gitLines(base), gitLines(result))) {
    added += r1 - r0;
    removed += b1 - b0;
  }
  return { added, removed };
};

const hunksOf = (baseText: string, resultText: string): StructuredPatchHunk[] => {
  if (baseText === resultText) return [];
  const base = gitLines(baseText);
  const result = gitLines(resultText);
  const groups: Change[][] = [];
  for (const change of changesOf(base, result)) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group === undefined || last === undefined || change.b0 - last.b1 > 2 * CONTEXT) groups.push([change]);
    else group.push(change);
  }
  return groups.map((group) => hunkOf(group, base, result));
};

const hunkOf = (group: readonly Change[], base: readonly string[], result: readonly string[]): StructuredPatchHunk => {
  const [first] = group;
  const last = group.at(-1);
  if (first === undefined || last === undefined) throw new Error('a hunk has at least one change');
  const b0 = Math.max(0, first.b0 - CONTEXT);
  const b1 = Math.min(base.length, last.b1 + CONTEXT);
  const lead = first.b0 - b0;
  const lines: string[] = [];
  const put = (sign: string, from: readonly string[], start: number, end: number): void => {
    for (const line of from.slice(start, end))
      if (line.endsWith('\n')) lines.push(sign + line.slice(0, -1));
      else lines.push(sign + line, '\\ No newline at end of file');
  };
  let at = b0;
  for (const change of group) {
    put(' ', base, at, change.b0);
    put('-', base, change.b0, change.b1);
    put('+', result, change.r0, change.r1);
    at = change.b1;
  }
  put(' ', base, at, b1);
  const r0 = first.r0 - lead;
  const r1 = last.r1 + (b1 - last.b1);
  return { oldStart: b0 + 1, oldLines: b1 - b0, newStart: r0 + 1, newLines: r1 - r0, lines };
};

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
