/**
 * Finds the completeness marker and takes it off the answer.
 *
 *   text formats   [prose] [```lang] BODY [```] `EMEND-COMPLETE <nonce> <files> <edits>` [```]
 *   JSON           [prose] [```json] { …, "complete": true, "nonce": "…" } [```]
 *
 * The marker is the end: after it only white space may follow, and the closing fence of a fence that was opened round the answer. An
 * opened fence that is not closed means that the answer was cut. Prose before the first line of the format's grammar is left out.
 */
import type { AnswerFormat } from '../shared/formats.js';
import { findJsonMarker } from './marker-json.js';
import type { MarkedBody, Reason } from './types.js';

export interface FoundMarker extends MarkedBody {
  /** A fence round the answer was opened and not closed. */
  readonly openFence: boolean;
  /** What was left out, and why the marker is not right. */
  readonly notes: readonly Reason[];
}

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
  const lines = answer.split('\n');
  const notes: Reason[] = [];
  let end = lastTextLine(lines, lines.length);
  const first = lines.findIndex((line) => firstLine.test(line) || MARKER.test(line));
  const begin = first < 0 ? 0 : first;
  const fenceLine = lastTextLine(lines, begin) - 1;
  const opening = OPENING_FENCE.exec(lines[fenceLine] ?? '')?.[1];
  if (lines.slice(0, begin).some((line, at) => line.trim() !== '' && (at !== fenceLine || opening === undefined)))
    notes.push({ code: 'prose_before', message: 'Text before the answer was left out.' });

  let closed = opening === undefined;
  let text = end;
  if (opening !== undefined && text > begin && closes(lines[text - 1], opening)) {
    closed = true;
    end = text - 1;
    text = lastTextLine(lines, end);
  }
  const match = text > begin ? MARKER.exec(lines[text - 1] ?? '') : null;
  if (match === null) {
    notes.push({ code: 'marker_missing', message: `The answer does not end in its last line ${expected(nonce)}.` });
    return {
      body: lines.slice(begin, closed && opening !== undefined ? end : undefined).join('\n'),
      marker: 'missing',
      openFence: !closed,
      notes,
    };
  }
  // White-space lines before the marker stay: the last context line of a diff may be a blank one.
  end = text - 1;
  text = lastTextLine(lines, end);
  if (opening !== undefined && !closed && text > begin && closes(lines[text - 1], opening)) {
    closed = true;
    end = text - 1;
  }
  const right = match[1] === nonce;
  if (!right)
    notes.push({
      code: 'marker_wrong',
      message: `The last line is not ${expected(nonce)}, with the code of this request.`,
    });
  return {
    body: lines.slice(begin, end).join('\n'),
    marker: right ? 'right' : 'wrong',
    counts: { files: Number(match[2]), edits: Number(match[3]) },
    openFence: !closed,
    notes,
  };
};

const expected = (nonce: string | undefined): string =>
  `\`EMEND-COMPLETE ${nonce === undefined ? '' : `${nonce} `}<files> <edits>\``;

/** Number of lines up to the last that holds more than white space, of the first `count`. */
const lastTextLine = (lines: readonly string[], count: number): number => {
  let last = count;
  while (last > 0 && (lines[last - 1] ?? '').trim() === '') last -= 1;
  return last;
};
