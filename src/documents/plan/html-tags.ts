/** Reads links and anchors of the HTML tags in a Markdown text. */
import type { Span } from './types.js';

const PLAN_TAG_CHARS = 4_000; // bound: Characters of the attributes of an HTML tag. Links in a longer tag are not found.

/** Links and anchors of the HTML tags in a Markdown text. Tags in comments do not count. */
export interface HtmlTags {
  /** Spans of `href` of `<a>` and `src` of `<img>`, without quotes and blanks around the address. */
  readonly links: readonly Span[];
  /** Anchors: `id` of any tag and `name` of `<a>`. */
  readonly ids: readonly { readonly id: string; readonly from: number }[];
}

/** A tag. One with `<` or `>` in an attribute does not match. The attributes have a bound, so that matching takes linear time. */
const TAG = new RegExp(
  `<!--[^]*?(?:-->|$)|<([a-z][a-z0-9-]*)(?=[\\s/])([^<>]{0,${PLAN_TAG_CHARS}})>`,
  'gi',
);

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
      const valueStart =
        begin +
        ([2, 3, 4]
          .map((group) => attribute.indices?.[group]?.[0])
          .find((index) => index !== undefined) ?? 0);
      const tagAndKey = `${name} ${key.toLowerCase()}`;
      const start = valueStart + value.length - value.trimStart().length;
      if (tagAndKey === 'a href' || tagAndKey === 'img src')
        links.push({ from: start, to: start + value.trim().length });
      if (key.toLowerCase() === 'id' || tagAndKey === 'a name')
        ids.push({ id: value, from: valueStart });
    }
  }
  return { links, ids };
}
