/**
 * begin-patch, a dialect that other tools taught models: a patch without line numbers (docs/formats.md says more).
 *
 *   response = 1*( *( prose / fence ) "*** Begin Patch" NL 1*file "*** End Patch" NL ) *( prose / fence )
 *   file     = "*** Add File: " path NL *( "+" text NL )
 *            / "*** Delete File: " path NL
 *            / "*** Update File: " path NL [ "*** Move to: " path NL ] 1*chunk
 *   chunk    = *( "@@" [ " " line that is above ] NL ) 1*( ( " " / "-" / "+" ) text NL ) [ "*** End of File" NL ]
 *
 * A chunk's context and removed lines must stand in exactly one place after the chunk before; `@@` lines, which must each stand once,
 * leave only places below them, and `*** End of File` only the end. Additions without context are refused, except at the end of the
 * file. Formatting round a path is passed over (`namedPath`), `a/` or `b/` before it where only what follows is a file. Instead of a patch: `NO-CHANGE: reason` (marker.ts).
 * Tolerances: lost_blank, line_endings, trailing_space, lookalikes, tabs, indent. Edits, for the marker: chunks; Add and Delete count as one.
 */
import type { Dialect, DialectRules, Edit, FileEdit, Hint, ParsedResponse } from '../edit.js';
import { namedPath, withoutPrefix } from '../paths.js';
import type { Fault, Reading } from '../types.js';
import { AnswerReader, parsed, unread } from './reader.js';
import { editOf, HunkLines, unnumbered } from './unified-diff/hunk.js';

/** Adjacent lines of a file: what is there (` `, `-`) and what comes (`+`). */
interface Chunk {
  /** 0-based number in the answer. */
  index: number;
  /** Lines named by `@@` that stand above the chunk, in order. */
  readonly above: string[];
  /** Each with its sign, `_` for a blank line without one. */
  readonly lines: { readonly sign: string; readonly text: string }[];
  atEnd: boolean;
  readonly answerLine: number;
}
interface PatchedFile {
  readonly kind: 'add' | 'delete' | 'update';
  readonly path: string;
  readonly moveTo: string | null;
  readonly chunks: readonly Chunk[];
  /** Number of the file's first edit in the answer. */
  readonly index: number;
}
const RULES: DialectRules = {
  order: 'base',
  tolerances: new Set([
    'lost_blank',
    'line_endings',
    'trailing_space',
    'lookalikes',
    'tabs',
    'indent',
    'fenced_body',
  ]),
  mostRefusals: Infinity,
  lead: ({ hint }) => `The chunk at line ${hint.responseLine ?? 0} of the answer: `,
  leadsPaths: false,
  whole: null,
  sections: {
    keepsReturns: false,
    movesChain: false,
    isReversible: false,
    twice: (path) => `${path} appears twice in the patch. Put all its chunks under one header.`,
    absent: (path) => `${path} does not exist. Send it as \`*** Add File\`.`,
    gone: (path, action) => `${path} does not exist, so it cannot be ${action}.`,
    exists: (path) =>
      `The patch adds ${path}, which exists already. Send it as \`*** Update File\`.`,
    occupied: null,
  },
  block: null,
};

export const beginPatch: Dialect = {
  rules: RULES,
  parse: (body, context) => new PatchReader(body, context).read(),
};

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

class PatchReader extends AnswerReader {
  readonly files: PatchedFile[] = [];
  edits = 0;
  protected readonly whole = 'patch';
  #part: 'before' | 'inside' | 'behind' = 'before';

  read(): ParsedResponse {
    const fault = this.parse();
    if (fault !== null) return unread(fault);
    const edits = this.files.flatMap((file, i) => this.#editsOf(file, i));
    return parsed(edits, this.edits, this.notes);
  }

  /** Returns what becomes of a file as a whole, then its chunks. */
  #editsOf(file: PatchedFile, section: number): readonly Edit[] {
    const { kind, chunks, moveTo, index } = file;
    const { files } = this.context;
    const named = namedPath(file.path, files) ?? file.path;
    const path = kind === 'add' ? named : withoutPrefix(named, this.context);
    const moved = moveTo === null ? path : (namedPath(moveTo, files) ?? moveTo);
    const hint: Hint = { index, responseLine: null, section, rules: RULES };
    const header: FileEdit = {
      kind: 'file',
      path,
      before: kind === 'add' ? null : path,
      after: kind === 'delete' ? null : moved,
      hint: {
        ...hint,
        mode: null,
        blob: null,
        removesLines: false,
        refusal: moveTo === null ? bareHeader(file, path) : ontoItself(path, moved),
      },
    };
    const parts = kind === 'add' ? joined(chunks) : chunks;
    const edits = parts.map((chunk) => {
      const bounds = { anchors: chunk.above, atEnd: chunk.atEnd };
      const body = new HunkLines();
      for (const { sign, text } of chunk.lines) body.add(sign, text);
      return editOf(unnumbered(body, chunk.answerLine), path, { hint, index: chunk.index, bounds });
    });
    return [header, ...edits];
  }

