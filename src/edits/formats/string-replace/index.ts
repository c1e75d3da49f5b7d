/**
 * string-replace, a dialect that other tools taught models: substrings, as JSON.
 *
 *   EDIT   = { "file_path": "…", "old_string": "…", "new_string": "…" [, "replace_all": true ] }
 *   answer = PART / several of them / [ PART, … ], in order
 *   PART   = EDIT / { "file_path": "…", "edits": [ EDIT, … ] }        (an edit's own `file_path` goes before the outer one)
 *
 * with the marker's keys `complete` and `nonce` last. `path`, `file` or `filename` may stand for `file_path`, `old_str` or `search` for `old_string`,
 * `new_str` or `replace` for `new_string`. `old_string` is any part of the text as the edits before left it, with LF as line
 * end whatever the file has, and must stand there exactly once, or with `replace_all` at least once. An empty one creates a file that
 * does not exist. An edit whose two strings are the same is skipped, unless it
 * stands nowhere, others change the file, and the file is not known to be the one that the answer was made for. Tolerances: earlier_block; without `replace_all` trailing_space and
 * lookalikes (string-replace/loose.ts); CRLF and LF are the same anyway. Edits, for the marker: edits.
 */
import type { FilePlan } from '../../text/changes.js';
import type { Tolerance } from '../../../shared/formats.js';
import { lookUp } from '../../paths.js';
import { isKnownBase, toleranceOn } from '../../locate/likeness.js';
import { copyOf, describeNearest, nearest, sameEnds } from '../../locate/nearest.js';
import { isJsonObject, type Json, PATH_NAMES, readJson } from '../../text/json.js';
import { carried, loosePlaces } from './loose.js';
import { answerLines } from '../../text/codec.js';
import type { ApplyOptions, FormatContext, FormatModule, Reading, Reason, UsedTolerance } from '../../types.js';

export const STRING_EDITS = 1_000; // bound: Edits of one string-replace answer: each passes over the text once more.
export const LOOSE_STRINGS = 100; // bound: Strings of an answer that are looked for by a tolerance: each costs a pass over the file.
export const PLACES_REPORTED = 50; // bound: Places of a text that is there several times, named in its refusal.

const TOP_KEYS = ['file_path', 'edits', 'complete', 'nonce', 'summary'];
const EDIT_KEYS = ['file_path', 'old_string', 'new_string', 'replace_all'];

/** Other tools' names of the keys. */
const OTHER_KEYS: ReadonlyMap<string, string> = new Map([
  ...PATH_NAMES.map((key) => [key, 'file_path'] as const),
  ...['old_str', 'search'].map((key) => [key, 'old_string'] as const),
  ...['new_str', 'replace'].map((key) => [key, 'new_string'] as const),
]);

/** The same object with our keys; one that is there under both names keeps its own, which nothing then knows. */
const renamed = (value: Json): Json => {
  if (!isJsonObject(value)) return value;
  const taken = new Set(Object.keys(value));
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    const name = OTHER_KEYS.get(key);
    if (name === undefined || taken.has(name)) return [key, item];
    taken.add(name);
    return [name, item];
  });
  return Object.fromEntries(entries);
};

interface StringEdit {
  readonly index: number;
  readonly path: string;
  readonly old: string;
  readonly now: string;
  readonly all: boolean;
}

export const stringReplace: FormatModule = {
  format: 'string-replace',
  read: (body, context) => {
    const edits = readEdits(body);
    if ('kind' in edits) return { reading: edits, files: 0, edits: 0 };
    const files = new Set(edits.map((edit) => edit.path)).size;
    return { reading: applyAll(edits, context), files, edits: edits.length };
  },
};

const invalid = (code: string, message: string, index?: number, open = false): Reading => ({
  kind: 'invalid',
  open,
  reasons: [{ code, ...(index === undefined ? {} : { index }), message }],
});

const readEdits = (body: string): readonly StringEdit[] | Reading => {
  const json = readJson(body);
  if (json.kind === 'open')
    return invalid(
      `cut_inside_${json.inside}`,
      `The JSON ends inside a ${json.inside}. Send the whole answer.`,
      undefined,
      true,
    );
  if (json.kind === 'broken') return invalid('not_json', `The answer is not one JSON object: ${json.message}.`);
  if (body.slice(json.end).trim() !== '') return invalid('not_json', 'Text follows after the JSON object.');
  const parts = Array.isArray(json.value) ? (json.value as readonly Json[]).flat() : [json.value];
  const edits: StringEdit[] = [];
  for (const part of parts.map(renamed)) {
    const read = readPart(part, edits.length);
    if ('kind' in read) return read;
    edits.push(...read);
  }
  return edits.length === 0 ? invalid('no_edits', 'The answer holds no edit.') : edits;
};

