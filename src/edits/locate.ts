/** Finds where an edit belongs in its file: the passes, in the order in which they are tried. */
import { TOLERANCES, type Tolerance, type ToleranceSettings } from '../shared/formats.js';
import type { Edit, LinesEdit, TextEdit } from './edit.js';
import { isElided, placeElided, splitElided, withinLine } from './locate/elision.js';
import { shiftedPlaces } from './locate/indent.js';
import { type Level, LEVELS } from './locate/likeness.js';
import type { LineText } from './locate/line-text.js';
import { PLACES_KEPT, type Places } from './locate/line-chain.js';
import { copyOf, describeNearest, nearest } from './locate/nearest.js';
import { PLACES_REPORTED, type Stretch, type StringText } from './locate/string-text.js';
import {
  absentLines,
  blockWordsOf,
  elidedAfter,
  elidedTwice,
  NUMBER_IS_REPORTED,
  PART_STANDS_ONCE,
  repeatedLines,
  unshiftable,
} from './locate/refusals.js';
import { answerLines } from './text/codec.js';
import { lineOrigins } from './text/line-diff.js';
import type { Fault } from './types.js';

/** Where the text of an edit stands. */
export interface TextPlaces {
  readonly places: readonly Stretch[];
  /** The tolerance by which it stands there; null: exactly. */
  readonly tolerance: Tolerance | null;
}

interface TextPass {
  readonly tolerance: Tolerance | null;
  readonly find: (edit: TextEdit, text: StringText) => readonly Stretch[];
}

/** Is a tolerance on, and one of those that the edit's dialect may use? */
export const mayUse = (
  edit: Edit,
  tolerance: Tolerance,
  settings: ToleranceSettings | undefined,
): boolean =>
  edit.hint.rules.tolerances.has(tolerance) &&
  (settings?.[tolerance] ?? TOLERANCES[tolerance].default);

const TEXT_PASSES: readonly TextPass[] = [
  // Nearly every response quotes the file as it is.
  { tolerance: null, find: ({ before, hint }, text) => text.find(before, hint.everywhere) },
  // Models leave out blanks at the ends of lines, which they do not see.
  {
    tolerance: 'trailing_space',
    find: ({ before }, text) => text.findLike(before, 'trailing_space', PLACES_REPORTED + 1),
  },
  // Models write plain quotes, dashes and spaces for typographic ones, or the other way around.
  {
    tolerance: 'lookalikes',
    find: ({ before }, text) => text.findLike(before, 'lookalikes', PLACES_REPORTED + 1),
  },
];

/** Finds the one place of a quoted text, or all of its places if the edit means all. */
export const locateText = (
  edit: TextEdit,
  text: StringText,
  settings: ToleranceSettings | undefined,
): TextPlaces | Fault => {
  const { everywhere } = edit.hint;
  for (const { tolerance, find } of TEXT_PASSES) {
    // A tolerance is used in one place only, so not for all of them.
    if (tolerance !== null && (everywhere || !text.mayLoosen(edit.hint.index))) continue;
    if (tolerance !== null && !mayUse(edit, tolerance, settings)) continue;
    const places = find(edit, text);
    if (places.length === 0) continue;
    return places.length > 1 && !everywhere ? repeatedText(places, text) : { places, tolerance };
  }
  return absentText(edit, text);
};

/** Does the text hold a string, by any pass that is on, or in other white space? */
export const holdsText = (
  edit: TextEdit,
  text: StringText,
  settings: ToleranceSettings | undefined,
): boolean => {
  const { before } = edit;
  if (text.find(before, false).length > 0) return true;
  if (!text.mayLoosen(edit.hint.index)) return false;
  const isLike = (likeness: 'trailing_space' | 'lookalikes'): boolean =>
    mayUse(edit, likeness, settings) && text.findLike(before, likeness, 1).length > 0;
  return isLike('trailing_space') || isLike('lookalikes') || text.holdsWithoutSpace(before);
};

