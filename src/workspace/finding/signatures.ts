/** What a call is told of the files round its own: what these import, who uses them, their test, an example for a new one. No model. */
import type { KnownFile } from '../../shared/pick.js';
import { filesWith } from './evidence.js';
import { areFamily, folderOf, importsIn, isDoor, nearness } from './imports.js';
import { isCode, lastName, TEST, testedName, type FileOutline } from './rank.js';
import { matcherOf, partsOf, termsOf } from './words.js';

const IMPORTED_FILES = 60; // bound: Files that one file's imports lead to,
const DOORS = 2; // bound: through so many that only hand on what others define.
const FILE_LINES = 40; // bound: Lines of one file that are told: definitions, calls, names of tests.
const CALLED_NAMES = 8; // bound: Definitions of a file whose callers are looked for,
const CALLERS = 20; // bound: callers that are read,
const CALL_LINES = 5; // bound: and lines of each that are told.
const LINE_CHARS = 200; // bound: One line. ◆ Cut at white space: half a secret is not recognized.
const EXAMPLE_LINES = 100; // bound: Of the file that is an example for a new one, the first lines.

/** A text, its secrets hidden, and what it defines and imports. */
export interface ReadFile {
  readonly lines: readonly string[];
  readonly outline: FileOutline;
}
/** `files`: paths that may be shown. */
export interface Searched {
  readonly root: string;
  readonly files: readonly string[];
  readonly task: string;
}
type Lines = KnownFile['lines'];

export const cutLine = (line: string): string =>
  line.length <= LINE_CHARS ? line : line.slice(0, LINE_CHARS).replace(/(?:^|\s)\S*$/, ' …');
const bestBy = <T>(all: readonly T[], score: (of: T) => number): readonly T[] =>
  [...all].sort((a, b) => score(b) - score(a));
/** With lines in the order of the file, each once, the first ones. */
const told = (rank: number, path: string, why: string, lines: Lines): readonly KnownFile[] => {
  const first = [...new Map(lines)]
    .sort(([a], [b]) => a - b)
    .slice(0, rank === 0 ? EXAMPLE_LINES : FILE_LINES);
  return first.length === 0 ? [] : [{ path, why, rank, lines: first }];
};

