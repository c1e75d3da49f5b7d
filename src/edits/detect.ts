/** What an answer says of itself: its format, and what looks like an edit outside of all that is read. */
import type { AnswerFormat } from '../shared/formats.js';
import { quoted } from '../shared/text.js';
import { holdsCall, looksLikeCall } from './calls/arguments.js';
import { CALL_TAG } from './calls/tags.js';
import { type ProseLine, proseEditIn } from './prose-edits.js';
import { CUT_INSIDE_FENCE, Fences, isBareFence, openingFence } from './text/fence.js';
import { isJsonObject, type Json, readJson } from './text/json.js';
import type { Reading, Reason } from './types.js';

export const JSON_CANDIDATES = 20; // bound: Places where a JSON object may begin: prose before it may hold braces of its own.

/**
 * The first line of a block of search-blocks, in the words of several tools, perhaps with the path behind them, and its last. Lines of git's
 * own conflicts (`<<<<<<< HEAD`) are none.
 */
const OPENS_BLOCK = String.raw`(?:-{5,9} SEARCH|<{5,9} ?(?:SEARCH|search|Search|ORIGINAL|original|OLD|BEFORE|FIND|CURRENT)>?(?:[ \t]+[\w./@\\-]+)?)[ \t\r]*$`;
export const BLOCK_OPENING = new RegExp(`^${OPENS_BLOCK}`);
export const BLOCK_CLOSING =
  /^(?:\+{5,9} REPLACE|>{5,9} ?(?:REPLACE|replace|Replace|UPDATED|updated|NEW|AFTER|MODIFIED|REPLACEMENT)>?)[ \t\r]*$/;

/** The line that each text format begins with; a diff without its `---` and `+++` names no file. */
const OPENINGS: readonly (readonly [AnswerFormat, RegExp])[] = [
  ['begin-patch', /^\*\*\* (?:Begin Patch|(?:Add|Delete) File: \S.*)[ \t\r]*$/m],
  ['unified-diff', /^(?:diff --(?:git|cc|combined) \S|--- [^\n]*\n\+\+\+ |@@(?: |\r?$))/m],
  ['search-replace', /^(?:FILE: \S|FIND(?: @?\d+)?:[ \t\r]*$)/m],
  ['search-blocks', new RegExp(`^${OPENS_BLOCK}`, 'm')],
  ['xml-call', CALL_TAG],
  ['whole-file', /^(?:FILE|DELETE) \S/m],
];
/** Where an answer's first line of a text format stands; -1: it has none. */
export const openingOf = (format: AnswerFormat, answer: string): number =>
  answer.search(OPENINGS.find(([name]) => name === format)?.[1] ?? /$^/);

