/** Entries of trees and indexes: reading, hashing and setting them, by repository-relative path. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fieldsOf, git, repositoryOf, valueOf, gitLine } from './git.js';
import { orNull } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';

const GIT_ARGUMENTS_BYTES = 60_000; // bound: Paths of one command line; the system's limit is at least 128 KiB.

export interface Entry {
  /** As git writes it: 100644, 100755, 120000, 160000 (submodule), 040000 (directory; trees only). */
  readonly mode: string;
  readonly id: string;
  /** Of an index, by `ls-files -v`: H; S with skip-worktree; h, s with assume-unchanged. Absent: H. */
  readonly tag?: string;
}
export type Entries = ReadonlyMap<string, Entry>;

/** The paths in portions that fit on a command line. */
function* inChunks(paths: readonly string[]): Generator<string[]> {
  let chunk: string[] = [];
  let size = 0;
  for (const path of paths) {
    const bytes = Buffer.byteLength(path) + 1;
    if (chunk.length > 0 && size + bytes > GIT_ARGUMENTS_BYTES) {
      yield chunk;
      [chunk, size] = [[], 0];
    }
    chunk.push(path);
    size += bytes;
  }
  if (chunk.length > 0) yield chunk;
}

export interface TreeChanges {
  /** Paths in which the two differ, files only. */
  readonly paths: readonly string[];
  readonly parent: Entries;
  readonly commit: Entries;
}

/**
 * What changed from one commit or tree to another; `from` null: from the parent of the commit `to`, if it has one. Raw output of diff-tree:
 * `:<modes> <ids> <status>`, then the path.
 */
export async function treeChanges(
  root: string,
  from: string | null,
  to: string,
): Promise<TreeChanges> {
  const of = from === null ? ['--root', '--no-commit-id', to] : [from, to];
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--raw', ...of];
  const fields = fieldsOf(valueOf(await git(args, { cwd: root, reading: true })));
  const paths: string[] = [];
  const parent = new Map<string, Entry>();
  const commit = new Map<string, Entry>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, was, is, wasId, isId] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) /.exec(fields[at] ?? '') ?? [];
    const path = fields[at + 1];
    if (
      was === undefined ||
      is === undefined ||
      wasId === undefined ||
      isId === undefined ||
      path === undefined
    )
      continue;
    paths.push(path);
    if (was !== NO_MODE) parent.set(path, { mode: was, id: wasId });
    if (is !== NO_MODE) commit.set(path, { mode: is, id: isId });
  }
  return { paths, parent, commit };
}
const NO_MODE = '000000';

/** Returns the entries of an index file at `paths`. An unmerged entry has the mode ''. */
export async function indexEntries(
  root: string,
  paths: readonly string[],
  index: string,
): Promise<Entries> {
  const entries = new Map<string, Entry>();
  for (const chunk of inChunks(paths)) {
    const listed = valueOf(
      await git(['ls-files', '-v', '-s', '-z', '--', ...chunk], {
        cwd: root,
        reading: true,
        env: { GIT_INDEX_FILE: index },
      }),
    );
    for (const field of fieldsOf(listed)) {
      const [, tag, mode, id, stage, path] =
        /^(\w) (\d+) ([0-9a-f]+) (\d)\t([^]*)$/.exec(field) ?? [];
      if (tag === undefined || mode === undefined || id === undefined || path === undefined)
        continue;
      entries.set(path, { mode: stage === '0' ? mode : '', id, tag });
    }
  }
  return entries;
}

/** Directories of a tree, each with all that lies in it. Git's names are bytes: here a character each, in paths too. `''` is the top. */
type Folders = Map<string, Map<string, Entry>>;

const inBytes = (path: string): string => Buffer.from(path).toString('latin1');
/** A path's directory and its name in it. */
const split = (path: string): [dir: string, name: string] => {
  const [, dir = '', name = path] = /^([^]*)\/([^]*)$/.exec(path) ?? [];
  return [dir, name];
};
/** Outermost first. */
const foldersAbove = (path: string): string[] =>
  path.split('/').map((_, at, names) => names.slice(0, at).join('/'));

/** What a tree or commit (null: nothing) holds in every directory above the paths. */
export async function foldersOf(
  root: string,
  tree: string | null,
  paths: readonly string[],
): Promise<Folders> {
  const folders: Folders = new Map([['', new Map<string, Entry>()]]);
  if (tree === null) return folders;
  const asked = [...new Set(['', ...paths.flatMap(foldersAbove)])].map((dir) =>
    dir === '' ? './' : `${dir}/`,
  );
  for (const chunk of inChunks(asked)) {
    const args = ['ls-tree', '-z', '--full-tree', tree, '--', ...chunk];
    const { bytes } = valueOf(await git(args, { cwd: root, reading: true }));
    for (const field of Buffer.from(bytes).toString('latin1').split('\0')) {
      const [, mode, id, path] = /^(\d+) \w+ ([0-9a-f]+)\t([^]*)$/.exec(field) ?? [];
      if (mode === undefined || id === undefined || path === undefined) continue;
      const [dir, name] = split(path);
      for (const above of foldersAbove(path))
        if (!folders.has(above)) folders.set(above, new Map());
      folders.get(dir)?.set(name, { mode, id });
    }
  }
  // Of a directory that was asked for in another portion.
  for (const [dir, name] of [...folders.keys()].map(split)) folders.get(dir)?.delete(name);
  return folders;
}
/** Those of the paths that are there. */
export const entriesIn = (folders: Folders, paths: readonly string[]): Entries =>
  new Map(
    paths.flatMap((path) => {
      const [dir, name] = split(inBytes(path));
      const entry = folders.get(dir)?.get(name);
      return entry === undefined ? [] : [[path, entry] as const];
    }),
  );