const TITLE = /^\s*(?:describe|it|test|context|specify)(?:[.]\w+)*\(?\s*(?:['"`]|\w+\(['"`])/;
const NAME_ALONE = /^\s*(?:type )?[\w$]+,?$/;
/** Where a language says what leaves a file, nothing else is meant. */
const LEAVES = /(?:^|[)\]] )(?:export|pub|impl)\b/;

/**
 * Looks round the files of one workspace for one task: what a call for `path` is told, best first within a kind. `file` null: it is new.
 * `read`: null where a file cannot be read, or there is no time left.
 */
export function lookAround(
  { root, files, task }: Searched,
  read: (path: string) => Promise<ReadFile | null>,
) {
  const importsOf = importsIn(files);
  const terms = termsOf(task);
  const match = matcherOf(terms);
  const weigh = (text: string, term: number) =>
    terms[term]?.key === partsOf(text).join('') ? 10 : 1;
  /** How much of the task stands in a text. */
  const asked = (text: string) => match(text).reduce((sum, term) => sum + weigh(text, term), 0);

  const readAll = async (paths: readonly string[]) => {
    const all = await Promise.all(paths.map(async (path) => [path, await read(path)] as const));
    return all.flatMap(([path, file]) =>
      file === null ? [] : [{ path, file, imports: importsOf(file.outline.imports, path) }],
    );
  };
  /** The best of the files that are like this one, with its lines. */
  const nearest = async (
    isLike: (other: string) => boolean,
    path: string,
    score: (other: string) => number,
  ) => {
    const like = files.filter((other) => areFamily(other, path) && isLike(other));
    return (await readAll(bestBy(like, score).slice(0, 1))).map(({ path: other, file }) => {
      return { other, file, lines: file.lines.map((line, at) => [at, cutLine(line)] as const) };
    });
  };

  /** Those that are used; of what another holds, those whose names are used or asked for too. */
  const usedIn = ({ outline: { symbols } }: ReadFile, used: ReadonlySet<string>): Lines => {
    const says = symbols.some(([, signature]) => LEAVES.test(signature));
    const isMeant = ([qualified, signature]: (typeof symbols)[number]): boolean => {
      const [root = '', ...inner] = qualified.split('.');
      const name = lastName(qualified);
      if (!used.has(/[\w$]{2,}$/.exec(root)?.[0] ?? '')) return false;
      return inner.length > 0 ? used.has(name) || asked(name) > 0 : !says || LEAVES.test(signature);
    };
    return definitions(symbols.filter(isMeant));
  };
  const imported = async (path: string, file: ReadFile): Promise<readonly KnownFile[]> => {
    const used = new Set(file.lines.join('\n').match(/[\w$]+/g));
    const seen = new Set([path]);
    const found: KnownFile[] = [];
    let next = importsOf(file.outline.imports, path);
    for (let door = 0; door <= DOORS; door += 1) {
      const fresh = [...new Set(next)].filter((other) => !seen.has(other) && !TEST.test(other));
      next = [];
      for (const other of await readAll(fresh.slice(0, IMPORTED_FILES - seen.size))) {
        seen.add(other.path);
        const lines = usedIn(other.file, used);
        found.push(...told(1, other.path, 'imported', lines));
        if (lines.length === 0 || isDoor(other.path)) next = [...next, ...other.imports];
      }
    }
    return bestBy(found, ({ lines }) => asked(lines.join(' ')));
  };

  /** Whoever uses what the file defines and the task names, and imports it or a door above it. */
  const callers = async (path: string, { outline }: ReadFile): Promise<readonly KnownFile[]> => {
    const defined = new Set(outline.symbols.map(([qualified]) => lastName(qualified)));
    const named = [...defined].filter((name) => /^[\w$]{3,}$/.test(name) && asked(name) > 0);
    const names = bestBy(named, asked).slice(0, CALLED_NAMES);
    const using = new Set(await filesWith(root, names));
    const others = files.filter((other) => using.has(other) && other !== path && isCode(other));
    const word = new RegExp(
      `(?<![\\w$])(?:${names.join('|').replaceAll('$', '\\$')})(?![\\w$])`,
      'g',
    );
    const leads = (other: string): boolean =>
      other === path || (isDoor(other) && path.startsWith(folderOf(other)));
    const near = bestBy(others, (other) => nearness(other, path)).slice(0, CALLERS);
    return (await readAll(near)).flatMap(({ path: other, file, imports }) => {
      const calls = imports.some(leads) ? callsIn(file, word) : [];
      const used = new Set(calls.flatMap(([, text]) => text.match(word) ?? []));
      return told(2, other, `uses ${[...used].join(', ')}`, calls);
    });
  };

  const testOf = async (path: string): Promise<readonly KnownFile[]> => {
    const name = testedName(isDoor(path) ? folderOf(path) : path);
    const isOf = (other: string): boolean =>
      TEST.test(other) && testedName(other) === name && !TEST.test(path);
    const found = await nearest(isOf, path, (other) => nearness(other, path));
    return found.flatMap(({ other, file, lines }) => {
      const titles = lines.filter(([, line]) => TITLE.test(line));
      return told(3, other, 'its test', [...definitions(file.outline.symbols), ...titles]);
    });
  };
  const exampleFor = async (path: string): Promise<readonly KnownFile[]> => {
    const own = partsOf(path);
    const isBeside = (other: string) =>
      folderOf(other) === folderOf(path) && TEST.test(other) === TEST.test(path);
    const found = await nearest(
      isBeside,
      path,
      (other) => partsOf(other).filter((part) => own.includes(part)).length,
    );
    return found.flatMap(({ other, lines }) => told(0, other, 'an example', lines));
  };

  return async (path: string, file: ReadFile | null): Promise<readonly KnownFile[]> => {
    const near = file === null ? [exampleFor(path)] : [imported(path, file), callers(path, file)];
    return (await Promise.all([...near, testOf(path)])).flat();
  };
}

const definitions = (symbols: FileOutline['symbols']): Lines =>
  symbols.map(([qualified, signature, from]) => [
    from,
    '  '.repeat(qualified.split('.').length - 1) + signature,
  ]);

/** Lines that use a name, each behind the head of the definition that it stands in. */
function callsIn({ lines, outline: { symbols, imports } }: ReadFile, word: RegExp): Lines {
  const isCall = (line: string): boolean =>
    line.search(word) !== -1 &&
    !NAME_ALONE.test(line) &&
    !imports.includes(line.slice(0, LINE_CHARS));
  const calls = lines.flatMap((line, at) => (isCall(line) ? [at] : [])).slice(0, CALL_LINES);
  return calls.flatMap((at): Lines => {
    const call = `    ${cutLine(lines[at]?.trim() ?? '')}`;
    const [, head = call, from = at] =
      symbols.findLast(([, , first, end]) => first <= at && at < end) ?? [];
    return [[at, call], [from, head]]; // prettier-ignore
  });
}
