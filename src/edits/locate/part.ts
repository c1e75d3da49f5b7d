/**
 * The tolerance `part_of_line`: a quote of one line that no line of the file is, and that stands once in the file as a part of one. Exactly
 * those characters are replaced.
 */

/** The 0-based lines that hold the part, each as often as it does; at most `most`. */
export const placesOfPart = (lines: readonly string[], part: string, most: number): number[] => {
  const places: number[] = [];
  for (const [i, line] of lines.entries()) {
    for (let at = line.indexOf(part); at >= 0 && places.length < most; at = line.indexOf(part, at + 1)) places.push(i);
    if (places.length >= most) break;
  }
  return places;
};

/**
 * The line with `replace` in place of its only `part`. Null: it is there already; only white space at the end is missing, which is another
 * tolerance; or white space alone stands before `part`, and the lines of `replace` are not indented as that needs.
 */
export const withinLine = (text: string, part: string, replace: readonly string[]): readonly string[] | null => {
  const [first = '', ...rest] = replace;
  if (rest.length === 0 && first.includes(part) && text.includes(first)) return null;
  const at = text.indexOf(part);
  const head = text.slice(0, at);
  const tail = text.slice(at + part.length);
  if (head === '' && tail.trim() === '') return null;
  const isIndent = head !== '' && head.trim() === '';
  if (isIndent && (/^\s/.test(first) || rest.some((line) => line.trim() !== '' && !line.startsWith(head)))) return null;
  const lines = [head + first, ...rest];
  return [...lines.slice(0, -1), (lines.at(-1) ?? '') + tail];
};
