/**
 * Relative links of a text whose file moves one folder down, or back up. Each way undoes the other, so that expanding and collapsing
 * give the same bytes: what points elsewhere gets `../` before it, what points into the folder loses the folder's name.
 */
import { folderOf, resolveLink } from './names.js';
import type { Link, TextSplice } from './types.js';

/** As it stands in a link: without blanks, parentheses, quotes, `#` and `?`, which would end it. */
export const urlOf = (path: string): string =>
  encodeURI(path).replace(/[()'#?]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

export const isRelative = (target: string): boolean => !/^(?:$|[#?/\\]|[a-z][a-z0-9+.-]*:)/i.test(target);
const pathOf = (target: string): string => target.replace(/[?#].*$/s, '');

export interface Move {
  /** Name of the folder. */
  readonly folder: string;
  /** The file's own name where it stays the same: links to it stay as they are. */
  readonly self: string | null;
}

const isSelf = (target: string, { self }: Move): boolean =>
  self !== null && [self, urlOf(self)].includes(pathOf(target).replace(/^(?:\.\/)+/, ''));

/** `./` before the folder's name, and what follows it, where the folder's name can be left out inside the folder. */
function inFolder(target: string, move: Move): { readonly dots: string; readonly rest: string } | null {
  const name = `${urlOf(move.folder)}/`;
  const dots = (/^(?:\.\/)*/.exec(target) ?? [''])[0];
  const bare = target.slice(dots.length);
  const rest = bare.slice(name.length);
  if (!bare.startsWith(name) || !isRelative(rest) || /^\.\.(?:\/|$|[?#])/.test(rest) || isSelf(rest, move)) return null;
  return { dots, rest };
}

/** From beside the folder into it. */
export function down(target: string, move: Move): string {
  if (!isRelative(target) || isSelf(target, move)) return target;
  const inside = inFolder(target, move);
  if (inside === null) return `../${target}`;
  return inside.dots === '' ? inside.rest : `../${target.slice(2)}`;
}

/** The other way. */
export function up(target: string, move: Move): string {
  if (!isRelative(target) || isSelf(target, move)) return target;
  if (!target.startsWith('../')) return `${urlOf(move.folder)}/${target}`;
  const rest = target.slice(3);
  return inFolder(rest, move) !== null || !isRelative(rest) ? `./${rest}` : rest;
}

/** Splices for every link that `change` changes. */
export const relink = (links: readonly Link[], change: (target: string) => string): readonly TextSplice[] =>
  links.flatMap(({ from, to, target }) => {
    const text = change(target);
    return text === target ? [] : [{ from, to, text }];
  });

/** Links of a file in `path`'s folder that lead to `from` lead to `to` afterwards; `kept` is the part of both paths that stays. */
export function retarget(path: string, target: string, from: string, to: string, kept: string): string {
  const bare = pathOf(target);
  if (!isRelative(target) || resolveLink(folderOf(path), target) !== from) return target;
  const before = urlOf(from.slice(kept.length));
  if (!bare.endsWith(before)) return target;
  return bare.slice(0, bare.length - before.length) + urlOf(to.slice(kept.length)) + target.slice(bare.length);
}
