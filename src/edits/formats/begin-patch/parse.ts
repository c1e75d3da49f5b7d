/** From a `*** Begin Patch` answer to its files and chunks; grammar at the head of `begin-patch/index.ts`. */
import { Outside } from '../../detect.js';
import type { HunkLine } from '../unified-diff/hunk.js';
import type { Reading, Reason } from '../../types.js';

/** Adjacent lines of a file: what stands there (` `, `-`) and what comes (`+`). */
export interface Chunk {
  /** 0-based number in the answer. */
  index: number;
  /** Lines named by `@@` that stand above the chunk, in order. */
  readonly above: string[];
  readonly lines: HunkLine[];
  atEnd: boolean;
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
export interface ParsedPatch {
  readonly files: readonly PatchedFile[];
  readonly edits: number;
  readonly notes: readonly Reason[];
}

const HEADER = /^\*\*\* (Add|Delete|Update) File: (.*\S)\s*$/;
const MOVE = /^\*\*\* Move to: (.*\S)\s*$/;
/** Lines that only a patch has; an item of prose begins with "- ". */
const OF_A_PATCH = /^(?:[+@]|-(?! )|\*\*\* )/;
const HEREDOC_END = /^\w{1,20}["')]*\s*$/;
const END_OF_FILE = /^\*\*\* End of File\s*$/;

/** The patch, or why the answer holds none. */
export const parsePatch = (body: string): ParsedPatch | Reading => {
  const lines = body.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  const files: PatchedFile[] = [];
  let edits = 0;
  let at = 0;
  const invalid = (code: string, message: string, open = false): Reading => ({
    kind: 'invalid',
    open,
    reasons: [{ code, index: edits, message }],
  });
  const stray = (open = at >= lines.length - 1): Reading => {
    const line = JSON.stringify((lines[at] ?? '').slice(0, 120));
    const message = `Line ${at + 1} of the answer, ${line}, belongs to no chunk. Every line starts with a blank, \`+\`, \`-\` or \`@@\`.`;
    return invalid('stray_line', message, open);
  };
  const outside = new Outside();
  while (at < lines.length && (outside.take(at, lines[at] ?? '') || lines[at]?.trim() === '')) at += 1;
  if (!/^\*\*\* Begin Patch\s*$/.test(lines[at] ?? ''))
    return invalid('no_edits', 'The answer holds no line `*** Begin Patch`.');
  outside.belongs(at);
  for (at += 1; ;) {
    const line = lines[at];
    if (line === undefined)
      return invalid('open_block', 'The answer ends without its line `*** End Patch`. Send the whole patch.', true);
    if (/^\*\*\* End Patch\s*$/.test(line)) break;
    const [, verb, path] = HEADER.exec(line) ?? [];
    if (path === undefined) {
      if (line.trim() !== '') return stray();
      at += 1;
      continue;
    }
    const kind = verb === 'Add' ? 'add' : verb === 'Delete' ? 'delete' : 'update';
    at += 1;
    const moveTo = kind === 'update' ? (MOVE.exec(lines[at] ?? '')?.[1] ?? null) : null;
    if (moveTo !== null) at += 1;
    const all: Chunk[] = [];
    for (; at < lines.length && !/^\*\*\* (?!End of File)/.test(lines[at] ?? ''); at += 1)
      if (!take(all, lines[at] ?? '', at)) return stray();
    // Blank lines without a sign at a chunk's end only separate.
    for (const chunk of all) while (chunk.lines.at(-1)?.unsigned === true) chunk.lines.pop();
    const chunks = all.filter((chunk) => chunk.lines.length > 0 || chunk.above.length > 0);
    const wrong = chunks.find((chunk) =>
      kind === 'add' ? chunk.lines.some((l) => l.sign !== '+') || chunk.above.length > 0 : chunk.lines.length === 0,
    );
    if (wrong !== undefined) {
      const why = kind === 'add' ? 'adds a file, so each of its lines starts with `+`' : 'has no lines';
      return invalid('stray_line', `The chunk at line ${wrong.answerLine} of the answer ${why}.`);
    }
    for (const [i, chunk] of chunks.entries()) chunk.index = edits + i;
    files.push({ kind, path, moveTo, chunks, index: edits });
    edits += kind === 'update' ? chunks.length : 1;
  }
  for (at += 1; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (OF_A_PATCH.test(line)) return stray(false);
    if (!HEREDOC_END.test(line)) outside.take(at, line);
  }
  const fault = outside.fault(edits);
  if (fault !== null) return { kind: 'invalid', open: fault.open, reasons: [fault.reason] };
  const notes = outside.hasProse ? [{ code: 'prose', message: 'Text around the patch was passed over.' }] : [];
  return files.length > 0 ? { files, edits, notes } : invalid('no_edits', 'The patch names no file.');
};

/** Adds a line to the last chunk, or begins one; false: it is none of a chunk's. */
const take = (chunks: Chunk[], line: string, at: number): boolean => {
  let chunk = chunks.at(-1);
  const isAbove = /^@@( |$)/.test(line);
  if (chunk === undefined || (isAbove && (chunk.lines.length > 0 || chunk.atEnd)))
    chunks.push((chunk = { index: 0, above: [], lines: [], atEnd: false, answerLine: at + 1 }));
  if (isAbove) {
    const named = line.slice(2).trim();
    if (named !== '') chunk.above.push(named);
  } else if (END_OF_FILE.test(line)) chunk.atEnd = true;
  else if (chunk.atEnd) return line === '';
  else if (/^(?:[ +-]|$)/.test(line)) {
    const sign = (line[0] ?? ' ') as HunkLine['sign'];
    chunk.lines.push({ sign, text: line.slice(1), raw: line, unsigned: line === '', noNewline: false });
  } else return false;
  return true;
};
