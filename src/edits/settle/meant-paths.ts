/**
 * Which file a path means that is not there. A model writes the name of the repository or of its mount before a path, leaves folders out, or
 * writes another letter case. An edit that quotes text of the file is read so if exactly one file can be meant. New content is not: that would
 * either overwrite a file or make a second one, so it is refused if it has most of the lines of a file of nearly the same path.
 */
import { groupBy, lastSegment } from '../../shared/text.js';
import type { Edit } from '../edit.js';
import { checkPath, pathsThere } from '../paths.js';
import type { ContextFile, FormatContext, Reason } from '../types.js';

const LEAST_SHARED_LINES = 2; // bound: Lines that a new file must share with another one to be taken for it.
const MOST = 0.5; // bound: Share of a file's lines that new content has if it is that file.
const SAME_NAMES = 200; // bound: Files of one name of which one may be meant; of more it is not clear which.
const COMPARED_FILES = 8; // bound: Files of nearly the same path that new content is compared with.
const PLACEHOLDER = /^\/?path\/to\//;

export interface MeantPaths {
  readonly edits: readonly Edit[];
  readonly notes: readonly Reason[];
  readonly reasons: readonly Reason[];
}

/** Gives each edit the path of the file that it means. */
export const withMeantPaths = (edits: readonly Edit[], context: FormatContext): MeantPaths =>
  new PathReader(edits, context).read();

class PathReader {
  readonly #edits: readonly Edit[];
  readonly #context: FormatContext;
  readonly #stated: ReadonlySet<string>;
  readonly #meant = new Map<string, string | null>();
  /** What was left out before paths, as `repo/`. */
  readonly #dropped = new Set<string>();
  readonly #notes: Reason[] = [];
  readonly #reasons: Reason[] = [];
  #byName: ReadonlyMap<string, readonly string[]> | null = null;
  #paths: ReadonlySet<string> | null = null;
  #firstFolders: ReadonlySet<string> | null = null;

  constructor(edits: readonly Edit[], context: FormatContext) {
    this.#edits = edits;
    this.#context = context;
    this.#stated = new Set(edits.flatMap(({ path }) => path ?? []));
  }

  read(): MeantPaths {
    const edits = this.#edits.map((edit) => this.#withMeant(edit));
    for (const edit of this.#edits) if (creates(edit)) this.#checkNew(edit);
    return { edits, notes: this.#notes, reasons: this.#reasons };
  }

  #withMeant(edit: Edit): Edit {
    const { path } = edit;
    if (path === null) return edit;
    const meant = this.#pathMeant(edit, path);
    if (meant === null) return edit;
    return edit.kind === 'file'
      ? { ...edit, path: meant, before: meant, after: meant }
      : { ...edit, path: meant };
  }

  /** Returns the path of the file that an edit means, or null if the stated path stays. */
  #pathMeant(edit: Edit, path: string): string | null {
    const isChanged = edit.kind === 'file' && edit.before !== null && edit.before === edit.after;
    if (isChanged || quotesText(edit)) return this.#meantBy(path, edit.hint.index);
    // A hunk belongs to the file that its header means.
    return isHunk(edit) ? (this.#meant.get(path) ?? null) : null;
  }

  /** Returns the only file that a path can mean which is not there; null: the path is one of a file, or several can be meant. */
  #meantBy(stated: string, index: number): string | null {
    const known = this.#meant.get(stated);
    if (known !== undefined) return known;
    const [only = null, ...others] = this.#isThere(stated) ? [] : this.#candidates(stated);
    const meant = others.length > 0 || only === null || !this.#isText(only) ? null : only;
    this.#meant.set(stated, meant);
    if (meant === null) return null;
    const plain = plainOf(stated);
    if (plain.endsWith(`/${meant}`)) this.#dropped.add(plain.slice(0, -meant.length));
    const message = `${stated} was read as ${meant}, the only file that it can mean.`;
    this.#notes.push({ code: 'path_read_as', path: meant, index, message });
    return meant;
  }

