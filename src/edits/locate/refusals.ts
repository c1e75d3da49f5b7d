/** Why quoted lines have no place, in sentences that a model can act on. */
import { quoted } from '../../shared/text.js';
import type { BlockWords, Edit, LinesEdit } from '../edit.js';
import type { Fault } from '../types.js';
import { isElided } from './elision.js';
import { copyOf, describeNearest, nearest } from './nearest.js';

const QUOTED_CHARS = 100; // bound: Characters of a line that a refusal quotes.

export const NUMBER_IS_REPORTED =
  'Only a line number identifies the place, and the file may have changed since it was shown. Add lines before or after until it occurs in one place.';
export const PART_STANDS_ONCE =
  'Part of a line must occur once in the file. Send whole lines, exactly as in the file.';

const NO_WORDS: BlockWords = { quote: '', divider: '', byNumber: '' };
export const blockWordsOf = (edit: Edit): BlockWords => edit.hint.rules.block ?? NO_WORDS;

const fault = (code: string, message: string): Fault => ({ code, message });

const wholeLines = (quote: string): string => `${quote} as whole lines, exactly as in the file`;

export const unclearDivider = ({ quote, divider }: BlockWords): Fault =>
  fault(
    'marker_in_body',
    `A line \`${divider}\` occurs in it more than once, and it is not clear which one is the marker. Choose ${quote} and REPLACE without such lines.`,
  );
export const fileExists = ({ quote }: BlockWords): Fault =>
  fault(
    'file_exists',
    `${quote} is empty, which creates a file, but the file exists. Put lines of the file into ${quote}.`,
  );
export const fileAbsent = ({ quote }: BlockWords): Fault =>
  fault('target_absent', `The file does not exist. Leave ${quote} empty to create it.`);
export const unshiftable = ({ quote }: BlockWords): Fault =>
  fault(
    'indent',
    `${quote} occurs in the file with different indentation, and a new line of REPLACE does not have the indentation to remove. Send both with the indentation of the file.`,
  );
export const elidedTwice = ({ quote }: BlockWords): Fault =>
  fault(
    'find_repeated',
    `The two parts of ${quote} around the elision match in several places. Send ${quote} without omitting lines.`,
  );
export const elidedAfter = (): Fault =>
  fault('elision', 'REPLACE omits lines. Send all of its lines.');
export const onEarlier = ({ quote }: BlockWords): Fault =>
  fault(
    'earlier_block',
    `${quote} needs text that an earlier block wrote. Write ${quote} from the file as it was shown, and join the two blocks.`,
  );
export const sameSides = ({ quote }: BlockWords): Fault =>
  fault('no_change', `${quote} and REPLACE are the same.`);
export const sameAndAbsent = ({ quote }: BlockWords): string =>
  `${quote} and REPLACE are the same, and ${quote} does not occur in the file, so the answer may be for another version of it. Omit this block if nothing should change here, else send ${wholeLines(quote)}.`;
export const alreadyPresent = ({ quote }: BlockWords): Fault =>
  fault('already_present', `${quote} does not occur, but REPLACE does.`);
export const presentUnsure = ({ quote }: BlockWords): string =>
  `${quote} does not occur in the file. REPLACE does, but other blocks are not applied yet, so it may have been there before. Omit this block if it is done, else send ${wholeLines(quote)}.`;

/** `origins`: 0-based lines of the base, -1 in text that an earlier block wrote. */
export const repeatedLines = (
  { quote, byNumber }: BlockWords,
  origins: readonly number[],
  more: boolean,
  remedy = `Add lines before or after until it occurs in one place, or choose one with \`${byNumber}\`.`,
): Fault => {
  const base = origins.flatMap((origin) => (origin < 0 ? [] : [origin + 1])).join(', ');
  const earlier = origins.includes(-1)
    ? `${base === '' ? '' : ', and '}in text that an earlier block wrote`
    : '';
  const where = `${base === '' ? '' : `at lines ${base}`}${earlier}${more ? ' and more' : ''}`;
  return fault('find_repeated', `${quote} occurs in several places: ${where}. ${remedy}`);
};

/** `isChanged`: blocks before have changed the text. */
export const absentLines = (
  { quote }: BlockWords,
  { before: lines, hint }: LinesEdit,
  text: readonly string[],
  isChanged: boolean,
): Fault => {
  const send = `Send ${wholeLines(quote)}.`;
  const elided = lines.find(isElided);
  if (elided !== undefined) {
    const message = `${quote} omits lines: ${quoted(elided.trim(), QUOTED_CHARS)} stands for them, but the file has no such line there. ${send}`;
    return fault('elision', message);
  }
  const numbers = isChanged ? ' (Lines are counted after the preceding blocks.)' : '';
  const near = nearest(text, lines, hint.line ?? undefined);
  const message = `${quote} does not occur in the file. ${describeNearest(near)}${numbers} ${send}`;
  return { ...fault('find_absent', message), ...copyOf(near) };
};