/** One object of the answer: an edit, or a file's edits. `first`: the edits before it. */
const readPart = (value: Json, first: number): readonly StringEdit[] | Reading => {
  if (!isJsonObject(value)) return invalid('not_an_object', 'The answer is not a JSON object, nor a list of them.');
  const items: Json = 'edits' in value ? (value.edits ?? null) : [value];
  if (!Array.isArray(items)) return invalid('no_operations', '`edits` is not an array.');
  const count = first + items.length;
  if (count > STRING_EDITS)
    return invalid('too_many_edits', `The answer holds ${count} edits; at most ${STRING_EDITS} are read.`);
  const allowed = 'edits' in value ? TOP_KEYS : [...EDIT_KEYS, ...TOP_KEYS];
  const stranger = Object.keys(value).find((key) => !allowed.includes(key));
  if (stranger !== undefined)
    return invalid('unknown_key', `The object has the unknown key ${JSON.stringify(stranger)}.`);
  const edits: StringEdit[] = [];
  for (const [at, item] of (items as readonly Json[])
    .map((each) => (each === value ? each : renamed(each)))
    .entries()) {
    const index = first + at;
    if (!isJsonObject(item)) return invalid('wrong_type', 'The edit is not an object.', index);
    const unknown = item === value ? undefined : Object.keys(item).find((key) => !EDIT_KEYS.includes(key));
    if (unknown !== undefined)
      return invalid(
        'unknown_key',
        `An edit has no key ${JSON.stringify(unknown)}; it has ${EDIT_KEYS.join(', ')}.`,
        index,
      );
    const path = item.file_path ?? value.file_path;
    const { old_string: old, new_string: now, replace_all: all = false } = item;
    if (typeof path !== 'string' || path === '') return invalid('missing_key', 'The edit needs `file_path`.', index);
    if (typeof old !== 'string' || typeof now !== 'string')
      return invalid('missing_key', 'The edit needs `old_string` and `new_string`, both strings.', index);
    if (typeof all !== 'boolean') return invalid('wrong_type', '`replace_all` must be true or false.', index);
    const lf = (text: string): string => text.replaceAll('\r\n', '\n');
    edits.push({ index, path, old: lf(old), now: lf(now), all });
  }
  return edits;
};

/** A file's text while the edits go over it; `made` are the stretches that edits made, in order. */
interface Draft {
  text: string | null;
  made: readonly (readonly [number, number])[];
  /** How often a tolerance was looked for. */
  loose: number;
}

const applyAll = (edits: readonly StringEdit[], context: FormatContext): Reading => {
  const drafts = new Map<string, Draft>();
  const tolerances: UsedTolerance[] = [];
  const notes: Reason[] = [];
  const reasons: Reason[] = [];
  const unsure: Reason[] = [];
  for (const edit of edits) {
    const found = lookUp(edit.path, context, edit.index);
    if (!found.ok) {
      reasons.push(found.reason);
      continue;
    }
    const { path } = found;
    const base = found.file.text;
    const draft = drafts.get(path) ?? {
      text: base === null ? null : joined(base.lines, base.ends.at(-1) ?? ''),
      made: [],
      loose: 0,
    };
    drafts.set(path, draft);
    const { index } = edit;
    const used = (tolerance: Tolerance, line: number): number => tolerances.push({ tolerance, path, index, line });
    const fault = applyOne(edit, draft, used, { path, options: context.options });
    if (fault === null) continue;
    const { absent, ...said } = fault;
    (said.code === 'no_change' ? notes : reasons).push({ ...said, path, index });
    if (absent !== undefined) unsure.push({ code: 'find_absent', path, index, message: absent });
  }
  reasons.push(...unsure.filter(({ path }) => (drafts.get(path ?? '')?.made.length ?? 0) > 0));
  if (reasons.length > 0) return { kind: 'refused', reasons };
  const plans = [...drafts].flatMap(([path, { text, made }]): FilePlan[] =>
    text === null || made.length === 0 ? [] : [{ kind: 'lines', path, lines: answerLines(text) }],
  );
  return { kind: 'plans', plans, tolerances, notes };
};

const joined = (lines: readonly string[], lastEnd: string): string =>
  lines.join('\n') + (lines.length > 0 && lastEnd !== '' ? '\n' : '');

/** `absent`: why an edit that asks for nothing is refused beside others that change its file. */
type Fault = (Pick<Reason, 'code' | 'message' | 'copy'> & { readonly absent?: string }) | null;

