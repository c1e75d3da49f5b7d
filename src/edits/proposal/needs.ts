/**
 * Which changes of a proposal use names that another change of it brings: taking the one without the other leaves a name that nothing
 * defines. Words, not scopes: a name counts as brought by a change whose added lines define or import it where the base of that file has
 * no such word, and as used by a change with the word in its added lines. It warns; it decides nothing. Pure.
 */
import { groupBy } from '../../shared/text.js';
import type { DiffSection } from './read-diff.js';

export const CHANGE_NEEDS = 200; // bound: Names that a change needs from another one, of one proposal.
export const NEED_NAME_CHARS = 2; // bound: Shorter names are too often words of comments.

export type ChangeRef = Readonly<{ path: string; n: number }>;
/** A change that uses a name which another change brings. */
export interface ChangeNeed {
  readonly user: ChangeRef;
  readonly name: string;
  /** The change that brings the name. */
  readonly needs: ChangeRef;
}

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/gu;
const NAME = String.raw`([\p{L}_$][\p{L}\p{N}_$]*)`;
/** What defines a name, in the languages that the project reads; the first group is the name. */
const DEFINES = [
  new RegExp(
    String.raw`\b(?:function\*?|class|interface|type|enum|struct|trait|union|module|namespace|record|object|macro|fn|func|fun|def|sub|let|const|var|val|static|mod)\s+(?:mut\s+)?${NAME}`,
    'gu',
  ),
  // go methods, C-like functions at the start of a line, shell functions
  new RegExp(String.raw`^func\s+\([^)]*\)\s*${NAME}`, 'gu'),
  new RegExp(String.raw`^(?:[\p{L}_][\p{L}\p{N}_<>*&:\[\]]*\s+)+\*?${NAME}\s*\([^;]*\)\s*\{`, 'gu'),
  new RegExp(String.raw`^${NAME}\s*\(\)\s*\{`, 'gu'),
  // assignments at the start of a line, #define
  new RegExp(String.raw`^${NAME}\s*(?::[^=]+)?=(?!=)`, 'gu'),
  new RegExp(String.raw`^#define\s+${NAME}`, 'gu'),
];
const IMPORT = /^\s*(?:import|from|use|using|require)\b|=\s*require\(|^\s*#include\b/u;
/** Words of import lines that are no names. */
const IMPORT_WORDS = new Set([
  'import',
  'from',
  'as',
  'type',
  'use',
  'using',
  'require',
  'static',
  'const',
  'default',
]);

/** `baseWords`: the words of a file before the change; null where it is made or cannot be read. */
export const changeNeeds = (
  sections: readonly DiffSection[],
  baseWords: (path: string) => ReadonlySet<string> | null,
): readonly ChangeNeed[] => {
  const added = sections.flatMap(({ path, hunks }) =>
    hunks.flatMap(({ lines, changes }) =>
      changes.map(({ n, first, end }) => ({
        path,
        n,
        lines: lines
          .slice(first, end)
          .flatMap((line) => (line.startsWith('+') ? [line.slice(1)] : [])),
      })),
    ),
  );
  const brought = added.flatMap(({ path, n, lines }) => {
    const isNew = (name: string): boolean =>
      name.length >= NEED_NAME_CHARS && baseWords(path)?.has(name) !== true;
    return [...new Set(lines.flatMap(definedNames))]
      .filter(isNew)
      .map((name) => ({ name, by: { path, n } }));
  });
  const bringers = groupBy(brought, ({ name }) => name);
  const needs: ChangeNeed[] = [];
  for (const { path, n, lines } of added) {
    for (const name of new Set(lines.flatMap((line) => wordsOf(line)))) {
      const from = bringers.get(name) ?? [];
      // Where it brings the name itself it needs nobody; where several do, one of them may be enough: the nearest in its own file.
      if (from.some(({ by }) => by.path === path && by.n === n)) continue;
      const nearest = (from.find(({ by }) => by.path === path) ?? from[0])?.by;
      if (nearest === undefined) continue;
      // A word that the user's own file had before is, in another file, most likely another thing.
      if (nearest.path !== path && baseWords(path)?.has(name) === true) continue;
      needs.push({ user: { path, n }, name, needs: nearest });
      if (needs.length >= CHANGE_NEEDS) return needs;
    }
  }
  return needs;
};

/** The words of a text that may be names. */
export const wordsOf = (text: string): readonly string[] => text.match(WORD) ?? [];

const definedNames = (line: string): readonly string[] => {
  const names = DEFINES.flatMap((pattern) =>
    [...line.matchAll(pattern)].map((match) => match[1] ?? ''),
  );
  if (!IMPORT.test(line)) return names;
  const code = line.replace(/(['"`]).*?\1/gu, ' ');
  return [...names, ...wordsOf(code).filter((word) => !IMPORT_WORDS.has(word))];
};

/** What a change needs, as a person reads it: `hunk 1`, `hunk 2 of src/a.ts`. `hunk`: number of the hunk that brings the name, from 1 in its file; 0: in none. */
export const neededName = ({ user, needs }: ChangeNeed, hunk: number): string =>
  hunk === 0 ? needs.path : `hunk ${hunk}${needs.path === user.path ? '' : ` of ${needs.path}`}`;