  protected one(line: string): Reading | null {
    if (this.#part === 'inside') return this.#inside(line);
    const isBehind = this.#part === 'behind';
    const isText =
      !(isBehind && HEREDOC_END.test(line)) &&
      !this.outside.take(this.lineIndex, line) &&
      line.trim() !== '';
    if (/^\*\*\* Begin Patch\s*$/.test(line)) {
      this.outside.belongs(this.lineIndex);
      this.#part = 'inside';
    } else if (isBehind && OF_A_PATCH.test(line)) return this.#stray(false);
    else if (isText && !isBehind) return this.#none();
    this.lineIndex += 1;
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
    return this.invalid('stray_line', `${this.lineWords()}, belongs to no chunk. ${rule}`, open);
  }

  #inside(line: string): Reading | null {
    const [, verb = '', path] = HEADER.exec(line) ?? [];
    const isEnd = /^\*\*\* End Patch\s*$/.test(line);
    if (!isEnd && path === undefined && line.trim() !== '') return this.#stray();
    if (isEnd) this.#part = 'behind';
    this.lineIndex += 1;
    return path === undefined ? null : this.#file(verb.toLowerCase() as PatchedFile['kind'], path);
  }

  /** The lines behind a file's header. */
  #file(kind: PatchedFile['kind'], path: string): Reading | null {
    const moveTo = kind === 'update' ? (MOVE.exec(this.line())?.[1] ?? null) : null;
    if (moveTo !== null) this.lineIndex += 1;
    const all: Chunk[] = [];
    for (
      ;
      this.lineIndex < this.lines.length && !/^\*\*\* (?!End of File)/.test(this.line());
      this.lineIndex += 1
    )
      if (!take(all, this.line(), this.lineIndex)) return this.#stray();
    // Blank lines without a sign at a chunk's end only separate.
    for (const chunk of all) while (chunk.lines.at(-1)?.sign === '_') chunk.lines.pop();
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
const take = (chunks: Chunk[], line: string, lineIndex: number): boolean => {
  let chunk = chunks.at(-1);
  const isAbove = /^@@( |$)/.test(line);
  if (chunk === undefined || (isAbove && (chunk.lines.length > 0 || chunk.atEnd)))
    chunks.push(
      (chunk = { index: 0, above: [], lines: [], atEnd: false, answerLine: lineIndex + 1 }),
    );
  if (isAbove) {
    const named = line.slice(2).trim().replace(NUMBERS, '');
    if (named !== '') chunk.above.push(named);
  } else if (END_OF_FILE.test(line)) chunk.atEnd = true;
  else if (chunk.atEnd) return line === '';
  else if (/^(?:[ +-]|$)/.test(line)) {
    chunk.lines.push({ sign: line === '' ? '_' : line.charAt(0), text: line.slice(1) });
  } else return false;
  return true;
};

const bareHeader = ({ kind, chunks }: PatchedFile, path: string): Fault | null =>
  kind === 'update' && chunks.length === 0
    ? { code: 'bare_header', message: `No chunk follows the header of ${path}.` }
    : null;

const ontoItself = (path: string, moved: string): Fault | null =>
  path === moved
    ? { code: 'move_onto_file', message: `${path} cannot be moved to ${path}: that file exists.` }
    : null;

/** The lines of a new file, which may come in several chunks. */
const joined = (chunks: readonly Chunk[]): readonly Chunk[] => {
  const [first] = chunks;
  const lines = chunks.flatMap((chunk) => chunk.lines);
  return first === undefined ? [] : [{ ...first, lines, atEnd: true }];
};
