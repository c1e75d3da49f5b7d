/** From a `*** Begin Patch` answer to its files and chunks; grammar at the head of `begin-patch/index.ts`. */
import { Outside } from '../../detect.js';
import type { HunkLine } from '../unified-diff/hunk.js';
import type { Reason } from '../../types.js';

/** Adjacent lines of a file: what stands there (` `, `-`) and what comes (`+`). */
export interface Chunk {
  /** 0-based number in the answer. */
  readonly index: number;
  /** Lines named by `@@` that stand above the chunk, in order. */
  readonly above: readonly string[];
  readonly lines: readonly HunkLine[];
  readonly atEnd: boolean;
  readonly answerLine: number;
}
export interface PatchedFile {
  readonly kind: 'add' | 'delete' | 'update';
  readonly path: string;
  readonly moveTo: string | null;
  readonly chunks: readonly Chunk[];
  /** Number of the file's first edit in the answer. */
  readonly index: number;
}
export type ParsedPatch =
  | {
      readonly ok: true;
      readonly files: readonly PatchedFile[];
      readonly edits: number;
      readonly notes: readonly Reason[];
    }
  | { readonly ok: false; readonly open: boolean; readonly reason: Reason };

const HEADER = /^\*\*\* (Add|Delete|Update) File: (.*\S)\s*$/;
const MOVE = /^\*\*\* Move to: (.*\S)\s*$/;
/** Lines that only a patch has; an item of prose begins with "- ". */
const OF_A_PATCH = /^(?:[+@]|-(?! )|\*\*\* )/;
const HEREDOC_END = /^\w{1,20}["')]*\s*$/;
const END_OF_FILE = /^\*\*\* End of File\s*$/;

interface Draft {
  above: string[];
  lines: HunkLine[];
  atEnd: boolean;
  answerLine: number;
}

export const parsePatch = (body: string): ParsedPatch => {
  const lines = body.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  const files: PatchedFile[] = [];
  let edits = 0;
  let at = 0;
  const fault = (code: string, message: string, open = false): ParsedPatch => ({
    ok: false,
    open,
    reason: { code, index: edits, message },
  });
  const outside = new Outside();
  while (at < lines.length && (outside.take(at, lines[at] ?? '') || lines[at]?.trim() === '')) at += 1;
  if (!/^\*\*\* Begin Patch\s*$/.test(lines[at] ?? ''))
    return fault('no_edits', 'The answer holds no line `*** Begin Patch`.');
  outside.belongs(at);
  for (at += 1; ;) {
    const line = lines[at];
    if (line === undefined)
      return fault('open_block', 'The answer ends without its line `*** End Patch`. Send the whole patch.', true);
    if (/^\*\*\* End Patch\s*$/.test(line)) break;
    const header = HEADER.exec(line);
    if (header?.[2] === undefined) {
      if (line.trim() !== '') return fault('stray_line', stray(at, line), at >= lines.length - 1);
      at += 1;
      continue;
    }
    const kind = header[1] === 'Add' ? 'add' : header[1] === 'Delete' ? 'delete' : 'update';
    at += 1;
    const moveTo = kind === 'update' ? (MOVE.exec(lines[at] ?? '')?.[1] ?? null) : null;
    if (moveTo !== null) at += 1;
    const drafts: Draft[] = [];
    for (; at < lines.length && !/^\*\*\* (?!End of File)/.test(lines[at] ?? ''); at += 1)
      if (!take(drafts, lines[at] ?? '', at))
        return fault('stray_line', stray(at, lines[at] ?? ''), at >= lines.length - 1);
    const chunks = drafts.map(trimmed).filter((d) => d.lines.length > 0 || d.above.length > 0);
    const wrong = chunks.find((d) =>
      kind === 'add' ? d.lines.some((l) => l.sign !== '+') || d.above.length > 0 : d.lines.length === 0,
    );
    if (wrong !== undefined)
      return fault(
        'stray_line',
        `The chunk at line ${wrong.answerLine} of the answer ${kind === 'add' ? 'adds a file, so each of its lines starts with `+`' : 'has no lines'}.`,
      );
    files.push({
      kind,
      path: header[2],
      moveTo,
      chunks: chunks.map((d, i) => ({ ...d, index: edits + i })),
      index: edits,
    });
    edits += kind === 'update' ? chunks.length : 1;
  }
  for (at += 1; at < lines.length; at += 1) {
    const text = lines[at] ?? '';
    if (OF_A_PATCH.test(text)) return fault('stray_line', stray(at, text));
    if (!HEREDOC_END.test(text)) outside.take(at, text);
  }
  const behind = outside.fault(edits);
  if (behind !== null) return { ok: false, ...behind };
  const notes = outside.hasProse ? [{ code: 'prose', message: 'Text around the patch was passed over.' }] : [];
  return files.length > 0 ? { ok: true, files, edits, notes } : fault('no_edits', 'The patch names no file.');
};

const stray = (at: number, line: string): string =>
  `Line ${at + 1} of the answer, ${JSON.stringify(line.slice(0, 120))}, belongs to no chunk. Every line starts with a blank, \`+\`, \`-\` or \`@@\`.`;

/** Adds a line to the last chunk, or begins one; false: it is none of a chunk's. */
const take = (drafts: Draft[], line: string, at: number): boolean => {
  let draft = drafts.at(-1);
  const fresh = (): Draft => {
    const next = { above: [], lines: [], atEnd: false, answerLine: at + 1 };
    drafts.push(next);
    return next;
  };
  if (/^@@( |$)/.test(line)) {
    if (draft === undefined || draft.lines.length > 0 || draft.atEnd) draft = fresh();
    const named = line.slice(2).trim();
    if (named !== '') draft.above.push(named);
    return true;
  }
  draft ??= fresh();
  if (END_OF_FILE.test(line)) draft.atEnd = true;
  else if (draft.atEnd) return line === '';
  else if (line === '' || /^[ +-]/.test(line)) {
    const sign = line === '' ? ' ' : (line[0] as HunkLine['sign']);
    draft.lines.push({ sign, text: line.slice(1), raw: line, unsigned: line === '', noNewline: false });
  } else return false;
  return true;
};

/** Blank lines without a sign at a chunk's end only separate. */
const trimmed = (draft: Draft): Draft => {
  let end = draft.lines.length;
  while (end > 0 && draft.lines[end - 1]?.unsigned === true) end -= 1;
  return { ...draft, lines: draft.lines.slice(0, end) };
};
