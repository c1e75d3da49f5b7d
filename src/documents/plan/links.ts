/**
 * Rewrites the relative links of a file that moves one folder down, or back up. A link that leads elsewhere gets `../`, and a link into the
 * folder loses the name of the folder. Each direction undoes the other, so that a plan has the same bytes after expanding and collapsing.
 */
import { folderOf, resolveLink } from './plan-paths.js';
import type { Link, TextSplice } from './types.js';

/** Encodes a path for a link. Blanks, parentheses, quotes, `#` and `?` would end the path, so they are escaped. */
export const urlOf = (path: string): string =>
  encodeURI(path).replace(
    /[()'#?]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

export const isRelative = (target: string): boolean =>
  !/^(?:$|[#?/\\]|[a-z][a-z0-9+.-]*:)/i.test(target);

const pathOf = (target: string): string => target.replace(/[?#].*$/s, '');

export interface Move {
  readonly folder: string;
  /** Name of the moved file if the move keeps it, else null. Links of the file to itself do not change. */
  readonly self: string | null;
}

const isSelf = (target: string, { self }: Move): boolean =>
  self !== null && [self, urlOf(self)].includes(pathOf(target).replace(/^(?:\.\/)+/, ''));

/**
 * Splits a link into the folder at the folder's name: `dots` are the `./` before it and `rest` follows it. Returns null if the name cannot be
 * left out inside the folder.
 */
function inFolder(
  target: string,
  move: Move,
): { readonly dots: string; readonly rest: string } | null {
  const name = `${urlOf(move.folder)}/`;
  const dots = (/^(?:\.\/)*/.exec(target) ?? [''])[0];
  const bare = target.slice(dots.length);
  const rest = bare.slice(name.length);
  if (
    !bare.startsWith(name) ||
    !isRelative(rest) ||
    /^\.\.(?:\/|$|[?#])/.test(rest) ||
    isSelf(rest, move)
  )
    return null;
  return { dots, rest };
}

/** Rewrites a link of a file that moves into the folder next to it. */
export function down(target: string, move: Move): string {
  if (!isRelative(target) || isSelf(target, move)) return target;
  const inside = inFolder(target, move);
  if (inside === null) return `../${target}`;
  return inside.dots === '' ? inside.rest : `../${target.slice(2)}`;
}

/** Rewrites a link of a file that moves out of the folder. */
export function up(target: string, move: Move): string {
  if (!isRelative(target) || isSelf(target, move)) return target;
  if (!target.startsWith('../')) return `${urlOf(move.folder)}/${target}`;
  const rest = target.slice(3);
  return inFolder(rest, move) !== null || !isRelative(rest) ? `./${rest}` : rest;
}

/** Returns splices for all links that `change` changes. */
export const relink = (
  links: readonly Link[],
  change: (target: string) => string,
): readonly TextSplice[] =>
  links.flatMap(({ from, to, target }) => {
    const text = change(target);
    return text === target ? [] : [{ from, to, text }];
  });

interface Renamed {
  readonly from: string;
  readonly to: string;
  /** Beginning of both paths that stays the same. */
  readonly kept: string;
}

/** Rewrites a link of the file `path` that leads to `from`, so that it leads to `to`. Other links stay unchanged. */
export function retarget(path: string, target: string, { from, to, kept }: Renamed): string {
  const bare = pathOf(target);
  if (!isRelative(target) || resolveLink(folderOf(path), target) !== from) return target;
  const before = urlOf(from.slice(kept.length));
  if (!bare.endsWith(before)) return target;
  return (
    bare.slice(0, bare.length - before.length) +
    urlOf(to.slice(kept.length)) +
    target.slice(bare.length)
  );
}
