/** Two lines that became one because the new text lost its line end. */
import type { Finding } from '../../shared/formats.js';
import type { PlacedChange } from '../text/changes.js';
import { isMarkup } from './languages.js';
import type { GuardView } from './view.js';

const NEXT_LINE_CHARS = 3; // bound: A shorter line may be joined to the one before on purpose.
const JOINED_CHARS = 4; // bound: End of a line by which its first part is known again.
const CLOSING = /^\s*[}\])]+[;,]?\s*$/;

/** A change whose last new line ends with an old line, whole, that a line end would have set apart. */
export const gluedFindings = (view: GuardView): Finding[] => {
  const { path, changes } = view;
  const change = changes.find((candidate) => isGlued(view, candidate));
  if (change === undefined) return [];
  const line = change.at + change.lines.length;
  const text = JSON.stringify((change.lines.at(-1) ?? '').trim().slice(0, 80));
  const message = `Line ${line} of the new ${path} runs into the line after it: ${text}. End the new text with a line end.`;
  return [{ guard: 'glued_lines', severity: 'ask', path, lines: [line, line], message }];
};

const isGlued = (view: GuardView, change: PlacedChange): boolean => {
  const { base } = view;
  const { from, to, lines } = change;
  const last = lines.at(-1) ?? '';
  const next = base.line(to - 1) ?? '';
  if (to - from < 2 || to - from <= lines.length) return false;
  if (last === next || !last.endsWith(next)) return false;
  const head = last.slice(0, last.length - next.length);
  if (head.trim() === '' || /\s$/.test(head)) return false;
  if (CLOSING.test(next)) return isGluedClosing(view, change, head, next);
  if (next.trim().length < NEXT_LINE_CHARS || isJoined(view, change, head)) return false;
  if (isOpenString(head)) return false;
  const isIndented = /^(?:\t| {2})/.test(next);
  return isIndented || (/[\p{L}\p{N}"';]$/u.test(head) && /^[\p{L}\p{N}_]/u.test(next));
};

/** A brace that moved to the end of the line before. What opens a block on the same line closes it there on purpose. */
const isGluedClosing = (
  { base }: GuardView,
  { from, to, lines }: PlacedChange,
  head: string,
  next: string,
): boolean =>
  next.includes('}') &&
  to - from === lines.length + 1 &&
  !head.includes('{') &&
  /[\p{L}\p{N}_"');]$/u.test(head) &&
  indentOf(head) === indentOf(base.line(to - 2) ?? '');

/** The line goes on in a string of several lines, whose first line was joined on purpose. */
const isOpenString = (head: string): boolean => {
  const quote = head.slice(-1);
  return /["'`]/.test(quote) && head.split(quote).length % 2 === 0;
};

const indentOf = (line: string): string => /^\s*/.exec(line)?.[0] ?? '';

/** A sentence or a command that was broken into two lines is one line again: it keeps the end of its first part. */
const isJoined = ({ path, base }: GuardView, { to }: PlacedChange, head: string): boolean =>
  isMarkup(path) && head.endsWith((base.line(to - 2) ?? '').trim().slice(-JOINED_CHARS));
