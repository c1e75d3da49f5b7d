/**
 * The threshold score of a phase:
 *
 *     3 x database, migration, schema; 4 x security, auth, permission; 3 x integrate, external, API;
 *     2 x refactor, redesign, architecture   (whole words in any case, in the name and the text, outside code and comments)
 *     + tasks / 5 + distinct file references / 5 + 2 where extensive tests are asked for
 */
import type { ComplexityRecord, PlanThresholds } from '../../shared/plan.js';
import { z } from 'zod';
import { urlOf } from './links.js';
import { outlineOf, sectionNamed } from './reading.js';
import { baseOf } from './tree.js';
import type { Span } from './types.js';

const SCORE_WHY_CHARS = 1_000; // bound: The reasoning of a second score.

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
  /\b(?:extensive|comprehensive|thorough|exhaustive|full)\s+(?:[\w-]+\s+){0,2}(?:tests?|testing|coverage)\b|\b(?:[89]\d|100)\s*%\s*(?:\+\s*)?(?:[\w-]+\s+)?coverage\b/i;

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
    return name === urlOf(document) || /^(?:phase|stage)_\d{1,4}(?:_[a-z0-9_]*)?\.md$/.test(name)
      ? ''
      : path;
  });

/** Letters of any script count as parts of words: `author` and `auth_token` are no `auth`. */
const countOf = (prose: string, word: string): number =>
  [...prose.matchAll(new RegExp(`(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])`, 'giu'))].length;