  /** Is there a file of this path, or was it offered as one that may be created? */
  #isThere(stated: string): boolean {
    const checked = checkPath(stated.trim());
    const { files } = this.#context;
    if (files.has(stated)) return true;
    return checked.ok && (files.has(checked.path) || this.#there.has(checked.path));
  }
  /** Paths of all files and folders that are known. */
  get #there(): ReadonlySet<string> {
    const { files, options } = this.#context;
    return (this.#paths ??= new Set(pathsThere(files, options)));
  }
  /** Folders at the top of the workspace. */
  get #folders(): ReadonlySet<string> {
    return (this.#firstFolders ??= new Set(
      [...this.#there].flatMap((path) => /^[^/]+(?=\/)/.exec(path) ?? []),
    ));
  }
  /** All paths by their last name, letter case aside. */
  get #named(): ReadonlyMap<string, readonly string[]> {
    return (this.#byName ??= groupBy(this.#there, nameOf));
  }
  #fileOf(path: string): ContextFile | undefined {
    return this.#context.files.get(path);
  }
  #isText(path: string): boolean {
    return (this.#fileOf(path)?.text ?? null) !== null;
  }

  /** Returns the paths that a path may mean, all of the same last name; none where there are too many to tell. */
  #candidates(stated: string): readonly string[] {
    const plain = plainOf(stated);
    const path = plain.replace(PLACEHOLDER, '');
    if (path === '' || path.split('/').includes('..')) return [];
    if (path !== stated && this.#there.has(path)) return [path];
    const named = this.#named.get(nameOf(path)) ?? [];
    if (named.length > SAME_NAMES) return [];
    const folded = path.toLowerCase();
    const alike = named.filter(
      (other) => other.endsWith(`/${path}`) || (other !== path && other.toLowerCase() === folded),
    );
    return [...new Set([...this.#endOf(path), ...alike])];
  }

  /** Returns the longest path that ends another one, if what is before it is no folder of the workspace. */
  #endOf(path: string): readonly string[] {
    const segments = path.split('/');
    if (this.#folders.has(segments[0] ?? '')) return [];
    for (let from = 1; from < segments.length; from += 1) {
      const end = segments.slice(from).join('/');
      if (this.#there.has(end)) return [end];
    }
    return [];
  }

  /** Refuses a new file that is a file of nearly the same path. */
  #checkNew(edit: Edit): void {
    const { path, hint } = edit;
    if (path === null || this.#isThere(path)) return;
    const refuse = (message: string): void =>
      void this.#reasons.push({ code: 'bad_path', path, index: hint.index, message });
    const dropped = [...this.#dropped].find((prefix) => plainOf(path).startsWith(prefix));
    if (dropped !== undefined)
      return refuse(
        `Other paths of the answer begin with ${dropped}, which is no folder here. Send ${plainOf(path).slice(dropped.length)}.`,
      );
    const lines = newLinesOf(edit, this.#edits);
    const meant = this.#candidates(path)
      .slice(0, COMPARED_FILES)
      .find(
        (other) =>
          !this.#stated.has(other) && isMostOf(lines, this.#fileOf(other)?.text?.lines ?? []),
      );
    if (meant === undefined) return;
    refuse(
      `There is no file ${path}, and its new content is most of ${meant}. Send the path ${meant} if you mean that file, else other content.`,
    );
  }
}

const isHunk = (edit: Edit): boolean => edit.kind === 'lines' && edit.hint.hunk !== null;

/** Does the edit quote text of its file, or name a line of it, so that only that file can be meant? */
const quotesText = (edit: Edit): boolean => {
  if (edit.kind === 'lines') return edit.before.length > 0 && !isHunk(edit);
  if (edit.kind === 'text') return edit.before !== '' || edit.hint.behind !== null;
  return edit.kind === 'range' && (edit.hint.lines !== null || edit.hint.symbol !== null);
};

const creates = (edit: Edit): boolean => {
  if (edit.kind === 'write') return true;
  if (edit.kind === 'file') return edit.before === null;
  if (edit.kind === 'lines') return edit.before.length === 0 && !isHunk(edit);
  return edit.kind === 'text' && edit.before === '' && edit.hint.behind === null;
};

const newLinesOf = (edit: Edit, edits: readonly Edit[]): ReadonlySet<string> => {
  const parts =
    edit.kind === 'file' ? edits.filter(({ hint }) => hint.section === edit.hint.section) : [edit];
  const lines = parts.flatMap((part): readonly string[] => {
    if (part.kind === 'write') return part.after.all;
    if (part.kind === 'lines') return part.after;
    return part.kind === 'text' ? part.after.split('\n') : [];
  });
  return new Set(lines.map((line) => line.trim()));
};

/** Do the new lines hold most of a file's lines? */
const isMostOf = (lines: ReadonlySet<string>, own: readonly string[]): boolean => {
  const telling = own.map((line) => line.trim()).filter((line) => line !== '');
  const shared = telling.filter((line) => lines.has(line)).length;
  return shared >= LEAST_SHARED_LINES && shared >= MOST * telling.length;
};

/** Returns a path relative to the root, with `/` between folders and nothing around it. */
const plainOf = (stated: string): string =>
  stated
    .trim()
    .replace(/^<(.*)>$/, '$1')
    .replace(/:\d+(?:[-:]\d+)?$/, '')
    .replace(/^file:\/\//, '')
    .replace(/^[A-Za-z]:(?=[\\/])/, '')
    .replaceAll('\\', '/')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/');

const nameOf = (path: string): string => lastSegment(path).toLowerCase();
