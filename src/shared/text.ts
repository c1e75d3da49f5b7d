/** Words on their way into messages, details and records: those of others bounded, and never a reason to throw. Pure. */
const SLUG_chars = 40; // bound: Of a job's or plan's name, in its workflow id.
const WORD_chars = 60; // bound: Of a word that may be one of a list, misspelt.

/** A value as text; what cannot be written down (nested too deep, a circle) is said instead of thrown. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    const json: unknown = JSON.stringify(value);
    return typeof json === 'string' ? json : 'nothing';
  } catch {
    return `an unprintable value (${typeof value})`;
  }
}

/** At most `chars` characters, and `…` where it was more. */
export const cut = (text: string, chars: number): string =>
  text.length <= chars ? text : `${text.slice(0, chars)}…`;

/** In quotes on one line, cut where it is longer. */
export const quoted = (text: string, chars: number): string => JSON.stringify(cut(text, chars));

/** At most `chars` characters, with their number where it was more. Does not cut a surrogate pair in two. */
export function short(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(chars - 1)) ? chars - 1 : chars;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

/** Returns the last segment of a path with `/` between its folders: the name of the file. */
export const lastSegment = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** The size of the text in UTF-8. */
export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** A short name of a text that tells two texts apart (FNV-1a, 32 bits). It does not protect against a search for collisions. */
export const checksum = (text: string): string => {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
};

/** How many characters two texts have in common at their ends. */
export const sameEnds = (a: string, b: string): [head: number, tail: number] => {
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return [head, tail];
};

/** For a regular expression that is to find the text itself. */
export const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** Letters and digits of any script, at most `SLUG_chars`, with hyphens between. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .slice(0, SLUG_chars)
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The items by key, in their order (`Map.groupBy` is not in Node.js 20). */
export const groupBy = <K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> => {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
};

/** How often each of the items is there. */
export const tally = <T>(items: Iterable<T>): Map<T, number> => {
  const times = new Map<T, number>();
  for (const item of items) times.set(item, (times.get(item) ?? 0) + 1);
  return times;
};

/** `1 file`, `2,000 files`. Commas cost a command 10 ms, once: so long does Node.js load the tables of languages. */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${Number.isInteger(n) && n < 1000 ? n : n.toLocaleString('en-US')} ${n === 1 ? one : many}`;

/** `010` of a plan's path `plans/010_demo`, without its level; null: it has none. */
export const planNumber = (path: string): string | null =>
  /(?:^|\/)(\d+)_[^/]*$/.exec(path)?.[1] ?? null;

/** A name or path as file systems compare it that do not tell letter case (Windows, macOS) nor how accents are written (macOS). */
export const foldedName = (name: string): string => name.normalize('NFC').toLowerCase();

// What of a text nobody sees, or sees in another order than it is stored, by Unicode's own tables. Emoji need some of it.

const PICTURE = '\\p{Extended_Pictographic}[\\uFE0E\\uFE0F\\p{Emoji_Modifier}]?';
const EMOJI = `\\p{RGI_Emoji_Tag_Sequence}|\\p{Emoji_Keycap_Sequence}|${PICTURE}(?:\\u200D${PICTURE})*`;
/** For a class of characters (flag `v`). */
export const UNSEEN = '\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\p{Cf}\\p{Zl}\\p{Zp}';
const EMOJI_OR_UNSEEN = new RegExp(`${EMOJI}|([${UNSEEN}])`, 'gv');
const EMOJI_OR_ESCAPED = new RegExp(`${EMOJI}|([${UNSEEN}[\\p{Cc}--[\\t\\n]]])`, 'gv');

/** Bidirectional controls, zero-width, tag and other ignorable characters, and selectors outside emoji, in order. */
export const unseenIn = (text: string): readonly string[] =>
  [...text.matchAll(EMOJI_OR_UNSEEN)].flatMap(([, unseen]) =>
    unseen === undefined ? [] : [unseen],
  );

/** A text in pieces, of which some stand for a character that must not be shown: `\u{202E}`, `\x1b` for a control character. */
export const visiblePieces = (
  text: string,
): readonly { readonly text: string; readonly escaped: boolean }[] => {
  // Most texts have nothing to escape: a page looks at some thousand at each jump.
  if (text.search(EMOJI_OR_ESCAPED) === -1) return text === '' ? [] : [{ text, escaped: false }];
  const pieces: { text: string; escaped: boolean }[] = [];
  let from = 0;
  const upTo = (end: number): void => {
    if (end > from) pieces.push({ text: text.slice(from, end), escaped: false });
  };
  for (const { 0: all, 1: hidden, index } of text.matchAll(EMOJI_OR_ESCAPED)) {
    if (hidden === undefined) continue;
    upTo(index);
    pieces.push({ text: escapeOf(hidden), escaped: true });
    from = index + all.length;
  }
  upTo(text.length);
  return pieces;
};
const escapeOf = (character: string): string => {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return /\p{Cc}/u.test(character) ? `\\x${hex.padStart(2, '0')}` : `\\u{${hex.toUpperCase()}}`;
};

/** Words of others as every face shows them: nothing in them moves a cursor, hides, or turns what is read. Tabs and line ends stay. */
export const visible = (text: string): string =>
  visiblePieces(text)
    .map((piece) => piece.text)
    .join('');

/**
 * Words of others (paths, reasons, commands) as a code span, in which nothing is markup: no link, image, HTML or table column. What
 * could end the span or break the line becomes a blank, what hides or turns the direction of writing an escape.
 */
export const codeSpan = (text: string, chars = 300): string => {
  const safe = visible(short(text, chars).replace(/[`|\\\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')).trim();
  return safe === '' ? '' : `\`${safe}\``;
};

