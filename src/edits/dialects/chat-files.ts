/**
 * Whole files as models write them in a chat: a line that names the file, then a fence with all of its text.
 *
 *   response = 1*( *prose name *prose fence *( text NL ) fence )
 *
 * `name` is a path in formatting, the info string of the fence, a comment alone on the first line inside, or a sentence with one path. A fence
 * of shell commands or output is prose. Any other fence that names no file refuses the response, as does a fence that may hold a part of
 * its file (settle.ts): a part would take the rest of the file away.
 */
import { formatIn, Outside } from '../detect.js';
import type { DialectRules, Edit, ParsedResponse, WriteEdit } from '../edit.js';
import { namedPath, withoutPrefix } from '../paths.js';
import { answerIndex } from '../text/codec.js';
import {
  closesFence,
  CUT_INSIDE_FENCE,
  type Fence,
  MARKDOWN_LIKE,
  openingFence,
} from '../text/fence.js';
import type { ParseContext, Reading } from '../types.js';
import { invalid, parsed, unread } from './reader.js';

const LINE_CHARS = 300; // bound: A longer line names no file.
const LINES_BEFORE = 3; // bound: Lines before a fence in which its file may be named.

const IS_PROSE =
  /^(?:bash|sh|shell|zsh|console|terminal|powershell|text|txt|output|plaintext|log)\b/i;
/** Cursor's info string of a fence that shows lines of a file, and not all of it. */
const LINES_OF_FILE = /^\d+:\d+:/;
const SAYS_WHOLE =
  /\b(?:full|complete|entire|whole|updated|revised|final|modified)\s+(?:(?:new|updated)\s+)?(?:[`*]*[\w./-]+\.\w+[`*]*\s+)?(?:file|contents? of|file contents?)\b/i;
