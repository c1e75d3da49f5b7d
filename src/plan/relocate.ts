/**
 * Links with an `#anchor` when a part's text moves between the file that holds its heading and its own file beside it. They lead to the
 * same heading afterwards, and each way undoes the other: `#x` becomes `file.md#x`; a link that named its file already gets `./` before it.
 */
import { PART, type Anchors } from './anchors.js';
import { linksOf } from './change.js';
import { isRelative, relink, urlOf } from './links.js';
import { baseOf, folderOf, resolveLink } from './names.js';
import { splice } from './spans.js';

export interface Relocation {
  readonly holder: string;
  /** The part's own file, in the same folder. */
  readonly file: string;
  readonly way: 'out' | 'back';
  readonly before: ReadonlyMap<string, Anchors>;
  readonly after: ReadonlyMap<string, Anchors>;
}

/** Is there a `#` that begins no heading? Most plans have none, and parsing each file for it takes its time. */
export const hasAnchorLinks = (text: string): boolean => /#[^\s#]/.test(text);

/** `out`: of the files as they are afterwards; `back`: of those before. The other half of a move is the texts themselves. */
export function relocated(files: ReadonlyMap<string, string>, move: Relocation): ReadonlyMap<string, string> {
  const names = [move.holder, move.file].map((path) => urlOf(baseOf(path)));
  const concerned = (path: string, text: string): boolean =>
    path === move.holder ||
    path === move.file ||
    names.some((name) => text.includes(`${name}#`) || text.includes(`${name}?`));
  return new Map(
    [...files].map(([path, text]) => {
      if (!concerned(path, text) || !hasAnchorLinks(text)) return [path, text];
      const links = relink(linksOf(text), (target) => relocate(path, target, move));
      return [path, splice(text, links)];
    }),
  );
}

function relocate(path: string, target: string, move: Relocation): string {
  const { holder, file, way } = move;
  const [, bare = '', query = '', fragment] = /^([^?#]*)(\?[^#]*)?#(.*)$/s.exec(target) ?? [];
  const implicit = bare === '' && query === '';
  if (fragment === undefined || !(implicit || isRelative(target))) return target;
  const inside = path === holder || path === file;
  // Texts of both files were in the holder before they went out, and are there once they are back.
  const origin = inside && way === 'out' ? holder : path;
  const from = implicit ? origin : resolveLink(folderOf(path), bare);
  const known = from === null ? undefined : move.before.get(from);
  if (from === null || known === undefined) return target;
  const key = known.keyOf.get(decoded(fragment));
  const to = way === 'back' || key === undefined ? holder : (holding(move.after, key) ?? holder);
  const anchor = anchorAt(fragment, key, move.after.get(to));
  const here = way === 'back' && inside ? holder : path;
  if (implicit) {
    if (key === undefined) return target;
    return to === here ? anchor : urlOf(baseOf(to)) + anchor;
  }
  const renamed = swapped(bare, from, to);
  if (renamed === null) return target;
  const rest = query + anchor;
  if (!inside) return renamed + rest;
  if (path === holder && from === to) return bare + rest;
  if (way === 'out') return `./${renamed}${rest}`;
  if (bare === urlOf(baseOf(from)) && query === '') return anchor;
  return (renamed.startsWith('./') ? renamed.slice(2) : renamed) + rest;
}

/** The part's own file wins: the heading that stays behind is another place to say the same. */
const holding = (after: Relocation['after'], key: string): string | undefined =>
  [...after].findLast(([, { slugOf }]) => slugOf.has(key))?.[0];

function anchorAt(fragment: string, key: string | undefined, anchors: Anchors | undefined): string {
  // A part's file opens at its title, with whatever markers the anchor was written.
  if (key === undefined || key === PART) return `#${fragment}`;
  const plain = decoded(fragment);
  const slug = anchors?.slugOf.get(key) ?? plain;
  if (slug === plain || anchors?.keyOf.get(plain) === key) return `#${fragment}`;
  return `#${plain === fragment ? slug : encodeURIComponent(slug)}`;
}

function swapped(bare: string, from: string, to: string): string | null {
  if (from === to) return bare;
  const name = urlOf(baseOf(from));
  return bare.endsWith(name) ? bare.slice(0, bare.length - name.length) + urlOf(baseOf(to)) : null;
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