const JSON_OPENING = /^[ \t]*\{/m;
/** The keys by which the two JSON formats are told apart: whichever comes first in the object. */
const JSON_KEY = /"(operations|old_str(?:ing)?|new_str(?:ing)?|search|edits)"\s*:/;

/**
 * Returns the format of an answer without thinking, by the line that opens it. If several formats could, it is the one that opens first, as a
 * quoted one comes later. Null: none is found. Formats that nobody can tell from prose are not guessed.
 */
export const formatIn = (said: string): AnswerFormat | null => {
  const answer = withoutIndent(said);
  const found: (readonly [number, AnswerFormat])[] = OPENINGS.map(([format, line]) => [
    answer.search(line),
    format,
  ]);
  // Behind such a line stand chunks, or the hunks of a diff, which its own header names.
  found.push([answer.search(/^\*\*\* Update File: \S/m), 'begin-patch']);
  const json = jsonFormat(answer) ?? callIn(answer, holdsCall);
  if (json !== null) found.push(json);
  const [first] = found.filter(([start]) => start >= 0).sort(([a], [b]) => a - b);
  // A call that lacks something is an edit only if nothing else is one.
  return first?.[1] ?? callIn(answer, looksLikeCall)?.[1] ?? null;
};

/** An answer in an indented fence, the first in it, with all its lines moved back: CommonMark takes so many blanks off. */
export const withoutIndent = (answer: string): string => {
  const opening = /^( {1,3})(?:`{3,}|~{3,})/m.exec(answer);
  if (opening?.[1] === undefined || formatIn(answer.slice(0, opening.index)) !== null)
    return withoutPatchIndent(answer);
  const { index, 1: blanks } = opening;
  const lines = answer.slice(index).split('\n');
  const end = lines.findIndex((line) => line.trim() !== '' && !line.startsWith(blanks));
  const inside = lines.slice(0, end < 0 ? lines.length : end);
  const last = inside.findLastIndex((line) => line.trim() !== '');
  if (end >= 0 && !isBareFence(inside[last])) return answer;
  return (
    answer.slice(0, index) +
    lines.map((line, at) => (at <= last ? line.slice(blanks.length) : line)).join('\n')
  );
};

const INDENTED_PATCH = /^([ \t]+)\*\*\* Begin Patch[ \t\r]*$/m;

/** Moves the lines of the first patch back, if all of them are indented as in an item of a list and nothing before it is an edit. */
const withoutPatchIndent = (answer: string): string => {
  const match = INDENTED_PATCH.exec(answer);
  const [, blanks] = match ?? [];
  const index = match?.index ?? 0;
  if (blanks === undefined || formatIn(answer.slice(0, index)) !== null) return answer;
  const lines = answer.slice(index).split('\n');
  const last = lines.findIndex((line) => /^\*\*\* End Patch\s*$/.test(line.slice(blanks.length)));
  const isWhole = lines
    .slice(0, last + 1)
    .every((line) => line.startsWith(blanks) || line.trim() === '');
  if (last < 0 || !isWhole) return answer;
  const moved = lines.map((line, lineIndex) =>
    lineIndex <= last ? line.slice(blanks.length) : line,
  );
  return answer.slice(0, index) + moved.join('\n');
};

const jsonFormat = (answer: string): [number, AnswerFormat] | null => {
  const own = answer.search(JSON_OPENING);
  const at = own >= 0 ? own : answer.search(/\{[ \t]*"/);
  const key = at < 0 ? null : JSON_KEY.exec(answer.slice(at));
  if (key === null) return null;
  return [at, key[1] === 'operations' ? 'structured-edit' : 'string-replace'];
};

/** Where the first object or list is that holds a call of another tool's edit, as far as `isCall` says. */
const callIn = (
  answer: string,
  isCall: (value: Json) => boolean,
): [number, AnswerFormat] | null => {
  const start = /^[ \t]*(?=\{|\[\s*\{)|(?=\{[ \t]*")/gm;
  for (let tried = 0; tried < JSON_CANDIDATES; tried += 1) {
    const match = start.exec(answer);
    if (match === null) return null;
    const from = match.index + match[0].length;
    const read = readJson(answer, from);
    if (read.kind === 'value' && isCall(read.value)) return [match.index, 'string-replace'];
    start.lastIndex = read.kind === 'value' ? read.end : from + 1;
  }
  return null;
};

/** Where an object may begin that another tool would read: at the start of a line, or before a key in quotes. */
const OBJECT = /^\{|\{\s*["']\w+["']\s*:/gm;
const PATH_KEY =
  /(?<![\w$])(?:["']?(?:target_?)?file_?path["']?|["'](?:path|file|file_?name|target_?file|relative_?path)["'])\s*:/i;
const EDIT_KEY =
  /(?<![\w$])["']?(?:(?:(?:old|new)_?(?:str(?:ing)?|text|code|content|path|lines)|file_?text|code_?edit|contents?|replace(?:ment)?)["']?\s*:|(?:op|type|action|command)["']?\s*:\s*["']?(?:create|write|overwrite|update|edit|insert|replace|str_replace|append|prepend|delete|remove|rename|move))/i;
/** Keys that say an edit where the object names a file with an ending and their value is text. */
const TEXT_KEYS = ['code', 'text', 'diff', 'patch', 'source', 'body', 'data'];
const NAMES_FILE = /^[^\s:]*\.[A-Za-z]\w{0,9}$/;
const isTextOfFile = (value: Json): boolean =>
  isJsonObject(value) &&
  TEXT_KEYS.some((key) => typeof value[key] === 'string') &&
  Object.entries(value).some(
    ([key, path]) =>
      typeof path === 'string' && NAMES_FILE.test(path) && PATH_KEY.test(`"${key}":`),
  );

/** Where an object names a file beside what is to be done with it, in whichever tool's keys and perhaps malformed; -1: nowhere. */
const editObjectIn = (text: string): number => {
  OBJECT.lastIndex = 0;
  for (let broken = 0; broken < JSON_CANDIDATES;) {
    const at = OBJECT.exec(text)?.index;
    if (at === undefined) return -1;
    const read = readJson(text, at);
    const objects = read.kind === 'value' ? withQuoted([...read.starts.keys()]) : [];
    if (objects.some(isTextOfFile)) return at;
    const said =
      read.kind === 'value' ? objects.map(keysIn) : text.slice(at).split(/\}[ \t,\]]*$/m, 1);
    if (said.some((keys) => PATH_KEY.test(keys) && EDIT_KEY.test(keys))) return at;
    if (read.kind === 'value') OBJECT.lastIndex = read.end;
    else broken += 1;
  }
  return -1;
};
/** Objects and those that their values hold as text. */
const withQuoted = (objects: readonly Json[]): readonly Json[] =>
  objects.flatMap((object) => {
    const texts = Object.values(object ?? {}).filter(
      (value) => typeof value === 'string' && /^\s*[{[]/.test(value),
    );
    const inner = texts.map((value) => readJson(String(value)));
    return [
      object,
      ...inner.flatMap((read) => (read.kind === 'value' ? [...read.starts.keys()] : [])),
    ];
  });
/** An object's keys, each with its value where that is one word: a sentence is no command. */
const keysIn = (value: Json): string =>
  Object.entries(value ?? {})
    .map(([key, said]) => `"${key}":${typeof said === 'string' && /^\w+$/.test(said) ? said : ''}`)
    .join();

/** Stands for a body of the answer among the lines outside. */
export const BODY = '\0';

/** What opens an edit beside the lines above: malformed lines of whole-file, fences with a path, other diffs, ed scripts, XML edits. */
const MALFORMED: readonly RegExp[] = [
  /^[ \t>#*_`-]{0,8}(?:(?:FILE|DELETE):?[ \t]+\S+(?:[ \t]+\S+)?|END FILE(?:[ \t]+\S+)?)[*_`]{0,8}[ \t]*$/m,
  /^[ \t>#*_`-]{0,8}(?:File:[ \t]*)?`?[\w@./-]*\w\.\w{1,8}[*_:`]{0,8}\n {0,3}(?:`{3,}(?!`)|~{3,}(?!~))[^\n]*(?!\n\0)$/m,
  /^ {0,3}(?:`{3,}(?!`)|~{3,}(?!~))(?=[^`\n]*\w\.[a-z]\w{0,7}\b)[^`\n]*(?!\n\0)$/m,
  /^[ \t>]*(?:\*\*\* \d+(?:,\d+)? \*{4}|<(?:find|old_(?:str(?:ing)?|text|code))>.*)$/m,
  /^[ \t>]*(?:\d+,)?\d+(?:[acd](?:\d+,)?\d+\n[ \t>]*[<>] |[ac]\n(?:[^\n]*\n){1,50}?[ \t>]*\.$)/m,
];

