/** A response that came inside of JSON: as a JSON string, or as the only text of an object like `{"answer": "…"}`. */
import { isJsonObject, type Json, readJson } from './text/json.js';
import type { Reason } from './types.js';

/** Keys under which programs and models put a text. */
const TEXT_KEYS = [
  'answer',
  'response',
  'content',
  'text',
  'output',
  'result',
  'message',
  'reply',
  'completion',
  'code',
  'patch',
  'diff',
];
/** Other keys of a wrapper. They hold no part of the edit. */
const OTHER_KEYS = ['role', 'type', 'format', 'language', 'explanation', 'summary', 'status'];
const FENCED = /^(?:`{3,}|~{3,})(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n(?:`{3,}|~{3,})$/;

export interface Unwrapped {
  readonly text: string;
  /** What was taken off; null: nothing. */
  readonly note: Reason | null;
}

/** Takes JSON around a response off. */
export const unwrapped = (response: string): Unwrapped => {
  const trimmed = response.trim();
  const body = FENCED.exec(trimmed)?.[1]?.trim() ?? trimmed;
  const [first] = body;
  if (first !== '"' && first !== '{') return { text: response, note: null };
  const read = readJson(body);
  if (read.kind !== 'value' || body.slice(read.end).trim() !== '')
    return { text: response, note: null };
  const text = textIn(read.value);
  // A text of one line is no response in a text format, and may be a value of a call.
  if (text === null || !/[\n{]/.test(text)) return { text: response, note: null };
  return {
    text,
    note: {
      code: 'unwrapped',
      message: 'The answer was a text inside of JSON, and was read as that text.',
    },
  };
};

const textIn = (value: Json): string | null => {
  if (typeof value === 'string') return value;
  if (!isJsonObject(value)) return null;
  const keys = Object.keys(value).filter((key) => !OTHER_KEYS.includes(key));
  const [key = ''] = keys;
  const text = value[key];
  return keys.length === 1 && TEXT_KEYS.includes(key) && typeof text === 'string' ? text : null;
};
