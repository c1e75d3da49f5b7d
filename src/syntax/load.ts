/**
 * Loads tree-sitter grammars, each once in a process, and gives them to the edit engine as a `Syntax`. All I/O is here: the runtime and the
 * grammars that the paths need are read from installed packages before any response is read.
 */
import { createRequire } from 'node:module';
import type * as TreeSitter from 'web-tree-sitter';
import type { Outline, Syntax } from '../edits/index.js';
import { newDataFaults } from './data/index.js';
import { LANGUAGES, languageOf, type LanguageRow } from './languages.js';
import { readTree } from './outline.js';

// bound: A tree takes up to about 250 times its text in memory, and a quarter of a second per 400,000 characters.
export const SYNTAX_FILE_CHARS = 1024 * 1024;
export const SYNTAX_PARSE_MS = 5_000; // bound: A parse that takes longer is ended.

type Runtime = typeof TreeSitter;
interface Grammar {
  readonly row: LanguageRow;
  readonly parser: TreeSitter.Parser;
}
type Loaded =
  | { readonly ok: true; readonly grammar: Grammar }
  | { readonly ok: false; readonly reason: string };

let runtime: Promise<Runtime> | null = null;
const grammars = new Map<string, Promise<Loaded>>();

/**
 * Loads the grammars for the languages of these paths, and ignores paths of no known language. Never rejects: `outline` reports a grammar that
 * could not be loaded.
 */
export const loadSyntax = async (paths: Iterable<string>): Promise<Syntax> => {
  const rows = new Set(Array.from(paths, languageOf).filter((row) => row !== null));
  const loaded = new Map<LanguageRow, Loaded>();
  for (const row of rows) loaded.set(row, await grammarOf(row));
  return {
    outline: (path, lines) => outline(loaded, path, lines),
    unread: (path, chars) => whyUnread(loaded, path, chars),
    dataFaults: newDataFaults,
  };
};

const grammarOf = (row: LanguageRow): Promise<Loaded> => {
  const known = grammars.get(row.grammar);
  if (known !== undefined) return known;
  const loading = load(row).catch((error: unknown): Loaded => ({
    ok: false,
    reason: `The grammar of ${row.name} could not be loaded: ${String(error)}.`,
  }));
  grammars.set(row.grammar, loading);
  return loading;
};

const load = async (row: LanguageRow): Promise<Loaded> => {
  runtime ??= import('web-tree-sitter').then(async (module) => {
    await module.Parser.init();
    return module;
  });
  const { Language, Parser } = await runtime;
  const path = createRequire(import.meta.url).resolve(
    `@vscode/tree-sitter-wasm/wasm/tree-sitter-${row.grammar}.wasm`,
  );
  const language = await Language.load(path);
  const parser = new Parser();
  parser.setLanguage(language);
  return { ok: true, grammar: { row, parser } };
};

type Unread = Extract<Outline, { kind: 'unread' }>;
const unread = (code: Unread['code'], reason: string): Unread => ({
  kind: 'unread',
  code,
  why: reason,
});
const KNOWN = [...new Set(LANGUAGES.flatMap(({ endings }) => endings))].join(' ');

const grammarFor = (loaded: ReadonlyMap<LanguageRow, Loaded>, path: string): Grammar | Unread => {
  const row = languageOf(path);
  if (row === null)
    return unread(
      'language_unknown',
      `The language of ${path} is not known; known endings are ${KNOWN}.`,
    );
  const found = loaded.get(row);
  if (found?.ok === true) return found.grammar;
  return unread(
    'syntax_unavailable',
    found?.reason ?? `The grammar of ${row.name} was not loaded.`,
  );
};

const outline = (
  loaded: ReadonlyMap<LanguageRow, Loaded>,
  path: string,
  lines: readonly string[],
): Outline => {
  const grammar = grammarFor(loaded, path);
  if ('code' in grammar) return grammar;
  const chars = lines.reduce((sum, line) => sum + line.length + 1, 0);
  return tooLarge(path, chars, '') ?? parse(grammar, path, lines);
};

/** `chars`: there are at least so many. */
const whyUnread = (
  loaded: ReadonlyMap<LanguageRow, Loaded>,
  path: string,
  chars: number,
): Unread | null => {
  const grammar = grammarFor(loaded, path);
  return 'code' in grammar ? grammar : tooLarge(path, chars, 'at least ');
};

const tooLarge = (path: string, chars: number, about: string): Unread | null => {
  const most = SYNTAX_FILE_CHARS;
  if (chars <= most) return null;
  return unread(
    'syntax_too_large',
    `${path} has ${about}${chars} characters; the limit for a syntax tree is ${most}.`,
  );
};

const parse = ({ row, parser }: Grammar, path: string, lines: readonly string[]): Outline => {
  const until = performance.now() + SYNTAX_PARSE_MS;
  // Go's grammar requires the end of the last line. A callback that returns true ends the parse, although its declared type is void.
  const tree = parser.parse(`${lines.join('\n')}\n`, null, {
    progressCallback: () => performance.now() > until,
  });
  if (tree === null) {
    parser.reset();
    return unread(
      'syntax_too_slow',
      `A syntax tree of ${path} took more than ${SYNTAX_PARSE_MS} ms.`,
    );
  }
  try {
    return readTree(row, tree, lines);
  } finally {
    // The tree is in the runtime's own memory, which nothing else frees.
    tree.delete();
  }
};
