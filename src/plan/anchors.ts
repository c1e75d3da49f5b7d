/** What `#anchor` leads to: the headings of a text as GitHub names them, and `id`s in its HTML. */
import { readMarkdown } from './markdown.js';
import { markdownStart } from './reading.js';
import type { Span } from './types.js';
import { partHeading } from './words.js';

/** Keys name the same place before and after a part's text has moved. */
export interface Anchors {
  readonly keyOf: ReadonlyMap<string, string>;
  readonly slugOf: ReadonlyMap<string, string>;
}
/** The part itself: its heading, and the title of its file. */
export const PART = 'part';

/** As html-pipeline's table of contents does it, which GitHub uses: words of the text, small, with `-` for a blank. */
const slugOf = (heading: string): string =>
  heading
    .replace(/!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{Nd}\p{Pc}\- ]/gu, '')
    .replace(/ /g, '-');

/** `own`: offset of the part's heading or title; `body`: the part's text in it; `rest`: is what stands outside of both named too? */
export function anchorsOf(text: string, own: number, body: Span, rest: boolean): Anchors {
  const { headings, ids } = readMarkdown(text, markdownStart(text));
  const keys = new Map<string, string>();
  const slugs = new Map<string, string>();
  const nth = counter();
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
    const key = heading.from === own ? PART : place === null ? null : `${place} ${base} ${nth(`${place} ${base}`)}`;
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

function counter(): (name: string) => number {
  const counts = new Map<string, number>();
  return (name) => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return count;
  };
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
