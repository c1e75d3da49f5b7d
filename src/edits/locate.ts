/** Finds where an edit belongs in its file: the passes, in the order in which they are tried. */
import { TOLERANCES, type Tolerance, type ToleranceSettings } from '../shared/formats.js';
import type { Edit, TextEdit } from './edit.js';
import { copyOf, describeNearest, nearest } from './locate/nearest.js';
import { PLACES_REPORTED, type Stretch, type StringText } from './locate/string-text.js';
import { answerLines } from './text/codec.js';
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
