/** Resolves anchors of links (`#anchor`): the names that GitHub gives to the headings of a text, and the `id`s in its HTML. */
import { outlineOf, partHeading } from './reading.js';
import { type Span, splice } from './types.js';
import { linksOf } from './change.js';
import { isRelative, relink, urlOf } from './links.js';
import { baseOf, decoded, folderOf, resolveLink } from './tree.js';

/** Anchors of a file. A key identifies the same heading before and after the text of a part moves; a slug is its anchor in one file. */
export interface Anchors {
  readonly keyOf: ReadonlyMap<string, string>;
  readonly slugOf: ReadonlyMap<string, string>;
}
/** Key of the part itself: of its heading, and of the title of its file. */
const PART = 'part';

/** Returns the anchor of a heading: its text in lower case, with hyphens for blanks. GitHub's html-pipeline makes anchors in this way. */
const slugOf = (heading: string): string =>
  heading
    .replace(/!?\[([^\][]*)\](?:\([^)]{0,1000}\)|\[[^\][]*\])/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{Nd}\p{Pc}\- ]/gu, '')
    .replace(/ /g, '-');

/**
 * Returns the anchors of a file. `partOffset` is the offset of the part's heading or title, and `body` is the part's text in the file. With
 * `hasRest`, anchors outside of both also get a key.
 */
export function anchorsOf(text: string, partOffset: number, body: Span, hasRest: boolean): Anchors {
  const { headings, ids } = outlineOf(text);
  const keys = new Map<string, string>();
  const slugs = new Map<string, string>();
  const counts = new Map<string, number>();
  const occurrenceOf = (name: string): number => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return count;
  };
  const placeOf = (from: number): string | null =>
    from >= body.from && from < body.to ? 'inside' : hasRest ? 'outside' : null;
  const add = (slug: string, key: string): void => {
    if (!keys.has(slug)) keys.set(slug, key);
    if (!slugs.has(key)) slugs.set(key, slug);
  };
  const uniqueSlug = slugCounter();
  const headingSlugs = headings.map((heading) => ({ heading, base: slugOf(heading.text) }));
  const headingKeys = headingSlugs.map(({ heading, base }) => {
    const slug = uniqueSlug(base);
    const place = placeOf(heading.from);
    const key =
      heading.from === partOffset
        ? PART
        : place === null
          ? null
          : `${place} ${base} ${occurrenceOf(`${place} ${base}`)}`;
    if (key !== null) add(slug, key);
    return { heading, key };
  });
  // Emend adds and removes markers, so a link to a part may leave them out.
  for (const { heading, key } of headingKeys) {
    const part = partHeading(heading);
    if (part === null || key === null) continue;
    const bare = slugOf(`${part.kind} ${part.number}: ${part.name}`);
    if (!keys.has(bare)) keys.set(bare, key);
  }
  for (const { id, from } of ids) {
    const place = placeOf(from);
    if (place !== null) add(id, `${place} id=${id}`);
  }
  return { keyOf: keys, slugOf: slugs };
}

/** Returns a function that makes anchors unique as GitHub does: `tests`, `tests-1`, `tests-2`. */
function slugCounter(): (base: string) => string {
  const countOf = new Map<string, number>();
  return (base) => {
    let slug = base;
    while (countOf.has(slug)) {
      const count = (countOf.get(base) ?? 0) + 1;
      countOf.set(base, count);
      slug = `${base}-${count}`;
    }
    countOf.set(slug, 0);
    return slug;
  };
}

// Rewrites links with an `#anchor` when the text of a part moves between the file with its heading and its own file next to it. Afterwards
// they lead to the same heading. Each direction undoes the other: `#x` becomes `file.md#x`, and a link that already names its file gets `./`.

export interface Relocation {
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
export function relocated(
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
  const { holder, file, way } = move;
  const [, bare = '', query = '', fragment] = /^([^?#]*)(\?[^#]*)?#(.*)$/s.exec(target) ?? [];
  const isImplicit = bare === '' && query === '';
  if (fragment === undefined || !(isImplicit || isRelative(target))) return target;
  const isInside = path === holder || path === file;
  // Both texts are in the holder before they move out, and again after they move back.
  const origin = isInside && way === 'out' ? holder : path;
  const from = isImplicit ? origin : resolveLink(folderOf(path), bare);
  const anchorsBefore = from === null ? undefined : move.before.get(from);
  if (from === null || anchorsBefore === undefined) return target;
  const key = anchorsBefore.keyOf.get(decoded(fragment));
  const to = way === 'back' || key === undefined ? holder : (fileWith(move.after, key) ?? holder);
  const anchor = anchorAt(fragment, key, move.after.get(to));
  const here = way === 'back' && isInside ? holder : path;
  if (isImplicit) {
    if (key === undefined) return target;
    return to === here ? anchor : urlOf(baseOf(to)) + anchor;
  }
  const newPath = replaceFileName(bare, from, to);
  if (newPath === null) return target;
  const rest = query + anchor;
  if (!isInside) return newPath + rest;
  if (path === holder && from === to) return bare + rest;
  if (way === 'out') return `./${newPath}${rest}`;
  if (bare === urlOf(baseOf(from)) && query === '') return anchor;
  return (newPath.startsWith('./') ? newPath.slice(2) : newPath) + rest;
}

/** Returns the file in which a key has an anchor. The part's own file comes before the holder, which keeps a heading of the same name. */
const fileWith = (after: Relocation['after'], key: string): string | undefined =>
  [...after].findLast(([, { slugOf }]) => slugOf.has(key))?.[0];

function anchorAt(fragment: string, key: string | undefined, anchors: Anchors | undefined): string {
  // The anchor of the part itself leads to the top of its file with or without markers, so it stays unchanged.
  if (key === undefined || key === PART) return `#${fragment}`;
  const oldSlug = decoded(fragment);
  const slug = anchors?.slugOf.get(key) ?? oldSlug;
  if (slug === oldSlug || anchors?.keyOf.get(oldSlug) === key) return `#${fragment}`;
  return `#${oldSlug === fragment ? slug : encodeURIComponent(slug)}`;
}

function replaceFileName(bare: string, from: string, to: string): string | null {
  if (from === to) return bare;
  const name = urlOf(baseOf(from));
  return bare.endsWith(name) ? bare.slice(0, bare.length - name.length) + urlOf(baseOf(to)) : null;
}
