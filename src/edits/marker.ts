/**
 * Finds the completeness marker and takes it off the answer.
 *
 *   text formats   [prose] [fence] BODY [fence] `EMEND-COMPLETE <nonce> <files> <edits>` [fence] [prose]
 *   JSON           [prose] [fence] { …, "complete": true, "nonce": "…" } [fence] [prose]
 *   without edits  a line `NO-CHANGE: reason` for BODY, or `"reason": "…"` beside an empty list of edits
 *
 * Prose before the first line of the format's grammar and after the marker or the JSON object is left out. Where another edit follows, that
 * was not the end. Fences (text/fence.ts) stay with the body for the format's reader; one that is not closed means that the answer was cut.
 */
import { BODY, formatIn, JSON_CANDIDATES, openingOf, Outside, withoutIndent } from './detect.js';
import { holdsCall } from './calls/arguments.js';
import { closesFence, type Fence, isBareFence } from './text/fence.js';
import { type Json, type JsonRead, isJsonObject, readJson } from './text/json.js';
import type { Reason } from './types.js';
import type { AnswerFormat } from '../shared/formats.js';

const MARKER_TAIL_CHARS = 1_000; // bound: Of an answer's end this much is looked through for its marker.

/** The body of an answer after its marker was looked for. */
export interface FoundMarker {
  readonly body: string;
  /** Lines of the answer that stand before the body and were taken off. */
  readonly linesBefore?: number;
  /** `right`: present, with the right nonce. */
  readonly marker: 'right' | 'missing' | 'wrong';
  /** Files and edits that the marker counts, where it does; a reader whose counts differ answers `invalid` (`marker_counts`). */
  readonly counts?: { readonly files: number; readonly edits: number };
  /** Why nothing is to change, as the answer says it; it counts where the answer holds no edit. */
  readonly noChange?: string | undefined;
  /** A fence around the answer is not closed. */
  readonly openFence: boolean;
  /** What looks like an edit and stands before the answer. */
  readonly stray?: Reason | null;
  /** What was left out, and why the marker is not right. */
  readonly notes: readonly Reason[];
}