/** What `tree` (a commit or tree; null: nothing) holds at `paths`. */
export const treeEntries = async (
  root: string,
  tree: string | null,
  paths: readonly string[],
): Promise<Entries> =>
  paths.length === 0 ? new Map() : entriesIn(await foldersOf(root, tree, paths), paths);

/**
 * Writes the tree of the folders with other entries at some paths, which must lie in them. `lost`: what else went, as a file
 * took a directory's name or the reverse. Git is told each changed directory, innermost first, and not what lies beside it.
 */
export async function treeWith(
  root: string,
  folders: Folders,
  { paths, commit }: Pick<TreeChanges, 'paths' | 'commit'>,
): Promise<{ readonly tree: string; readonly lost: readonly string[] }> {
  const lost: string[] = [];
  const within = (dir: string): string[] =>
    folders.has(dir) ? [...folders.keys()].filter((each) => `${each}/`.startsWith(`${dir}/`)) : [];
  // Removals first, so that a file may become a directory.
  const removed = paths.filter((path) => !commit.has(path)).map((path) => split(inBytes(path)));
  for (const [dir, name] of removed) folders.get(dir)?.delete(name);
  for (const [path, entry] of commit) {
    const here = inBytes(path);
    const [dir, name] = split(here);
    for (const above of foldersAbove(here)) {
      const [outer, own] = split(above);
      if (above !== '' && folders.get(outer)?.delete(own) === true) lost.push(above);
      if (!folders.has(above)) folders.set(above, new Map());
    }
    const gone = within(here);
    if (
      gone.some((each) => folders.get(each)?.size !== 0) ||
      folders.get(dir)?.get(name)?.mode === FOLDER
    )
      lost.push(path);
    for (const each of gone) folders.delete(each);
    folders.get(dir)?.set(name, entry);
  }
  const written: string[] = [];
  const depth = (dir: string): number => (dir === '' ? 0 : dir.split('/').length);
  for (const dir of [...folders.keys()].sort((a, b) => depth(b) - depth(a))) {
    const own = [...(folders.get(dir) ?? [])].sort((a, b) => (sortedAs(a) < sortedAs(b) ? -1 : 1));
    if (dir !== '' && own.length === 0) continue;
    written.push(
      ...own.map(([name, { mode, id }]) => `${mode} ${kindOf(mode)} ${id}\t${name}\0`),
      '\0',
    );
    const [outer, name] = split(dir);
    if (dir !== '') folders.get(outer)?.set(name, { mode: FOLDER, id: treeId(own) });
  }
  // What lies beside may be left at a remote (a partial clone): it is not looked for.
  const call = { cwd: root, input: Buffer.from(written.join(''), 'latin1') };
  const made = valueOf(await gitLine(['mktree', '-z', '--missing', '--batch'], call));
  return { tree: made.slice(made.lastIndexOf('\n') + 1), lost };
}
const [FOLDER, SUBMODULE] = ['040000', '160000'];
const kindOf = (mode: string): string =>
  mode === FOLDER ? 'tree' : mode === SUBMODULE ? 'commit' : 'blob';

type Named = readonly [name: string, entry: Entry];
/** Git sorts a directory as if its name ended in `/`. */
const sortedAs = ([name, { mode }]: Named): string => (mode === FOLDER ? `${name}/` : name);
function treeId(sorted: readonly Named[]): string {
  const lines = sorted.map(([name, { mode, id }]) =>
    Buffer.concat([
      Buffer.from(`${mode.replace(/^0+/, '')} ${name}\0`, 'latin1'),
      Buffer.from(id, 'hex'),
    ]),
  );
  return plainId(Buffer.concat(lines), sorted[0]?.[1].id ?? '', 'tree');
}

/**
 * Id of the blob that git would store for `bytes`. `as`: the path whose filters and line-ending attributes apply; null: the bytes
 * as they are. `write`: store it.
 */
export async function blobId(
  root: string,
  bytes: Uint8Array,
  as: string | null,
  write: boolean,
): Promise<string> {
  const how = as === null ? ['--no-filters'] : [`--path=${as}`];
  const args = ['hash-object', '-t', 'blob', ...(write ? ['-w'] : []), ...how, '--stdin'];
  return valueOf(await gitLine(args, { cwd: root, input: bytes }));
}

