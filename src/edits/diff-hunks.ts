/** Hunks of two texts with three lines of context, in jsdiff's shape, from the bounded line diff. Lines end at LF only, as in git. */
import type { StructuredPatchHunk } from 'diff';
import { lineOrigins } from './diff-lines.js';

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

export const changedLines = (base: string, result: string): { added: number; removed: number } => {
  let [added, removed] = [0, 0];
  for (const { b0, b1, r0, r1 } of changesOf(gitLines(base), gitLines(result))) {
    added += r1 - r0;
    removed += b1 - b0;
  }
  return { added, removed };
};

export const hunksOf = (baseText: string, resultText: string): StructuredPatchHunk[] => {
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
