/** Words on their way into messages, details and records: those of others bounded, and never a reason to throw. Pure. */

/** A value as text; what cannot be written down (nested too deep, a circle) is said instead of thrown. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    const json: unknown = JSON.stringify(value);
    return typeof json === 'string' ? json : 'nothing';
  } catch {
    return `a value that cannot be shown (${typeof value})`;
  }
}

/** At most `chars` characters, and `…` where it was more. */
export const cut = (text: string, chars: number): string => (text.length <= chars ? text : `${text.slice(0, chars)}…`);

/** In quotes on one line, cut where it is longer. */
export const quoted = (text: string, chars: number): string => JSON.stringify(cut(text, chars));

/** At most `chars` characters, with their number where it was more. Does not cut a surrogate pair in two. */
export function short(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(chars - 1)) ? chars - 1 : chars;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `1 file`, `2,000 files`. */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;

/** A name or path as file systems compare it that do not tell letter case (Windows, macOS) nor how accents are written (macOS). */
export const foldedName = (name: string): string => name.normalize('NFC').toLowerCase();
