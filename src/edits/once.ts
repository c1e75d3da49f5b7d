/** A line that stands once in a text tells where a quote stands that holds it, and spares the search for all of its lines. */
import type { LineIndex } from './lines.js';

/** The line that most likely stands nowhere else; undefined where there are none. */
export const longestOf = (lines: Iterable<string>): string | undefined => {
  let longest: string | undefined;
  for (const line of lines) if (longest === undefined || line.length > longest.length) longest = line;
  return longest;
};

/** Which of `lines` stand exactly once in the text. Empty where that would take a string for each line of it. */
export const standingOnce = (index: LineIndex, lines: Iterable<string | undefined>): ReadonlySet<string> => {
  const ids = new Map<string, number>();
  for (const line of lines) if (line !== undefined && !ids.has(line)) ids.set(line, ids.size);
  const found = index.findAll(ids);
  if (found === null) return new Set();
  const counts = new Uint32Array(ids.size);
  // No iterator, which makes an object for each of a million lines.
  found.forEach((id) => {
    if (id >= 0) counts[id] = (counts[id] ?? 0) + 1;
  });
  const once = new Set<string>();
  ids.forEach((id, line) => {
    if (counts[id] === 1) once.add(line);
  });
  return once;
};
