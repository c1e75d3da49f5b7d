/** From a `*** Begin Patch` answer to its files and chunks; grammar at the head of `begin-patch/index.ts`. */
import type { HunkLine } from '../unified-diff/hunk.js';
import { AnswerReader } from '../../dialects/reader.js';
import type { Reading } from '../../types.js';

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
const HEADER = /^\*\*\* (Add|Delete|Update) File: (.*\S)\s*$/;
const MOVE = /^\*\*\* Move to: (.*\S)\s*$/;
/** Lines that only a patch has; an item of prose begins with "- ", and `---` is a rule. */
const OF_A_PATCH = /^(?:[+@]|-(?! |-{2,}\s*$)|\*\*\* )/;
const HEREDOC_END = /^\w{1,20}["')]*\s*$/;
const WRONG_CHUNK = {
  add: 'adds a file, so each of its lines must start with `+`',
  delete: 'belongs to a file that is deleted; to change the file, send it as `*** Update File`',
  update: 'has no lines',
};
/** Behind `@@`: what only a diff has, which says nothing here. */
const NUMBERS = /^-\d+(?:,\d+)? \+\d+(?:,\d+)?(?: @@.*)?$| @@$/;
const END_OF_FILE = /^\*\*\* End of File\s*$/;

export class PatchReader extends AnswerReader {
  readonly files: PatchedFile[] = [];
  edits = 0;
  protected readonly whole = 'patch';
  #part: 'before' | 'inside' | 'behind' = 'before';

  protected one(line: string): Reading | null {
    if (this.#part === 'inside') return this.#inside(line);
    const isBehind = this.#part === 'behind';
    const isText =
      !(isBehind && HEREDOC_END.test(line)) &&
      !this.outside.take(this.at, line) &&
      line.trim() !== '';
    if (/^\*\*\* Begin Patch\s*$/.test(line)) {
      this.outside.belongs(this.at);
      this.#part = 'inside';
    } else if (isBehind && OF_A_PATCH.test(line)) return this.#stray(false);
    else if (isText && !isBehind) return this.#none();
    this.at += 1;
    return null;
  }

  protected override atEnd(): Reading | null {
    if (this.#part === 'before') return this.#none();
    if (this.#part === 'inside')
      return this.invalid(
        'open_block',
        'The answer ends without its line `*** End Patch`. Send the whole patch.',
        true,
      );
    const fault = super.atEnd();
    if (fault !== null || this.files.length > 0) return fault;
    return this.invalid('no_edits', 'The patch names no file.');
  }

  #none(): Reading {
    return this.invalid('no_edits', 'The answer has no line `*** Begin Patch`.');
  }
  #stray(open = this.isLast): Reading {
    const rule = 'Every line starts with a space, `+`, `-` or `@@`.';
    return this.invalid('stray_line', `${this.said()}, belongs to no chunk. ${rule}`, open);
  }

  #inside(line: string): Reading | null {
    const [, verb = '', path] = HEADER.exec(line) ?? [];
    const isEnd = /^\*\*\* End Patch\s*$/.test(line);
    if (!isEnd && path === undefined && line.trim() !== '') return this.#stray();
    if (isEnd) this.#part = 'behind';
    this.at += 1;
    return path === undefined ? null : this.#file(verb.toLowerCase() as PatchedFile['kind'], path);
  }

  /** The lines behind a file's header. */
  #file(kind: PatchedFile['kind'], path: string): Reading | null {
    const moveTo = kind === 'update' ? (MOVE.exec(this.line())?.[1] ?? null) : null;
    if (moveTo !== null) this.at += 1;
    const all: Chunk[] = [];
    for (
      ;
      this.at < this.lines.length && !/^\*\*\* (?!End of File)/.test(this.line());
      this.at += 1
    )
      if (!take(all, this.line(), this.at)) return this.#stray();
    // Blank lines without a sign at a chunk's end only separate.
    for (const chunk of all) while (chunk.lines.at(-1)?.unsigned === true) chunk.lines.pop();
    const chunks = all.filter((chunk) => chunk.lines.length > 0 || chunk.above.length > 0);
    const wrong = chunks.find(({ lines, above }) =>
      kind === 'add'
        ? lines.some(({ sign }) => sign !== '+') || above.length > 0
        : kind === 'delete' || lines.length === 0,
    );
    if (wrong !== undefined)
      return this.invalid(
        'stray_line',
        `The chunk at line ${wrong.answerLine} of the answer ${WRONG_CHUNK[kind]}.`,
      );
    for (const [i, chunk] of chunks.entries()) chunk.index = this.edits + i;
    this.files.push({ kind, path, moveTo, chunks, index: this.edits });
    this.edits += kind === 'update' ? chunks.length : 1;
    return null;
  }
}

/** Adds a line to the last chunk, or begins one; false: it is none of a chunk's. */
const take = (chunks: Chunk[], line: string, at: number): boolean => {
  let chunk = chunks.at(-1);
  const isAbove = /^@@( |$)/.test(line);
  if (chunk === undefined || (isAbove && (chunk.lines.length > 0 || chunk.atEnd)))
    chunks.push((chunk = { index: 0, above: [], lines: [], atEnd: false, answerLine: at + 1 }));
  if (isAbove) {
    const named = line.slice(2).trim().replace(NUMBERS, '');
    if (named !== '') chunk.above.push(named);
  } else if (END_OF_FILE.test(line)) chunk.atEnd = true;
  else if (chunk.atEnd) return line === '';
  else if (/^(?:[ +-]|$)/.test(line)) {
    const sign = (line[0] ?? ' ') as HunkLine['sign'];
    chunk.lines.push({ sign, text: line.slice(1), unsigned: line === '', noNewline: false });
  } else return false;
  return true;
};
