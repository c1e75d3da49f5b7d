/**
 * Finds the completeness marker and takes it off the answer.
 *
 *   text formats   [prose] [```lang] BODY [```] `EMEND-COMPLETE <nonce> <files> <edits>` [```]
 *   JSON           [prose] [```json] { …, "complete": true, "nonce": "…" } [```]
 *
 * The marker is the end: after it only white space may follow, and the closing fence of a fence that was opened round the answer. An
 * opened fence that is not closed means that the answer was cut. Prose before the first line of the format's grammar is left out.
 */
import { type Json, type JsonRead, isJsonObject, readJson } from './text/json.js';
import type { Reason, MarkedBody } from './types.js';
import type { AnswerFormat } from '../shared/formats.js';

export const JSON_CANDIDATES = 20; // bound: Places where a JSON object may begin: prose before it may hold braces of its own.

// The completeness marker of a JSON answer: `complete: true` and the nonce, after the operations, in a text that ends there.

export interface FoundMarker extends MarkedBody {
  /** A fence round the answer was opened and not closed. */
  readonly openFence: boolean;
  /** What was left out, and why the marker is not right. */
  readonly notes: readonly Reason[];
}

interface Candidate {
  /** From the brace to the end, without the closing fence. */
  readonly body: string;
  readonly openFence: boolean;
  readonly read: JsonRead;
  readonly from: number;
  readonly proseBefore: boolean;
}

export const findJsonMarker = (answer: string, nonce: string | undefined): FoundMarker => {
  const candidate = choose(answer);
  if (candidate === null)
    return {
      body: answer,
      marker: 'missing',
      openFence: false,
      notes: [{ code: 'marker_missing', message: 'The answer holds no JSON object.' }],
    };
  const notes: Reason[] = candidate.proseBefore
    ? [{ code: 'prose_before', message: 'Text before the JSON object was left out.' }]
    : [];
  const { body, openFence, read } = candidate;
  const wrong = read.kind === 'value' && ended(candidate) ? markerFault(read.value, nonce) : 'missing';
  // Of an object that cannot be read nobody knows how it ends; the reader says what is wrong with it.
  if (wrong !== null && read.kind !== 'broken') {
    const asked = nonce === undefined ? '"complete": true' : `"complete": true, "nonce": "${nonce}"`;
    notes.push({
      code: `marker_${wrong}`,
      message: `The object does not end in its last keys ${asked}, after the operations.`,
    });
  }
  return { body, marker: wrong ?? 'right', openFence, notes };
};

