/**
 * string-replace, a dialect that other tools taught models: calls of edits, as JSON (docs/formats.md says more).
 *
 *   EDIT     = { "file_path": "…", "old_string": "…", "new_string": "…" [, "replace_all": true ] }
 *   response = PART / several of them / [ PART, … ], in order
 *   PART     = EDIT / { "file_path": "…", "edits": [ EDIT, … ] }      (an edit's own `file_path` goes before the outer one)
 *            / any other form of calls/forms.ts, alone or in the envelope of an API
 *
 * with the marker's keys `complete` and `nonce` last; `"reason": "…"` where `edits` is empty. `old_string` is any part of the text as the
 * edits before left it, with LF as line end whatever the file has. Tolerances: earlier_block, line_endings, listing_numbers; without `replace_all`
 * trailing_space and lookalikes; for a line number unchecked_lines. Edits, for the marker: edits.
 */
import { unwrapped } from '../calls/arguments.js';
import { CallReader } from '../calls/call-reader.js';
import { Outside } from '../detect.js';
import type { Dialect, DialectRules, ParsedResponse } from '../edit.js';
import { isJsonObject, type Json } from '../text/json.js';
import type { ParseContext, Reading } from '../types.js';
import { invalid, type JsonAnswer, readJsonAnswer, unread } from './reader.js';

const STRING_REFUSALS = 10; // bound: Refused edits of one file that a string-replace response reports; each costs a search for the nearest place.

export const CALL_RULES: DialectRules = {
  order: 'response',
  tolerances: new Set([
    'earlier_block',
    'line_endings',
    'trailing_space',
    'listing_numbers',
    'lookalikes',
    'fenced_body',
    'unchecked_lines',
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

export const stringReplace: Dialect = {
  rules: CALL_RULES,
  parse: (body, context) => {
    const response = readJsonAnswer(body, context);
    return 'kind' in response ? unread(response) : readCalls(response, context);
  },
};

const readCalls = (response: JsonAnswer, context: ParseContext): ParsedResponse => {
  const reader = new CallReader(context, CALL_RULES, (object) => response.lineOf(object));
  let fault: Reading | null = null;
  for (const part of response.parts) fault ??= readPart(part, response, reader);
  return fault === null ? reader.finish() : unread(fault, reader.count);
};

/** Reads an object of the response, which may be a call, or a message of an API that holds several. */
const readPart = (part: Json, response: JsonAnswer, reader: CallReader): Reading | null => {
  if (!isJsonObject(part))
    return invalid('not_an_object', 'The answer is neither a JSON object nor a list of them.');
  const { calls, texts } = unwrapped(part);
  const outside = new Outside();
  const lines = texts.flatMap((text) => text.split('\n'));
  for (const [lineIndex, line] of lines.entries()) outside.take(lineIndex, line);
  const stray = outside.stray(reader.count);
  if (stray !== null) return { kind: 'invalid', open: false, reasons: [stray] };
  for (const { name, args, object } of calls) {
    const line = response.lineOf(object) ?? response.lineOf(part);
    const fault = reader.take({ name, args, line });
    if (fault !== null) return fault;
  }
  return null;
};
