/**
 * The threshold score of a phase:
 *
 *     3 x database, migration, schema; 4 x security, auth, permission; 3 x integrate, external, API;
 *     2 x refactor, redesign, architecture   (whole words in any case, in the name and the text, outside code and comments)
 *     + tasks / 5 + distinct file references / 5 + 2 where extensive tests are asked for
 */
import { urlOf } from './links.js';
import { baseOf } from './names.js';
import type { Span } from './types.js';

export interface KeywordAddend {
  readonly words: readonly string[];
  readonly weight: number;
  readonly hits: Readonly<Record<string, number>>;
  readonly value: number;
}
export interface Score {
  /** Rounded to one decimal; thresholds are compared with this. */
  readonly score: number;
  readonly keywords: readonly KeywordAddend[];
  readonly tasks: { readonly count: number; readonly value: number };
  readonly files: { readonly paths: readonly string[]; readonly value: number };
  /** The words that asked for them, or null. */
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
/** `comprehensive testing`, `full test coverage`, `80%+ coverage`. */
const EXTENSIVE =
  /\b(?:extensive|comprehensive|thorough|exhaustive|full)\s+(?:[\w-]+\s+){0,2}(?:tests?|testing|coverage)\b|\b(?:[89]\d|100)\s*%\s*\+?\s*(?:[\w-]+\s+)?coverage\b/i;

/** `parts`: the texts that make up the phase, with what is code or comment in each. `tasks`: of all of them. `document`: name of the plan's file. */
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
    return { words, weight, hits, value: weight * Object.values(hits).reduce((sum, count) => sum + count, 0) };
  });
  const paths = filesIn(prose);
  const words = EXTENSIVE.exec(prose)?.[0] ?? null;
  const addends = {
    tasks: { count: tasks, value: tasks / PER_POINT },
    files: { paths, value: paths.length / PER_POINT },
    tests: { words, value: words === null ? 0 : TESTS_VALUE },
  };
  const sum =
    keywords.reduce((total, { value }) => total + value, 0) +
    addends.tasks.value +
    addends.files.value +
    addends.tests.value;
  return { score: Math.round(sum * 10) / 10, keywords, ...addends };
}

/** Code and comments blanked out; `opaque` is sorted. */
function withoutOpaque(text: string, opaque: readonly Span[]): string {
  let result = '';
  let at = 0;
  for (const { from, to } of opaque) {
    if (from < at) continue;
    result += `${text.slice(at, from)}\n`;
    at = to;
  }
  return result + text.slice(at);
}

/** A link to a heading of the plan counts the same whichever file of the plan the heading is in just now. */
const withoutOwn = (text: string, document: string): string =>
  text.replace(/(?<![^\s"'(<>=])[^\s"'(<>=]+\.md(?=#)/g, (path) => {
    const name = baseOf(path);
    return name === urlOf(document) || /^(?:phase|stage)_\d{1,4}(?:_[a-z0-9_]*)?\.md$/.test(name) ? '' : path;
  });

/** Letters of any script count as parts of words: `author` and `auth_token` are no `auth`. */
const countOf = (prose: string, word: string): number =>
  [...prose.matchAll(new RegExp(`(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])`, 'giu'))].length;

const SPAN_PATH = /`([\w@.~-]+(?:\/[\w@.~-]+)*\.[A-Za-z]\w{0,9})(?::\d+(?:-\d+)?)?`/g;
const BARE_PATH = /(?<![\w@./:~-])((?:[\w@.~-]+\/)+[\w@.~-]*\.[A-Za-z]\w{0,9})(?![\w/])/g;
const LINK_PATH =
  /(?:\]\(<?|\]:[ \t]*<?|\b(?:href|src)[ \t]*=[ \t]*["']?)((?![a-z][\w+.-]*:|#|\/)[^)\s>#"']+\.[A-Za-z]\w{0,9})/gi;

/** Distinct paths: in backquotes, with a slash and an extension, or where a relative link leads. */
export function filesIn(prose: string): readonly string[] {
  const found = [SPAN_PATH, BARE_PATH, LINK_PATH].flatMap((pattern) =>
    [...prose.matchAll(pattern)].map(([, path]) => (path ?? '').replace(/^\.\//, '')),
  );
  return [...new Set(found)].sort();
}

/** The words beside a score: Low under 5, High from the expansion threshold on. */
export const labelOf = (score: number, expansion: number): 'Low' | 'Medium' | 'High' =>
  score >= expansion ? 'High' : score >= Math.min(5, expansion) ? 'Medium' : 'Low';
