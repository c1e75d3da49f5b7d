/**
 * Finds known secrets in a text in the notations that programs write: as they are, escaped for a URL, HTML, JSON, a shell or a program, and in
 * base64 or hexadecimal. A text is decoded into views, each position of which leads back to the text. The time is in proportion to the text.
 */

const DECODED_CHARS = 6; // bound: A shorter value without its escapes occurs in ordinary text by chance.
const ENCODED_CHARS = 7; // bound: A shorter piece of base64 or hexadecimal occurs by chance. A value of 6 bytes has no shorter piece.
const LEVELS = 2; // bound: Notations in one another, such as JSON in a URL, that are decoded.

/** A part of a text, from its first character to the one behind it. */
interface Passage {
  readonly start: number;
  readonly end: number;
}

/** A decoded text. `starts` and `ends` give the passage of the text from which each of its characters comes. */
interface View {
  readonly text: string;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/**
 * Escapes, also repeated ones: `%2540`, `&amp;lt;`, `\\\"`. The last alternative takes every run of backslashes whole, so that none is looked
 * through from each of its characters.
 */
const ESCAPES = new RegExp(
  [
    String.raw`%(?:25)*(?<percent>[0-7][\da-f])`,
    String.raw`(?<percents>(?:%(?:25)*[89a-f][\da-f])+)`,
    String.raw`&(?:amp;)*(?:#0{0,6}(?<decimal>\d{1,7})|#x0{0,6}(?<hexadecimal>[\da-f]{1,6})|(?<entity>[a-z]{2,8}));`,
    String.raw`(?<quote>'\\+''|'"'"')`,
    String.raw`(?<bytes>(?:\\+(?:x[89a-f][\da-f]|[23][0-7]{2}))+)`,
    String.raw`\\+(?:u(?<unicode>[\da-f]{4})|x(?<byte>[0-7][\da-f])|(?<octal>[01][0-7]{2})|(?<character>[^\\]))?`,
  ].join('|'),
  'gi',
);

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  tab: '\t',
  newline: '\n',
  excl: '!',
  num: '#',
  dollar: '$',
  percnt: '%',
  lpar: '(',
  rpar: ')',
  ast: '*',
  plus: '+',
  comma: ',',
  period: '.',
  sol: '/',
  colon: ':',
  semi: ';',
  equals: '=',
  quest: '?',
  commat: '@',
  lsqb: '[',
  lbrack: '[',
  bsol: '\\',
  rsqb: ']',
  rbrack: ']',
  hat: '^',
  lowbar: '_',
  grave: '`',
  lcub: '{',
  lbrace: '{',
  verbar: '|',
  vert: '|',
  rcub: '}',
  rbrace: '}',
};
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

type Escape = Readonly<Record<string, string | undefined>>;

/** Returns the code of the character that an escape names; null: it names none. */
function codeIn({ percent, hexadecimal, unicode, byte, decimal, octal }: Escape): number | null {
  const code = percent ?? hexadecimal ?? unicode ?? byte;
  if (code !== undefined) return Number.parseInt(code, 16);
  if (decimal !== undefined) return Number(decimal);
  return octal === undefined ? null : Number.parseInt(octal, 8);
}

/** Returns the characters that an escape means; null: it is none. */
function meaningOf(escape: Escape): string | null {
  const code = codeIn(escape);
  if (code !== null) return characterOf(code);
  const { percents, entity, quote, bytes } = escape;
  if (entity !== undefined) return ENTITIES[entity.toLowerCase()] ?? null;
  if (quote !== undefined) return "'";
  if (percents !== undefined) return utf8Of(percents.match(/[89a-f][\da-f](?=%|$)/gi) ?? [], 16);
  if (bytes !== undefined) return bytesOf(bytes);
  const character = escape.character ?? null;
  return character === null ? null : (CONTROLS[character] ?? character);
}

const MOST_CODE_POINT = 0x10_ffff;
const MOST_CODE_UNIT = 0xffff;
function characterOf(code: number): string | null {
  if (code > MOST_CODE_POINT) return null;
  // A code unit may be half of a surrogate pair.
  return code > MOST_CODE_UNIT ? String.fromCodePoint(code) : String.fromCharCode(code);
}
const utf8Of = (codes: readonly string[], base: number): string =>
  Buffer.from(codes.map((code) => Number.parseInt(code, base))).toString('utf8');
/** Returns the text that the escaped bytes `\xc3\xa9` or `\303\251` mean, as UTF-8. */
const bytesOf = (escapes: string): string =>
  Buffer.from(
    (escapes.match(/x[\da-f]{2}|[0-7]{3}/gi) ?? []).map((code) =>
      /^x/i.test(code) ? Number.parseInt(code.slice(1), 16) : Number.parseInt(code, 8),
    ),
  ).toString('utf8');

/** A view while it is filled. No escape is shorter than what it means, so there is room for all. */
class Decoding {
  private readonly pieces: string[] = [];
  private readonly starts: Uint32Array;
  private readonly ends: Uint32Array;
  private readonly view: View;
  private length = 0;

  constructor(view: View) {
    this.view = view;
    this.starts = new Uint32Array(view.text.length);
    this.ends = new Uint32Array(view.text.length);
  }

