/** What `#anchor` leads to: the headings of a text as GitHub names them, and `id`s in its HTML. */
import { outlineOf, partHeading } from './reading.js';
import { type Span, splice } from './types.js';
import { linksOf } from './change.js';
import { isRelative, relink, urlOf } from './links.js';
import { baseOf, decoded, folderOf, resolveLink } from './tree.js';

/** Keys name the same place before and after a part's text has moved. */
export interface Anchors {
  readonly keyOf: ReadonlyMap<string, string>;
  readonly slugOf: ReadonlyMap<string, string>;
}
/** The part itself: its heading, and the title of its file. */
const PART = 'part';

/** As html-pipeline's table of contents does it, which GitHub uses: words of the text, small, with `-` for a blank. */
const slugOf = (heading: string): string =>
  heading
    .replace(/!?\[([^\][]*)\](?:\([^)]{0,1000}\)|\[[^\][]*\])/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{Nd}\p{Pc}\- ]/gu, '')
    .replace(/ /g, '-');

/** `own`: offset of the part's heading or title; `body`: the part's text in it; `rest`: is what stands outside of both named too? */
export function anchorsOf(text: string, own: number, body: Span, rest: boolean): Anchors {
  const { headings, ids } = outlineOf(text);
  const keys = new Map<string, string>();
  const slugs = new Map<string, string>();
  const counts = new Map<string, number>();
  const nth = (name: string): number => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return count;
  };
  const placeOf = (from: number): string | null =>
    from >= body.from && from < body.to ? 'inside' : rest ? 'outside' : null;
  const add = (slug: string, key: string): void => {
    if (!keys.has(slug)) keys.set(slug, key);
    if (!slugs.has(key)) slugs.set(key, slug);
  };
  const unique = numbered();
  const named = headings.map((heading) => ({ heading, base: slugOf(heading.text) }));
  const keyed = named.map(({ heading, base }) => {
    const slug = unique(base);
    const place = placeOf(heading.from);
    const key =
      heading.from === own
        ? PART
        : place === null
          ? null
          : `${place} ${base} ${nth(`${place} ${base}`)}`;
    if (key !== null) add(slug, key);
    return { heading, key };
  });
  // Markers come and go: a link to a part may leave them out.
  for (const { heading, key } of keyed) {
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

/** `tests`, `tests-1`, `tests-2`. */
function numbered(): (base: string) => string {
  const taken = new Map<string, number>();
  return (base) => {
    let slug = base;
    while (taken.has(slug)) {
      const count = (taken.get(base) ?? 0) + 1;
      taken.set(base, count);
      slug = `${base}-${count}`;
    }
    taken.set(slug, 0);
    return slug;
  };
}

// Links with an `#anchor` when a part's text moves between the file that holds its heading and its own file next to it. They lead to the
// same heading afterwards, and each way undoes the other: `#x` becomes `file.md#x`; a link that named its file already gets `./` before it.

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
export function relocated(
  files: ReadonlyMap<string, string>,
  move: Relocation,
): ReadonlyMap<string, string> {
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
