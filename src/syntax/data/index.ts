/** New errors of files that have a parser instead of a grammar: JSON, notebooks, YAML, TOML, Makefiles. */
import type { DataCheck, DataFault, DataFile, LineSource } from '../../edits/index.js';
import { jsonFaults, notebookFaults } from './json.js';
import { makefileFaults } from './makefile.js';
import { isTemplate } from './template.js';
import { tomlFaults } from './toml.js';
import { yamlFaults } from './yaml.js';

export const DATA_FILE_CHARS = 1024 * 1024; // bound: Size of a file that is parsed, in characters.
export const YAML_FILE_CHARS = 512 * 1024; // bound: The same for YAML, whose parser needs about 3 seconds for them.

interface Sides {
  readonly path: string;
  /** Null: the file is new. */
  readonly base: readonly string[] | null;
  readonly result: readonly string[];
}

interface DataLanguage {
  readonly name: string;
  /** What the path of such a file looks like. */
  readonly paths: RegExp;
  readonly most_chars: number;
  /** Null: the file cannot be checked. */
  readonly faults: (sides: Sides) => readonly DataFault[] | null;
}

const text = (lines: readonly string[]): string => lines.join('\n');
const textOrNull = (lines: readonly string[] | null): string | null =>
  lines === null ? null : text(lines);

/** The first that fits the path counts. */
const LANGUAGES: readonly DataLanguage[] = [
  {
    name: 'notebook',
    most_chars: DATA_FILE_CHARS,
    paths: /\.ipynb$/i,
    faults: ({ base, result }) => notebookFaults(textOrNull(base), text(result)),
  },
  {
    name: 'JSON',
    most_chars: DATA_FILE_CHARS,
    paths:
      /\.(?:jsonc?|webmanifest|geojson|topojson|jsonld|har|arb|tfstate|avsc|code-workspace|sublime-[\w-]+)$|(?:^|\/)(?:composer\.lock|Pipfile\.lock|flake\.lock|bun\.lock|\.(?:babelrc|swcrc|jshintrc))$/i,
    faults: ({ path, base, result }) => jsonFaults(path, textOrNull(base), text(result)),
  },
  {
    name: 'YAML',
    most_chars: YAML_FILE_CHARS,
    paths: /\.ya?ml$|\.cff$/i,
    faults: ({ path, base, result }) => yamlFaults(path, textOrNull(base), text(result)),
  },
  {
    name: 'TOML',
    most_chars: DATA_FILE_CHARS,
    paths: /\.toml$|(?:^|\/)(?:Cargo|poetry|uv|pdm)\.lock$|(?:^|\/)Pipfile$/i,
    faults: ({ base, result }) => tomlFaults(textOrNull(base), text(result)),
  },
  {
    name: 'Makefile',
    most_chars: DATA_FILE_CHARS,
    paths: /(?:^|\/)(?:GNU)?[Mm]akefile(?:\.am)?$|\.mk$/,
    faults: ({ base, result }) => makefileFaults(base, result),
  },
];

/** Null: the path names no such file. */
export const dataLanguageOf = (path: string): string | null => find(path)?.name ?? null;

const find = (path: string): DataLanguage | null =>
  LANGUAGES.find(({ paths }) => paths.test(path)) ?? null;

/** Null: the path names no such file. Never throws. */
export const newDataFaults = ({ path, base, result }: DataFile): DataCheck | null => {
  const language = find(path);
  if (language === null) return null;
  const sides = [base, result].filter((side) => side !== null);
  const { most_chars } = language;
  if (sides.some(({ leastChars }) => leastChars > most_chars)) return tooLarge(path, most_chars);
  if (sides.some(({ all }) => sizeOf(all) > most_chars)) return tooLarge(path, most_chars);
  const faults = faultsOf(language, { path, base: base?.all ?? null, result: result.all });
  if (faults === null)
    return {
      kind: 'unread',
      code: 'syntax_too_large',
      why: `Lists and maps are nested too deeply in ${path}.`,
    };
  const isFilled =
    faults.length > 0 && language.name !== 'Makefile' && isTemplate(news(base, result));
  return { kind: 'read', language: language.name, faults: isFilled ? [] : faults };
};

/**
 * Lines that may hold a new expression of a template, in whose place the reader of the file sees other text. With those that it had, the
 * file could be parsed.
 */
const news = (base: LineSource | null, result: LineSource): readonly string[] => {
  const known = new Set(base?.all ?? []);
  return result.all.filter((line) => !known.has(line));
};

const sizeOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + line.length + 1, 0);

const tooLarge = (path: string, most_chars: number): DataCheck => ({
  kind: 'unread',
  code: 'syntax_too_large',
  why: `${path} has more than ${most_chars} characters, the limit for a parser.`,
});

const faultsOf = (language: DataLanguage, sides: Sides): readonly DataFault[] | null => {
  try {
    return language.faults(sides);
  } catch (error) {
    // The stack of a parser that recurses is full.
    if (error instanceof RangeError) return null;
    throw error;
  }
};
