/**
 * Matches files with gitignore-style patterns that allow or forbid them. A mistake in a pattern must not let a file pass. So a pattern that
 * matches nothing is refused, and if a list can be understood in two ways, the stricter one counts. Pure.
 */
import ignore from 'ignore';

/** Returns the kind of pattern that is expected instead of this one. Returns null if the pattern can match a file. */
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

/** Returns the kind of list that is expected instead of this one. Returns null if each `!` has a pattern before it. */
export const listFault = (patterns: readonly string[]): string | null =>
  patterns[0]?.startsWith('!') === true
    ? 'a pattern before the first one that starts with "!", which takes files out of the patterns before it'
    : null;

/**
 * Excludes all folders from the patterns before it. Letter case does not count in the patterns, so without this line `BUILD` would protect a
 * folder `build/` with everything in it.
 */
export const FILES_ONLY = '!*/';
const isNegated = (pattern: string): boolean => pattern.startsWith('!') && pattern !== FILES_ONLY;
const plainOf = (patterns: readonly string[]): string[] =>
  patterns.filter((pattern) => !isNegated(pattern));
const negatedOf = (patterns: readonly string[]): string[] =>
  patterns.filter(isNegated).map((pattern) => pattern.slice(1));

/**
 * Returns a function that reports whether a list allows a file. Letter case counts in plain patterns and does not count in those that start
 * with `!`. A pattern with `!` removes a file at any position in the list, and also below a folder that another pattern names.
 */
export function allowedBy(patterns: readonly string[]): (path: string) => boolean {
  const allowed = ignore({ ignorecase: false }).add(plainOf(patterns));
  const exceptions = ignore().add(negatedOf(patterns));
  return (path) => allowed.ignores(path) && !exceptions.ignores(path);
}

/**
 * Returns a function that reports whether a list forbids a file. Letter case does not count in plain patterns and counts in those that start
 * with `!`. As in git, a pattern with `!` removes a file only from the patterns before it, and only if no folder above the file is forbidden.
 */
export function forbiddenBy(patterns: readonly string[]): (path: string) => boolean {
  const all = ignore().add([...patterns]);
  const negated = negatedOf(patterns);
  if (negated.length === 0) return (path) => all.ignores(path);
  const plain = ignore().add(plainOf(patterns));
  const exceptions = ignore({ ignorecase: false }).add(negated);
  return (path) => all.ignores(path) || (plain.ignores(path) && !exceptions.ignores(path));
}
