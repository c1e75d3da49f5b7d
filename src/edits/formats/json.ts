/** What the two JSON formats have in common: an answer is an object, several of them, or a list. */
import { type Json, readJson } from '../text/json.js';
import { invalid } from './reader.js';
import type { FormatContext, Reading, Reason } from '../types.js';

export interface JsonAnswer {
  readonly value: Json;
  /** The objects in their order; of a list its members, of lists in it theirs. */
  readonly parts: readonly Json[];
  /** The same reading where each reason about one of `edits` says which, and the 1-based line of the answer where its object begins. */
  withLines(reading: Reading, word: string, edits: readonly Json[]): Reading;
}

/** The JSON of an answer's body, or why it is none. */
export const readJsonAnswer = (body: string, { linesBefore = 0 }: FormatContext): JsonAnswer | Reading => {
  const json = readJson(body);
  if (json.kind === 'open') {
    const message = `The JSON ends inside a ${json.inside}. Send the whole answer.`;
    return invalid(`cut_inside_${json.inside}`, message, undefined, true);
  }
  const lineOf = lineCounter(body, linesBefore + 1);
  const isWhole = json.kind === 'value' && body.slice(json.end).trim() === '';
  if (!isWhole) {
    const line = lineOf(json.kind === 'value' ? json.end : json.at);
    const what = json.kind === 'value' ? 'text follows after the JSON object' : json.message;
    return invalid('not_json', `The answer is not one JSON object: line ${line}: ${what}. Send the JSON object alone.`);
  }
  const { value, starts } = json;
  const withLine = (reason: Reason, word: string, edits: readonly Json[]): Reason => {
    const { index = -1 } = reason;
    const start = starts.get(edits[index] ?? null);
    if (start === undefined) return reason;
    return { ...reason, message: `${word} ${index + 1} (line ${lineOf(start)} of the answer): ${reason.message}` };
  };
  return {
    value,
    parts: Array.isArray(value) ? (value as readonly Json[]).flat() : [value],
    withLines: (reading, word, edits) => {
      const told = (reasons: readonly Reason[]): Reason[] => reasons.map((reason) => withLine(reason, word, edits));
      return reading.kind === 'plans'
        ? { ...reading, notes: told(reading.notes) }
        : { ...reading, reasons: told(reading.reasons) };
    },
  };
};

/** The line at an offset, counted from `first`; cheap where offsets are asked for in rising order. */
const lineCounter = (text: string, first: number): ((offset: number) => number) => {
  let [at, line] = [0, first];
  return (offset) => {
    if (offset < at) [at, line] = [0, first];
    for (let end = text.indexOf('\n', at); end >= 0 && end < offset; end = text.indexOf('\n', at)) {
      at = end + 1;
      line += 1;
    }
    return line;
  };
};
