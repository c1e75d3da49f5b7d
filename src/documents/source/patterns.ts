/**
 * Gitignore-style patterns that allow or forbid files. A mistake in one must not let a file pass: a pattern that fits nothing is refused, and
 * where git and a reader may understand a list in two ways, the stricter one counts. Pure.
 */
import ignore from 'ignore';

/** Returns the kind of pattern that is expected in place of this one; null: the pattern can fit a file. */
export function patternFault(pattern: string): string | null {
  const body = pattern.replace(/^!/, '');
  if (body.trim() === '') return 'a gitignore-style pattern, as text that is not empty';
  if (/^\s/.test(body)) return 'a pattern without a blank at its beginning';
  if (/[\r\n]/.test(body)) return 'a pattern of one line';
  if (body.startsWith('#'))
    return 'a pattern that does not start with "#", which makes it a comment; for a file of this name write "\\#"';
  if (/\\(?:\w|$)/.test(body)) return 'a pattern with "/" between folders';
  if (body.split('/').some((name) => name === '.' || name === '..'))
    return 'a pattern relative to the workspace, without "." and ".."';
  return null;
}

/** Returns the kind of list that is expected in place of this one; null: each `!` has patterns before it. */
export const listFault = (patterns: readonly string[]): string | null =>
  patterns[0]?.startsWith('!') === true
    ? 'a pattern before the first one that starts with "!", which takes files out of the patterns before it'
    : null;

/** Makes the patterns before it hold for files alone: letter case does not count, and `BUILD` is no `build/`. */
export const FILES_ONLY = '!*/';
const isNegated = (pattern: string): boolean => pattern.startsWith('!') && pattern !== FILES_ONLY;
const plainOf = (patterns: readonly string[]): string[] =>
  patterns.filter((pattern) => !isNegated(pattern));
const negatedOf = (patterns: readonly string[]): string[] =>
  patterns.filter(isNegated).map((pattern) => pattern.slice(1));

/**
 * Returns whether a list allows a file. Letter case counts in its plain patterns, and not in those that start with `!`: these take a file
 * out wherever they are in the list, also below a folder that another pattern names.
 */
export function allowedBy(patterns: readonly string[]): (path: string) => boolean {
  const allowed = ignore({ ignorecase: false }).add(plainOf(patterns));
  const takenOut = ignore().add(negatedOf(patterns));
  return (path) => allowed.ignores(path) && !takenOut.ignores(path);
}

/**
 * Returns whether a list forbids a file. Letter case does not count in its plain patterns, and counts in those that start with `!`: these
 * take a file out as in git, only if they are behind the pattern and no folder above the file is forbidden.
 */
export function forbiddenBy(patterns: readonly string[]): (path: string) => boolean {
  const all = ignore().add([...patterns]);
  const negated = negatedOf(patterns);
  if (negated.length === 0) return (path) => all.ignores(path);
  const plain = ignore().add(plainOf(patterns));
  const takenOut = ignore({ ignorecase: false }).add(negated);
  return (path) => all.ignores(path) || (plain.ignores(path) && !takenOut.ignores(path));
}
