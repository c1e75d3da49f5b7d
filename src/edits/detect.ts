/** What an answer says of itself, for callers that did not ask for it: its format, and the nonce of its marker lines. */
import type { AnswerFormat } from '../shared/formats.js';

const MARKER_TAIL_CHARS = 1_000; // bound: Of an answer's end this much is looked through for its marker.

/** The line that each text format begins with; a diff without its `---` and `+++` names no file. */
const OPENINGS: readonly (readonly [AnswerFormat, RegExp])[] = [
  ['begin-patch', /^\*\*\* Begin Patch[ \t\r]*$/m],
  ['unified-diff', /^(?:diff --(?:git|cc|combined) \S|--- [^\n]*\n\+\+\+ |@@ -\d)/m],
  ['search-replace', /^(?:FILE: \S|FIND(?: @?\d+)?:[ \t\r]*$)/m],
  ['search-blocks', /^<{5,9} SEARCH[ \t\r]*$/m],
  ['whole-file', /^(?:FILE|DELETE) \S/m],
];
const JSON_OPENING = /^[ \t]*\{/m;
/** The keys by which the two JSON formats are told apart: whichever comes first in the object. */
const JSON_KEY = /"(operations|old_string|new_string|edits)"\s*:/;

/**
 * The format of an answer, by the line that opens it: where several formats could, the one that opens first (what it quotes comes
 * later). Null: none is found. Formats that nobody can tell from prose are not guessed.
 */
export const detectFormat = (answer: string): AnswerFormat | null => {
  const found: [number, AnswerFormat][] = OPENINGS.flatMap(([format, opening]): [number, AnswerFormat][] => {
    const at = answer.search(opening);
    return at < 0 ? [] : [[at, format]];
  });
  const json = jsonFormat(answer);
  if (json !== null) found.push(json);
  return found.sort(([a], [b]) => a - b)[0]?.[1] ?? null;
};

const jsonFormat = (answer: string): [number, AnswerFormat] | null => {
  const own = answer.search(JSON_OPENING);
  const at = own >= 0 ? own : answer.indexOf('{"');
  const key = at < 0 ? null : JSON_KEY.exec(answer.slice(at));
  if (key === null) return null;
  return [at, key[1] === 'operations' ? 'structured-edit' : 'string-replace'];
};

const MARKER = /^EMEND-COMPLETE (\S+) \d{1,9} \d{1,9}$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})$/;

/** The nonce of an answer's marker line (text formats), so that an answer kept from a run can be read again. Undefined: it has none. */
export const nonceOf = (answer: string): string | undefined =>
  answer
    .slice(-MARKER_TAIL_CHARS)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !FENCE.test(line))
    .at(-1)
    ?.match(MARKER)?.[1];
