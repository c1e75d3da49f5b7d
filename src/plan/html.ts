/** Links and anchors of the HTML in a Markdown text. Only tags are read; what is in comments is none. */
import { BOUNDS } from '../shared/limits.js';
import type { Span } from './types.js';

export interface HtmlTags {
  /** Where `href` of `<a>` and `src` of `<img>` stand, without quotes and blanks around. */
  readonly links: readonly Span[];
  /** `id` of any tag, `name` of `<a>`. */
  readonly ids: readonly { readonly id: string; readonly from: number }[];
}

/** A tag with `<` or `>` in an attribute is not read; each tag's attributes are bounded, so reading is linear. */
const TAG = new RegExp(`<!--[^]*?(?:-->|$)|<([a-z][a-z0-9-]*)(?=[\\s/])([^<>]{0,${BOUNDS.planTag_chars}})>`, 'gi');
const ATTRIBUTE = /(?<=^|[\s"'/])([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/dg;

export function readHtml(source: string, { from, to }: Span): HtmlTags {
  const links: Span[] = [];
  const ids: { id: string; from: number }[] = [];
  for (const tag of source.slice(from, to).matchAll(TAG)) {
    const [, tagName, attributes] = tag;
    if (tagName === undefined || attributes === undefined) continue;
    const name = tagName.toLowerCase();
    const begin = from + tag.index + 1 + name.length;
    for (const attribute of attributes.matchAll(ATTRIBUTE)) {
      const [, key = '', double, single, bare] = attribute;
      const value = double ?? single ?? bare ?? '';
      const at =
        begin + ([2, 3, 4].map((group) => attribute.indices?.[group]?.[0]).find((each) => each !== undefined) ?? 0);
      const what = `${name} ${key.toLowerCase()}`;
      const start = at + value.length - value.trimStart().length;
      if (what === 'a href' || what === 'img src') links.push({ from: start, to: start + value.trim().length });
      if (key.toLowerCase() === 'id' || what === 'a name') ids.push({ id: value, from: at });
    }
  }
  return { links, ids };
}
