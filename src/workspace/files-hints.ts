/** Files that a job's instructions speak of. */
import { STORE_BOUNDS } from '../shared/bounds.js';

interface Mention {
  readonly at: number;
  readonly text: string;
  /** In a code span, or a word with a slash or an extension: a bare word must be a file's exact path. */
  readonly pathLike: boolean;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[^]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![^]))/gm;
const CODE_SPAN = /(`+)([^`]|[^`][^]*?[^`])\1(?!`)/g;
const WORD = /[^\s`'"“”‘’<>()[\]{}|,;*]+/g;

/**
 * Paths and file names in the Markdown text that name files of the workspace, in order of first mention: an exact path, or the
 * end of exactly one file's path. Fenced blocks (examples, logs) count only where the prose names no file.
 */
export function hintedPaths(instructions: string, files: readonly string[]): string[] {
  const known = new Set(files);
  const byName = new Map<string, string[]>();
  for (const file of files) {
    const name = nameOf(file);
    byName.set(name, [...(byName.get(name) ?? []), file]);
  }
  const prose = instructions.replace(FENCE, (fence) => ' '.repeat(fence.length));
  const found = namedIn(prose, known, byName);
  return found.length > 0 ? found : namedIn(instructions, known, byName);
}

function namedIn(text: string, known: ReadonlySet<string>, byName: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set<string>();
  for (const mention of mentionsIn(text)) {
    const path = fileOf(mention, known, byName);
    if (path !== null) found.add(path);
  }
  return [...found];
}

function mentionsIn(text: string): Mention[] {
  const mentions: Mention[] = [];
  for (const span of text.matchAll(CODE_SPAN)) {
    const content = (span[2] ?? '').trim();
    // The whole span may be a path with blanks; its words are looked at below like all others.
    if (content.length <= STORE_BOUNDS.hint_chars) mentions.push({ at: span.index, text: content, pathLike: true });
  }
  for (const word of text.matchAll(WORD)) {
    if (!word[0].includes('://')) mentions.push({ at: word.index, text: word[0], pathLike: /\/|.\.\w/.test(word[0]) });
  }
  return mentions.sort((a, b) => a.at - b.at);
}

function fileOf(
  { text, pathLike }: Mention,
  known: ReadonlySet<string>,
  byName: ReadonlyMap<string, readonly string[]>,
): string | null {
  if (!pathLike) return null;
  for (const candidate of readings(text)) {
    if (known.has(candidate)) return candidate;
    const ending = (byName.get(nameOf(candidate)) ?? []).filter((file) => file.endsWith(`/${candidate}`));
    if (ending.length === 1 && ending[0] !== undefined) return ending[0];
  }
  return null;
}

/** As written; without `./`, a line number (`a.ts:12:5`, `a.ts#L12`) and the punctuation of the sentence. */
function readings(text: string): string[] {
  const bare = text.replace(/^\.\//, '');
  const trimmed = bare.replace(/[.:!?…]+$/, '');
  const unnumbered = trimmed.replace(/(:\d+(-\d+|:\d+)?|#L\d+(-L?\d+)?)$/, '');
  return [...new Set([bare, trimmed, unnumbered])].filter((reading) => reading !== '');
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
