/** Shows the files to edit: whole where they fit the input budget together, else the smaller ones whole and windows of the others. */
import { fenced, section } from './blocks.js';
import { estimateTokens } from '../tokens.js';
import { type Text, windowedListing, listing, type LineRange } from '../../edits/index.js';
import { indexOf, mergeRanges } from '../../edits/internal.js';
import type { Form } from './forms.js';
import { EDIT_BOUNDS } from '../../shared/bounds.js';
import type { ContextFile, KnownFile } from '../../shared/pick.js';

// bound: The same with a check in a small model's tokens, 6 a line at 4 characters each: digits are tokens by themselves.
export const CHECKED_LINE_HEAD_CHARS = 24;

export interface PromptFile {
  readonly path: string;
  /** Null: the file does not exist yet and shall be created. */
  readonly text: Text | null;
  /** Size of a file that is no text, of which only the path may change; absent: it is text, or does not exist. */
  readonly binary_bytes?: number;
  /** What says which of its lines matter; absent: the hints of all. */
  readonly hints?: string;
}
/** `readOnly`: nothing of it is to be edited. */
type Showing = Pick<Form, 'shows' | 'needsWholeFile'> & { readonly readOnly?: true };
export interface Shown {
  readonly text: string;
  /** Ranges shown, of files that are not shown whole. */
  readonly seen: ReadonlyMap<string, readonly LineRange[]>;
}

interface Asked {
  /** What says which lines matter. */
  readonly hints: string;
  readonly budget_tokens: number;
  /** Of this file these lines are shown, whatever they weigh. */
  readonly region?: { readonly path: string; readonly range: LineRange };
}

/** A format that answers whole files is shown whole files, whatever they weigh. */
export function showFiles(
  files: readonly PromptFile[],
  form: Showing,
  { hints, budget_tokens, region }: Asked,
): Shown {
  const seen = new Map<string, readonly LineRange[]>();
  const sized = files
    .map((file) => ({ file, tokens: fileTokens(file, form) }))
    .sort((a, b) => a.tokens - b.tokens);
  let left_tokens = budget_tokens;
  sized.forEach(({ file: { path, text, hints: own = hints }, tokens }, index) => {
    const share = Math.floor(Math.max(0, left_tokens) / (sized.length - index));
    const ranges =
      text === null || form.needsWholeFile
        ? undefined
        : region?.path === path
          ? mergeRanges([region.range], indexOf(text).length)
          : windowedListing(text, share * CHARS_PER_TOKEN, own, lineHead_chars(form)).seen;
    if (ranges !== undefined) seen.set(path, ranges);
    left_tokens -= ranges === undefined ? tokens : share;
  });
  return { text: files.map((file) => shown(file, form, seen.get(file.path))).join('\n'), seen };
}

/** Of files that are shown in part, beside what was `seen`: the lines `wanted`, by path, and what the hints lead to. */
export function showMore(
  files: readonly PromptFile[],
  form: Showing,
  seen: Shown['seen'],
  { hints, budget_tokens, wanted }: Omit<Asked, 'region'> & { readonly wanted?: Shown['seen'] },
): Shown {
  const all = new Map(seen);
  const texts = files.flatMap((file) => {
    const [before, { path, text }] = [seen.get(file.path), file];
    if (before === undefined || text === null) return [];
    const chars = hints === '' ? 0 : (budget_tokens * CHARS_PER_TOKEN) / files.length;
    const { seen: led = [] } = windowedListing(text, chars, hints, lineHead_chars(form));
    const isSeen = (line: number): boolean =>
      before.some(([from, to]) => from <= line && line <= to);
    const more = mergeRanges([...(wanted?.get(path) ?? []), ...led], text.lines.length)
      .flatMap(([from, to]) =>
        Array.from({ length: to - from + 1 }, (_, at): LineRange => [from + at, from + at]),
      )
      .filter(([line]) => !isSeen(line));
    all.set(path, mergeRanges([...before, ...more], text.lines.length));
    return more.length === 0 ? [] : [shown(file, form, mergeRanges(more, text.lines.length))];
  });
  return { text: texts.join('\n'), seen: all };
}

