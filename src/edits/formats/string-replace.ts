/**
 * string-replace, a dialect that other tools taught models: substrings, as JSON (docs/formats.md says more).
 *
 *   EDIT   = { "file_path": "…", "old_string": "…", "new_string": "…" [, "replace_all": true ] }
 *   answer = PART / several of them / [ PART, … ], in order
 *   PART   = EDIT / { "file_path": "…", "edits": [ EDIT, … ] }      (an edit's own `file_path` goes before the outer one)
 *
 * with the marker's keys `complete` and `nonce` last; `"reason": "…"` where `edits` is empty. `old_string` is any part of the text as the edits before left it, with LF as line end
 * whatever the file has. Tolerances: earlier_block; without `replace_all` trailing_space and lookalikes. Edits, for the marker: edits.
 */
import type { FilePlan } from '../text/changes.js';
import { indexOf, indexOfLines, type LineIndex, NO_LINES, type Text } from '../text/lines.js';
import { withoutFence } from '../text/fence.js';
import type { Tolerance, ToleranceSettings } from '../../shared/formats.js';
import { lookUp } from '../paths.js';
import { carryLines, isKnownBase, toleranceOn } from '../locate/likeness.js';
import { copyOf, describeNearest, foldLookalikes, nearest, sameEnds } from '../locate/nearest.js';
import { isJsonObject, type Json, keyBeside, PATH_NAMES } from '../text/json.js';
import { lineOrigins } from '../text/line-diff.js';
import { withoutBom } from '../text/to-splices.js';
import { answerIndex, answerLines } from '../text/codec.js';
import { invalid, readJsonAnswer } from './reader.js';
import type {
  ApplyOptions,
  Fault,
  FormatContext,
  FormatModule,
  Reading,
  Reason,
  UsedTolerance,
} from '../types.js';

export const STRING_EDITS = 1_000; // bound: Edits of one string-replace answer: each passes over the text once more.
export const LOOSE_STRINGS = 100; // bound: Strings of an answer that are looked for by a tolerance: each costs a pass over the file.
export const PLACES_REPORTED = 50; // bound: Places of a text that is there several times, named in its refusal.

const TOP_KEYS = ['file_path', 'edits', 'complete', 'nonce', 'summary', 'reason'];
const EDIT_KEYS = ['file_path', 'old_string', 'new_string', 'replace_all'];
/** Other tools' names of the keys. */
const OTHER_NAMES = {
  file_path: PATH_NAMES,
  old_string: ['old_str', 'search'],
  new_string: ['new_str', 'replace'],
};
const OUR_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(OTHER_NAMES).flatMap(([ours, names]) => names.map((name) => [name, ours])),
);

interface StringEdit {
  readonly index: number;
  readonly path: string;
  readonly old: string;
  readonly now: string;
  readonly all: boolean;
}

export const stringReplace: FormatModule = {
  read: (body, context) => {
    const answer = readJsonAnswer(body, context);
    if ('kind' in answer) return { reading: answer, files: 0, edits: 0 };
    const items: Json[] = [];
    const edits = readEdits(answer.parts, items);
    const counts = 'kind' in edits ? [] : edits;
    const reading = 'kind' in edits ? edits : applyAll(edits, context);
    const files = new Set(counts.map(({ path }) => path)).size;
    return { reading: answer.withLines(reading, 'Edit', items), files, edits: counts.length };
  },
};

/** The same object with our keys, without another tool's `command`; a key that is there under both names keeps its own, which nothing then knows. */
const renamed = (value: Json): Json => {
  if (!isJsonObject(value)) return value;
  const taken = new Set(Object.keys(value));
  const own = Object.entries(value).filter(
    ([key, item]) => key !== 'command' || item !== 'str_replace',
  );
  const entries = own.map(([key, item]): [string, Json] => {
    const name = OUR_NAMES.get(key);
    if (name === undefined || taken.has(name)) return [key, item];
    taken.add(name);
    return [name, item];
  });
  return Object.fromEntries(entries);
};