const repeatedText = (places: readonly Stretch[], text: StringText): Fault => {
  const lines = text.linesOf(places.slice(0, PLACES_REPORTED)).join(', ');
  const more = places.length > PLACES_REPORTED ? ' and more' : '';
  const message = `\`old_string\` occurs in several places: at lines ${lines}${more}. Quote more surrounding text until it occurs once, or set \`"replace_all": true\`.`;
  return { code: 'find_repeated', message };
};

const absentText = ({ before }: TextEdit, text: StringText): Fault => {
  const near = nearest(text.whole.split('\n'), answerLines(before));
  const message = `\`old_string\` does not occur in the file. ${describeNearest(near)} Send it exactly as in the file.`;
  return { code: 'find_absent', message, ...copyOf(near) };
};

/** Where the lines of an edit stand, and what becomes of them. */
export interface LinePlace {
  /** The nodes of the lines that go. */
  readonly nodes: readonly number[];
  /** Both sides as they are applied: a tolerance may have put them into the file's form. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly tolerances: readonly Tolerance[];
  /** Which line of `before` each line of `after` keeps, -1 for none, if the pass decides that; null: a diff of both decides. */
  readonly kept: ArrayLike<number> | null;
}
type Found = LinePlace | Fault | null;

interface LinePass {
  readonly tolerance: Tolerance | null;
  /** Null: the lines stand nowhere by this pass. */
  readonly find: (edit: LinesEdit, text: LineText) => Found;
}

const LINE_PASSES: readonly LinePass[] = [
  // Nearly every response quotes the file as it is.
  { tolerance: null, find: (edit, text) => atLevel(edit, text, 'exact') },
  // A response may end its lines in CRLF where the file does not, or the other way around.
  { tolerance: 'line_endings', find: (edit, text) => atLevel(edit, text, 'line_endings') },
  // Models leave out blanks at the ends of lines, which they do not see.
  { tolerance: 'trailing_space', find: (edit, text) => atLevel(edit, text, 'trailing_space') },
  // Models write plain quotes, dashes and spaces for typographic ones, or the other way around.
  { tolerance: 'lookalikes', find: (edit, text) => atLevel(edit, text, 'lookalikes') },
  // Models quote a nested block as if it began at the margin.
  { tolerance: 'indent', find: (edit, text) => indented(edit, text) },
  // Models leave out the middle of a long quote and write `...` for it.
  { tolerance: 'elision', find: (edit, text) => elided(edit, text) },
  // Models quote the part of a line that changes, as other tools let them do.
  { tolerance: 'part_of_line', find: (edit, text) => withinOneLine(edit, text) },
];

/** Finds the one place of quoted lines. Null: they stand nowhere. `isRepeat`: was the same edit made before in this file? */
export const locateLines = (edit: LinesEdit, text: LineText, isRepeat: () => boolean): Found => {
  for (const { tolerance, find } of LINE_PASSES) {
    if (tolerance !== null && !mayUse(edit, tolerance, text.settings)) continue;
    // An edit that is sent again has nothing to do with other lines that hold its quote.
    if (tolerance === 'part_of_line' && isRepeat()) continue;
    const found = find(edit, text);
    if (found !== null) return found;
  }
  return null;
};

/** Do the quoted lines stand in the text by any pass that is on, or in other white space, be it in several places? */
export const holdsLines = (edit: LinesEdit, text: LineText): boolean => {
  const { before } = edit;
  const levels = LEVELS.filter((level) => level === 'exact' || mayUse(edit, level, text.settings));
  if (
    [...levels, 'white_space' as const].some((level) => text.find(before, level).first.length > 0)
  )
    return true;
  if (mayUse(edit, 'part_of_line', text.settings) && nodesOfPart(edit, text).length > 0)
    return true;
  const parts = mayUse(edit, 'elision', text.settings) ? splitElided(before) : null;
  return parts !== null && placeElided(text.lines, parts) !== 'none';
};

