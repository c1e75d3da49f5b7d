/**
 * What guards look for in single lines and in names: typographic look-alikes, what is hidden or of mixed scripts, lines of the prompt's
 * example, names that clash.
 */
import type { Finding } from '../../shared/formats.js';
import { linesWithinBlocks } from './blocks.js';
import { isCode, isScript, withoutStrings } from './languages.js';
import { isTestData } from './test-data.js';
import { type GuardView, eachNewLine, prefixes } from './view.js';
import { foldLookalikes } from '../locate/nearest.js';
import { firstOf } from '../listing.js';
import { characterCode, characterName } from '../text/codec.js';
import { foldedName, tally, unseenIn, visible } from '../../shared/text.js';

const TOLD = 5; // bound: Characters, and words, told of one file; more are counted.

const LINE_CHARS = 2_000; // bound: A longer line of code was not written by hand, and a regular expression in it is not seen.
/** A tag, as code that makes pages has it, and an apostrophe within a word. */
const TEXT = /<\/?[a-z][^<>]*>|\p{L}\u2019\p{L}/iu;

/**
 * New characters that look like plain ones, each reported once. In code, outside of strings and comments, one is a slip, so it asks. What
 * hides is the guard `unicode`'s.
 */
export const characterFindings = (view: GuardView): Finding[] => {
  const { path, base } = view;
  const isInCode = codeTest(view);
  const seen = new Map<string, Finding>();
  eachNewLine(view, (line, place) => {
    for (const character of new Set(line.match(/\P{ASCII}/gu))) {
      if (seen.get(character)?.severity === 'ask') continue;
      const plain = foldLookalikes(character);
      if (plain === character || plain === '' || base.includes(character)) continue;
      const severity = isInCode(line, place, character) ? 'ask' : 'note';
      if (severity === 'note' && seen.has(character)) continue;
      const message = `Line ${place + 1} of the new ${path} contains ${characterName(character)}, which looks like ${JSON.stringify(plain)}, which was not in the file before.`;
      const lines = [place + 1, place + 1] as const;
      seen.set(character, { guard: 'lookalikes', severity, path, lines, message });
    }
  });
  return [...seen.values()];
};

/** Returns a test whether a character of a new line is part of code. The file is looked through once, for the first question. */
const codeTest = ({ path, base, result }: GuardView) => {
  if (!isCode(path) && !isScript(path)) return () => false;
  if (base.length === 0 && isTestData(path)) return () => false;
  let within: readonly boolean[] | null = null;
  return (line: string, place: number, character: string): boolean => {
    if (line.length > LINE_CHARS || TEXT.test(line)) return false;
    if (!withoutStrings(line).includes(character)) return false;
    within ??= linesWithinBlocks(path, result.all);
    return within[place] === false;
  };
};

/** The file that the examples of the prompts edit: a menu, which no task is about. A guard looks for its lines in results. */
export const EXAMPLE_PATH = 'example-only/menu.txt';
/** One line changes, one is new. */
export const EXAMPLE = {
  soup: 'price of soup: 4.50',
  bread: 'price of bread: 1.20',
  tea: 'price of tea: 2.00',
  newBread: 'price of bread: 1.50',
  coffee: 'price of coffee: 2.80',
} as const;
/** Says the change in words that are not the file's, so that the found line is seen to come from the file. */
export const EXAMPLE_TASK =
  'Example of the form (not part of any task). Task: bread costs 1.50 now; add coffee for 2.80 below it. File:';

const EXAMPLE_LINES: ReadonlySet<string> = new Set(Object.values(EXAMPLE));

// A small model that loses its way goes on with the example of the prompt: its lines are no part of any task.

/** New lines that only the prompt's example has: neither the file nor the instructions do. */
export const exampleFindings = (view: GuardView, asked: string): Finding[] => {
  const { path, base } = view;
  const findings: Finding[] = [];
  eachNewLine(view, (line, at) => {
    const text = line.trim();
    if (
      !EXAMPLE_LINES.has(text) ||
      asked.includes(text) ||
      base.all.some((old) => old.trim() === text)
    )
      return;
    const message = `Line ${at + 1} of the new ${path} (${JSON.stringify(text)}) is a line of the example in the prompt. Send the lines of ${path} itself.`;
    findings.push({ guard: 'example', severity: 'refuse', path, lines: [at + 1, at + 1], message });
  });
  return findings;
};

// New names that another file system takes for those of other files, or cannot hold.

