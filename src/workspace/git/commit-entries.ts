/**
 * What the commit's tree holds for each file of the request. Only the proposal's own change goes in: where the parent does not
 * hold the bytes that the proposal started from (a person's uncommitted changes), base -> result is merged onto the parent's version.
 */
import {
  blobBytes,
  blobId,
  entriesIn,
  fileIds,
  foldersOf,
  plainId,
  sameEntry,
  type Entry,
  type TreeChanges,
} from './entries.js';
import { rebase3 } from '../../edits/internal.js';
import type { BlobStore } from '../../stores/ports.js';
import type { CommitRequest } from '../ports.js';
import type { ProposalFile } from '../proposal.js';
import { together } from '../../system/together.js';

const COMMIT_CONCURRENCY = 4; // bound: Files planned at once: each runs up to four short git processes.

/** What differs from the parent, by repository-relative path. */
export interface CommitEntries extends TreeChanges {
  /** What the parent holds beside. */
  readonly folders: Awaited<ReturnType<typeof foldersOf>>;
  /** Why parts of the proposal cannot be committed. */
  readonly conflicts: readonly string[];
}
interface Context {
  readonly root: string;
  readonly parent: TreeChanges['parent'];
  readonly blobs: BlobStore;
  /** Ids of the files as they lie in the workspace, which are the results' unless someone changed them. */
  readonly files: ReadonlyMap<string, string>;
}
/** A file with its paths in the repository; `from` differs from `to` where the proposal moved it. */
interface Change {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly base: ProposalFile['base'];
  readonly result: ProposalFile['result'];
}
type Planned = { readonly entry: Entry | null } | { readonly conflict: string } | 'as_parent';

export async function planEntries(
  root: string,
  prefix: string,
  request: CommitRequest,
  blobs: BlobStore,
): Promise<CommitEntries> {
  const sets = [...(request.marks ?? []), request].map((set) => changesOf(set, prefix));
  const paths = [...new Set(sets.flat().flatMap(({ from, to }) => [from, to]))];
  const folders = await foldersOf(root, request.lock.head, paths);
  const held = entriesIn(folders, paths);
  const parent = new Map(held);
  const results = sets
    .flat()
    .filter(({ result }) => result !== null && gitMode(result.mode) !== LINK);
  const files = await fileIds(root, [...new Set(results.map(({ to }) => to))]);
  const context: Context = { root, parent, blobs, files };
  // Marks that a person has committed meanwhile are in the parent, with what the marks before them changed.
  const landed = new Map<string, number>();
  for (const [at, changes] of sets.slice(0, -1).entries())
    for (const { to, result } of changes) {
      const entry = held.get(to);
      if (entry !== undefined && result !== null && (await holdsBytes(context, entry, result)))
        landed.set(to, at);
    }
  const planned = new Map<string, Entry | null>();
  const conflicts: string[] = [];
  const work = async (change: Change): Promise<void> => {
    const plan = await planOne(context, change);
    if (plan === 'as_parent') return;
    if ('conflict' in plan) conflicts.push(`${change.name}: ${plan.conflict}`);
    else {
      planned.set(change.to, plan.entry);
      if (change.from !== change.to) planned.set(change.from, null);
    }
  };
  for (const [at, changes] of sets.entries()) {
    await together(
      changes.filter(({ to }) => at > (landed.get(to) ?? -1)),
      work,
      COMMIT_CONCURRENCY,
    );
    // Each set is planned on what the one before it made of the parent.
    for (const [path, entry] of planned)
      if (entry === null) parent.delete(path);
      else parent.set(path, entry);
  }
  const differ = [...planned].filter(([path, entry]) => !sameEntry(entry, held.get(path)));
  const commit = new Map(differ.filter((each): each is [string, Entry] => each[1] !== null));
  return {
    paths: differ.map(([path]) => path).sort(),
    parent: held,
    commit,
    folders,
    conflicts: conflicts.sort(),
  };
}

/** A move is one change from the old path's base to the new path's result; the removal of the old path belongs to it. */
function changesOf(request: Pick<CommitRequest, 'files' | 'renames'>, prefix: string): Change[] {
  const files = new Map(request.files.map((file) => [file.path, file]));
  const origin = new Map(
    request.renames
      .filter(({ from, to }) => files.get(from)?.result === null && files.get(to)?.base === null)
      .map(({ from, to }) => [to, from]),
  );
  const movedAway = new Set(origin.values());
  return request.files
    .filter((file) => !movedAway.has(file.path))
    .map((file) => {
      const from = origin.get(file.path) ?? file.path;
      const base = file.base ?? files.get(from)?.base ?? null;
      return {
        name: file.path,
        from: prefix + from,
        to: prefix + file.path,
        base,
        result: file.result,
      };
    });
}

