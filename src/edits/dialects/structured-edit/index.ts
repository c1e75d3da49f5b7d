/**
 * structured-edit: line operations as JSON.
 *
 *   { "summary": "…", "operations": [ OPERATION, … ], "complete": true, "nonce": "…" }      (`"reason": "…"` where the list is empty)
 *   insert  {line, content}                 replace {start_line, end_line, content}     delete {start_line, end_line}     (one line: {line})
 *   append  {content}                       prepend {content}
 *
 * Several such objects, or a JSON list of them or of operations, are one list in their order; the last object has the marker.
 *
 * each with `type`, `file_path` (none where one file is offered) and optional `context_before`, `context_after` (the adjacent lines); or by symbol, without contexts:
 *   insert  {at: {symbol, position: "before" | "after" | "end", line?}, content}
 *   replace {at: {symbol, line?}, content}              delete  {at: {symbol, line?}}
 * `symbol` is a definition's qualified name (`Class.method`; locate/symbol.ts says which one is meant), `line` a line inside
 * the one that is meant where several have the name. Lines are 1-based, ranges inclusive; all numbers mean the file as it was offered. Order at one place: prepends, then inserts in the order given, then the
 * replace or delete that starts there; appends last.
 */
import type { Dialect, DialectRules, ParsedResponse } from '../../edit.js';
import { isJsonObject } from '../../text/json.js';
import type { ParseContext } from '../../types.js';
import { invalid, readJsonAnswer, parsed, unread } from '../reader.js';
import { readLinesRequest } from './lines-request.js';
import { readOperations } from './operations.js';

const OPERATION_REFUSALS = 20; // bound: Refused operations of one file that a structured edit reports.

const RULES: DialectRules = {
  order: 'base',
  tolerances: new Set([
    'line_drift',
    'unchecked_lines',
    'line_endings',
    'trailing_space',
    'lookalikes',
    'fenced_body',
  ]),
  mostRefusals: OPERATION_REFUSALS,
  lead: ({ hint }) =>
    hint.responseLine === null
      ? ''
      : `Operation ${hint.index + 1} (line ${hint.responseLine} of the answer): `,
  leadsPaths: true,
  whole: null,
  sections: null,
  block: null,
};

export const structuredEdit: Dialect = {
  rules: RULES,
  parse: (body, context) => parse(body, context),
};

const parse = (body: string, context: ParseContext): ParsedResponse => {
  const response = readJsonAnswer(body, context);
  if ('kind' in response) return unread(response);
  const [path = null, ...others] = context.files.keys();
  const only = others.length === 0 ? path : null;
  const asksForLines = isJsonObject(response.value) && 'needs_lines' in response.value;
  const request = asksForLines ? readLinesRequest(response.value, only) : null;
  if (request !== null) return 'kind' in request ? unread(request) : { ...parsed([], 0), request };
  const { items, fault, edits, summary } = readOperations(response, only, RULES);
  if (fault !== null) return unread(response.withLines(fault, 'Operation', items), items.length);
  const empty = 'The answer contains no operation and no `reason`.';
  if (edits.length === 0) return unread(invalid('no_edits', empty));
  return parsed(edits, items.length, [], summary);
};
