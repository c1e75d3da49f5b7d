/**
 * What of the store nothing names any more. Named is what an archive, a record, a slot, a transaction or the history of an open run
 * mentions, and what a named blob mentions in turn (snapshots, proposals and accepted results name others). What is younger than the
 * given age stays whatever names it: its writer may be about to name it.
 */
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import { WORKFLOWS } from '../shared/protocol.js';
import type { BlobRef } from '../shared/refs.js';
import { homePaths } from '../workspace/home.js';
import { storePaths } from '../workspace/store.js';
import { archivedRun } from './archived.js';
import { needRuns } from './need-runs.js';
import type { Emend } from './types.js';

const MAX_OPEN_RUNS = 10_000;
const REF = /sha256:[0-9a-f]{64}/g;
/** Temp files of the stores (sys-put.ts) of writers that died. */
const TEMP = /\.TMP-\d+-[0-9a-f]+$/;

export interface Garbage {
  readonly blobs: readonly GarbageFile[];
  readonly temps: readonly GarbageFile[];
}
interface GarbageFile {
  readonly path: string;
  readonly bytes: number;
}

/**
 * `assumeClosed`: namespaces whose runs count as closed. Throws ProblemError `no_server`: only a server can say what open runs name; and
 * `conflict` where runs of other namespaces that use this store may still be open.
 */
export const findGarbage = async (
  emend: Emend,
  olderThan_ms: number,
  assumeClosed: readonly string[] = [],
): Promise<Garbage> => {
  await refuseOtherNamespaces(emend, assumeClosed);
  const { blobs: blobDir } = storePaths(emend.store);
  const { server } = homePaths(emend.home);
  const before = Date.now() - olderThan_ms;
  const old = async (path: string): Promise<GarbageFile | null> => {
    const found = await stat(path).catch(() => null);
    return found?.isFile() === true && Math.max(found.mtimeMs, found.ctimeMs) < before
      ? { path, bytes: found.size }
      : null;
  };
  const places = emend.store === emend.home ? [emend.home] : [emend.store, emend.home];
  const stored = (await Promise.all(places.map(filesUnder))).flat();
  const isBlob = (path: string): boolean => path.startsWith(`${blobDir}/`) && !TEMP.test(path);
  const temps = await Promise.all(stored.filter((path) => TEMP.test(path)).map(old));
  const named = new Set<BlobRef>(await openRunRefs(emend));
  for (const path of stored.filter((each) => !isBlob(each) && !isServerFile(each, server)))
    addRefs(named, await readText(path));
  // A set grows while it is walked: every ref that a named blob adds is looked at in its turn.
  for (const ref of named) addRefs(named, await readText(blobPath(blobDir, ref)));
  const kept = new Set([...named].map((ref) => blobPath(blobDir, ref)));
  const blobs = await Promise.all(stored.filter((path) => isBlob(path) && !kept.has(path)).map(old));
  const there = (file: GarbageFile | null): file is GarbageFile => file !== null;
  return { blobs: blobs.filter(there), temps: temps.filter(there) };
};

/** Removes what is still as old as it was when it was found. */
export const removeGarbage = async ({ blobs, temps }: Garbage, olderThan_ms: number): Promise<void> => {
  for (const { path } of [...blobs, ...temps]) {
    const found = await stat(path).catch(() => null);
    if (found !== null && Math.max(found.mtimeMs, found.ctimeMs) < Date.now() - olderThan_ms)
      await rm(path, { force: true });
  }
};

/** What only the history of another namespace's run names would look like garbage from here. */
const refuseOtherNamespaces = async (emend: Emend, assumeClosed: readonly string[]): Promise<void> => {
  needRuns(emend);
  const known = new Set([emend.namespace, ...assumeClosed]);
  const open = new Map<string, number>();
  for (const stepKey of await emend.archive.list()) {
    const { started, closed } = archivedRun(stepKey, await emend.archive.read(stepKey));
    if (started === null || closed !== null || known.has(started.namespace)) continue;
    open.set(started.namespace, (open.get(started.namespace) ?? 0) + 1);
  }
  const [first] = open.keys();
  if (first === undefined) return;
  const list = [...open].map(([namespace, runs]) => `${namespace} (${runs})`).join(', ');
  fail(
    'conflict',
    `Runs of other namespaces use this store and are not known to have ended: ${list}. Nothing was removed.`,
    `Where they have ended: TEMPORAL_NAMESPACE=${first} emend list, or emend gc --assume-closed ${first}.`,
  );
};

const openRunRefs = async (emend: Emend): Promise<readonly BlobRef[]> => {
  const runs = needRuns(emend);
  const open = await runs.list(`WorkflowType = "${WORKFLOWS.editStep}" AND ExecutionStatus = "Running"`, MAX_OPEN_RUNS);
  const refs = new Set<BlobRef>();
  for (const { workflowId, runId } of open) addRefs(refs, await runs.historyText({ workflowId, runId }));
  return [...refs];
};

const addRefs = (refs: Set<BlobRef>, text: string): void => {
  for (const [ref] of text.matchAll(REF)) refs.add(ref as BlobRef);
};

const blobPath = (blobs: string, ref: BlobRef): string => {
  const hex = ref.slice('sha256:'.length);
  return join(blobs, hex.slice(0, 2), hex);
};

/** Bytes as text; refs are ASCII in every encoding that we write. */
const readText = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '');

/** The dev server's database names blobs too, but its open runs were asked already, and it may be large. */
const isServerFile = (path: string, server: string): boolean => path.startsWith(`${server}/`);

const filesUnder = async (directory: string): Promise<readonly string[]> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};