/**
 * Stores the files as they lie below `root`, with their filters, in one process: their ids by path. Empty where one is no file, or git
 * would read its name in another way.
 */
export async function fileIds(
  root: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (paths.length < 2 || paths.some((path) => /^"|\n/.test(path))) return new Map();
  const input = paths.map((path) => `${path}\n`).join('');
  const made = await gitLine(['hash-object', '-w', '--stdin-paths'], { cwd: root, input });
  return new Map(made.ok ? made.value.split('\n').map((id, at) => [paths[at] ?? '', id]) : []);
}

/** Id of the blob of the bytes as they are, by the hash that made `like`: an id of SHA-1 has 40 digits. */
export const plainId = (bytes: Uint8Array, like: string, kind = 'blob'): string =>
  createHash(like.length === 40 ? 'sha1' : 'sha256')
    .update(`${kind} ${bytes.length}\0`)
    .update(bytes)
    .digest('hex');

export async function blobBytes(root: string, id: string): Promise<Uint8Array> {
  return valueOf(await git(['cat-file', 'blob', id], { cwd: root, reading: true })).bytes;
}

export const sameEntry = (a: Entry | undefined | null, b: Entry | undefined | null): boolean =>
  (a?.mode ?? null) === (b?.mode ?? null) && (a?.id ?? null) === (b?.id ?? null);

// What git says of files that a commit is to hold: their uncommitted changes, and whose repository they belong to.

export interface DirtyPath {
  /** Workspace-relative. */
  readonly path: string;
  /** `untracked` files are in no commit, so there is no committed version to change; `unmerged`: a merge waits for a person. */
  readonly state: 'changed' | 'staged' | 'untracked' | 'ignored' | 'unmerged';
}

/**
 * Which of `paths` differ from HEAD: `staged` where all of the difference is in the index, `changed` otherwise. Outside git: none.
 * Throws ProblemError `git_failed`.
 */
export async function dirtyPaths(root: string, paths: readonly string[]): Promise<DirtyPath[]> {
  const prefix = paths.length === 0 ? undefined : (await repositoryOf(root))?.prefix;
  if (prefix === undefined) return [];
  const args = [
    'status',
    '--porcelain=v2',
    '-z',
    '--no-renames',
    '--untracked-files=all',
    '--ignored=traditional',
  ];
  const wanted = new Map(paths.map((path) => [prefix + path, path]));
  const dirty: DirtyPath[] = [];
  for (const chunk of inChunks(paths)) {
    for (const field of fieldsOf(
      valueOf(await git([...args, '--', ...chunk], { cwd: root, reading: true })),
    )) {
      const entry = ENTRY.exec(field)?.groups;
      const path = wanted.get(entry?.path ?? '');
      if (entry !== undefined && path !== undefined) dirty.push({ path, state: stateOf(entry) });
    }
  }
  return dirty;
}

/** Porcelain v2: `1 XY <6 fields> path`, `u XY <8 fields> path`, `? path`, `! path`; paths from the repository's top. */
const ENTRY =
  /^(?:1 (?<xy>..) (?:\S+ ){6}|(?<unmerged>u) .. (?:\S+ ){8}|(?<other>[?!]) )(?<path>[^]*)$/;

function stateOf({ xy, unmerged, other }: Record<string, string | undefined>): DirtyPath['state'] {
  if (unmerged !== undefined) return 'unmerged';
  if (other !== undefined) return other === '?' ? 'untracked' : 'ignored';
  return xy?.endsWith('.') ? 'staged' : 'changed';
}

export interface ForeignPath {
  /** As given. */
  readonly path: string;
  /** Top of the working tree that it belongs to, workspace-relative. */
  readonly tree: string;
}

/**
 * Those of `paths` (workspace-relative, no link among their names) that lie in a submodule, checked out or not, or in another
 * repository below this one. Outside git: none. Throws ProblemError `git_failed`.
 */
export async function foreignPaths(root: string, paths: readonly string[]): Promise<ForeignPath[]> {
  const repository = paths.length === 0 ? null : await repositoryOf(root);
  if (repository === null) return [];
  const above = (path: string): string[] => foldersAbove(path).slice(1);
  const dirs = [...new Set(paths.flatMap(above))];
  const { prefix, head } = repository;
  const inRoot = dirs.map((dir) => prefix + dir);
  const held = await treeEntries(repository.root, head, inRoot);
  const tops = new Set<string>();
  for (const dir of dirs) {
    const own = await orNull(realSys.lstat(join(root, dir, '.git')), ['ENOENT', 'ENOTDIR']);
    if (own !== null || held.get(prefix + dir)?.mode === SUBMODULE) tops.add(dir);
  }
  return paths.flatMap((path) => {
    const tree = above(path).findLast((dir) => tops.has(dir));
    return tree === undefined ? [] : [{ path, tree }];
  });
}