/** Each part is an edit, or a file's edits. `items` takes what the answer says as edits, well or not. */
const readEdits = (parts: readonly Json[], items: Json[]): readonly StringEdit[] | Reading => {
  const edits: StringEdit[] = [];
  for (const part of parts) {
    const value = renamed(part);
    if (!isJsonObject(value))
      return invalid('not_an_object', 'The answer is neither a JSON object nor a list of them.');
    const isList = 'edits' in value;
    const own: Json = isList ? (value.edits ?? null) : [part];
    if (!Array.isArray(own)) return invalid('no_operations', '`edits` is not an array.');
    for (const item of own as readonly Json[]) items.push(item);
    if (items.length > STRING_EDITS)
      return invalid(
        'too_many_edits',
        `The answer contains ${items.length} edits; at most ${STRING_EDITS} are read.`,
      );
    const stranger = keyBeside(value, isList ? TOP_KEYS : [...EDIT_KEYS, ...TOP_KEYS]);
    if (stranger !== undefined)
      return invalid('unknown_key', `The object has the unknown key ${stranger}.`);
    for (const item of (own as readonly Json[]).map(renamed)) {
      const index = edits.length;
      const bad = (code: string, message: string): Reading => invalid(code, message, index);
      if (!isJsonObject(item)) return bad('wrong_type', 'The edit is not an object.');
      const unknown = isList ? keyBeside(item, EDIT_KEYS) : undefined;
      if (unknown !== undefined)
        return bad('unknown_key', `An edit has no key ${unknown}; it has ${EDIT_KEYS.join(', ')}.`);
      const path = item.file_path ?? value.file_path;
      const { old_string: old, new_string: now, replace_all: all = false } = item;
      if (typeof path !== 'string' || path === '')
        return bad('missing_key', 'The edit needs `file_path`.');
      if (typeof old !== 'string' || typeof now !== 'string')
        return bad('missing_key', 'The edit needs `old_string` and `new_string`, both strings.');
      if (typeof all !== 'boolean')
        return bad('wrong_type', '`replace_all` must be true or false.');
      edits.push({
        index,
        path,
        old: old.replaceAll('\r\n', '\n'),
        now: now.replaceAll('\r\n', '\n'),
        all,
      });
    }
  }
  return edits.length === 0 ? invalid('no_edits', 'The answer contains no edit.') : edits;
};

const applyAll = (edits: readonly StringEdit[], context: FormatContext): Reading => {
  const drafts = new Map<string, Draft>();
  const notes: Reason[] = [];
  const [reasons, unsure]: [Reason[], Reason[]] = [[], []];
  const tolerances: UsedTolerance[] = [];
  for (const edit of edits) {
    const { index } = edit;
    const found = lookUp(edit.path, context, index);
    if (!found.ok) {
      reasons.push(found.reason);
      continue;
    }
    const { path, file } = found;
    const base = file.text === null ? NO_LINES : indexOf(file.text);
    const [old, content] = file.hasBom
      ? [withoutBom(edit.old), withoutBom(edit.now)]
      : [edit.old, edit.now];
    const body = indexOfLines(content.split('\n'));
    const plain = withoutFence(path, body, base, true);
    if ('code' in plain) {
      reasons.push({ ...plain, path, index });
      continue;
    }
    if (plain !== body) tolerances.push({ tolerance: 'fenced_body', path, index });
    const now =
      plain === body ? content : plain.all.join('\n') + (content.endsWith('\n') ? '\n' : '');
    const draft =
      drafts.get(path) ?? new Draft(file.text, isKnownBase(path, context.options), context.options);
    drafts.set(path, draft);
    const fault = draft.apply({ ...edit, old, now }, (tolerance, line) =>
      tolerances.push({ tolerance, path, index, line }),
    );
    if (fault === null) continue;
    const { absent, ...said } = fault;
    (said.code === 'no_change' ? notes : reasons).push({ ...said, path, index });
    if (absent !== undefined) unsure.push({ code: 'find_absent', path, index, message: absent });
  }
  reasons.push(...unsure.filter(({ path }) => (drafts.get(path ?? '')?.made.length ?? 0) > 0));
  if (reasons.length > 0) return { kind: 'refused', reasons };
  const plans = [...drafts].flatMap(([path, { text, made }]): FilePlan[] =>
    text === null || made.length === 0 ? [] : [{ kind: 'lines', path, result: linesOf(text) }],
  );
  return { kind: 'plans', plans, tolerances, notes };
};