  /** Adds a part of the view as it is. */
  keep(start: number, end: number): void {
    this.pieces.push(this.view.text.slice(start, end));
    this.starts.set(this.view.starts.subarray(start, end), this.length);
    this.ends.set(this.view.ends.subarray(start, end), this.length);
    this.length += end - start;
  }

  /** Adds the meaning of a part of the view. */
  add(meaning: string, start: number, end: number): void {
    this.pieces.push(meaning);
    const next = this.length + meaning.length;
    this.starts.fill(this.view.starts[start] ?? 0, this.length, next);
    this.ends.fill(this.view.ends[end - 1] ?? 0, this.length, next);
    this.length = next;
  }

  finished(): View {
    const { starts, ends } = this;
    return { text: this.pieces.join(''), starts, ends };
  }
}

const viewOf = (text: string): View => ({
  text,
  starts: Uint32Array.from({ length: text.length }, (_item, index) => index),
  ends: Uint32Array.from({ length: text.length }, (_item, index) => index + 1),
});

/** Returns the view without escapes, and with a blank for `+`, which is one in a form. */
function decoded(view: View): View {
  const decoding = new Decoding(view);
  let kept = 0;
  for (const match of view.text.matchAll(ESCAPES)) {
    const meaning = meaningOf(match.groups ?? {});
    if (meaning === null) continue;
    decoding.keep(kept, match.index);
    kept = match.index + match[0].length;
    decoding.add(meaning, match.index, kept);
  }
  decoding.keep(kept, view.text.length);
  const { text, ...places } = decoding.finished();
  return { ...places, text: text.replaceAll('+', ' ') };
}

/** Returns the view without its white space: base64 and hexadecimal are written in lines. */
function condensed(view: View): View {
  const decoding = new Decoding(view);
  for (const { 0: word, index } of view.text.matchAll(/\S+/g))
    decoding.keep(index, index + word.length);
  return decoding.finished();
}

const BASE64_BITS = 6;
/** Returns the characters of base64 that depend on the bytes alone, for each place that these may have in a group of three. */
const base64Of = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const first = Math.ceil((before * 8) / BASE64_BITS);
    return encoded.slice(first, Math.floor(((before + bytes.length) * 8) / BASE64_BITS));
  });

/** Returns how a value is written in base64 and hexadecimal, as in a condensed view. */
function encodingsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const base64 = base64Of(bytes);
  const forUrl = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const hexadecimal = bytes.toString('hex');
  return [
    ...base64.map((text) => text.replaceAll('+', '')),
    ...forUrl,
    hexadecimal,
    hexadecimal.toUpperCase(),
  ].filter((text) => text.length >= ENCODED_CHARS);
}

/** Returns a value as it is in a decoded view: it may look as if it had escapes itself. */
const decodingsOf = (value: string): readonly string[] =>
  [value.replaceAll('+', ' '), decoded(viewOf(value)).text]
    // A view has no backslash before the quotation mark that ends a value.
    .map((text) => text.replace(/\\+$/, ''))
    .filter((text) => text.length >= DECODED_CHARS);

/** Finds and hides known secrets in texts. */
export class KnownValues {
  private readonly values: readonly string[];
  private readonly decodings: readonly string[];
  private readonly encodings: readonly string[];

  constructor(values: readonly string[]) {
    this.values = [...new Set(values)].filter((value) => value !== '');
    this.decodings = [...new Set(this.values.flatMap(decodingsOf))];
    this.encodings = [...new Set(this.values.flatMap(encodingsOf))];
  }

  /** Returns the text with the replacement for each value in whatever notation. */
  hide(text: string, replacement: string): string {
    let shown = '';
    let kept = 0;
    for (const { start, end } of this.passagesIn(text)) {
      shown += text.slice(kept, start) + replacement;
      kept = end;
    }
    return shown + text.slice(kept);
  }

  /** Returns the different passages of the text that write a value. */
  writingsIn(text: string): readonly string[] {
    return [...new Set(this.passagesIn(text).map(({ start, end }) => text.slice(start, end)))];
  }

  private passagesIn(text: string): readonly Passage[] {
    if (this.values.length === 0 || text === '') return [];
    let view = viewOf(text);
    const found = placesIn(view, this.values);
    for (let level = 0; level < LEVELS; level += 1) {
      view = decoded(view);
      found.push(...placesIn(view, this.decodings));
    }
    found.push(...placesIn(condensed(view), this.encodings));
    return withoutOverlaps(found);
  }
}

function placesIn({ text, starts, ends }: View, values: readonly string[]): Passage[] {
  const found: Passage[] = [];
  for (const value of values)
    for (
      let index = text.indexOf(value);
      index !== -1;
      index = text.indexOf(value, index + value.length)
    )
      found.push({ start: starts[index] ?? 0, end: ends[index + value.length - 1] ?? 0 });
  return found;
}

function withoutOverlaps(passages: readonly Passage[]): readonly Passage[] {
  const joined: Passage[] = [];
  for (const passage of [...passages].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = joined.at(-1);
    if (last === undefined || passage.start >= last.end) joined.push(passage);
    else if (passage.end > last.end) joined.splice(-1, 1, { start: last.start, end: passage.end });
  }
  return joined;
}