/** The lines of an answer that stand outside of its bodies: follows their fences, and finds edits that nobody would read. */
export class Outside {
  readonly fences = new Fences();
  readonly #lines: (ProseLine & { readonly at: number })[] = [];

  /** Takes the answer's line `at` (0-based); true: it opens or closes a fence. */
  take(at: number, text: string): boolean {
    const isFence = this.fences.take(text);
    const fence = this.fences.open;
    if (text.trim() !== '' && !(isFence && fence === null))
      this.#lines.push({ at, text, fence, round: null });
    return isFence;
  }
  /** Line `at`, which was taken, is one of the grammar: a body begins there, or its path stands there. */
  belongs(at: number): void {
    if (this.#lines.at(-1)?.at === at) this.#lines.pop();
    this.#lines.push({ at, text: BODY, fence: null, round: this.fences.open });
  }
  /** The last line before line `at`, behind the last body, that stands in no closed fence and is none, but for one that `names` a file. */
  before(at: number, names: (fence: string) => boolean): string {
    const line = this.#lines.findLast(
      ({ at: its, text, fence }) =>
        its < at &&
        (fence ?? this.fences.open) === this.fences.open &&
        (openingFence(text) === null || names(text)),
    );
    return line === undefined || line.text === BODY ? '' : line.text;
  }
  get hasProse(): boolean {
    return this.#lines.some(({ text }) => text !== BODY && openingFence(text) === null);
  }
  /** Why an answer of so many edits cannot be used: it ends inside a fence, or holds another edit outside of all bodies. */
  fault(edits: number): Reading | null {
    const reason = this.fences.isCut ? CUT_INSIDE_FENCE : edits === 0 ? null : this.stray(edits);
    return reason && { kind: 'invalid', open: this.fences.isCut, reasons: [reason] };
  }
  /** What looks like an edit, as a reason to refuse the answer whole; `index`: the number of edits before it. */
  stray(index: number): Reason | null {
    const text = this.#lines.map((line) => line.text.replace(/\r$/, '')).join('\n');
    // A quoted edit is one, too, and one that is indented as in a list.
    const bare = text.replace(/^[ \t>]+/gm, '');
    const openings = OPENINGS.flatMap(([format, line]) =>
      format === 'whole-file' ? [] : [bare.search(line)],
    );
    const objects = [
      jsonFormat(bare)?.[0] ?? -1,
      callIn(bare, holdsCall)?.[0] ?? -1,
      editObjectIn(bare),
    ];
    const lineOf = (of: string, at: number): number =>
      at < 0 ? Infinity : of.slice(0, at).split('\n').length - 1;
    const malformed = MALFORMED.map((line) => lineOf(text, text.search(line)));
    const proseLine = proseEditIn(this.#lines);
    const line =
      this.#lines[
        Math.min(
          proseLine < 0 ? Infinity : proseLine,
          ...malformed,
          ...[...openings, ...objects].map((at) => lineOf(bare, at)),
        )
      ];
    if (line === undefined) return null;
    const message = `Line ${line.at + 1} of the answer, ${quoted(line.text.trimEnd(), 120)}, looks like an edit but is outside the part that was parsed. Send every edit in the requested format, and no edit in prose.`;
    return { code: 'stray_edit', index, message };
  }
}
