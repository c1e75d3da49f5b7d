/** The words of a task that may stand in a workspace's files, and the words of what stands there. Pure. */

const TERMS = 40; // bound: Words of one task that are looked up, the first ones: a longer text says the same again.
const WORD_CHARS = 64; // bound: A longer word is no name.

export interface Term {
  /** `[a-z0-9]+`: a word without its ending, or an identifier of several words without what is between them. */
  readonly key: string;
  readonly isName: boolean;
  /** 1 in the first line, half of it below. */
  readonly weight: number;
}

/** Words of every sentence, and those of every task: they tell no file from another. */
const COMMON = new Set(
  (
    'a an the and or of to in on for with from by as at is are be been was were it its this that these those if then than else when while ' +
    'where which who what how why not no nor do does did done has have had can could should would will may might must shall only also just ' +
    'too very more most less least some any all each every other another same such so but because since before after during about into over ' +
    'under again further once both few own we you they he she our your their them us i me my there here now up down out off via per vs etc ' +
    'eg ie get gets let lets want wants need needs needed currently previously instead like new old missing minor small simple better still ' +
    'fix fixes fixed fixing add adds added adding remove removes removed removing update updates updated updating change changes changed ' +
    'changing make makes made making use uses used using support supports supported supporting improve improves improved improving refactor ' +
    'refactors refactored refactoring feat feature features chore docs doc documentation test tests tested testing perf style ci build revert ' +
    'reverts allow allows allowed allowing ensure ensures ensured avoid avoids avoided handle handles handled handling implement implements ' +
    'implemented correct correctly properly proper issue issues bug bugs pr pull request close closes closed resolve resolves resolved ref ' +
    'refs see related example code file files line lines work works working way case cases thing things merge merged commit release version ' +
    'rename renames renamed move moves moved clean cleanup'
  ).split(' '),
);

/** `parseURLParts` and `parse_url-parts` -> parse, url, parts. */
export const partsOf = (name: string): readonly string[] =>
  name
    .replace(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .toLowerCase()
    .match(/[a-z\d]+/g) ?? [];

/** Without the ending: `parsing`, `parsed`, `parses` and `parse` are one word. */
export function stemOf(word: string): string {
  if (/.{3}ies$/.test(word)) return `${word.slice(0, -3)}y`;
  const bare = word
    .replace(/(.{3})ing$/, '$1')
    .replace(/(.{3})ed$/, '$1')
    .replace(/(.(?:s|x|ch|sh))es$/, '$1')
    .replace(/(.{3}[^s])s$/, '$1');
  return bare.replace(/(.{4})e$/, '$1').replace(/(.{3}([^ls\d]))\2$/, '$1');
}

/** Lines that name people and numbers, addresses, mail. No part can begin at each character of a long word, or it would take quadratic time. */
const NO_WORDS =
  /^[ \t]*[a-z-]+-by\s*:.*$|https?:\/\/\S+|(?<!\S)\S[^\s@]*@[^\s.]+\.\S+|\b[0-9a-f]{7,40}\b/gim;
const NAME = /[A-Za-z_$][\w$]*(?:-[A-Za-z_$][\w$]*)*/g;

/** In order of first mention; identifiers, paths, quoted strings and messages by their words, identifiers of several words as a whole too. */
export function termsOf(task: string): readonly Term[] {
  const terms = new Map<string, Term>();
  const add = (term: Term): void => {
    if (!terms.has(term.key) && terms.size < TERMS) terms.set(term.key, term);
  };
  const lines = task.replace(NO_WORDS, ' ').split('\n');
  const first = lines.findIndex((line) => line.trim() !== '');
  for (const [at, line] of lines.entries()) {
    const weight = at === first ? 1 : 0.5;
    for (const [name] of line.matchAll(NAME)) {
      const parts = partsOf(name.slice(0, WORD_CHARS));
      const whole = parts.join('');
      if (parts.length > 1 && parts.length <= 6 && whole.length > 3)
        add({ key: whole, isName: true, weight });
      for (const part of parts) {
        // Two letters are a word where they are written as a name: `IO`, `fs_open`.
        const isShort =
          part.length < 2 || (part.length === 2 && parts.length === 1 && !/^[A-Z]+$/.test(name));
        if (!isShort && !COMMON.has(part) && !/^\d+$/.test(part))
          add({ key: stemOf(part), isName: false, weight });
      }
    }
  }
  return [...terms.values()];
}

/** Which of the terms (by index) stand in a name or a sentence. */
export type Matcher = (text: string) => readonly number[];
export function matcherOf(terms: readonly Term[]): Matcher {
  const known = new Map<string, readonly number[]>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const parts = partsOf(text);
    const [stems, whole] = [new Set(parts.map(stemOf)), parts.join('')];
    const found = terms.flatMap(({ key, isName }, at) =>
      (isName ? whole.includes(key) : stems.has(key)) ? [at] : [],
    );
    known.set(text, found);
    return found;
  };
}