const choose = (answer: string): Candidate | null => {
  const starts = [...answer.matchAll(/^[ \t]*\{/gm)].slice(0, JSON_CANDIDATES).map((m) => m.index + m[0].length - 1);
  const inline = answer.indexOf('{"');
  if (starts.length === 0 && inline >= 0) starts.push(inline);
  let first: Candidate | null = null;
  for (const from of starts) {
    const candidate = cut(answer, from);
    if (candidate.read.kind === 'open' || ended(candidate)) return candidate;
    first ??= candidate;
  }
  return first;
};

const cut = (answer: string, from: number): Candidate => {
  const before = answer.slice(0, from).trimEnd();
  const fence = /(?:^|\n) {0,3}(`{3,}|~{3,})[^`\n]*$/.exec(before);
  const opening = fence?.[1];
  const proseBefore = before.slice(0, fence?.index ?? before.length).trim() !== '';
  if (opening === undefined)
    return { body: answer.slice(from), openFence: false, read: readJson(answer, from), from, proseBefore };
  const closing = /\n {0,3}(`{3,}|~{3,})\s*$/.exec(answer);
  const isClosed = closing !== null && closing.index > from && closing[1]?.startsWith(opening) === true;
  const body = answer.slice(from, isClosed ? closing.index : answer.length);
  return { body, openFence: !isClosed, read: readJson(answer, from), from, proseBefore };
};

/** Is there nothing but white space after the value? */
const ended = ({ read, from, body }: Candidate): boolean =>
  read.kind === 'value' && body.slice(read.end - from).trim() === '';

const markerFault = (value: Json, nonce: string | undefined): 'missing' | 'wrong' | null => {
  if (!isJsonObject(value) || value.complete === undefined) return 'missing';
  const keys = Object.keys(value);
  const operations = keys.indexOf('operations');
  const after = (key: string): boolean => keys.indexOf(key) > operations;
  if (value.complete !== true || !after('complete')) return 'wrong';
  if (nonce === undefined) return null;
  return value.nonce === nonce && after('nonce') ? null : 'wrong';
};

/** The first line of each text format's grammar: what stands before it is prose. */
const FIRST_LINE = {
  'whole-file': /^(FILE|DELETE) \S/,
  'unified-diff': /^(diff --(git|cc|combined) |--- |@@ -\d)/,
  'search-replace': /^(FILE: |FIND(\s+@?\d+)?:\s*$)/,
  // The path before a block looks like any line, so nothing is left out as prose here.
  'search-blocks': /^/,
  'begin-patch': /^\*\*\* Begin Patch\s*$/,
} as const;

const MARKER = /^EMEND-COMPLETE(?: (\S+))? (\d{1,9}) (\d{1,9})\s*$/;
const OPENING_FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;

/** Is `line` a closing fence for `opening` (as Markdown has it: same character, at least as long)? */
const closes = (line: string | undefined, opening: string): boolean => {
  const fence = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line ?? '')?.[1];
  return fence?.startsWith(opening) ?? false;
};

export const findMarker = (format: AnswerFormat, answer: string, nonce: string | undefined): FoundMarker => {
  if (format === 'structured-edit' || format === 'string-replace') return findJsonMarker(answer, nonce);
  return findLineMarker(FIRST_LINE[format], answer, nonce);
};

const findLineMarker = (firstLine: RegExp, answer: string, nonce: string | undefined): FoundMarker => {
  const notes: Reason[] = [];
  const begin = firstLineWhere(answer, (line) => firstLine.test(line) || MARKER.test(line)) ?? 0;
  const fence = lastTextLine(answer, begin);
  const opening = OPENING_FENCE.exec(fence?.text ?? '')?.[1];
  if (answer.slice(0, opening === undefined ? begin : fence?.start).trim() !== '')
    notes.push({ code: 'prose_before', message: 'Text before the answer was left out.' });

  let last = lastTextLine(answer, answer.length, begin);
  /** Where the line begins that is no longer of the body; null: all is. */
  let end: number | null = null;
  if (opening !== undefined && closes(last?.text, opening)) {
    end = last?.start ?? begin;
    last = lastTextLine(answer, end, begin);
  }
  let closed = opening === undefined || end !== null;
  const match = MARKER.exec(last?.text ?? '');
  if (last === null || match === null) {
    notes.push({ code: 'marker_missing', message: `The answer does not end in its last line ${expected(nonce)}.` });
    return { body: linesOf(answer, begin, end), marker: 'missing', openFence: !closed, notes };
  }
  // White-space lines before the marker stay: the last context line of a diff may be a blank one.
  end = last.start;
  last = lastTextLine(answer, end, begin);
  if (opening !== undefined && !closed && closes(last?.text, opening)) {
    closed = true;
    end = last?.start ?? begin;
  }
  const right = match[1] === nonce;
  if (!right)
    notes.push({
      code: 'marker_wrong',
      message: `The last line is not ${expected(nonce)}, with the code of this request.`,
    });
  return {
    body: linesOf(answer, begin, end),
    marker: right ? 'right' : 'wrong',
    counts: { files: Number(match[2]), edits: Number(match[3]) },
    openFence: !closed,
    notes,
  };
};

const expected = (nonce: string | undefined): string =>
  `\`EMEND-COMPLETE ${nonce === undefined ? '' : `${nonce} `}<files> <edits>\``;

interface AnswerLine {
  /** Offset of its first character. */
  readonly start: number;
  readonly text: string;
}

/** Offset of the first line that `is` says so of. */
const firstLineWhere = (answer: string, is: (line: string) => boolean): number | null => {
  for (let start = 0; start <= answer.length;) {
    const stop = answer.indexOf('\n', start);
    const end = stop < 0 ? answer.length : stop;
    if (is(answer.slice(start, end))) return start;
    start = end + 1;
  }
  return null;
};

/** The last line before `upTo`, where a line begins, that holds more than white space; null: none from `from` on. */
const lastTextLine = (answer: string, upTo: number, from = 0): AnswerLine | null => {
  const last = answer.slice(0, upTo).trimEnd().length;
  if (last === 0) return null;
  const start = answer.lastIndexOf('\n', last - 1) + 1;
  if (start < from) return null;
  const stop = answer.indexOf('\n', last);
  return { start, text: answer.slice(start, stop < 0 ? answer.length : stop) };
};

/** The lines from `begin` to that before the one at `end`, the last without its end; null: to the end of the answer. */
const linesOf = (answer: string, begin: number, end: number | null): string =>
  end === null ? answer.slice(begin) : answer.slice(begin, Math.max(begin, end - 1));
