/**
 * Puts a checksum at the end of stored JSON, `,"sum":"<8 hexadecimal digits>"}`, and checks it. Without it, a disk that changes a byte could
 * change a response or a verdict, and nothing would report it.
 */
import { jsonOf } from './json.js';
import { sha256 } from './hash.js';

const SUM_CHARS = 8; // bound: Hexadecimal digits of the checksum of a stored line or file.
const HEAD = ',"sum":"';
const TAIL = '"}';
const SEAL_CHARS = HEAD.length + SUM_CHARS + TAIL.length;

const sumOf = (text: string): string => sha256(text).slice(0, SUM_CHARS);

/** Returns the JSON of an object that has a property, with its checksum. */
export const sealed = (value: object): string => {
  const text = JSON.stringify(value);
  return `${text.slice(0, -1)}${HEAD}${sumOf(text)}${TAIL}`;
};

/** Returns the checksum at the end of a text, also if one other character of its seal is damaged. Null: it has no seal. */
const sumIn = (text: string): string | null => {
  const seal = text.slice(-SEAL_CHARS);
  const sum = seal.slice(HEAD.length, -TAIL.length);
  const pattern = `${HEAD}${sum}${TAIL}`;
  const odd = pattern.split('').filter((char, index) => char !== seal[index]).length;
  return seal.length === SEAL_CHARS && odd <= 1 ? sum : null;
};

/** The object of a sealed text; `torn`: the text is no JSON or is cut off; `damaged`: it is whole, and was changed after it was written. */
export type Unsealed = object | 'torn' | 'damaged';

/** Reads a text that `sealed` wrote. JSON without a seal is accepted: nothing shows that it was changed. */
export const unsealed = (text: string): Unsealed => {
  // Bytes that a power cut took are read as zeros, which no JSON has.
  if (text.includes('\0')) return 'torn';
  const sum = sumIn(text);
  if (sum === null) return jsonOf(text) ?? 'torn';
  const content = `${text.slice(0, -SEAL_CHARS)}}`;
  return sumOf(content) === sum ? (jsonOf(content) ?? 'damaged') : 'damaged';
};
