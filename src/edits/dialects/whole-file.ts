/**
 * whole-file: the new content of each file.
 *
 *   { FILE <path> <nonce>        { FILE <path>
 *     body                         body
 *     END FILE <nonce> }           END FILE }            (a response without nonces)
 *   DELETE <path> <nonce>        DELETE <path>
 *
 * Markdown formatting and remarks around a path are left out (`namedPath`), `a/` or `b/` before it where only what follows is a file and no
 * new one may be made. With a nonce a body may hold anything. Without one a body that holds a marker line is refused as ambiguous, and so is
 * prose behind a file that may hold prose, where nothing shows that it ended. Outside of the entries stand blank lines, fences and prose; a
 * line there that opens an edit in any grammar refuses the response, so that no part of it is lost. A fence around a body, or one that closes at
 * its end without having been opened, is left out (settle.ts). Tolerance: fenced_body. Without entries: `NO-CHANGE: reason` (marker.ts).
 */
import { Outside } from '../detect.js';
import type { Dialect, DialectRules, Edit, ParsedResponse } from '../edit.js';
import { readChatFiles } from './chat-files.js';
import { invalid, parsed, unread } from './reader.js';
import { lookUp, namedPath, pathsThere, withoutPrefix } from '../paths.js';
import { answerIndex } from '../text/codec.js';
import { holdsProse } from '../text/fence.js';
import type { LineIndex } from '../text/lines.js';
import type { Fault, ParseContext, Reading, Reason } from '../types.js';

const RULES: DialectRules = {
  order: 'base',
  tolerances: new Set(['fenced_body']),
  mostRefusals: Infinity,
  lead: () => '',
  leadsPaths: false,
  whole: {
    twice: (path) => `${path} is answered twice. Send each file once.`,
    deletesAbsent: (path) => `${path} does not exist, so it cannot be deleted.`,
    deletesProtected: (path) => `${path} may not be deleted here. Send its new content instead.`,
  },
  sections: null,
  block: null,
};

export const wholeFile: Dialect = {
  rules: RULES,
  parse: (body, context) => {
    const response = new EntryReader(body, context).parse();
    const isChat =
      response.fault?.kind === 'invalid' &&
      response.fault.reasons.every(({ code }) => code === 'no_edits' || code === 'stray_edit');
    const hasEntries = /^(?:FILE|DELETE) \S/m.test(body);
    return (isChat && !hasEntries ? readChatFiles(body, context, RULES) : null) ?? response;
  },
};

const PROSE_NOTES = 3; // bound: Ignored lines of prose that are reported.
const MARKER_CHARS = 80; // bound: Characters of a line that a message quotes.

/** The lines in a body that may be of the grammar; no others are looked at. */
const MARKS = /\n(?:END FILE|FILE |DELETE |EMEND-COMPLETE)[^\n]*/g;

const nextLine = (text: string, from: number): number =>
  text.indexOf('\n', from) + 1 || text.length;

interface Header {
  readonly kind: 'write' | 'delete';
  readonly path: string;
}

/** Reads `FILE <path> <nonce>` or `DELETE <path> <nonce>`; paths may hold blanks. Null: the line is neither. */
const readHeader = (line: string, nonce: string | undefined): Header | null => {
  const match = /^(FILE|DELETE) (.*\S)\s*$/.exec(line);
  if (match?.[2] === undefined) return null;
  const kind = match[1] === 'FILE' ? 'write' : 'delete';
  if (nonce === undefined) return { kind, path: match[2] };
  return match[2].endsWith(` ${nonce}`)
    ? { kind, path: match[2].slice(0, -nonce.length - 1).trim() }
    : null;
};

/** An entry as the response states it. */
interface Entry {
  readonly path: string;
  /** Null: the file is deleted. */
  readonly body: LineIndex | null;
  /** The last line of the body closed the fence that the entry is in, and was left out. */
  readonly unfenced: boolean;
}

/** Goes over a response by offsets: its bodies are not split into lines, which may be a million. */
class EntryReader {
  readonly #response: string;
  readonly #context: ParseContext;
  readonly #nonce: string | undefined;
  readonly #outside = new Outside();
  readonly #entries: Entry[] = [];
  readonly #notes: Reason[] = [];
  /** Offset and 0-based number of the next line. */
  #from = 0;
  #line = 0;
  /** The last entry is known to have ended. */
  #ended = true;
  /** The first line of prose behind an entry that is not known to have ended. */
  #prose: string | null = null;
  #folders: ReadonlySet<string> | null = null;

  constructor(response: string, context: ParseContext) {
    this.#response = response;
    this.#context = context;
    this.#nonce = context.options.nonce;
  }

