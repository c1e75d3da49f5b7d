/** Entities of HTML, and backslashes before characters that need none, with the characters that they stand for. */
export const ENTITY = /&(?:lt|gt|amp|quot|apos|#0*(?:34|38|39|60|62)|#x0*(?:22|26|27|3c|3e));/gi;
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/^&(?:lt|#0*60|#x0*3c);$/i, '<'],
  [/^&(?:gt|#0*62|#x0*3e);$/i, '>'],
  [/^&(?:quot|#0*34|#x0*22);$/i, '"'],
  [/^&(?:apos|#0*39|#x0*27);$/i, "'"],
];
export const plainOf = (entity: string): string =>
  PLAIN.find(([names]) => names.test(entity))?.[1] ?? '&';

/** Puts characters in place of entities, once: `&amp;lt;` becomes `&lt;`. */
export const withPlainEntities = (text: string): string =>
  text.includes('&') ? text.replace(ENTITY, plainOf) : text;

/** Removes the backslashes before quotes and before the characters that Markdown escapes. */
export const withoutBackslashes = (text: string): string =>
  text.includes('\\') ? text.replace(/\\(?=["'`_*#[\]<>$&])/g, '') : text;
