/** Why a block is refused, in words that a model can act on. */
import { quoted } from '../../../shared/text.js';
import { isElided } from '../../locate/elision.js';
import { copyOf, describeNearest, nearest } from '../../locate/nearest.js';
import type { BlockReading } from './parse.js';
import type { Tolerance } from '../../../shared/formats.js';
import type { Reason } from '../../types.js';

export type BlockOutcome =
  /** `line`: 1-based line of the base, where known. */
  | { readonly kind: 'changed'; readonly tolerances: readonly Tolerance[]; readonly line?: number }
  /** `absent`: why it is refused where another block changes the file, see `BlockApplier.#present` and `#unmoved` (apply.ts). */
  | (Pick<Reason, 'code' | 'message' | 'copy'> & {
      readonly kind: 'skipped' | 'refused';
      readonly absent?: string;
    });

export const refused = (code: string, message: string): BlockOutcome => ({
  kind: 'refused',
  code,
  message,
});

/** What a dialect calls the parts of a block, for messages. */
export interface BlockText {
  readonly find: string;
  /** The line between both parts. */
  readonly divider: string;
  /** How a block names a line of the file. */
  readonly hint: string;
  /** Lines that are markers of blocks: in a text they are refused. Null: the file may hold any. */
  readonly stray: RegExp | null;
}
export const FIND_TEXT: BlockText = {
  find: 'FIND',
  divider: 'REPLACE:',
  hint: 'FIND @LINE:',
  stray: /^(?:[<-]{5,9} SEARCH|[>+]{5,9} REPLACE|:(?:start|end)_line:[ \t]*\d+)\s*$/,
};
export const SEARCH_TEXT: BlockText = {
  find: 'SEARCH',
  divider: '=======',
  hint: ':start_line:LINE',
  stray:
    /^(?:[<=>+-]{7}|={5,9}|[<-]{5,9} SEARCH|[>+]{5,9} REPLACE|:(?:start|end)_line:[ \t]*\d*)\s*$/,
};

/** Files whose text may hold any marker: headings and rules, examples, changes. */
const HOLDS_MARKERS = /\.(?:md|mdx|markdown|rst|adoc|asciidoc|diff|patch)$/i;

export const wordsFor = (path: string, words: BlockText): BlockText =>
  HOLDS_MARKERS.test(path) ? { ...words, stray: null } : words;

/** Null: no line of REPLACE is a marker that FIND does not quote. */
export const strayReason = ({ find, stray }: BlockText, reading: BlockReading): string | null => {
  const line = reading.replace.find(
    (text) => stray?.test(text) === true && !reading.find.includes(text),
  );
  if (line === undefined) return null;
  return `REPLACE contains the line ${quoted(line, 100)}, which is a marker of a block. Send it without that line, and ${find} and REPLACE of each change in a block of their own.`;
};

export const NUMBER_IS_REPORTED =
  'Only a line number identifies the place, and the file may have changed since it was shown. Add lines before or after until it occurs in one place.';
export const PART_STANDS_ONCE =
  'Part of a line must occur once in the file. Send whole lines, exactly as in the file.';

const wholeLines = (find: string): string => `${find} as whole lines, exactly as in the file`;

export const unclearDivider = ({ find, divider }: BlockText): string =>
  `A line \`${divider}\` occurs in it more than once, and it is not clear which one is the marker. Choose ${find} and REPLACE without such lines.`;
export const fileExists = ({ find }: BlockText): string =>
  `${find} is empty, which creates a file, but the file exists. Put lines of the file into ${find}.`;
export const unshiftable = ({ find }: BlockText): string =>
  `${find} occurs in the file with different indentation, and a new line of REPLACE does not have the indentation to remove. Send both with the indentation of the file.`;
export const elidedTwice = ({ find }: BlockText): string =>
  `The two parts of ${find} around the elision match in several places. Send ${find} without omitting lines.`;
export const onEarlier = ({ find }: BlockText): string =>
  `${find} needs text that an earlier block wrote. Write ${find} from the file as it was shown, and join the two blocks.`;
export const sameReason = (find: string): string => `${find} and REPLACE are the same`;
export const sameAndAbsent = (find: string): string =>
  `${sameReason(find)}, and ${find} does not occur in the file, so the answer may be for another version of it. Omit this block if nothing should change here, else send ${wholeLines(find)}.`;
export const presentUnsure = (find: string): string =>
  `${find} does not occur in the file. REPLACE does, but other blocks are not applied yet, so it may have been there before. Omit this block if it is done, else send ${wholeLines(find)}.`;

/** `origins`: 0-based lines of the base, -1 in text that an earlier block wrote. */
export const repeated = (
  { find, hint }: BlockText,
  origins: readonly number[],
  more: boolean,
  remedy = `Add lines before or after until it occurs in one place, or choose one with \`${hint}\`.`,
): BlockOutcome => {
  const base = origins.flatMap((origin) => (origin < 0 ? [] : [origin + 1])).join(', ');
  const made = origins.includes(-1)
    ? `${base === '' ? '' : ', and '}in text that an earlier block wrote`
    : '';
  const where = `${base === '' ? '' : `at lines ${base}`}${made}${more ? ' and more' : ''}`;
  return refused('find_repeated', `${find} occurs in several places: ${where}. ${remedy}`);
};

export interface Sought {
  readonly lines: readonly string[];
  readonly hint: number | undefined;
  /** Blocks before have changed the text that was looked through. */
  readonly changed: boolean;
}
export const absent = (
  { find }: BlockText,
  text: readonly string[],
  { lines, hint, changed }: Sought,
): BlockOutcome => {
  const send = `Send ${wholeLines(find)}.`;
  const elided = lines.find(isElided);
  if (elided !== undefined) {
    const message = `${find} omits lines: ${quoted(elided.trim(), 100)} stands for them, but the file has no such line there. ${send}`;
    return refused('elision', message);
  }
  const numbers = changed ? ' (Lines are counted after the preceding blocks.)' : '';
  const near = nearest(text, lines, hint);
  const message = `${find} does not occur in the file. ${describeNearest(near)}${numbers} ${send}`;
  return { ...refused('find_absent', message), ...copyOf(near) };
};