export const CHARS_PER_TOKEN = 4;
const lineHead_chars = ({ shows }: Showing): number =>
  shows === 'checked' ? CHECKED_LINE_HEAD_CHARS : EDIT_BOUNDS.lineHead_chars;

/** What a file weighs when it is shown whole. */
export const fileTokens = ({ text }: PromptFile, form: Showing): number =>
  (text?.lines ?? []).reduce(
    (sum, line) => sum + (line.length + lineHead_chars(form)) / CHARS_PER_TOKEN,
    0,
  );

function shown(
  { path, text, binary_bytes }: PromptFile,
  form: Showing,
  ranges: readonly LineRange[] | undefined,
): string {
  if (binary_bytes !== undefined)
    return `## ${path} (a binary file of ${binary_bytes} bytes: it may be renamed, its content may not change)\n`;
  if (text === null) return `## ${path} (does not exist yet; create it)\n`;
  const count = text.lines.length;
  if (count === 0) return `## ${path} (an empty file)\n`;
  const lineWord = count === 1 ? 'line' : 'lines';
  const noEnd = text.ends[count - 1] === '' ? ', the last without a line end' : '';
  const only = form.readOnly ? '' : ', and only shown lines may be edited';
  const part = ranges === undefined ? '' : `; only a part of them is shown${only}`;
  const head = `## ${path} (${count} ${lineWord}${noEnd}${part})\n`;
  if (form.shows === 'checked') return `${head}${fenced(listing(text, ranges))}\n`;
  if (ranges === undefined) return `${head}${fenced(plain(text, [1, count]))}\n`;
  return (
    head +
    ranges
      .map((range) => `Lines ${range[0]} to ${range[1]}:\n${fenced(plain(text, range))}\n`)
      .join('')
  );
}

const plain = (text: Text, [from, to]: LineRange): string =>
  text.lines
    .slice(from - 1, to)
    .map((line) => `${line}\n`)
    .join('');

// Rules, hints, reference files and signatures of others, as every prompt of a step shows them.

export interface Reference {
  readonly path: string;
  readonly content: string;
  readonly why?: string;
}
/** Whole, in order, as many as fit; `omitted` names the others. `named`: why, of those that do not say it. */
export function showReferences(files: readonly Reference[], budget_tokens: number, named: string) {
  const omitted: string[] = [];
  const texts: string[] = [];
  const shown: ContextFile[] = [];
  let left_tokens = budget_tokens;
  for (const { path, content, why } of files) {
    const text = `## ${path}${why === undefined ? '' : ` (${why})`}\n${fenced(content)}\n`;
    const tokens = estimateTokens(text);
    if (tokens > left_tokens) {
      omitted.push(path);
      continue;
    }
    left_tokens -= tokens;
    texts.push(text);
    shown.push({ path, why: why ?? named, tokens });
  }
  return { text: texts.join('\n'), files: shown, omitted };
}

/** CLAUDE.md, AGENTS.md and what `rules:` names, always whole; and the hints. */
export const rulesText = (rules: readonly Reference[], hints: readonly string[]): string =>
  section('Project rules', showReferences(rules, Infinity, 'rules').text) +
  section('Hints', hints.map((hint) => `- ${hint}`).join('\n'));

const SIGNATURES_TOKENS = 4_000; // bound: What a call is told of the files round its own.

/** Each file once, none of `paths`, by what it is to them, as many as fit. */
export function showSignatures(
  files: readonly KnownFile[],
  paths: readonly string[],
  room_tokens = SIGNATURES_TOKENS,
) {
  const ranked = files.filter(({ path }) => !paths.includes(path)).sort((a, b) => a.rank - b.rank);
  const all = [...new Set(ranked.map(({ path }) => path))].map((path): Reference => {
    const parts = ranked.filter((file) => file.path === path);
    const lines = [...new Map(parts.flatMap((part) => part.lines))].sort(([a], [b]) => a - b);
    const why = [...new Set(parts.map((part) => part.why))].join('; ');
    return { path, why, content: lines.map(([, line]) => line).join('\n') };
  });
  return showReferences(all, Math.min(room_tokens, SIGNATURES_TOKENS), '');
}
