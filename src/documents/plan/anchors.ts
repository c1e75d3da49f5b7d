/** Resolves anchors of links (`#anchor`): the names that GitHub gives to the headings of a text, and the `id`s in its HTML. */
import { partHeading } from './headings.js';
import { outlineOf } from './plan-document.js';
import type { Span } from './types.js';

/** Anchors of a file. A key identifies the same heading before and after the text of a part moves; a slug is its anchor in one file. */
export interface Anchors {
  readonly keyOf: ReadonlyMap<string, string>;
  readonly slugOf: ReadonlyMap<string, string>;
}

/** Key of the part itself: of its heading, and of the title of its file. */
export const PART = 'part';

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
  const placeOf = (from: number): string | null => {
    if (from >= body.from && from < body.to) return 'inside';
    return hasRest ? 'outside' : null;
  };
  const add = (slug: string, key: string): void => {
    if (!keys.has(slug)) keys.set(slug, key);
    if (!slugs.has(key)) slugs.set(key, slug);
  };
  const keyOfHeading = (from: number, base: string): string | null => {
    if (from === partOffset) return PART;
    const place = placeOf(from);
    return place === null ? null : `${place} ${base} ${occurrenceOf(`${place} ${base}`)}`;
  };
  const uniqueSlug = slugCounter();
  const headingSlugs = headings.map((heading) => ({ heading, base: slugOf(heading.text) }));
  const headingKeys = headingSlugs.map(({ heading, base }) => {
    const slug = uniqueSlug(base);
    const key = keyOfHeading(heading.from, base);
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