  parse(): ParsedResponse {
    let fault: Reading | null = null;
    while (fault === null && this.#from < this.#response.length) fault = this.#next();
    fault ??= this.#atEnd();
    if (fault !== null) return unread(fault);
    const notes = this.#notes.slice(0, PROSE_NOTES);
    const edits = this.#entries.map((entry, index) => this.#editOf(entry, index));
    return parsed(edits, edits.length, notes);
  }

  #next(): Reading | null {
    const next = nextLine(this.#response, this.#from);
    const line = this.#response.slice(this.#from, next).replace(/\r?\n$/, '');
    const number = this.#line;
    this.#from = next;
    this.#line += 1;
    const isFence = this.#outside.take(number, line);
    const header = readHeader(line, this.#nonce);
    if (header === null) return this.#between(line, number, isFence);
    this.#outside.belongs(number);
    const isText = header.kind === 'write' && holdsProse(header.path);
    this.#ended = this.#context.whole === true || this.#nonce !== undefined || !isText;
    this.#prose = null;
    if (header.kind === 'write') return this.#body(header.path);
    this.#entries.push({ path: header.path, body: null, unfenced: false });
    return null;
  }

  /** Reads a line outside of all entries. */
  #between(line: string, number: number, isFence: boolean): Reading | null {
    const isFirst = this.#entries.length === 0;
    if (this.#nonce === undefined && this.#isEnd(line) && !isFirst)
      return this.#unclear(this.#entries.at(-1)?.path ?? null, line, null);
    if (isFence && this.#outside.fences.open === null) this.#ended = true;
    if (isFence || line.trim() === '' || isFirst) return null;
    if (!this.#ended) this.#prose ??= line;
    const message = `Line ${number + 1} outside the files was ignored.`;
    this.#notes.push({ code: 'prose_between', message });
    return null;
  }

  /** Reads the body of an entry up to its `END FILE`. */
  #body(path: string): Reading | null {
    const end = this.#endOf(path);
    if (typeof end !== 'number') return end;
    const body = answerIndex(this.#response.slice(this.#from, end + 1));
    const inner = this.#outside.fences.closeIn(body);
    this.#entries.push({ path, body: inner, unfenced: inner !== body });
    this.#line += body.length + 1;
    this.#from = nextLine(this.#response, end + 1);
    return null;
  }

  /** Returns the offset of the line end before `END FILE`, or why the body does not end clearly. */
  #endOf(path: string): number | Reading {
    const nonce = this.#nonce;
    MARKS.lastIndex = this.#from - 1;
    for (let mark = MARKS.exec(this.#response); mark; mark = MARKS.exec(this.#response)) {
      const line = mark[0].slice(1).replace(/\r$/, '');
      if (this.#isEnd(line)) return mark.index;
      if (nonce !== undefined && readHeader(line, nonce) !== null) {
        const message = `${path} has no line \`END FILE ${nonce}\` before the next file starts.`;
        return invalid('end_missing', message, this.#entries.length);
      }
      if (nonce === undefined && /^(FILE|DELETE) \S|^EMEND-COMPLETE\b/.test(line))
        return this.#unclear(path, line, null);
    }
    const message = `${path} has no closing \`END FILE\` line.`;
    return invalid('cut_inside_file', message, this.#entries.length, true);
  }

  #isEnd(line: string): boolean {
    const nonce = this.#nonce === undefined ? '' : ` ${this.#nonce}`;
    return line.trimEnd() === `END FILE${nonce}`;
  }

  #editOf({ path: stated, body, unfenced }: Entry, index: number): Edit {
    const { path, refusal } = this.#pathOf(stated);
    const hint = { index, responseLine: null, section: index, rules: RULES };
    if (body === null) return { kind: 'delete', path, before: null, after: null, hint };
    const written = { ...hint, unfenced, mayBePart: false, refusal };
    return { kind: 'write', path, before: null, after: body, hint: written };
  }

  /** Returns the path without formatting, and without `a/` or `b/` if no folder of that name is there. */
  #pathOf(stated: string): { readonly path: string; readonly refusal: Fault | null } {
    const { files, options } = this.#context;
    const named = namedPath(stated, files) ?? stated;
    this.#folders ??= new Set(pathsThere(files, options).map((path) => path.slice(0, 2)));
    const path = this.#folders.has(named.slice(0, 2)) ? named : withoutPrefix(named, this.#context);
    const isUnclear = path !== named && lookUp(named, this.#context).ok;
    const message = `${named} is not there, and ${path} is. It is not clear which is meant: send the path of ${path}, or a new file elsewhere.`;
    return { path, refusal: isUnclear ? { code: 'bad_path', message } : null };
  }

  #atEnd(): Reading | null {
    const count = this.#entries.length;
    const fault = this.#outside.fault(count);
    if (fault !== null) return fault;
    if (count > 0)
      return this.#prose === null
        ? null
        : this.#unclear(this.#entries.at(-1)?.path ?? null, 'END FILE', this.#prose);
    const header = `FILE <path>${this.#nonce === undefined ? '' : ` ${this.#nonce}`}`;
    return invalid('no_edits', `The answer has no \`${header}\` line.`, 0);
  }

  /** Refuses a body whose end is not clear. `behind`: the line that follows what may be its end. */
  #unclear(path: string | null, line: string, behind: string | null): Reading {
    const quote = (text: string): string => JSON.stringify(text.slice(0, MARKER_CHARS));
    const after =
      behind === null
        ? ''
        : ` Behind it stands ${quote(behind)}: nothing shows that the file ended there.`;
    const message = `The body of ${path ?? 'a file'} contains the marker line ${quote(line)}, which looks like a real one.${after}`;
    const index = this.#entries.length;
    return { kind: 'refused', reasons: [{ code: 'marker_in_body', index, message }] };
  }
}
