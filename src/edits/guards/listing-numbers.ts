/** Numbers of a listing that a model copied into new text with the lines. */
import type { Finding } from '../../shared/formats.js';
import type { PlacedChange } from '../text/changes.js';
import type { GuardView } from './view.js';

/** `12| `, `12 | `, `12→`, `12: `, `L12: `, `[12] `, the tab of `cat -n`, and two blanks where a tab was; with blanks before. */
const NUMBERED = /^ {0,8}(?:L|\[)?(\d{1,7})(\t|→|\]? ?[|│] ?|\]?:(?!\d) ?|\] | {2})/;
/** Forms in which one line is enough, if its number is that of its place. */
const ALONE = /^ +\d{1,7}(?:\t|→)|^ *\d{1,7}→/;
/** Keys of a map, and rows that are separated by tabs or blanks. */
const MAY_BE_DATA = /^ *\[?\d+(?:\]?:|\] | {2})|^\d+\t/;
/** A table may have numbers in its first column. */
const TABLES =
  /\.(?:tsv|csv|psv|tab|dat|txt|ya?ml|sql|md|mdx|markdown|rst|log|out|snap|golden|srt|vtt|list)$/i;

/** Lines of a change that all begin with consecutive numbers, as a listing shows them; the file has no such lines. */
export const listingFindings = (view: GuardView): Finding[] => {
  const { path, base, changes } = view;
  for (const change of changes) {
    const listing = listingIn(change);
    if (listing === null || !isCopied(view, change, listing)) continue;
    if (base.all.some((line) => separatorOf(line) === listing.separator)) return [];
    const [from, to] = [change.at + 1, change.at + change.lines.length];
    const text = JSON.stringify(listing.start.trim().slice(0, 80));
    const message = `Lines ${from} to ${to} of the new ${path} begin with the line numbers of a listing: ${text}. Send only the text behind them.`;
    return [{ guard: 'listing_numbers', severity: 'refuse', path, lines: [from, to], message }];
  }
  return [];
};

interface Listing {
  /** The first line with a number. */
  readonly start: string;
  readonly first: number;
  /** Number of lines with a number. */
  readonly count: number;
  readonly separator: string;
}

const separatorOf = (line: string): string | null => NUMBERED.exec(line)?.[2]?.trim() ?? null;

/** Null: a line has no number, or not the next one. */
const listingIn = ({ lines }: PlacedChange): Listing | null => {
  let listing: Listing | null = null;
  let expected = 0;
  let blanks = 0;
  for (const line of lines) {
    const [, digits, separator = ''] = NUMBERED.exec(line) ?? [];
    if (digits === undefined) {
      // `cat -b` numbers no blank lines.
      if (line.trim() !== '') return null;
      blanks += 1;
      continue;
    }
    const number = Number(digits);
    listing ??= { start: line, first: number, count: 0, separator: separator.trim() };
    if (listing.count > 0 && number !== expected && number !== expected + blanks) return null;
    if (separator.trim() !== listing.separator) return null;
    listing = { ...listing, count: listing.count + 1 };
    expected = number + 1;
    blanks = 0;
  }
  return listing;
};

/** The number of one line says nothing by itself, and neither do the keys of a map or the rows of a table. */
const isCopied = (
  { path, base }: GuardView,
  { at: place, from }: PlacedChange,
  { start, first, count }: Listing,
): boolean => {
  const isAtItsPlace = [place + 1, from + 1].includes(first);
  if (count < 2) return isAtItsPlace && ALONE.test(start);
  if (base.length === 0 && TABLES.test(path)) return false;
  return isAtItsPlace || !MAY_BE_DATA.test(start);
};