const SAME = '`old_string` and `new_string` are the same.';
const NOT_THERE =
  '`old_string` and `new_string` are the same, and stand nowhere in the file, so that the answer may have been made for another state of it. Leave this edit out if nothing is to change here, else send `old_string` exactly as the file has it.';

/** Does the text hold the string, be it in other white space, or by a tolerance? */
const quotes = (old: string, draft: Draft, text: string, options: ApplyOptions): boolean => {
  if (text.includes(old)) return true;
  if (draft.loose >= LOOSE_STRINGS) return false;
  draft.loose += 1;
  const plain = (each: string): string => each.replace(/\s/g, '');
  return loosePlaces(text, old, options.tolerances, 1) !== null || plain(text).includes(plain(old));
};

const applyOne = (
  edit: StringEdit,
  draft: Draft,
  used: (tolerance: Tolerance, line: number) => void,
  { path, options }: { readonly path: string; readonly options: ApplyOptions },
): Fault => {
  const { old, now, all } = edit;
  const { text } = draft;
  if (old === '') {
    if (text !== null)
      return {
        code: 'file_exists',
        message: '`old_string` is empty, which creates a file, but the file exists. Quote text of the file.',
      };
    draft.text = now;
    draft.made = [[0, now.length]];
    return null;
  }
  if (text === null)
    return { code: 'target_absent', message: 'The file does not exist. Leave `old_string` empty to create it.' };
  if (old === now) {
    const known = isKnownBase(path, options) || quotes(old, draft, text, options);
    return { code: 'no_change', message: SAME, ...(known ? {} : { absent: NOT_THERE }) };
  }
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  let places: number[] = [];
  let [quoted, put] = [old, now];
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + (all ? old.length : 1))) {
    places.push(at);
    if (!all && places.length > PLACES_REPORTED) break;
  }
  // A tolerance is used in one place only, so not for all of them.
  const seeks = places.length === 0 && !all && draft.loose < LOOSE_STRINGS;
  if (seeks) draft.loose += 1;
  const loose = seeks ? loosePlaces(text, old, options.tolerances, PLACES_REPORTED + 1) : null;
  if (loose !== null) {
    const [[from, to] = [0, 0]] = loose.places;
    places = loose.places.map(([at]) => at);
    quoted = text.slice(from, to);
    put = carried(old, quoted, now);
    if (places.length === 1) used(loose.tolerance, lineOf(from));
  }
  if (places.length === 0) {
    const near = nearest(text.split('\n'), answerLines(old));
    return {
      code: 'find_absent',
      message: `\`old_string\` stands nowhere in the file. ${describeNearest(near)} Send it exactly as the file has it.`,
      ...copyOf(near),
    };
  }
  if (!all && places.length > 1) {
    const lines = places.slice(0, PLACES_REPORTED).map(lineOf).join(', ');
    return {
      code: 'find_repeated',
      message: `\`old_string\` stands in several places: at lines ${lines}${places.length > PLACES_REPORTED ? ' and more' : ''}. Quote more of the text round it until it stands once, or say \`"replace_all": true\`.`,
    };
  }
  const onMade = places.find((at) => draft.made.some((made) => needs(at, at + quoted.length, made)));
  if (onMade !== undefined) {
    if (!toleranceOn('earlier_block', options.tolerances))
      return {
        code: 'earlier_block',
        message:
          '`old_string` needs text that an earlier edit made. Quote the file as it was shown, and join the two edits.',
      };
    used('earlier_block', lineOf(onMade));
  }
  replaceAt(draft, text, places, { old: quoted, now: put });
  return null;
};

/** Does the text [from, to) need a stretch that an edit made, or the seam that a deletion left? */
const needs = (from: number, to: number, [start, end]: readonly [number, number]): boolean =>
  start === end ? from < start && start < to : from < end && start < to;

const replaceAt = (
  draft: Draft,
  text: string,
  places: readonly number[],
  { old, now }: Pick<StringEdit, 'old' | 'now'>,
): void => {
  const parts: string[] = [];
  const fresh: [number, number][] = [];
  const [head, tail] = sameEnds(old, now);
  let at = 0;
  for (const [i, place] of places.entries()) {
    parts.push(text.slice(at, place), now);
    const from = place + i * (now.length - old.length);
    fresh.push([from + head, from + now.length - tail]);
    at = place + old.length;
  }
  parts.push(text.slice(at));
  // Stretches made before move by what the new replacements before them added.
  let passed = 0;
  const moved = draft.made.map(([from, to]): [number, number] => {
    while (passed < places.length && (places[passed] ?? 0) < from) passed += 1;
    const shift = passed * (now.length - old.length);
    return [from + shift, to + shift];
  });
  draft.text = parts.join('');
  draft.made = [...moved, ...fresh].sort((a, b) => a[0] - b[0]);
};