const SPAN_PATH = /`([\w@.~-]+(?:\/[\w@.~-]+)*\.[A-Za-z]\w{0,9})(?::\d+(?:-\d+)?)?`/g;
const BARE_PATH = /(?<![\w@./:~-])((?:[\w@.~-]+\/)+[\w@.~-]*\.[A-Za-z]\w{0,9})(?![\w/])/g;
const LINK_PATH =
  /(?:\]\(<?|\]:[ \t]*<?|\b(?:href|src)[ \t]*=[ \t]*["']?)((?![a-z][\w+.-]*:|#|\/)[^)\s>#"']{1,300}\.[A-Za-z]\w{0,9})/gi;

/** Distinct paths: in backquotes, with a slash and an extension, or where a relative link leads. */
export function filesIn(prose: string): readonly string[] {
  const found = [SPAN_PATH, BARE_PATH, LINK_PATH].flatMap((pattern) =>
    [...prose.matchAll(pattern)].map(([, path]) => (path ?? '').replace(/^\.\//, '')),
  );
  return [...new Set(found)].sort();
}

/** The words next to a score: Low under 5, High from the expansion threshold on. */
export const labelOf = (score: number, expansion: number): 'Low' | 'Medium' | 'High' =>
  score >= expansion ? 'High' : score >= Math.min(5, expansion) ? 'Medium' : 'Low';

// A model's second score of a phase next to the threshold score, and which of the two counts. Pure.

const ASKED_FROM = { score: 7, tasks: 8 } as const;
/** Scores nearer to each other than this are one judgement, and the model's is the finer. */
const AGREEMENT = 2;
const HIGHEST = 100;

export const wantsSecondScore = (score: number, tasks: number): boolean =>
  score >= ASKED_FROM.score || tasks >= ASKED_FROM.tasks;

const points = z.number({ error: 'a number from 0 to 100' }).min(0).max(HIGHEST);
/** The five questions each get a mark; only `score` counts. */
export const secondScoreSchema = z.object({
  score: points,
  interdependence: points.optional(),
  breadth: points.optional(),
  risk: points.optional(),
  parallel_work: points.optional(),
  clarity: points.optional(),
  reasoning: z.string({ error: 'a text' }).transform((text) => text.slice(0, SCORE_WHY_CHARS)),
  recommendation: z.enum(['expand', 'keep'], { error: 'expand or keep' }),
});
export type SecondScore = z.infer<typeof secondScoreSchema>;

export interface FinalScore extends ComplexityRecord {
  /** The two scores where they lie more than 2.0 apart: to be told. */
  readonly discrepancy: { readonly threshold: number; readonly agent: number } | null;
}

/** `second` null: no answer in time, or one that cannot be used; the first score stands. */
export function reconcile(
  first: number,
  second: Pick<SecondScore, 'score' | 'reasoning'> | null,
): FinalScore {
  if (second === null)
    return { score: first, method: 'threshold', reasoning: null, discrepancy: null };
  const { score, reasoning } = second;
  // Both have one decimal: 8.3 and 6.3 are 2.0 apart, whatever binary fractions make of it.
  const apart = oneDecimal(Math.abs(first - score));
  if (apart <= AGREEMENT)
    return { score: oneDecimal(score), method: 'agent', reasoning, discrepancy: null };
  const discrepancy = { threshold: first, agent: oneDecimal(score) };
  return { score: oneDecimal((first + score) / 2), method: 'reconciled', reasoning, discrepancy };
}

const oneDecimal = (score: number): number => Math.round(score * 10) / 10;

// When a phase is too complex, and where that is said: `emend.yaml`, else the project's notes for models, else the defaults.

export type Thresholds = PlanThresholds;
export type ThresholdName = keyof Thresholds;

export const DEFAULT_THRESHOLDS: Thresholds = {
  expansion: 8,
  tasks: 10,
  fileReferences: 10,
  replanLimit: 2,
};

const WRITTEN: Record<ThresholdName, string> = {
  expansion: 'Expansion Threshold',
  tasks: 'Task Count Threshold',
  fileReferences: 'File Reference Threshold',
  replanLimit: 'Replan Limit',
};

/** Of one CLAUDE.md or AGENTS.md: the text under a heading, up to the next that is not deeper. Null without the heading. */
export function sectionIn(notes: string, title: string): string | null {
  const found = sectionNamed({ source: notes, outline: outlineOf(notes) }, title);
  return found && notes.slice(found.body.from, found.body.to).replace(/\r\n?/g, '\n');
}

/** What the section "Adaptive Planning Configuration" says. Null without the section. */
export function thresholdsIn(notes: string): Partial<Thresholds> | null {
  const section = sectionIn(notes, 'Adaptive Planning Configuration');
  if (section === null) return null;
  const found: Partial<Record<ThresholdName, number>> = {};
  for (const name of Object.keys(WRITTEN) as ThresholdName[]) {
    const value = new RegExp(
      `${WRITTEN[name]}[*_]*[ \\t]*:[*_]*[ \\t]*(\\d{1,4}(?:\\.\\d+)?)`,
      'i',
    ).exec(section)?.[1];
    if (value !== undefined) found[name] = Number(value);
  }
  return found;
}

export interface ThresholdSource {
  /** As told to a person: `emend.yaml`, `CLAUDE.md`. */
  readonly from: string;
  readonly values: Partial<Thresholds>;
}
export interface ResolvedThresholds {
  readonly values: Thresholds;
  /** Where each came from. */
  readonly from: Readonly<Record<ThresholdName, string>>;
}

/** Each threshold from the first source that says it. */
export function resolveThresholds(sources: readonly ThresholdSource[]): ResolvedThresholds {
  const all: readonly ThresholdSource[] = [
    ...sources,
    { from: 'default', values: DEFAULT_THRESHOLDS },
  ];
  const names = Object.keys(DEFAULT_THRESHOLDS) as ThresholdName[];
  const told = (name: ThresholdName) =>
    all.find(({ values }) => values[name] !== undefined) ?? all[all.length - 1];
  return {
    values: Object.fromEntries(
      names.map((name) => [name, told(name)?.values[name]]),
    ) as unknown as Thresholds,
    from: Object.fromEntries(names.map((name) => [name, told(name)?.from])) as Record<
      ThresholdName,
      string
    >,
  };
}
