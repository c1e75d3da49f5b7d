/**
 * The threshold score of a phase:
 *
 *     3 x database, migration, schema; 4 x security, auth, permission; 3 x integrate, external, API;
 *     2 x refactor, redesign, architecture   (whole words in any letter case, in the name and the text, outside code and comments)
 *     + tasks / 5 + distinct file references / 5 + 2 if the text asks for extensive tests
 */
import { urlOf } from './links.js';
import { baseOf } from './plan-paths.js';
import type { Span } from './types.js';

interface KeywordAddend {
  readonly words: readonly string[];
  readonly weight: number;
  readonly hits: Readonly<Record<string, number>>;
  readonly value: number;
}

export interface Score {
  /** The sum, rounded to one decimal. Thresholds are compared with this value. */
  readonly score: number;
  readonly keywords: readonly KeywordAddend[];
  readonly tasks: { readonly count: number; readonly value: number };
  readonly files: { readonly paths: readonly string[]; readonly value: number };
  /** `words` are the words that ask for extensive tests, or null if there are none. */
  readonly tests: { readonly words: string | null; readonly value: number };
}

const KEYWORDS: readonly { readonly words: readonly string[]; readonly weight: number }[] = [
  { words: ['security', 'auth', 'permission'], weight: 4 },
  { words: ['database', 'migration', 'schema'], weight: 3 },
  { words: ['integrate', 'external', 'API'], weight: 3 },
  { words: ['refactor', 'redesign', 'architecture'], weight: 2 },
];

const PER_POINT = 5;

const TESTS_VALUE = 2;

/** Scores below this have the label Low. */
const LOW_BELOW = 5;

/** Words that ask for extensive tests: `comprehensive testing`, `full test coverage`, `80%+ coverage`. */
const EXTENSIVE =
  /\b(?:extensive|comprehensive|thorough|exhaustive|full)\s+(?:[\w-]+\s+){0,2}(?:tests?|testing|coverage)\b|\b(?:[89]\d|100)\s*%\s*(?:\+\s*)?(?:[\w-]+\s+)?coverage\b/i;

/**
 * Scores a phase. `parts` are the texts of the phase and its stages, with the code and comments in each. `tasks` is the number of tasks in all
 * of them. `document` is the name of the plan's file.
 */
export function scoreOf(
  name: string,
  parts: readonly { readonly text: string; readonly opaque: readonly Span[] }[],
  tasks: number,
  document: string,
): Score {
  const texts = parts.map(({ text, opaque }) => withoutOwn(withoutOpaque(text, opaque), document));
  const prose = [name, ...texts].join('\n');
  const keywords = KEYWORDS.map(({ words, weight }) => {
    const hits = Object.fromEntries(words.map((word) => [word, countOf(prose, word)]));
    return {
      words,
      weight,
      hits,
      value: weight * Object.values(hits).reduce((sum, count) => sum + count, 0),
    };
  });
  const paths = filesIn(prose);
  const words = EXTENSIVE.exec(prose)?.[0] ?? null;
  const addends = {
    tasks: { count: tasks, value: tasks / PER_POINT },
    files: { paths, value: paths.length / PER_POINT },
    tests: { words, value: words === null ? 0 : TESTS_VALUE },
  };
  const sum = [...keywords, ...Object.values(addends)].reduce(
    (total, { value }) => total + value,
    0,
  );
  return { score: oneDecimal(sum), keywords, ...addends };
}

/** Returns the text without its code and comments. `opaque` is sorted. */
function withoutOpaque(text: string, opaque: readonly Span[]): string {
  let result = '';
  let end = 0;
  for (const { from, to } of opaque) {
    if (from < end) continue;
    result += `${text.slice(end, from)}\n`;
    end = to;
  }
  return result + text.slice(end);
}

/**
 * Returns the text without the file names in links to headings of the plan. The heading may be in any file of the plan, and expanding a part
 * must not change a score.
 */
const withoutOwn = (text: string, document: string): string =>
  text.replace(/(?<![^\s"'(<>=])[^\s"'(<>=]+\.md(?=#)/g, (path) => {
    const name = baseOf(path);
    return name === urlOf(document) || /^(?:phase|stage)_\d{1,4}(?:_[a-z0-9_]*)?\.md$/.test(name)
      ? ''
      : path;
  });

/** Counts a word. Letters of any script are parts of words, so `author` and `auth_token` do not count as `auth`. */
const countOf = (prose: string, word: string): number =>
  [...prose.matchAll(new RegExp(`(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])`, 'giu'))].length;

const SPAN_PATH = /`([\w@.~-]+(?:\/[\w@.~-]+)*\.[A-Za-z]\w{0,9})(?::\d+(?:-\d+)?)?`/g;

const BARE_PATH = /(?<![\w@./:~-])((?:[\w@.~-]+\/)+[\w@.~-]*\.[A-Za-z]\w{0,9})(?![\w/])/g;

const LINK_PATH =
  /(?:\]\(<?|\]:[ \t]*<?|\b(?:href|src)[ \t]*=[ \t]*["']?)((?![a-z][\w+.-]*:|#|\/)[^)\s>#"']{1,300}\.[A-Za-z]\w{0,9})/gi;

/** Returns the distinct paths in a text: paths in backquotes, paths with a slash and an extension, and targets of relative links. */
export function filesIn(prose: string): readonly string[] {
  const paths = [SPAN_PATH, BARE_PATH, LINK_PATH].flatMap((pattern) =>
    [...prose.matchAll(pattern)].map(([, path]) => (path ?? '').replace(/^\.\//, '')),
  );
  return [...new Set(paths)].sort();
}

/** Returns the label of a score: Low below 5, High from the expansion threshold on, and Medium between them. */
export function labelOf(score: number, expansion: number): 'Low' | 'Medium' | 'High' {
  if (score >= expansion) return 'High';
  return score >= Math.min(LOW_BELOW, expansion) ? 'Medium' : 'Low';
}

export const oneDecimal = (score: number): number => Math.round(score * 10) / 10;
