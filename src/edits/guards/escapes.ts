/**
 * Text that a model escaped although the file has the plain characters: HTML entities in code, backslashes before quotes and
 * underscores, `\n` and `\t` in letters. What a string, a comment or a document holds may well be escaped, so it is not looked at.
 */
import type { Finding } from '../../shared/formats.js';
import { backslashIn, lineEndIn, tabIn } from './backslashes.js';
import { entityIn, lostToEntities } from './entities.js';
import type { Escape } from './escape.js';
import type { GuardView } from './view.js';

/** One finding per kind at most: who escapes one line escapes all. */
export const escapeFindings = (view: GuardView): Finding[] => {
  // Most changes hold no escape at all, so one pass is enough for them.
  if (!view.changes.some(({ lines }) => lines.some(mayBeEscaped))) return [];
  return [entityIn, lostToEntities, backslashIn, lineEndIn, tabIn].flatMap((find) => {
    const escape = find(view);
    return escape === null ? [] : [findingOf(view, escape)];
  });
};

const mayBeEscaped = (line: string): boolean => line.includes('&') || line.includes('\\');

const findingOf = (
  { path }: GuardView,
  { place, line, escape, plain, severity }: Escape,
): Finding => {
  const text = JSON.stringify(line.trim().slice(0, 80));
  const message = `Line ${place + 1} of the new ${path} has ${escape} in place of ${plain}: ${text}. Send the plain characters.`;
  return { guard: 'escaped_text', severity, path, lines: [place + 1, place + 1], message };
};