/** Refuses quoted lines that stand nowhere. */
export const absentQuote = (edit: LinesEdit, text: LineText): Fault =>
  absentLines(blockWordsOf(edit), text.lines, edit.before, edit.hint.line, text.isChanged);

const atLevel = (edit: LinesEdit, text: LineText, level: Level): Found => {
  const { before, after, hint } = edit;
  const places = text.find(before, level);
  if (places.first.length === 0) return null;
  const isOne = places.first.length === 1 && !places.more;
  const first = isOne
    ? places.first[0]
    : level === 'exact'
      ? atLine(places, text, hint.line)
      : undefined;
  if (first === undefined) return repeatedQuote(edit, text, places);
  const isByNumber = !isOne && !text.isKnown;
  if (isByNumber && !mayUse(edit, 'unchecked_lines', text.settings))
    return repeatedQuote(edit, text, places, NUMBER_IS_REPORTED);
  const nodes = text.chain.run(first, before.length);
  return { nodes, before, after, tolerances: isByNumber ? ['unchecked_lines'] : [], kept: null };
};

/** Returns the place at the stated line. Lines are counted from 1: 0 names no line, least of all one that an earlier edit wrote. */
const atLine = ({ first }: Places, { chain }: LineText, line: number | null): number | undefined =>
  line === null || line < 1 ? undefined : first.find((node) => chain.originOf(node) === line - 1);

const repeatedQuote = (
  edit: LinesEdit,
  { chain }: LineText,
  { first, more }: Places,
  remedy?: string,
): Fault =>
  repeatedLines(
    blockWordsOf(edit),
    first.map((node) => chain.originOf(node)),
    more,
    remedy,
  );

/** New lines are shifted as a whole; the lines that both sides share are kept. */
const indented = (edit: LinesEdit, text: LineText): Found => {
  const { before, after } = edit;
  const { places, more } = shiftedPlaces(text.chain, before);
  const [place] = places;
  if (place === undefined) return null;
  if (places.length > 1 || more)
    return repeatedQuote(edit, text, { first: places.map(({ first }) => first), more });
  const kept = lineOrigins(before, after);
  const shifted = after.flatMap((line, i) =>
    (kept[i] ?? -1) >= 0 ? line : (place.shift(line) ?? []),
  );
  if (shifted.length < after.length) return unshiftable(blockWordsOf(edit));
  const nodes = text.chain.run(place.first, before.length);
  return { nodes, before, after: shifted, tolerances: ['indent'], kept };
};

const elided = (edit: LinesEdit, text: LineText): Found => {
  const parts = splitElided(edit.before);
  if (parts === null) return null;
  const place = placeElided(text.lines, parts);
  if (place === 'none') return null;
  if (place === 'several') return elidedTwice(blockWordsOf(edit));
  if (edit.after.some(isElided)) return elidedAfter();
  const nodes = [...text.chain].slice(place.head, place.tail + parts.tail.length);
  const before = text.textsOf(nodes);
  return { nodes, before, after: edit.after, tolerances: ['elision'], kept: null };
};

/** A quote of one line is looked for within lines. */
const nodesOfPart = (
  { before: [part = '', ...more] }: LinesEdit,
  text: LineText,
): readonly number[] => (more.length > 0 || part.trim() === '' ? [] : text.nodesOfPart(part));

const withinOneLine = (edit: LinesEdit, text: LineText): Found => {
  const [node, ...others] = nodesOfPart(edit, text);
  if (node === undefined) return null;
  if (others.length > 0) {
    const first = [node, ...others].slice(0, PLACES_KEPT);
    return repeatedQuote(
      edit,
      text,
      { first, more: others.length >= PLACES_KEPT },
      PART_STANDS_ONCE,
    );
  }
  const line = text.chain.textOf(node);
  const after = withinLine(line, edit.before[0] ?? '', edit.after);
  if (after === null) return null;
  return { nodes: [node], before: [line], after, tolerances: ['part_of_line'], kept: null };
};
