/**
 * Reads the combined diff of a proposal (diff.ts) back: files, hunks, and the changes in them. A *change* is a run of removed and added
 * lines with no line between them that stays; changes are numbered from 1 within a file, in the order of the diff. It is the smallest part
 * of a proposal that a person can take. Lines end at LF only. For our own diffs: what a model writes is read by
 * edits/dialects/unified-diff/index.ts.
 */
import { readGitLine, readName } from '../dialects/unified-diff/names.js';

/** Base lines [b0, b1) become result lines [r0, r1); 0-based. */
export interface DiffChange {
  readonly n: number;
  readonly b0: number;
  readonly b1: number;
  readonly r0: number;
  readonly r1: number;
  /** Where its lines stand in `DiffHunk.lines`: first, and one past the last. */
  readonly first: number;
  readonly end: number;
}
/** A hunk of a combined diff. */
export interface DiffHunk {
  /** 1-based, as in the `@@` line. */
  readonly oldStart: number;
  readonly newStart: number;
  /** With their signs; `\ No newline at end of file` too. */
  readonly lines: readonly string[];
  readonly changes: readonly DiffChange[];
}
/** What a combined diff says of one file. */
export interface DiffSection {
  readonly path: string;
  /** `diff --git` up to the first hunk, or comment lines for a file that is not UTF-8. */
  readonly header: readonly string[];
  readonly hunks: readonly DiffHunk[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Throws on a text that is not such a diff: it was written by us. */
export const readDiff = (diff: string): readonly DiffSection[] => {
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const sections: { path: string; header: string[]; hunks: DiffHunk[] }[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    const section = sections.at(-1);
    const counts = HUNK.exec(line);
    if (counts !== null && section !== undefined) {
      const taken = readHunk(lines, at, counts, section.hunks.at(-1)?.changes.at(-1)?.n ?? 0);
      section.hunks.push(taken.hunk);
      at = taken.next;
      continue;
    }
    if (section === undefined || startsSection(line, section))
      sections.push({ path: '', header: [line], hunks: [] });
    else section.header.push(line);
    at += 1;
  }
  return sections.map((section) => ({ ...section, path: pathOf(section.header) }));
};

const startsSection = (line: string, { header, hunks }: Omit<DiffSection, 'path'>): boolean =>
  line.startsWith('diff --git ') ||
  (line.startsWith('# ') &&
    (hunks.length > 0 || !(header[0] ?? '').startsWith('# ') || COMMENT.test(line)));
/** The first comment line of a file whose bytes cannot be said in a text. */
const COMMENT = /^# (?:Binary files .+ differ|.+ -> .+: not UTF-8, shown decoded; .+)$/;

const readHunk = (
  lines: readonly string[],
  start: number,
  [, oldStart = '', oldCount = '1', newStart = '', newCount = '1']: RegExpExecArray,
  before: number,
): { readonly hunk: DiffHunk; readonly next: number } => {
  const wanted = { b: Number(oldCount), r: Number(newCount) };
  // An empty side is named by the line before it.
  let b = Number(oldStart) - (wanted.b === 0 ? 0 : 1);
  let r = Number(newStart) - (wanted.r === 0 ? 0 : 1);
  const [bEnd, rEnd] = [b + wanted.b, r + wanted.r];
  const changes: {
    n: number;
    b0: number;
    b1: number;
    r0: number;
    r1: number;
    first: number;
    end: number;
  }[] = [];
  let inside = false;
  let at = start + 1;
  for (; at < lines.length; at += 1) {
    const sign = (lines[at] ?? '')[0];
    if (sign !== '\\' && b >= bEnd && r >= rEnd) break;
    if (sign === ' ') inside = false;
    else if (sign === '-' || sign === '+') {
      if (!inside)
        changes.push({
          n: before + changes.length + 1,
          b0: b,
          b1: b,
          r0: r,
          r1: r,
          first: at - start - 1,
          end: 0,
        });
      inside = true;
    } else if (sign !== '\\') break;
    if (sign === ' ' || sign === '-') b += 1;
    if (sign === ' ' || sign === '+') r += 1;
    const open = changes.at(-1);
    if (inside && open !== undefined) Object.assign(open, { b1: b, r1: r, end: at - start });
  }
  if (b !== bEnd || r !== rEnd)
    throw new Error(`the proposal's diff is cut in the hunk at its line ${start + 1}`);
  const hunk = {
    oldStart: Number(oldStart),
    newStart: Number(newStart),
    lines: lines.slice(start + 1, at),
    changes,
  };
  return { hunk, next: at };
};

const IN_COMMENT =
  /^# (?:Binary files )?(?:a\/(.+)|\/dev\/null) (?:->|and) (?:b\/(.+)|\/dev\/null)(?: differ$|: not UTF-8, )/;

/** The path after the change; the path before it where the file is deleted. Where only the mode changes the first line alone names it. */
const pathOf = (header: readonly string[]): string => {
  const named = (prefix: string): string | null => {
    const line = header.find((text) => text.startsWith(prefix));
    if (line === undefined) return null;
    const rest = line.slice(prefix.length);
    return prefix === 'diff --git ' ? (readGitLine(rest)?.to.slice(2) ?? null) : readName(rest);
  };
  const comment = IN_COMMENT.exec(header[0] ?? '');
  if (comment !== null) return comment[2] ?? comment[1] ?? '';
  const sides = [named('+++ '), named('--- ')].filter(
    (name) => name !== null && name !== '/dev/null',
  );
  return sides[0]?.slice(2) ?? named('rename to ') ?? named('diff --git ') ?? '';
};