/** Lines end at LF alone: a carriage return before it is the last character of a line of the file. */
const linesOf = (text: string): LineIndex =>
  text.includes('\r\n') ? indexOfLines(text.replace(/\n$/, '').split('\n')) : answerIndex(text);

/** `absent`: why an edit that asks for nothing is refused beside others that change its file. */
type StringFault = Fault & { readonly absent?: string };

const SAME = '`old_string` and `new_string` are the same';
const SAME_AND_ABSENT = `${SAME}, and do not occur in the file, so the answer may be for another version of it. Omit this edit if nothing should change here, else send \`old_string\` exactly as in the file.`;
const NOT_EMPTY =
  '`old_string` is empty, which creates a file, but the file exists. Quote text of the file.';
const ON_EARLIER =
  '`old_string` needs text that an earlier edit wrote. Quote the file as it was shown, and join the two edits.';

/** [from, to) of a text. */
type Stretch = readonly [from: number, to: number];

/** A file's text while the edits go over it. */
class Draft {
  text: string | null;
  /** Stretches that edits made, in order. */
  made: readonly Stretch[] = [];
  #loose = 0; // So often a tolerance was looked for.
  readonly #known: boolean;
  readonly #settings: ToleranceSettings | undefined;

  constructor(base: Text | null, known: boolean, { tolerances }: ApplyOptions) {
    this.text =
      base === null ? null : base.lines.join('\n') + ((base.ends.at(-1) ?? '') === '' ? '' : '\n');
    this.#known = known;
    this.#settings = tolerances;
  }

  apply(
    { old, now, all }: StringEdit,
    used: (tolerance: Tolerance, line: number) => void,
  ): StringFault | null {
    const { text } = this;
    if (old === '') {
      if (text !== null && (text !== '' || now === '' || this.made.length > 0))
        return { code: 'file_exists', message: NOT_EMPTY };
      this.text = now;
      this.made = [[0, now.length]];
      return null;
    }
    if (text === null)
      return {
        code: 'target_absent',
        message: 'The file does not exist. Leave `old_string` empty to create it.',
      };
    if (old === now) {
      const known = this.#known || this.#quotes(old, text);
      return {
        code: 'no_change',
        message: `${SAME}.`,
        ...(known ? {} : { absent: SAME_AND_ABSENT }),
      };
    }
    const lineOf = ([offset]: Stretch): number => text.slice(0, offset).split('\n').length;
    let places: Stretch[] = [];
    for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + (all ? old.length : 1))) {
      places.push([at, at + old.length]);
      if (!all && places.length > PLACES_REPORTED) break;
    }
    // A tolerance is used in one place only, so not for all of them.
    const seeks = places.length === 0 && !all && this.#loose < LOOSE_STRINGS;
    const loose = seeks ? this.#loosePlaces(text, old, PLACES_REPORTED + 1) : null;
    if (loose !== null) places = loose.places;
    const [first] = places;
    if (first === undefined) {
      const near = nearest(text.split('\n'), answerLines(old));
      const message = `\`old_string\` does not occur in the file. ${describeNearest(near)} Send it exactly as in the file.`;
      return { code: 'find_absent', message, ...copyOf(near) };
    }
    if (!all && places.length > 1) {
      const lines = places.slice(0, PLACES_REPORTED).map(lineOf).join(', ');
      const message = `\`old_string\` occurs in several places: at lines ${lines}${places.length > PLACES_REPORTED ? ' and more' : ''}. Quote more surrounding text until it occurs once, or set \`"replace_all": true\`.`;
      return { code: 'find_repeated', message };
    }
    if (loose !== null) used(loose.tolerance, lineOf(first));
    const onMade = places.find((place) => this.made.some((made) => needs(place, made)));
    if (onMade !== undefined && !toleranceOn('earlier_block', this.#settings))
      return { code: 'earlier_block', message: ON_EARLIER };
    if (onMade !== undefined) used('earlier_block', lineOf(onMade));
    const quoted = text.slice(...first);
    this.#replace(text, places, quoted, loose === null ? now : carried(old, quoted, now));
    return null;
  }

  /** Does the text hold the string, be it in other white space, or by a tolerance? */
  #quotes(old: string, text: string): boolean {
    if (text.includes(old) || this.#loose >= LOOSE_STRINGS) return text.includes(old);
    const plain = (each: string): string => each.replace(/\s/g, '');
    return this.#loosePlaces(text, old, 1) !== null || plain(text).includes(plain(old));
  }

  /**
   * Where the text has a string only with other white space at line ends, or with typographic characters: at most `most` places of the
   * strictest tolerance that is on and has any. They begin and end at characters of the text, never inside of what one stands for (`…`).
   */
  #loosePlaces(
    text: string,
    old: string,
    most: number,
  ): { tolerance: Tolerance; places: Stretch[] } | null {
    this.#loose += 1;
    for (const tolerance of ['trailing_space', 'lookalikes'] as const) {
      if (!toleranceOn(tolerance, this.#settings)) continue;
      const [shown, at] = folded(text, tolerance, BLANKS_AT_ENDS);
      const places: Stretch[] = [];
      const [sought] = folded(old, tolerance, BLANKS_BEFORE_ENDS);
      for (
        let from = shown.indexOf(sought);
        sought !== '' && from >= 0;
        from = shown.indexOf(sought, from + 1)
      ) {
        const [first = 0, last = 0] = [at[from], at[from + sought.length - 1]];
        if (at[from - 1] !== first && at[from + sought.length] !== last)
          places.push([first, last + 1]);
        if (places.length >= most) break;
      }
      if (places.length > 0) return { tolerance, places };
    }
    return null;
  }

  #replace(text: string, places: readonly Stretch[], old: string, now: string): void {
    // What both have in common at their ends is not made by the edit.
    const [head, tail] = sameEnds(old, now);
    const grown = now.length - old.length;
    const parts = places.map(([from], i) => text.slice(places[i - 1]?.[1] ?? 0, from) + now);
    this.text = parts.join('') + text.slice(places.at(-1)?.[1]);
    const fresh = places.map(([from], i): Stretch => [
      from + i * grown + head,
      from + i * grown + now.length - tail,
    ]);
    // Stretches made before move by what the new replacements before them added.
    let passed = 0;
    const moved = this.made.map(([from, to]): Stretch => {
      while (passed < places.length && (places[passed]?.[0] ?? 0) < from) passed += 1;
      return [from + passed * grown, to + passed * grown];
    });
    this.made = [...moved, ...fresh].sort((a, b) => a[0] - b[0]);
  }
}

