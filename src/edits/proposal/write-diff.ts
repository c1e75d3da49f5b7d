/** The combined diff of a proposal: what a reviewer reads and `git apply` takes. Line diffs are bounded in cost (text/line-diff.ts). */
import { type StructuredPatchHunk, formatPatch } from 'diff';
import { Buffer, isUtf8 } from 'node:buffer';
import { changesFrom, placed, type PlacedChange } from '../text/changes.js';
import { decodeFile } from '../text/codec.js';
import { lineOrigins } from '../text/line-diff.js';
import { linesWithEnds, textOf } from '../text/lines.js';
import type { ChangedFile } from '../types.js';

// Hunks of two texts with three lines of context, in jsdiff's shape, from the bounded line diff. Lines end at LF only, as in git.

const CONTEXT = 3;

const changesOf = (base: readonly string[], resultText: string): readonly PlacedChange[] => {
  const result = linesWithEnds(resultText);
  return placed(changesFrom(base.length, result, lineOrigins(base, result)));
};

const hunksOf = (baseText: string, resultText: string): StructuredPatchHunk[] => {
  if (baseText === resultText) return [];
  const base = linesWithEnds(baseText);
  const groups: PlacedChange[][] = [];
  for (const change of changesOf(base, resultText)) {
    const last = groups.at(-1)?.at(-1);
    if (last === undefined || change.from - last.to > 2 * CONTEXT) groups.push([change]);
    else groups.at(-1)?.push(change);
  }
  return groups.map((group) => hunkOf(group, base));
};

const hunkOf = (group: readonly PlacedChange[], base: readonly string[]): StructuredPatchHunk => {
  const [first] = group;
  const last = group.at(-1);
  if (first === undefined || last === undefined) throw new Error('a hunk has at least one change');
  const b0 = Math.max(0, first.from - CONTEXT);
  const b1 = Math.min(base.length, last.to + CONTEXT);
  const lines: string[] = [];
  const put = (sign: string, of: readonly string[]): void => {
    for (const line of of)
      if (line.endsWith('\n')) lines.push(sign + line.slice(0, -1));
      else lines.push(sign + line, '\\ No newline at end of file');
  };
  let at = b0;
  for (const { from, to, lines: now } of group) {
    put(' ', base.slice(at, from));
    put('-', base.slice(from, to));
    put('+', now);
    at = to;
  }
  put(' ', base.slice(at, b1));
  const r0 = first.at - (first.from - b0);
  const r1 = last.at + last.lines.length + (b1 - last.to);
  return { oldStart: b0 + 1, oldLines: b1 - b0, newStart: r0 + 1, newLines: r1 - r0, lines };
};

/** A file before and after its change. */
export interface DiffFile extends ChangedFile {
  /** The path of `base` where the file is moved. */
  readonly moveFrom?: string;
}

/** Numbers of lines. */
export type ChangedLines = Readonly<Record<'added' | 'removed', number>>;

const gitMode = (mode: number | undefined): string =>
  ((mode ?? 0o644) & 0o111) === 0 ? '100644' : '100755';

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
    for (const { from, to, lines } of changesOf(linesWithEnds(base), result)) {
      total.added += lines.length;
      total.removed += to - from;
    }
  }
  return total;
};

const fileDiff = (file: DiffFile): string => {
  const { path, base, result, moveFrom } = file;
  if (base === null && result === null) return '';
  const [oldText, newText] = [utf8Text(base), utf8Text(result)];
  const isText = oldText !== null && newText !== null;
  const hunks = isText ? hunksOf(oldText, newText) : [];
  const bothThere = base !== null && result !== null;
  const modeChanges =
    bothThere && gitMode(file.baseMode) !== gitMode(file.resultMode ?? file.baseMode);
  const isRename = moveFrom !== undefined && moveFrom !== path;
  const patch = {
    oldFileName: base === null ? '/dev/null' : `a/${moveFrom ?? path}`,
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
  const header =
    bothThere && !modeChanges && !isRename && hunks.length === 0 ? '' : formatPatch(patch);
  // Half of a change is worse than none: where a text cannot say the new bytes, the header goes with them.
  return isText || (bothThere && Buffer.compare(base, result) === 0) ? header : commentFor(file);
};

/** The text exactly as its UTF-8 bytes have it, BOM included; null for other encodings and binary. */
const utf8Text = (bytes: Uint8Array | null): string | null => {
  if (bytes === null) return '';
  if (bytes.includes(0) || !isUtf8(bytes)) return null;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
};

/** For people: any encoding; null for binary. */
const shownText = (bytes: Uint8Array | null, encoding: string | undefined): string | null => {
  if (bytes === null) return '';
  const decoded = decodeFile(bytes, encoding);
  return decoded.ok ? textOf(decoded.text) : null;
};

/** A name must not end its comment line. */
const inComment = (name: string): string =>
  // eslint-disable-next-line no-control-regex -- this searches for control characters
  /[\x00-\x1f]/.test(name) ? JSON.stringify(name) : name;

const commentFor = (file: DiffFile): string => {
  const from = file.base === null ? '/dev/null' : inComment(`a/${file.moveFrom ?? file.path}`);
  const to = file.result === null ? '/dev/null' : inComment(`b/${file.path}`);
  const base = shownText(file.base, file.encoding);
  const result = shownText(file.result, file.encoding);
  const shown =
    base === null || result === null
      ? [`Binary files ${from} and ${to} differ`]
      : [
          `${from} -> ${to}: not UTF-8, shown decoded; \`git apply\` skips this part`,
          ...hunksOf(base, result).flatMap((h) => [
            `@@ -${h.oldStart},${h.oldLines} +${h.newStart},${h.newLines} @@`,
            ...h.lines,
          ]),
        ];
  return shown.map((line) => `# ${line}\n`).join('');
};
