/**
 * The threshold score of a phase:
 *
 *     3 x database, migration, schema; 4 x security, auth, permission; 3 x integrate, external, API;
 *     2 x refactor, redesign, architecture   (whole words in any letter case, in the name and the text, outside code and comments)
 *     + tasks / 5 + distinct file references / 5 + 2 if the text asks for extensive tests
 */
import type { ComplexityRecord, PlanThresholds } from '../../shared/plan.js';
import { z } from 'zod';
import { urlOf } from './links.js';
import { outlineOf, sectionNamed } from './reading.js';
import { baseOf } from './tree.js';
import type { Span } from './types.js';

const SCORE_REASONING_CHARS = 1_000; // bound: Characters of the reasoning of a second score.

export interface KeywordAddend {
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

// The second score of a phase comes from a model. It is compared with the threshold score, and one of the two or their mean counts. Pure.

/** The model scores a phase that reaches one of these values. */
const SECOND_SCORE_FROM = { score: 7, tasks: 8 } as const;
/** Maximum difference of two scores that agree. Then the model's score counts, because it is finer. */
const AGREEMENT = 2;
const HIGHEST = 100;

export const wantsSecondScore = (score: number, tasks: number): boolean =>
  score >= SECOND_SCORE_FROM.score || tasks >= SECOND_SCORE_FROM.tasks;

const points = z.number({ error: 'a number from 0 to 100' }).min(0).max(HIGHEST);
/** The model's response. It rates each of five questions, but only `score` counts. */
export const secondScoreSchema = z.object({
  score: points,
  interdependence: points.optional(),
  breadth: points.optional(),
  risk: points.optional(),
  parallel_work: points.optional(),
  clarity: points.optional(),
  reasoning: z
    .string({ error: 'a text' })
    .transform((text) => text.slice(0, SCORE_REASONING_CHARS)),
  recommendation: z.enum(['expand', 'keep'], { error: 'expand or keep' }),
});
export type SecondScore = z.infer<typeof secondScoreSchema>;

export interface FinalScore extends ComplexityRecord {
  /** Both scores if they differ by more than 2.0, for a message to the reader. Null if they agree. */
  readonly discrepancy: { readonly threshold: number; readonly agent: number } | null;
}

/** Returns the score that counts. `second` is null if the model sent no usable response in time; then the first score counts. */
export function reconcile(
  first: number,
  second: Pick<SecondScore, 'score' | 'reasoning'> | null,
): FinalScore {
  if (second === null)
    return { score: first, method: 'threshold', reasoning: null, discrepancy: null };
  const { score, reasoning } = second;
  // Rounding removes the error of binary fractions: 8.3 and 6.3 differ by 2.0, and thus agree.
  const difference = oneDecimal(Math.abs(first - score));
  if (difference <= AGREEMENT)
    return { score: oneDecimal(score), method: 'agent', reasoning, discrepancy: null };
  const discrepancy = { threshold: first, agent: oneDecimal(score) };
  return { score: oneDecimal((first + score) / 2), method: 'reconciled', reasoning, discrepancy };
}

const oneDecimal = (score: number): number => Math.round(score * 10) / 10;

// The thresholds from which a phase is too complex. They come from `emend.yaml`, else from the project's notes for models, else from defaults.

export type Thresholds = PlanThresholds;
export type ThresholdName = keyof Thresholds;

export const DEFAULT_THRESHOLDS: Thresholds = {
  expansion: 8,
  tasks: 10,
  fileReferences: 10,
  replanLimit: 2,
};

/** Names of the thresholds in the notes of a project. */
const NAME_IN_NOTES: Record<ThresholdName, string> = {
  expansion: 'Expansion Threshold',
  tasks: 'Task Count Threshold',
  fileReferences: 'File Reference Threshold',
  replanLimit: 'Replan Limit',
};

/** Returns the text under a heading of CLAUDE.md or AGENTS.md, up to the next heading that is not deeper. Null if there is no such heading. */
export function sectionIn(notes: string, title: string): string | null {
  const section = sectionNamed({ source: notes, outline: outlineOf(notes) }, title);
  return section && notes.slice(section.body.from, section.body.to).replace(/\r\n?/g, '\n');
}

/** Returns the thresholds in the section "Adaptive Planning Configuration" of the notes. Null if there is no such section. */
export function thresholdsIn(notes: string): Partial<Thresholds> | null {
  const section = sectionIn(notes, 'Adaptive Planning Configuration');
  if (section === null) return null;
  const thresholds: Partial<Record<ThresholdName, number>> = {};
  for (const name of Object.keys(NAME_IN_NOTES) as ThresholdName[]) {
    const value = new RegExp(
      `${NAME_IN_NOTES[name]}[*_]*[ \\t]*:[*_]*[ \\t]*(\\d{1,4}(?:\\.\\d+)?)`,
      'i',
    ).exec(section)?.[1];
    if (value !== undefined) thresholds[name] = Number(value);
  }
  return thresholds;
}

export interface ThresholdSource {
  /** Name of the source in messages: `emend.yaml`, `CLAUDE.md`. */
  readonly from: string;
  readonly values: Partial<Thresholds>;
}
export interface ResolvedThresholds {
  readonly values: Thresholds;
  /** Source of each threshold. */
  readonly from: Readonly<Record<ThresholdName, string>>;
}

/** Returns each threshold from the first source that sets it. */
export function resolveThresholds(sources: readonly ThresholdSource[]): ResolvedThresholds {
  const all: readonly ThresholdSource[] = [
    ...sources,
    { from: 'default', values: DEFAULT_THRESHOLDS },
  ];
  const names = Object.keys(DEFAULT_THRESHOLDS) as ThresholdName[];
  const sourceOf = (name: ThresholdName) =>
    all.find(({ values }) => values[name] !== undefined) ?? all[all.length - 1];
  return {
    values: Object.fromEntries(
      names.map((name) => [name, sourceOf(name)?.values[name]]),
    ) as unknown as Thresholds,
    from: Object.fromEntries(names.map((name) => [name, sourceOf(name)?.from])) as Record<
      ThresholdName,
      string
    >,
  };
}