/** As JSON quotes it. */
export const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The known word nearest to what was written, or null where none is near: at most one of so many letters differs. */
export function nearestWord(written: string, known: readonly string[], of = 3): string | null {
  const plain = letters(written);
  let best: { word: string; distance: number } | null = null;
  for (const word of known) {
    const distance = editDistance(plain, letters(word));
    if (best === null || distance < best.distance) best = { word, distance };
  }
  return best !== null && best.distance <= Math.max(1, Math.floor(letters(best.word).length / of))
    ? best.word
    : null;
}

/** What to type instead of a word that is not known: the nearest one, else one of those that share a part with it (`targets` and `target_files`), else of all. */
export const inPlaceOf = (written: string, known: readonly string[]): string =>
  likelyWords(written, known) ?? oneOf(known);

/** As `inPlaceOf`, but null instead of all known words. */
export const likelyWords = (written: string, known: readonly string[]): string | null => {
  const own = partsOf(written);
  const alike = known.filter((word) => partsOf(word).some((part) => own.includes(part)));
  const nearest = nearestWord(written, known) ?? (alike.length === 1 ? alike[0] : undefined);
  if (nearest !== undefined) return `did you mean \`${nearest}\`?`;
  return alike.length > 0 ? oneOf(alike) : null;
};
const oneOf = (words: readonly string[]): string => `expected one of ${words.join(', ')}`;
const partsOf = (word: string): readonly string[] =>
  (word.slice(0, WORD_chars).match(/[A-Z]?[a-z]{3,}/g) ?? []).map((part) =>
    part.toLowerCase().replace(/s$/, ''),
  );

/** `targetFiles`, `target-files` and `target_files` are the same word to a person. */
const letters = (word: string): string =>
  word.slice(0, WORD_chars).toLowerCase().replace(/[-_ ]/g, '');

/** Levenshtein, with two letters in the wrong order as one mistake. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isTurned = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const turned = isTurned ? (before[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(swap, turned, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

/** Lines that a proposal adds and removes, in all its files. */
export const linesChanged = ({
  files,
}: {
  readonly files: readonly Readonly<Record<'added' | 'removed', number>>[];
}) => ({
  added: files.reduce((sum, file) => sum + file.added, 0),
  removed: files.reduce((sum, file) => sum + file.removed, 0),
});

/** A path as one word of a shell, for what a person is told to type. */
export const shellWord = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
