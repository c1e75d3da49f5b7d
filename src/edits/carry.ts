/**
 * Where a rung took a line of the answer for a line of the file that differs from it (typographic characters, blanks at the end), a
 * change of that line keeps the file's characters in all that the answer's old and new line share.
 */
import { foldLookalikes } from './nearest.js';

/** Length of the folded text before each character of `text`, and of all of it. */
const foldedLengths = (text: string): number[] => {
  const lengths = [0];
  let sum = 0;
  for (const unit of text.split('')) lengths.push((sum += foldLookalikes(unit).length));
  return lengths;
};

/** `now` as the answer means it for the line `base`, which the answer quotes as `old`. */
const carryLine = (old: string, base: string, now: string): string => {
  if (old === base || old === now) return old === now ? base : now;
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  // Blanks at the end alone say nothing about what the file has there.
  if (old.slice(old.length - tail).trim() === '') tail = 0;
  const [oldAt, baseAt] = [foldedLengths(old), foldedLengths(base)];
  // A place inside of what one character stands for (`…`) has no counterpart: less is shared then.
  while (head > 0 && !baseAt.includes(oldAt[head] ?? 0)) head -= 1;
  const whole = baseAt.at(-1) ?? 0;
  const after = (shared: number): number => oldAt[old.length - shared] ?? 0;
  while (tail > 0 && after(tail) <= whole && !baseAt.includes(after(tail))) tail -= 1;
  const start = head === 0 ? 0 : baseAt.lastIndexOf(oldAt[head] ?? 0);
  const end = tail === 0 || after(tail) > whole ? base.length : Math.max(start, baseAt.indexOf(after(tail)));
  return base.slice(0, start) + now.slice(head, now.length - tail) + base.slice(end);
};

/**
 * New lines of one replacement: `null` where line `kept[j]` of the old ones stays, else its text. A changed line has the old one at its
 * place as counterpart where a stretch between kept lines has as many new lines as old ones.
 */
export const carryLines = (
  old: readonly string[],
  base: readonly string[],
  now: readonly string[],
  kept: ArrayLike<number>,
): (string | null)[] => {
  const result: (string | null)[] = [];
  let oldFrom = 0;
  for (let j = 0; j < now.length;) {
    if ((kept[j] ?? -1) >= 0) {
      oldFrom = (kept[j] ?? 0) + 1;
      result.push(null);
      j += 1;
      continue;
    }
    let end = j;
    while (end < now.length && (kept[end] ?? -1) < 0) end += 1;
    const oldEnd = end < now.length ? (kept[end] ?? 0) : old.length;
    const paired = oldEnd - oldFrom === end - j;
    for (let i = j; i < end; i += 1) {
      const at = oldFrom + i - j;
      result.push(paired ? carryLine(old[at] ?? '', base[at] ?? '', now[i] ?? '') : (now[i] ?? ''));
    }
    j = end;
  }
  return result;
};