async function planOne(context: Context, change: Change): Promise<Planned> {
  const { base, result, from, to } = change;
  const held = context.parent.get(from);
  if (from !== to && context.parent.has(to))
    return { conflict: 'the parent commit already has a file of this name' };
  if (result === null) return planRemoval(context, change, held);
  if (base === null) return planNew(context, change, result, held);
  if (held === undefined)
    // A new path of a file that was never committed is a new file.
    return from === to
      ? { conflict: 'it was changed but is not in the parent commit; add and commit it first' }
      : planNew(context, change, result, held);

  const mode = gitMode(base.mode) === gitMode(result.mode) ? held.mode : gitMode(result.mode);
  // Nothing but the mode changed: what the parent has stays, whatever the person has in their file.
  if (base.ref === result.ref && from === to && isFile(held))
    return { entry: { mode, id: held.id } };
  const bytes = await context.blobs.get(result.ref);
  // Where no filter changes the result it does not matter whether one changes the base: one process, in the usual case.
  if (await holdsBytes(context, held, base)) {
    const id = await resultId(context, bytes, to);
    if (id === plainId(bytes, id)) return { entry: { mode, id } };
  }
  const holds = await parentHolds(context, change, held, base);
  if (holds === 'other') return mergeOnto(context, change, held, mode);
  return {
    entry: { mode, id: await blobId(context.root, bytes, holds === 'filtered' ? to : null, true) },
  };
}

/** Without a process of its own where the file in the workspace has these bytes and no filter changes them. */
const resultId = async (
  { root, files }: Context,
  bytes: Uint8Array,
  to: string,
): Promise<string> => {
  const id = files.get(to);
  return id !== undefined && id === plainId(bytes, id) ? id : blobId(root, bytes, to, true);
};

async function planRemoval(
  context: Context,
  change: Change,
  held: Entry | undefined,
): Promise<Planned> {
  if (held === undefined || change.base === null) return 'as_parent';
  // Byte for byte in the usual case, which takes no process.
  if (await holdsBytes(context, held, change.base)) return { entry: null };
  const holds = await parentHolds(context, change, held, change.base);
  if (holds !== 'other') return { entry: null };
  return { conflict: 'it was deleted, but its content in the parent commit differs' };
}

async function planNew(
  context: Context,
  change: Change,
  result: NonNullable<Change['result']>,
  held: Entry | undefined,
): Promise<Planned> {
  const mode = gitMode(result.mode);
  const bytes = await context.blobs.get(result.ref);
  const id = await (mode === LINK
    ? blobId(context.root, bytes, null, true)
    : resultId(context, bytes, change.to));
  if (held === undefined || held.id === id) return { entry: { mode, id } };
  return { conflict: 'it was created, but the parent commit has a different file of this name' };
}

/**
 * Does the parent hold the base's bytes: as git would store them today (`filtered`: line endings, clean filters), or exactly as
 * they are (`raw`: as under autocrlf a file committed with CRLF, which git then leaves alone)?
 */
async function parentHolds(
  context: Context,
  change: Change,
  held: Entry,
  base: NonNullable<Change['base']>,
): Promise<'filtered' | 'raw' | 'other'> {
  const bytes = await context.blobs.get(base.ref);
  if (held.mode !== LINK && (await blobId(context.root, bytes, change.from, false)) === held.id)
    return 'filtered';
  return (await holdsBytes(context, held, base)) ? 'raw' : 'other';
}

const holdsBytes = async (
  { blobs }: Context,
  { id }: Entry,
  base: NonNullable<Change['base']>,
): Promise<boolean> => plainId(await blobs.get(base.ref), id) === id;

async function mergeOnto(
  { root, blobs }: Context,
  change: Change,
  held: Entry,
  mode: string,
): Promise<Planned> {
  const uncommitted = 'it had uncommitted changes before this step';
  if (change.base === null || change.result === null || !isFile(held) || mode === LINK) {
    return { conflict: `${uncommitted} that changed its file type` };
  }
  const [base, result] = await Promise.all([
    blobs.get(change.base.ref),
    blobs.get(change.result.ref),
  ]);
  const parent = await blobBytes(root, held.id);
  const stored = async (bytes: Uint8Array, path: string): Promise<Uint8Array> =>
    blobBytes(root, await blobId(root, bytes, path, true));
  const filtered = rebase3(
    await stored(base, change.from),
    parent,
    await stored(result, change.to),
  );
  const merged = filtered.outcome === 'clean' ? filtered : rebase3(base, parent, result);
  if (merged.outcome === 'clean')
    return { entry: { mode, id: await blobId(root, merged.bytes, null, true) } };
  const lines = merged.regions.map(({ base: { first, count } }) =>
    count > 1 ? `${first}-${first + count - 1}` : `${first}`,
  );
  return {
    conflict: `${uncommitted} that touch the same lines (${lines.slice(0, 5).join(', ')} before the step)`,
  };
}

const LINK = '120000';
const isFile = (entry: Entry): boolean => entry.mode.startsWith('100');
const gitMode = (mode: number): string =>
  (mode & 0o170000) === 0o120000 ? LINK : mode & 0o100 ? '100755' : '100644';