/** Does the text [from, to) need a stretch that an edit made, or the seam that a deletion left? */
const needs = ([from, to]: Stretch, [start, end]: Stretch): boolean =>
  start === end ? from < start && start < to : from < end && start < to;

/** What comes in place of `base`, which the answer quotes as `old`: what old and new share stays as the file has it. */
const carried = (old: string, base: string, now: string): string => {
  const [oldLines, baseLines, nowLines] = [old.split('\n'), base.split('\n'), now.split('\n')];
  const kept = lineOrigins(oldLines, nowLines);
  const lines = carryLines(oldLines, baseLines, nowLines, kept);
  return lines.map((line, i) => line ?? baseLines[kept[i] ?? 0] ?? '').join('\n');
};

/** Blanks at line ends; the end of a text is one, that of a quoted string may stand within a line. */
const BLANKS_AT_ENDS = /((?<![ \t\v\f\r])[ \t\v\f\r]+(?![^\n]))/;
const BLANKS_BEFORE_ENDS = /((?<![ \t\v\f\r])[ \t\v\f\r]+(?=\n))/;

/** A text as a tolerance sees it, without `blanks`, and where in the text each of its characters stands. */
const folded = (
  text: string,
  tolerance: Tolerance,
  blanks: RegExp,
): readonly [string, readonly number[]] => {
  const [shown, at]: [string[], number[]] = [[], []];
  let offset = 0;
  for (const [i, part] of text.split(blanks).entries()) {
    // Every second part is blanks.
    for (let j = 0; i % 2 === 0 && j < part.length; j += 1) {
      const seen = tolerance === 'lookalikes' ? foldLookalikes(part[j] ?? '') : (part[j] ?? '');
      shown.push(seen);
      at.push(...Array.from(seen, () => offset + j));
    }
    offset += part.length;
  }
  return [shown.join(''), at];
};