const WORD_EDGES = /^[\s`*_"'(<[]+|[\s`*_"'),.:;>\]]+$/g;
const COMMENT = /^\s*(?:\/\/+|#+|--|;+|\/\*+|<!--)\s*(.+?)\s*(?:\*\/|-->)?\s*$/;

/** Reads a response without `FILE` lines; null: it has no fence that names a file. */
export const readChatFiles = (
  body: string,
  context: ParseContext,
  rules: DialectRules,
): ParsedResponse | null => new ChatReader(body, context, rules).read();

/** Does a text name a file before each of its fences? */
export const holdsChatFiles = (text: string, rules: DialectRules): boolean => {
  const context = { files: new Map(), options: { requireMarker: false }, holdsLine: () => false };
  return new ChatReader(text, context, rules).read()?.fault === null;
};

/** Returns the text of a line that is a comment; undefined: it is none. */
const commentIn = (line = ''): string | undefined =>
  line.length > LINE_CHARS ? undefined : COMMENT.exec(line)?.[1];

class ChatReader {
  readonly #lines: readonly string[];
  readonly #context: ParseContext;
  readonly #rules: DialectRules;
  readonly #outside = new Outside();
  readonly #edits: Edit[] = [];
  /** Numbers of the lines outside of fences since the last one. */
  #before: number[] = [];
  #unnamed: number | null = null;
  /** Line of a fence that holds a part of its file. */
  #partial: number | null = null;

  constructor(body: string, context: ParseContext, rules: DialectRules) {
    this.#lines = body.split('\n').map((line) => line.replace(/\r$/, ''));
    this.#context = context;
    this.#rules = rules;
  }

  read(): ParsedResponse | null {
    for (let opener = 0; opener < this.#lines.length;) {
      const opening = openingFence(this.#lines[opener]);
      if (opening === null) {
        this.#outside.take(opener, this.#lines[opener] ?? '');
        const { length } = this.#lines[opener]?.trim() ?? '';
        if (length > 0 && length <= LINE_CHARS) this.#before.push(opener);
        opener += 1;
        continue;
      }
      const end = this.#endOf(opener, opening);
      if (end === null)
        return this.#edits.length > 0 || this.#namedAt(opener, opening) !== null
          ? unread(CUT)
          : null;
      this.#take(opener, end, opening);
      this.#before = [];
      opener = end + 1;
    }
    if (this.#edits.length === 0) return null;
    const fault = this.#fault() ?? this.#outside.fault(this.#edits.length);
    if (fault !== null) return unread(fault);
    const message = 'Each fence was read as the whole file that the line before it names.';
    return parsed(this.#edits, this.#edits.length, [{ code: 'chat_files', message }]);
  }

  #fault(): Reading | null {
    if (this.#partial !== null) {
      const message = `The fence at line ${this.#partial + 1} of the answer holds lines of a file, and not the whole file. Send each file as \`FILE <path>\`, its whole text, \`END FILE\`.`;
      return invalid('stray_edit', message, this.#edits.length);
    }
    if (this.#unnamed === null) return null;
    const message = `The fence at line ${this.#unnamed + 1} of the answer names no file. Send each file as \`FILE <path>\`, its text, \`END FILE\`.`;
    return invalid('stray_edit', message, this.#edits.length);
  }

  #endOf(opener: number, opening: Fence): number | null {
    for (let end = opener + 1; end < this.#lines.length; end += 1)
      if (closesFence(this.#lines[end], opening)) return end;
    return null;
  }

  #take(opener: number, end: number, opening: Fence): void {
    const inside = this.#lines.slice(opener + 1, end);
    const isForeign =
      IS_PROSE.test(opening.info) &&
      namedPath(`\`\`\` ${opening.info}`, this.#context.files) === null;
    if (LINES_OF_FILE.test(opening.info)) {
      this.#partial ??= opener;
      return;
    }
    const path = this.#namedAt(opener, opening);
    if (path === null && isForeign) return;
    if (path === null || formatIn(inside.join('\n')) !== null) this.#unnamed ??= opener;
    else {
      this.#outside.belongs(opener);
      this.#edits.push(this.#write(path, inside, opener));
    }
  }

  #write(stated: string, inside: readonly string[], opener: number): WriteEdit {
    const path = withoutPrefix(stated, this.#context);
    const isNested = MARKDOWN_LIKE.test(path) || inside.some((line) => openingFence(line) !== null);
    const unclear = `The text of ${path} may hold fences, so it is not clear where it ends. Send it as \`FILE ${path}\`, its text, \`END FILE\`.`;
    const comment = commentIn(inside[0]);
    const isLabel =
      comment !== undefined &&
      comment === stated &&
      !this.#context.holdsLine((inside[0] ?? '').trim(), false);
    const lines = isLabel ? inside.slice(1) : inside;
    const intro = this.#before.slice(-LINES_BEFORE).map((line) => this.#lines[line] ?? '');
    return {
      kind: 'write',
      path,
      before: null,
      after: answerIndex(lines.map((line) => `${line}\n`).join('')),
      hint: {
        index: this.#edits.length,
        responseLine: opener + 1,
        section: this.#edits.length,
        rules: this.#rules,
        unfenced: false,
        mayBePart: !SAYS_WHOLE.test(intro.join(' ')),
        refusal: isNested ? { code: 'fence_unclear', message: unclear } : null,
      },
    };
  }

  /** Returns the file that a fence names, or a line before it; null: none, or several. */
  #namedAt(opener: number, { info }: Fence): string | null {
    const { files } = this.#context;
    const byInfo = info === '' ? null : namedPath(`\`\`\`${info}`, files);
    if (byInfo !== null) return byInfo;
    for (const line of this.#before.slice(-LINES_BEFORE).reverse()) {
      const text = this.#lines[line] ?? '';
      const named = namedPath(text, files);
      if (named !== null) return named;
      const paths = this.#saidIn(text);
      if (paths.length > 0) return paths.length === 1 ? (paths[0] ?? null) : null;
    }
    const first = commentIn(this.#lines[opener + 1]);
    const commented = first === undefined ? null : namedPath(first, files);
    const [only, ...others] = files.keys();
    return commented ?? (this.#saysWhole() && others.length === 0 ? (only ?? null) : null);
  }

  #saysWhole(): boolean {
    return this.#before
      .slice(-LINES_BEFORE)
      .some((line) => SAYS_WHOLE.test(this.#lines[line] ?? ''));
  }

  /** Paths in a sentence: those in backticks or bold, and those of files that are there. */
  #saidIn(text: string): readonly string[] {
    const { files } = this.#context;
    const words = text.split(/\s+/).map((word) => ({ word, plain: word.replace(WORD_EDGES, '') }));
    const paths = words.flatMap(({ word, plain }) => {
      const path = namedPath(plain, files);
      return path !== null && (/^[`*]/.test(word) || files.has(path)) ? [path] : [];
    });
    return [...new Set(paths)];
  }
}

const CUT: Reading = { kind: 'invalid', open: true, reasons: [CUT_INSIDE_FENCE] };
