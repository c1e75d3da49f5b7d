/**
 * The tolerance `listing_numbers`: a quote whose lines all begin with consecutive line numbers, as a listing shows them (`12| text`,
 * `12kef| text`, `12: text`, `cat -n`). The file has them without. New lines lose their numbers, too, if all have one.
 */

/** The number, the check of Emend's own listing, and what is between it and the text. */
const NUMBERED = /^[ \t]*(?:[Ll])?(\d{1,7})(?:[a-z]{3})?(\t| ?\||:|→|│| {2,})(.*)$/s;

const LISTING_MARK = /[\t|→│]/;

interface Numbered {
  readonly mark: string;
  readonly numbers: readonly number[];
  readonly lines: readonly string[];
}

/** Reads the numbers before lines; null: not every line that is not blank has one and the same mark behind it. */
const numberedLines = (lines: readonly string[]): Numbered | null => {
  const numbers: number[] = [];
  const texts: string[] = [];
  let mark: string | null = null;
  for (const line of lines) {
    const match = NUMBERED.exec(line);
    if (match === null && line.trim() === '') {
      texts.push('');
      continue;
    }
    const [, number = '', own = '', text = ''] = match ?? [];
    if (match === null || (mark ?? own) !== own) return null;
    mark = own;
    numbers.push(Number(number));
    texts.push(text);
  }
  if (numbers.length === 0) return null;
  // One blank belongs to the mark, unless lines stand directly behind it.
  const isSet = mark !== '\t' && texts.every((text) => text === '' || text.startsWith(' '));
  return { mark: mark ?? '', numbers, lines: isSet ? texts.map((text) => text.slice(1)) : texts };
};

/** Returns quoted lines without their numbers; null: they have none, or not each line the next one. */
const withoutNumbers = (lines: readonly string[]): readonly string[] | null => {
  const numbered = numberedLines(lines);
  if (numbered === null) return null;
  // One line with a colon or blanks behind a number may be text of its own.
  if (lines.length === 1 && !LISTING_MARK.test(numbered.mark)) return null;
  const isInOrder = numbered.numbers.every(
    (number, i) => number === (numbered.numbers[0] ?? 0) + i,
  );
  return isInOrder && numbered.numbers.length === lines.length ? numbered.lines : null;
};

/** Returns new lines without their numbers, if all have one, or as they are, if none has; null: some have. */
const newWithoutNumbers = (lines: readonly string[]): readonly string[] | null => {
  const all = numberedLines(lines);
  if (all !== null) return all.lines;
  return lines.some((line) => NUMBERED.test(line)) ? null : lines;
};

/** Both sides without numbers; null: the quote has none, or it is not clear which new lines have them. */
export const unnumbered = (
  before: readonly string[],
  after: readonly string[],
): { readonly before: readonly string[]; readonly after: readonly string[] } | null => {
  const plain = withoutNumbers(before);
  const fresh = plain === null ? null : newWithoutNumbers(after);
  return plain === null || fresh === null ? null : { before: plain, after: fresh };
};
