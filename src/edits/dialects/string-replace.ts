/**
 * string-replace, a dialect that other tools taught models: substrings, as JSON (docs/formats.md says more).
 *
 *   EDIT     = { "file_path": "…", "old_string": "…", "new_string": "…" [, "replace_all": true ] }
 *   response = PART / several of them / [ PART, … ], in order
 *   PART     = EDIT / { "file_path": "…", "edits": [ EDIT, … ] }      (an edit's own `file_path` goes before the outer one)
 *
 * with the marker's keys `complete` and `nonce` last; `"reason": "…"` where `edits` is empty. `old_string` is any part of the text as the
 * edits before left it, with LF as line end whatever the file has. Tolerances: earlier_block, line_endings, listing_numbers; without `replace_all`
 * trailing_space and lookalikes. Edits, for the marker: edits.
 */
import type { Dialect, DialectRules, ParsedResponse, TextEdit } from '../edit.js';
import { invalid, type JsonAnswer, readJsonAnswer, parsed, unread } from './reader.js';
import { isJsonObject, type Json, keyBeside, PATH_NAMES } from '../text/json.js';
import type { Reading } from '../types.js';

export const STRING_EDITS = 1_000; // bound: Edits of one string-replace answer: each passes over the text once more.

const STRING_REFUSALS = 10; // bound: Refused edits of one file that a string-replace response reports; each costs a search for the nearest place.

const RULES: DialectRules = {
  order: 'response',
  tolerances: new Set([
    'earlier_block',
    'line_endings',
    'trailing_space',
    'listing_numbers',
    'lookalikes',
    'fenced_body',
  ]),
  mostRefusals: STRING_REFUSALS,
  lead: ({ hint }) =>
    hint.responseLine === null
      ? ''
      : `Edit ${hint.index + 1} (line ${hint.responseLine} of the answer): `,
  leadsPaths: true,
  whole: null,
  sections: null,
  block: null,
};

const TOP_KEYS = ['file_path', 'edits', 'complete', 'nonce', 'summary', 'reason'];
const EDIT_KEYS = ['file_path', 'old_string', 'new_string', 'replace_all'];
/** Other tools' names of the keys. */
const OTHER_NAMES = {
  file_path: PATH_NAMES,
  old_string: ['old_str', 'search'],
  new_string: ['new_str', 'replace'],
};
const OUR_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(OTHER_NAMES).flatMap(([ours, names]) => names.map((name) => [name, ours])),
);

export const stringReplace: Dialect = {
  rules: RULES,
  parse: (body, context) => {
    const response = readJsonAnswer(body, context);
    return 'kind' in response ? unread(response) : new StringEditReader(response).parse();
  },
};

/**
 * Returns the same object with our keys, without another tool's `command`. A key that is there under both names keeps its own, which is
 * then unknown.
 */
const renamed = (value: Json): Json => {
  if (!isJsonObject(value)) return value;
  const taken = new Set(Object.keys(value));
  const own = Object.entries(value).filter(
    ([key, item]) => key !== 'command' || item !== 'str_replace',
  );
  const entries = own.map(([key, item]): [string, Json] => {
    const name = OUR_NAMES.get(key);
    if (name === undefined || taken.has(name)) return [key, item];
    taken.add(name);
    return [name, item];
  });
  return Object.fromEntries(entries);
};

/** Each part of the response is an edit, or the edits of a file. */
class StringEditReader {
  readonly #response: JsonAnswer;
  readonly #edits: TextEdit[] = [];
  /** All that the response gives as edits, usable or not. */
  readonly #items: Json[] = [];

  constructor(response: JsonAnswer) {
    this.#response = response;
  }

  parse(): ParsedResponse {
    let fault: Reading | null = null;
    for (const part of this.#response.parts) fault ??= this.#part(part);
    if (this.#edits.length === 0) fault ??= invalid('no_edits', 'The answer contains no edit.');
    if (fault !== null) return unread(this.#response.withLines(fault, 'Edit', this.#items));
    return parsed(this.#edits, this.#edits.length);
  }

  #part(part: Json): Reading | null {
    const value = renamed(part);
    if (!isJsonObject(value))
      return invalid('not_an_object', 'The answer is neither a JSON object nor a list of them.');
    const isList = 'edits' in value;
    const own: Json = isList ? (value.edits ?? null) : [part];
    if (!Array.isArray(own)) return invalid('no_operations', '`edits` is not an array.');
    const items = own as readonly Json[];
    for (const item of items) this.#items.push(item);
    if (this.#items.length > STRING_EDITS) {
      const message = `The answer contains ${this.#items.length} edits; at most ${STRING_EDITS} are read.`;
      return invalid('too_many_edits', message);
    }
    const stranger = keyBeside(value, isList ? TOP_KEYS : [...EDIT_KEYS, ...TOP_KEYS]);
    if (stranger !== undefined)
      return invalid('unknown_key', `The object has the unknown key ${stranger}.`);
    let fault: Reading | null = null;
    for (const item of items) fault ??= this.#edit(item, value.file_path, isList);
    return fault;
  }

  #edit(original: Json, outerPath: Json | undefined, isListed: boolean): Reading | null {
    const index = this.#edits.length;
    const bad = (code: string, message: string): Reading => invalid(code, message, index);
    const item = renamed(original);
    if (!isJsonObject(item)) return bad('wrong_type', 'The edit is not an object.');
    const unknown = isListed ? keyBeside(item, EDIT_KEYS) : undefined;
    if (unknown !== undefined)
      return bad('unknown_key', `An edit has no key ${unknown}; it has ${EDIT_KEYS.join(', ')}.`);
    const path = item.file_path ?? outerPath;
    const { old_string: before, new_string: after, replace_all: everywhere = false } = item;
    if (typeof path !== 'string' || path === '')
      return bad('missing_key', 'The edit needs `file_path`.');
    if (typeof before !== 'string' || typeof after !== 'string')
      return bad('missing_key', 'The edit needs `old_string` and `new_string`, both strings.');
    if (typeof everywhere !== 'boolean')
      return bad('wrong_type', '`replace_all` must be true or false.');
    const responseLine = this.#response.lineOf(original);
    this.#edits.push({
      kind: 'text',
      path,
      before: before.replaceAll('\r\n', '\n'),
      after: after.replaceAll('\r\n', '\n'),
      hint: { index, responseLine, section: null, rules: RULES, everywhere },
    });
    return null;
  }
}
