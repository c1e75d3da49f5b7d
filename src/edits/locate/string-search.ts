/** Finds quoted parts of a text: the passes of the locator (locate.ts) for edits that quote parts of lines. */
import type { ToleranceSettings } from '../../shared/formats.js';
import type { TextEdit } from '../edit.js';
import { mayUse, type PassName, type SearchedText } from '../locate.js';
import { answerLines } from '../text/codec.js';
import type { Fault } from '../types.js';
import type { TextLikeness } from './fold.js';
import { copyOf, describeNearest, nearest } from './nearest.js';
import { PLACES_REPORTED, type Stretch, type StringText } from './string-text.js';

/** The places where the text of an edit occurs. */
export interface TextPlaces {
  readonly places: readonly Stretch[];
  /** The tolerance by which it occurs there, or null if it occurs exactly. `line_endings`: without its last line end. */
  readonly likeness: TextLikeness | 'line_endings' | null;
}

export class StringSearch implements SearchedText<TextEdit, TextPlaces> {
  readonly settings: ToleranceSettings | undefined;
  readonly #text: StringText;

  constructor(text: StringText, settings: ToleranceSettings | undefined) {
    this.#text = text;
    this.settings = settings;
  }

  find(pass: PassName, edit: TextEdit): TextPlaces | Fault | null {
    if (pass === 'exact') {
      const { everywhere, count } = edit.hint;
      const places = this.#text.find(edit.before, everywhere);
      if (count !== null && places.length > 0 && places.length !== count)
        return otherCount(count, places.length);
      return this.#only(places, null, everywhere);
    }
    if (pass === 'line_endings') return this.#atEnd(edit);
    return pass === 'trailing_space' || pass === 'lookalikes' ? this.#alike(pass, edit) : null;
  }

  /** The string ends with a line end, and the text, which has it without, does not: what comes ends so, too. */
  #atEnd({ before }: TextEdit): TextPlaces | null {
    if (!before.endsWith('\n')) return null;
    const place = this.#text.lastPlace(before.slice(0, -1));
    return place === null ? null : { places: [place], likeness: 'line_endings' };
  }

  /** A tolerance is used in one place only, so not by an edit that means all places. */
  #alike(likeness: TextLikeness, { before, hint }: TextEdit): TextPlaces | Fault | null {
    if (hint.everywhere || !this.#text.mayLoosen(hint.index)) return null;
    return this.#only(this.#text.findLike(before, likeness, PLACES_REPORTED + 1), likeness, false);
  }

  #only(
    places: readonly Stretch[],
    likeness: TextLikeness | null,
    everywhere: boolean,
  ): TextPlaces | Fault | null {
    if (places.length === 0) return null;
    return places.length > 1 && !everywhere
      ? repeatedText(places, this.#text)
      : { places, likeness };
  }

  /** Does the text hold a string, by any likeness that is on, or in other white space? */
  holds(edit: TextEdit): boolean {
    const { before, hint } = edit;
    if (this.#text.find(before, false).length > 0) return true;
    if (!this.#text.mayLoosen(hint.index)) return false;
    const isLike = (likeness: TextLikeness): boolean =>
      mayUse(edit, likeness, this.settings) && this.#text.findLike(before, likeness, 1).length > 0;
    return isLike('trailing_space') || isLike('lookalikes') || this.#text.holdsWithoutSpace(before);
  }

  absent(edit: TextEdit): Fault {
    return absentText(edit, this.#text);
  }
}

const otherCount = (count: number, found: number): Fault => ({
  code: 'find_count',
  message: `\`old_string\` occurs ${found === 1 ? 'once' : `${found} times`}, not ${count} times as the call says. Send the right number, or quote more surrounding text.`,
});

const repeatedText = (places: readonly Stretch[], text: StringText): Fault => {
  const lines = text.linesOf(places.slice(0, PLACES_REPORTED)).join(', ');
  const more = places.length > PLACES_REPORTED ? ' and more' : '';
  const message = `\`old_string\` occurs in several places: at lines ${lines}${more}. Quote more surrounding text until it occurs once, or set \`"replace_all": true\`.`;
  return { code: 'find_repeated', message };
};

const absentText = ({ before }: TextEdit, text: StringText): Fault => {
  const near = nearest(text.lines, answerLines(before));
  const message = `\`old_string\` does not occur in the file. ${describeNearest(near)} Send it exactly as in the file.`;
  return { code: 'find_absent', message, ...copyOf(near) };
};
