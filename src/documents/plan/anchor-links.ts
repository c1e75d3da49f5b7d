/**
 * Rewrites links with an `#anchor` when the text of a part moves between the file with its heading and its own file next to it. Afterwards they
 * lead to the same heading. Each direction undoes the other: `#x` becomes `file.md#x`, and a link that already names its file gets `./`.
 */
import { PART, type Anchors } from './anchors.js';
import { linksOf } from './change.js';
import { isRelative, relink, urlOf } from './links.js';
import { baseOf, decodeLink, folderOf, resolveLink } from './plan-paths.js';
import { splice } from './text-spans.js';

interface Relocation {
  /** The file with the part's heading. */
  readonly holder: string;
  /** The part's own file, in the same folder. */
  readonly file: string;
  readonly way: 'out' | 'back';
  readonly before: ReadonlyMap<string, Anchors>;
  readonly after: ReadonlyMap<string, Anchors>;
}

/** Returns whether a text has a `#` that begins no heading. Most plans have none, and then no file needs to be parsed again. */
export const hasAnchorLinks = (text: string): boolean => /#[^\s#]/.test(text);

/**
 * Returns the files with rewritten links. When a part moves `out`, `files` are the files after the move of its text. When it moves `back`, they
 * are the files before that move.
 */
export function relocateLinks(
  files: ReadonlyMap<string, string>,
  move: Relocation,
): ReadonlyMap<string, string> {
  const names = [move.holder, move.file].map((path) => urlOf(baseOf(path)));
  const isConcerned = (path: string, text: string): boolean =>
    path === move.holder ||
    path === move.file ||
    names.some((name) => text.includes(`${name}#`) || text.includes(`${name}?`));
  return new Map(
    [...files].map(([path, text]) => {
      if (!isConcerned(path, text) || !hasAnchorLinks(text)) return [path, text];
      const links = relink(linksOf(text), (target) => relocate(path, target, move));
      return [path, splice(text, links)];
    }),
  );
}

function relocate(path: string, target: string, move: Relocation): string {
  const link = anchorLinkOf(path, target, move);
  if (link === null) return target;
  const { holder, way, after } = move;
  const { key, fragment } = link;
  const to = way === 'back' || key === undefined ? holder : (fileWith(after, key) ?? holder);
  const anchor = anchorAt(fragment, key, after.get(to));
  const newLink = link.isImplicit
    ? implicitLink(path, link, { to, anchor }, move)
    : explicitLink(path, link, { to, anchor }, move);
  return newLink ?? target;
}

/** A link with an anchor to a file whose anchors are known. */
interface AnchorLink {
  /** Path of the link without its query and anchor. */
  readonly bare: string;
  readonly query: string;
  readonly fragment: string;
  /** Whether the link has no path, so that it leads into its own file. */
  readonly isImplicit: boolean;
  /** File to which the link leads before the move. */
  readonly from: string;
  /** Key of the anchor in that file. */
  readonly key: string | undefined;
}

/** File and anchor to which a link leads after the move. */
interface Destination {
  readonly to: string;
  readonly anchor: string;
}

/** Parses a link. Returns null if it has no anchor, or if the move does not affect its file. */
function anchorLinkOf(path: string, target: string, move: Relocation): AnchorLink | null {
  const [, bare = '', query = '', fragment] = /^([^?#]*)(\?[^#]*)?#(.*)$/s.exec(target) ?? [];
  const isImplicit = bare === '' && query === '';
  if (fragment === undefined || !(isImplicit || isRelative(target))) return null;
  // Both texts are in the holder before they move out, and again after they move back.
  const origin = isInside(path, move) && move.way === 'out' ? move.holder : path;
  const from = isImplicit ? origin : resolveLink(folderOf(path), bare);
  const anchors = from === null ? undefined : move.before.get(from);
  if (from === null || anchors === undefined) return null;
  return { bare, query, fragment, isImplicit, from, key: anchors.keyOf.get(decodeLink(fragment)) };
}

const isInside = (path: string, { holder, file }: Relocation): boolean =>
  path === holder || path === file;

/** Returns the new form of a link `#anchor`. Returns null if it stays unchanged. */
function implicitLink(
  path: string,
  { key }: AnchorLink,
  { to, anchor }: Destination,
  move: Relocation,
): string | null {
  if (key === undefined) return null;
  const fileOfLink = move.way === 'back' && isInside(path, move) ? move.holder : path;
  return to === fileOfLink ? anchor : urlOf(baseOf(to)) + anchor;
}

/** Returns the new form of a link `file.md#anchor`. Returns null if it stays unchanged. */
function explicitLink(
  path: string,
  { bare, query, from }: AnchorLink,
  { to, anchor }: Destination,
  move: Relocation,
): string | null {
  const newPath = replaceFileName(bare, from, to);
  if (newPath === null) return null;
  const rest = query + anchor;
  if (!isInside(path, move)) return newPath + rest;
  if (path === move.holder && from === to) return bare + rest;
  if (move.way === 'out') return `./${newPath}${rest}`;
  if (bare === urlOf(baseOf(from)) && query === '') return anchor;
  return (newPath.startsWith('./') ? newPath.slice(2) : newPath) + rest;
}

/** Returns the file in which a key has an anchor. The part's own file comes before the holder, which keeps a heading of the same name. */
const fileWith = (after: Relocation['after'], key: string): string | undefined =>
  [...after].findLast(([, { slugOf }]) => slugOf.has(key))?.[0];

function anchorAt(fragment: string, key: string | undefined, anchors: Anchors | undefined): string {
  // The anchor of the part itself leads to the top of its file with or without markers, so it stays unchanged.
  if (key === undefined || key === PART) return `#${fragment}`;
  const oldSlug = decodeLink(fragment);
  const slug = anchors?.slugOf.get(key) ?? oldSlug;
  if (slug === oldSlug || anchors?.keyOf.get(oldSlug) === key) return `#${fragment}`;
  return `#${oldSlug === fragment ? slug : encodeURIComponent(slug)}`;
}

function replaceFileName(bare: string, from: string, to: string): string | null {
  if (from === to) return bare;
  const name = urlOf(baseOf(from));
  return bare.endsWith(name) ? bare.slice(0, bare.length - name.length) + urlOf(baseOf(to)) : null;
}