/** Characters that Windows allows in no name; a blank or a dot that it drops at the end of one. */
const NOT_ON_WINDOWS = /[<>:"|?*]|[. ](?=\/|$)/;

/** Says in what two names differ that some file systems take for one. */
const sameNameWords = ([fresh, old]: readonly [string, string]): string => {
  const isCase = fresh.normalize('NFC') !== old.normalize('NFC');
  if (isCase) return 'is the same name where letter case is ignored (macOS, Windows).';
  const [ours, theirs] = [accentOf(fresh, old), accentOf(old, fresh)];
  return `looks the same: it has ${theirs} where the new name has ${ours}. macOS takes both for one name. Send the path of the file that is there.`;
};
/** The codes of the first letter and accents in which a name differs from another of the same look. */
const accentOf = (name: string, other: string): string => {
  const letters = (text: string): readonly string[] => text.match(/\P{M}\p{M}*/gu) ?? [];
  const others = letters(other);
  const differs = letters(name).find((letter, index) => letter !== others[index]) ?? '';
  return Array.from(differs, characterCode).join(' ');
};

/**
 * `made`: paths of new files and targets of moves. `there`: paths (of folders too) that stand beside them afterwards. One finding a new
 * path at most.
 */
export const nameFindings = (made: readonly string[], there: readonly string[]): Finding[] => {
  // Each path with the folders that it lies in, as it is spelt first.
  const spelt = new Map<string, string>();
  const twinOf = (path: string): readonly [string, string] | null => {
    for (const part of prefixes(path, '/')) {
      const folded = foldedName(part);
      const other = spelt.get(folded);
      if (other === undefined) spelt.set(folded, part);
      else if (other !== part) return [part, other];
    }
    return null;
  };
  for (const path of there) twinOf(path);
  return made.flatMap((path): Finding[] => {
    const ask = (message: string): Finding[] => [
      { guard: 'file_name', severity: 'ask', path, message },
    ];
    const twin = twinOf(path);
    if (twin !== null) return ask(`${twin[0]} is new, and ${twin[1]} ${sameNameWords(twin)}`);
    const [odd] = NOT_ON_WINDOWS.exec(path) ?? [];
    return odd === undefined
      ? []
      : ask(`${path} is new, and its name (${JSON.stringify(odd)}) is invalid on Windows.`);
  });
};

// New characters that a reviewer does not see, or that turn what is read, and new identifiers of mixed scripts: all but what UTS 39 calls
// highly restrictive (one script, or Latin and Han with the other letters of Japanese, with Bopomofo or with Hangul). By Unicode's tables.

/** What anything may stand beside. */
const ANY = '\\p{scx=Common}\\p{scx=Inherited}';
/** UAX 31, table 5: the scripts of identifiers. All others count as one. */
const SCRIPTS = (
  'Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Kannada ' +
  'Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan'
).split(' ');
const TOGETHER = ['Latin Han Hiragana Katakana', 'Latin Han Bopomofo', 'Latin Han Hangul'];
const classOf = (scripts: readonly string[]): string =>
  scripts.map((script) => `\\p{scx=${script}}`).join('');
const ALLOWED = [
  ...[...TOGETHER, ...SCRIPTS].map((scripts) => `[${classOf(scripts.split(' '))}${ANY}]`),
  `[^${classOf(SCRIPTS)}]`,
].map((characters) => new RegExp(`^${characters}+$`, 'u'));
const IDENTIFIER = /[\p{XID_Start}_$][\p{XID_Continue}$]*/gu;

const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text);
const mixedIn = (text: string): readonly string[] =>
  isAscii(text)
    ? []
    : (text.match(IDENTIFIER) ?? []).filter(
        (word) => !isAscii(word) && !ALLOWED.some((only) => only.test(word)),
      );

const said = (found: readonly string[]): string => firstOf([...new Set(found)], TOLD);
const hidden = (characters: readonly string[]): string =>
  `${said(characters.map(visible))}: hidden, or changes the order in which text reads.`;
const mixed = (words: readonly string[]): string =>
  `${said(words.map((word) => JSON.stringify(word)))}: letters of different scripts in one word.`;

const asks = (path: string, message: string, lines?: Finding['lines']): Finding => ({
  guard: 'unicode',
  severity: 'ask',
  path,
  message,
  ...(lines === undefined ? {} : { lines }),
});

type Sighting = Readonly<{ line: number; what: string }>;

/** A character is new where a change has more of it than the lines that it replaces; a word where the file did not have it. */
export const unicodeFindings = ({ path, base, changes }: GuardView): Finding[] => {
  const unseen: Sighting[] = [];
  const words: Sighting[] = [];
  for (const { from, to, at, lines } of changes) {
    if (lines.every(isAscii)) continue;
    const left = tally(base.range(from, to).flatMap(unseenIn));
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
    return [asks(path, `Line ${first.line} of the new ${path} contains ${message}`, lines)];
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
    const found = [
      ...(unseen.length === 0 ? [] : [hidden(unseen)]),
      ...(words.length === 0 ? [] : [mixed(words)]),
    ];
    return found.map((what) => asks(path, `The name of the new ${path} contains ${what}`));
  });