/** What looks like more of the answer behind its object: a bracket or a key. */
const JSON_LINE = /^[ \t]*(?:[{[]|"\w+"[ \t]*:)/m;

/** An object in the answer, without the fence and the prose behind it. */
interface Candidate extends Omit<FoundMarker, 'marker'> {
  readonly read: JsonRead;
  /** Nothing but white space and prose stands behind the object. */
  readonly ended: boolean;
}

export const findJsonMarker = (answer: string, nonce: string | undefined): FoundMarker => {
  const candidate = choose(answer);
  if (candidate === null) {
    const notes = [{ code: 'marker_missing', message: 'The answer contains no JSON object.' }];
    return { body: answer, marker: 'missing', openFence: false, notes };
  }
  const { read, ended, ...rest } = candidate;
  const last = read.kind === 'value' ? lastOf(read.value) : null;
  const said = isJsonObject(last) && typeof last.reason === 'string' ? last.reason.trim() : '';
  const found = { ...rest, noChange: said === '' ? undefined : said };
  const wrong = read.kind === 'value' && ended ? markerFault(read.value, nonce) : 'missing';
  // Of an object that cannot be read nobody knows how it ends; the reader says what is wrong with it.
  if (wrong === null || read.kind === 'broken') return { ...found, marker: wrong ?? 'right' };
  const asked = nonce === undefined ? '"complete": true' : `"complete": true, "nonce": "${nonce}"`;
  const message = `The object does not end in its last keys ${asked}, after the operations.`;
  return { ...found, marker: wrong, notes: [...found.notes, { code: `marker_${wrong}`, message }] };
};

/** The object that ends the answer. */
const lastOf = (value: Json): Json =>
  Array.isArray(value) ? ((value as readonly Json[]).at(-1) ?? null) : value;

/** Where an object or a list of objects may begin. */
const JSON_START =
  /^[ \t]*(?:\[TOOL_CALLS\]|<\|[^|>\n]{1,60}\|>|functions\.\w{1,60}:\d{1,4})*(?=\{|\[\s*\{)/gm;
/** Tokens that the templates of some models put around calls, and that stay in the text. */
const TOKENS = /^(?:[ \t]*<\|[^|>\n]{1,60}\|>)+[ \t]*$/;
const EDIT_KEYS = ['operations', 'needs_lines', 'type', 'edits', 'old_string', 'old_str', 'search'];
const isEdit = (value: Json | undefined): boolean =>
  Array.isArray(value)
    ? isEdit((value as readonly Json[])[0])
    : isJsonObject(value) && (EDIT_KEYS.some((key) => key in value) || holdsCall(value));

type Edit = Readonly<{ from: number; read: Extract<JsonRead, { kind: 'value' }> }>;

/** Several objects or lists that say edits, prose between them or not, are one list in their order. */
const choose = (answer: string): Candidate | null => {
  const edits: Edit[] = [];
  let other: Candidate | null = null;
  let tried = 0;
  for (let from = startFrom(answer, 0); from >= 0 && tried < JSON_CANDIDATES;) {
    const read = readJson(answer, from);
    if (read.kind === 'open') return cut(answer, from, read, edits);
    const isOne = read.kind === 'value' && isEdit(read.value);
    if (isOne) edits.push({ from, read });
    else if (edits.length === 0) {
      const candidate = cut(answer, from, read, []);
      if (candidate.ended) return candidate;
      other ??= candidate;
    }
    if (!isOne) tried += 1;
    from = startFrom(answer, isOne ? read.end : from + 1);
  }
  const last = edits.pop();
  if (last === undefined) return other;
  const candidate = cut(answer, last.from, last.read, edits);
  if (edits.length === 0) return candidate;
  const [first = last] = edits;
  let [list, at] = ['', first.from];
  for (const { from, read } of [...edits, last]) {
    list += `${list === '' ? '[' : ','}${lineEnds(answer.slice(at, from))}${answer.slice(from, read.end)}`;
    at = read.end;
  }
  const rest = candidate.body.slice(last.read.end - last.from);
  return {
    ...candidate,
    linesBefore: lineEnds(answer.slice(0, first.from)).length,
    body: `${list}]${rest}`,
  };
};

const lineEnds = (text: string): string => '\n'.repeat(text.split('\n').length - 1);

const startFrom = (answer: string, from: number): number => {
  JSON_START.lastIndex = from;
  const match = JSON_START.exec(answer);
  return match === null ? (from === 0 ? answer.indexOf('{"') : -1) : match.index + match[0].length;
};

/** What stands before `from`, with the edits taken out of it; lines keep their numbers. */
const between = (answer: string, from: number, edits: readonly Edit[]): string => {
  let [text, at] = ['', 0];
  for (const edit of edits) {
    const ahead = answer.slice(at, edit.from).replace(/(?<![ \t])[ \t]+$/, '');
    text += ahead + BODY + lineEnds(answer.slice(edit.from, edit.read.end));
    at = edit.read.end;
  }
  return text + answer.slice(at, from);
};

/** The value at `from`, with what stands round it; `edits`: those that stand before it. */
const cut = (answer: string, from: number, read: JsonRead, edits: readonly Edit[]): Candidate => {
  const { opening, hasProse, stray } = before(between(answer, from, edits));
  const rest = answer.slice(read.kind === 'value' ? read.end : from);
  const [sameLine = '', ...behind] = rest.split('\n');
  const closing = behind.findIndex((line) =>
    read.kind === 'value' ? line.trim() !== '' : isBareFence(line),
  );
  const isClosed =
    opening === null ? isBareFence(behind[closing]) : closesFence(behind[closing], opening);
  const prose = (isClosed ? behind.slice(closing + 1) : behind).join('\n');
  const openFence = opening !== null && !isClosed;
  const ended =
    (!openFence || prose.trim() === '') &&
    read.kind === 'value' &&
    (sameLine.trim() === '' || TOKENS.test(sameLine)) &&
    !JSON_LINE.test(prose) &&
    !holdsEdit(prose);
  const body = ended && !openFence ? answer.slice(from, read.end) : answer.slice(from);
  const notes: Reason[] = [];
  if (hasProse)
    notes.push({ code: 'prose_before', message: 'Text before the JSON object was ignored.' });
  if (read.kind === 'value' && read.isLoose) {
    const message =
      'The JSON has commas, comments, words or line endings that JSON does not allow.';
    notes.push({ code: 'json_loose', message });
  }
  if (ended && prose.trim() !== '')
    notes.push({ code: 'prose_after', message: 'Text after the JSON object was ignored.' });
  return {
    body,
    linesBefore: lineEnds(answer.slice(0, from)).length,
    openFence,
    notes,
    stray,
    read,
    ended,
  };
};

const markerFault = (said: Json, nonce: string | undefined): 'missing' | 'wrong' | null => {
  const value = lastOf(said);
  if (!isJsonObject(value) || value.complete === undefined) return 'missing';
  const keys = Object.keys(value);
  const operations = keys.indexOf('operations');
  const after = (key: string): boolean => keys.indexOf(key) > operations;
  if (value.complete !== true || !after('complete')) return 'wrong';
  if (nonce === undefined) return null;
  return value.nonce === nonce && after('nonce') ? null : 'wrong';
};

const MARKER_WORD = 'EMEND-COMPLETE';
const MARKER = /^EMEND-COMPLETE(?: (\S+))? (\d{1,9}) (\d{1,9})[ \t\r]*$/m;
const NO_CHANGE = /^NO-CHANGE:[ \t]*(\S.*)$/m;
export const findMarker = (
  format: AnswerFormat,
  given: string,
  nonce: string | undefined,
): FoundMarker => {
  const answer = withoutIndent(given);
  if (format === 'structured-edit' || format === 'string-replace')
    return findJsonMarker(answer, nonce);
  const notes: Reason[] = [];
  // What names the file of a block or a hunk looks like any line, so nothing before it is left out as prose.
  const opening = openingOf(format, answer);
  const isNamed =
    format !== 'search-blocks' && !/^(?:FIND|@@)/.test(answer.slice(opening, opening + 4));
  const starts = isNamed ? [opening, answer.search(MARKER)] : [];
  const [begin = 0] = starts.filter((at) => at >= 0).sort((a, b) => a - b);
  const { head, hasProse, stray } = before(answer.slice(0, begin));
  if (hasProse)
    notes.push({ code: 'prose_before', message: 'Text before the answer was ignored.' });
  const found = lastMarker(answer, begin);
  const said = answer.slice(0, found?.start);
  const [, reason] = NO_CHANGE.exec(said) ?? [];
  const noChange = reason !== undefined && before(said).stray === null ? reason.trim() : undefined;
  const rest = { noChange, openFence: false, notes, stray };
  if (found === null) {
    notes.push({
      code: 'marker_missing',
      message: `The answer does not end in its last line ${expected(nonce)}.`,
    });
    return { ...rest, body: head + answer.slice(begin), marker: 'missing' };
  }
  const { match, fence, hasProse: proseAfter } = found;
  if (proseAfter)
    notes.push({ code: 'prose_after', message: 'Text after the answer was ignored.' });
  const right = match[1] === nonce;
  const message = `The last line is not ${expected(nonce)}, with the code of this request.`;
  if (!right) notes.push({ code: 'marker_wrong', message });
  // White-space lines before the marker stay: the last context line of a diff may be a blank one.
  const body = head + answer.slice(begin, Math.max(begin, found.start - 1)) + fence;
  const counts = { files: Number(match[2]), edits: Number(match[3]) };
  return { ...rest, body, marker: right ? 'right' : 'wrong', counts };
};

/** What stands before the answer as blank lines, so that lines keep their numbers, but for a fence that is open at its end. */
const before = (
  text: string,
): { head: string; opening: Fence | null; hasProse: boolean; stray: Reason | null } => {
  const outside = new Outside();
  const lines = text.split('\n');
  let opened = -1;
  for (const [at, line] of lines.entries()) {
    if (outside.take(at, line)) opened = outside.fences.open === null ? -1 : at;
    if (line === BODY) outside.belongs(at);
  }
  outside.belongs(lines.length);
  return {
    opening: outside.fences.open,
    stray: outside.stray(0),
    head: lines.map((line, at) => (at === opened ? line : '')).join('\n'),
    hasProse: lines.some((line, at) => at !== opened && line.trim() !== '' && line !== BODY),
  };
};

/** Returns whether the text contains what looks like an edit in any format. */
export const holdsEdit = (text: string): boolean =>
  formatIn(text) !== null || before(text).stray !== null;

/** The last marker line from `from` on, if no edit follows it; `fence`: the one that stands after it, with the line end before. */
const lastMarker = (
  answer: string,
  from: number,
): { start: number; match: RegExpExecArray; fence: string; hasProse: boolean } | null => {
  for (let at = answer.length; ;) {
    at = answer.lastIndexOf(`\n${MARKER_WORD}`, at - 1);
    const start = at < from ? from : at + 1;
    const stop = answer.indexOf('\n', start);
    const end = stop < 0 ? answer.length : stop;
    const match = MARKER.exec(answer.slice(start, end));
    if (match !== null) {
      const [first = '', ...rest] = answer.slice(end).trim().split('\n');
      const fence = isBareFence(first) ? `\n${first}` : '';
      const prose = (fence === '' ? [first, ...rest] : rest).join('\n');
      return holdsEdit(prose) ? null : { start, match, fence, hasProse: prose.trim() !== '' };
    }
    if (at < from || at === 0) return null;
  }
};

const expected = (nonce: string | undefined): string =>
  `\`EMEND-COMPLETE ${nonce === undefined ? '' : `${nonce} `}<files> <edits>\``;

/** The nonce of the marker line of an answer without thinking (text formats), so that an answer kept from a run can be read again. Undefined: it has none. */
export const nonceIn = (answer: string): string | undefined =>
  answer
    .slice(-MARKER_TAIL_CHARS)
    .split('\n')
    .map((line) => MARKER.exec(line.trimEnd())?.[1])
    .findLast((nonce) => nonce !== undefined);
