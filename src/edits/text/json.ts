/**
 * JSON with what `JSON.parse` does not tell: whether the text was cut (it ends inside a string or bracket), which keys were said twice, and
 * in which order the top-level keys stand. Text that is not JSON is read once more with what models add to it and what has one meaning:
 * commas before a closing bracket, comments, `True`, `False` and `None`, and line ends and tabs in strings.
 */

const JSON_DEPTH = 64; // bound: Nesting of a JSON answer.

/** A value of JSON. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Other tools' names of the key `file_path`. */
export const PATH_NAMES = ['path', 'file', 'filename'];

export type JsonRead =
  /** `end`: offset after the value; what follows is the caller's to judge. `starts`: where each object begins. */
  | {
      readonly kind: 'value';
      readonly value: Json;
      readonly end: number;
      readonly starts: ReadonlyMap<Json, number>;
      /** The text is not strict JSON. */
      readonly isLoose: boolean;
    }
  /** The text ends before the value does. */
  | { readonly kind: 'open'; readonly inside: 'string' | 'bracket' }
  | { readonly kind: 'broken'; readonly at: number; readonly message: string };

class Stop extends Error {
  readonly read: JsonRead;
  constructor(read: JsonRead) {
    super();
    this.read = read;
  }
}
const open = (inside: 'string' | 'bracket'): Stop => new Stop({ kind: 'open', inside });
const broken = (at: number, message: string): Stop => new Stop({ kind: 'broken', at, message });

/** What objects inherit from: no name at all, as with null, which would make each of them a table of hashes. */
const NO_NAMES = Object.create(null) as object;
const [BLANK, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c];
const WORDS = Object.entries({ true: true, false: false, null: null });
const LOOSE_WORDS = Object.entries({ True: true, False: false, None: null });
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

class Reader {
  readonly text: string;
  at: number;
  readonly starts = new Map<Json, number>();
  readonly #isLoose: boolean;
  constructor(text: string, at: number, isLoose: boolean) {
    this.text = text;
    this.at = at;
    this.#isLoose = isLoose;
  }

  private blank(): void {
    do while (' \t\r\n'.includes(this.text[this.at] ?? 'x')) this.at += 1;
    while (this.#isLoose && this.#comment());
    if (this.at >= this.text.length) throw open('bracket');
  }

  /** Passes over a comment; false: none is here. */
  #comment(): boolean {
    const end = this.#endOfComment();
    if (end === null) return false;
    this.at = end <= 0 ? this.text.length : end + 1;
    return true;
  }

  /** Returns the offset of a comment's last character, 0 or less if it has no end, and null if no comment is here. */
  #endOfComment(): number | null {
    if (this.text.startsWith('//', this.at)) return this.text.indexOf('\n', this.at);
    if (this.text.startsWith('/*', this.at)) return this.text.indexOf('*/', this.at + 2) + 1;
    return null;
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character)
      throw broken(this.at, `expected \`${character}\`, found ${this.found()}`);
    this.at += 1;
  }

  private found(): string {
    return JSON.stringify(this.text.slice(this.at, this.at + 12));
  }

  value(depth: number): Json {
    if (depth > JSON_DEPTH)
      throw broken(this.at, `brackets are nested more than ${JSON_DEPTH} deep`);
    this.blank();
    const first = this.text[this.at];
    if (first === '{') return this.object(depth);
    if (first === '[') return this.array(depth);
    if (first === '"') return this.string();
    return this.word();
  }

  private word(): Json {
    const rest = this.text.slice(this.at, this.at + 40);
    for (const [word, value] of this.#isLoose ? [...WORDS, ...LOOSE_WORDS] : WORDS) {
      if (rest.startsWith(word)) {
        this.at += word.length;
        return value;
      }
      if (this.at + rest.length === this.text.length && word.startsWith(rest))
        throw open('bracket');
    }
    const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/.exec(rest)?.[0];
    if (/^(?:-|-?\d[\d.]*(?:\.|[eE][+-]?))$/.test(rest)) throw open('bracket');
    if (number === undefined) throw broken(this.at, `expected a value, found ${this.found()}`);
    this.at += number.length;
    return Number(number);
  }

  private string(): string {
    const from = this.at;
    // Most strings are what stands between the quotes.
    let isPlain = true;
    this.at += 1;
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (Number.isNaN(code)) throw open('string');
      if (code === QUOTE) break;
      if (code === BACKSLASH || code < BLANK) isPlain = false;
      this.at += code === BACKSLASH ? 2 : 1;
    }
    this.at += 1;
    if (isPlain) return this.text.slice(from + 1, this.at - 1);
    try {
      const text = this.text.slice(from, this.at);
      const isRaw = this.#isLoose && /[\n\r\t]/.test(text);
      // A raw one behind a backslash stays, and is no JSON.
      const plain = isRaw ? text.replace(/\\[^]|[\n\r\t]/g, (raw) => ESCAPES[raw] ?? raw) : text;
      return JSON.parse(plain) as string;
    } catch {
      throw broken(
        from,
        `a string contains a raw line ending or an invalid escape; write line endings as \\n`,
      );
    }
  }

  /** What stands between two brackets, with commas between; the present character is the opening one. */
  private items(close: string, one: () => void): void {
    this.at += 1;
    this.blank();
    for (let isFirst = true; this.text[this.at] !== close; isFirst = false) {
      if (!isFirst) this.expect(',');
      if (!isFirst && this.#isLoose) {
        this.blank();
        if (this.text[this.at] === close) break;
      }
      one();
      this.blank();
    }
    this.at += 1;
  }

  private array(depth: number): readonly Json[] {
    const array: Json[] = [];
    this.items(']', () => array.push(this.value(depth + 1)));
    return array;
  }

  private object(depth: number): Record<string, Json> {
    const object = Object.create(NO_NAMES) as Record<string, Json>;
    this.starts.set(object, this.at);
    this.items('}', () => {
      this.blank();
      const place = this.at;
      if (this.text[place] !== '"')
        throw broken(place, `expected a key in double quotes, found ${this.found()}`);
      const key = this.string();
      if (key in object) throw broken(place, `the key ${JSON.stringify(key)} is given twice`);
      this.blank();
      this.expect(':');
      object[key] = this.value(depth + 1);
    });
    return object;
  }
}

/** Reads one JSON value from offset `from`. Integer-like keys aside, an object's keys come in the order of the text. */
export const readJson = (text: string, from = 0): JsonRead => {
  const strict = readBy(new Reader(text, from, false), false);
  if (strict.kind !== 'broken') return strict;
  const loose = readBy(new Reader(text, from, true), true);
  // What is wrong is said of the text as it is.
  return loose.kind === 'value' ? loose : strict;
};

const readBy = (reader: Reader, isLoose: boolean): JsonRead => {
  try {
    const value = reader.value(0);
    return { kind: 'value', value, end: reader.at, starts: reader.starts, isLoose };
  } catch (error) {
    if (error instanceof Stop) return error.read;
    throw error;
  }
};

export const isJsonObject = (value: Json | undefined): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A key that is none of `allowed`, in quotes. */
export const keyBeside = (
  item: Readonly<Record<string, Json>>,
  allowed: readonly string[],
): string | undefined =>
  Object.keys(item).flatMap((key) => (allowed.includes(key) ? [] : [JSON.stringify(key)]))[0];
