/**
 * New characters that a reviewer does not see, or that turn what is read, and new identifiers of mixed scripts: all but what UTS 39 calls
 * highly restrictive (one script, or Latin and Han with the other letters of Japanese, with Bopomofo or with Hangul). By Unicode's tables.
 */
import type { Finding } from '../../shared/formats.js';
import { unseenIn, visible } from '../../shared/text.js';
import type { GuardView } from './view.js';

const TOLD = 5; // bound: Characters, and words, told of one file; more are counted.

/** What anything may stand beside. */
const ANY = '\\p{scx=Common}\\p{scx=Inherited}';
/** UAX 31, table 5: the scripts of identifiers. All others count as one. */
const SCRIPTS = (
  'Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Kannada ' +
  'Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan'
).split(' ');
const TOGETHER = ['Latin Han Hiragana Katakana', 'Latin Han Bopomofo', 'Latin Han Hangul'];
const classOf = (scripts: readonly string[]): string => scripts.map((script) => `\\p{scx=${script}}`).join('');
const ALLOWED = [
  ...[...TOGETHER, ...SCRIPTS].map((scripts) => `[${classOf(scripts.split(' '))}${ANY}]`),
  `[^${classOf(SCRIPTS)}]`,
].map((characters) => new RegExp(`^${characters}+$`, 'u'));
const IDENTIFIER = /[\p{XID_Start}_$][\p{XID_Continue}$]*/gu;

const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text);
const mixedIn = (text: string): readonly string[] =>
  isAscii(text)
    ? []
    : (text.match(IDENTIFIER) ?? []).filter((word) => !isAscii(word) && !ALLOWED.some((only) => only.test(word)));

const said = (found: readonly string[]): string => {
  const all = [...new Set(found)];
  const more = all.length - TOLD;
  return `${all.slice(0, TOLD).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};
const hidden = (characters: readonly string[]): string =>
  `${said(characters.map(visible))}: hidden, or changes the order in which text reads.`;
const mixed = (words: readonly string[]): string =>
  `${said(words.map((word) => JSON.stringify(word)))}: letters of different scripts in one word.`;

const asks = (path: string, message: string, lines?: Finding['lines']): Finding => ({
  ...{ guard: 'unicode', severity: 'ask', path, message },
  ...(lines === undefined ? {} : { lines }),
});

interface Sighting {
  readonly line: number;
  readonly what: string;
}

/** A character is new where a change has more of it than the lines that it replaces; a word where the file did not have it. */
export const unicodeFindings = ({ path, base, changes }: GuardView): Finding[] => {
  const unseen: Sighting[] = [];
  const words: Sighting[] = [];
  for (const { from, to, at, lines } of changes) {
    if (lines.every(isAscii)) continue;
    const left = new Map<string, number>();
    for (const what of base.range(from, to).flatMap(unseenIn)) left.set(what, (left.get(what) ?? 0) + 1);
    for (const [n, text] of lines.entries()) {
      const line = at + n + 1;
      for (const what of unseenIn(text)) {
        const before = left.get(what) ?? 0;
        left.set(what, before - 1);
        if (before <= 0) unseen.push({ line, what });
      }
      for (const what of mixedIn(text)) words.push({ line, what });
    }
  }
  const had = new Set(words.length === 0 ? [] : base.all.flatMap(mixedIn));
  const newWords = words.filter(({ what }) => !had.has(what));
  const finding = ([first, ...others]: readonly Sighting[], message: string): Finding[] => {
    if (first === undefined) return [];
    const lines = [first.line, (others.at(-1) ?? first).line] as const;
    return [asks(path, `Line ${first.line} of the new ${path} holds ${message}`, lines)];
  };
  return [
    ...finding(unseen, hidden(unseen.map(({ what }) => what))),
    ...finding(newWords, mixed(newWords.map(({ what }) => what))),
  ];
};

/** Of paths that files get. */
export const unicodeNames = (made: readonly string[]): Finding[] =>
  made.flatMap((path) => {
    const [unseen, words] = [unseenIn(path), mixedIn(path)];
    const found = [...(unseen.length === 0 ? [] : [hidden(unseen)]), ...(words.length === 0 ? [] : [mixed(words)])];
    return found.map((what) => asks(path, `The name of the new ${path} holds ${what}`));
  });
