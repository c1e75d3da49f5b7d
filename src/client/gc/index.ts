/**
 * What of home and store nothing names any more: old steps (gc/steps.ts), layers (gc/layers.ts), and then blobs. Named is what a kept archive, record, call
 * or transaction or the history of a run that the server knows mentions, and what a named blob mentions in turn (snapshots, proposals and
 * accepted results name others). What is younger than the given age stays whatever names it: its writer may be about to name it.
 */
import { fail } from '../../shared/problems.js';
import type { BlobRef } from '../../shared/ids.js';
import { blobName, isAside, unAside } from '../../stores/index.js';
import { homePaths } from '../../stores/home.js';
import { clearScratch, deadScratch } from '../../system/scratch.js';
import { storePaths } from '../../stores/location.js';
import type { StoredFile } from '../../stores/ports.js';
import { together } from '../../system/turns.js';
import { dropReverted, revertedNotes, type RevertedNotes } from '../../workspace/git/index.js';
import { runIndex } from '../run-index/index.js';
import { allHosts } from '../runs/hosts.js';
import { removeLayers, unusedLayers, type UnusedLayers } from './layers.js';
import * as oldSteps from './steps.js';
import { needRuns, type Emend } from '../types.js';

const REF = /sha256:[0-9a-f]{64}/g;
/** Temp files of the stores (system/durable.ts): of writers that died, where they are old. */
const TEMP = /\.TMP-\d+-[0-9a-f]+$/;
const CACHES = ['outlines', 'baselines'];

export interface Unused {
  readonly steps: readonly oldSteps.OldStep[];
  readonly blobs: readonly StoredFile[];
  /** Blobs that an earlier removal moved aside, and that are named now. */
  readonly named: readonly StoredFile[];
  readonly temps: readonly StoredFile[];
  /** What is made again where it is missing: outlines, and results of tests on an untouched base. */
  readonly caches: readonly StoredFile[];
  /** Starts of hosts that are gone: no worker of theirs lives, and no run that the server knows began there. */
  readonly hosts: readonly StoredFile[];
  /** What commands wrote instead of a workspace, of processes or runs that have ended. */
  readonly layers: readonly UnusedLayers[];
  /** What rollbacks of those steps noted in git. */
  readonly notes: readonly RevertedNotes[];
}
export interface UnusedWanted {
  readonly olderThan_ms: number;
  /** Archives of steps that have ended go too where nothing was added for this long; null: they all stay. */
  readonly archivesOlderThan_ms?: number | null;
  /** Namespaces whose runs count as closed. */
  readonly assumeClosed?: readonly string[];
}

/**
 * Throws ProblemError `no_server`: only a server can say what its runs name; `conflict` where runs of other namespaces that use this
 * store may still be open; `limit_reached` where the server knows too many runs.
 */
export const findUnused = async (emend: Emend, wanted: UnusedWanted): Promise<Unused> => {
  const { olderThan_ms, archivesOlderThan_ms = null, assumeClosed = [] } = wanted;
  await refuseOtherNamespaces(emend, assumeClosed);
  const { blobs: blobDir, records } = storePaths(emend.store);
  const { server, layers } = homePaths(emend.home);
  const runs = await oldSteps.knownRuns(emend);
  const places = emend.store === emend.home ? [emend.home] : [emend.store, emend.home];
  // The dev server's database names blobs too, but its runs were asked already, and it may be large.
  // Layers name nothing, may be large, and have directories that cannot be read.
  const stored = (await oldSteps.storedFiles(emend, places, layers)).filter(
    ({ path }) => !path.startsWith(`${server}/`),
  );
  const now = Date.now();

  // A clock that jumped ahead makes all files old, those of this minute too: age is counted from the newest of them.
  const newest_ms = stored.reduce((newest, file) => Math.max(newest, file.written_ms), 0);
  const before = Math.min(now, newest_ms) - olderThan_ms;
  const archivesBefore = archivesOlderThan_ms === null ? null : now - archivesOlderThan_ms;
  const steps = await oldSteps.oldSteps(emend, stored, runs, {
    before: now - olderThan_ms,
    archivesBefore,
    assumeClosed,
  });
  const old = (file: StoredFile): boolean => file.changed_ms < before;
  const isCache = ({ path }: StoredFile) =>
    CACHES.some((name) => path.startsWith(`${records}/${name}/`));
  const caches = stored.filter((file) => isCache(file) && !TEMP.test(file.path) && old(file));
  const going = new Set(
    [...steps.flatMap((step) => step.files), ...caches].map((file) => file.path),
  );

  const isBlob = ({ path }: StoredFile): boolean =>
    path.startsWith(`${blobDir}/`) && !TEMP.test(path);
  const named = new Set<BlobRef>();
  // Closed runs too: payloads that a codec moved into blobs are named nowhere else, and who resets or replays a run needs them.
  await together(runs, async (run) => addRefs(named, await needRuns(emend).historyText(run)));
  const naming = stored.filter((each) => !isBlob(each) && !going.has(each.path));
  await together(naming, async ({ path }) =>
    addRefs(named, await oldSteps.filesAt(emend, path).readText(path)),
  );
  const blobPath = (ref: BlobRef): string => `${blobDir}/${blobName(ref)}`;
  // A set grows while it is walked: every ref that a named blob adds is looked at in its turn.
  for (const ref of named) addRefs(named, await emend.files.readText(blobPath(ref)));
  const kept = new Set([...named].map(blobPath));
  const isKept = ({ path }: StoredFile): boolean => kept.has(isAside(path) ? unAside(path) : path);
  const needed = new Set(runs.map(({ memo }) => memo?.host));
  const { hosts } = await allHosts(emend, { all: true });
  const gone = hosts.filter(
    ({ id, here, roles, checked, seen }) =>
      !here && checked && roles.length === 0 && !needed.has(id) && Date.parse(seen) < before,
  );
  return {
    steps,
    caches,
    blobs: stored.filter((file) => isBlob(file) && !isKept(file) && old(file)),
    named: stored.filter((file) => isBlob(file) && isAside(file.path) && isKept(file)),
    temps: [
      ...stored.filter((file) => TEMP.test(file.path) && old(file)),
      ...(await oldSteps.storedFiles(emend, await deadScratch()).catch(() => [])),
    ],
    hosts: stored.filter(
      (file) => old(file) && gone.some(({ id }) => file.path.startsWith(`${records}/hosts/${id}.`)),
    ),
    layers: await unusedLayers(emend, { before: now - olderThan_ms, assumeClosed }),
    notes: await notesOf(steps),
  };
};

const notesOf = async (steps: readonly oldSteps.OldStep[]): Promise<readonly RevertedNotes[]> => {
  const of = new Map<string, Set<string>>();
  for (const { stepKey, workspaces } of steps)
    for (const workspace of workspaces)
      of.set(workspace, (of.get(workspace) ?? new Set()).add(stepKey));
  const found = await together([...of], ([workspace, keys]) => revertedNotes(workspace, keys), 1);
  return found.filter((each) => each !== null);
};

export interface Removed {
  /** How many notes of rollbacks in git. */
  readonly notesRemoved: number;
  readonly files: number;
  readonly bytes: number;
}
export const bytesOf = (files: readonly Pick<StoredFile, 'bytes'>[]): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);
export const filesOf = (layers: readonly UnusedLayers[]): number =>
  layers.reduce((sum, { files }) => sum + files, 0);

/** Removes what was not written, touched or named anew since it was found; steps first, then what they named. */
export const removeUnused = async (
  emend: Pick<Emend, 'files' | 'home'>,
  unused: Unused,
): Promise<Removed> => {
  const { steps, blobs, named, temps, caches, hosts, layers, notes } = unused;
  const removed: StoredFile[] = [];
  // First: the steps' own files say where they are.
  let dropped = 0;
  for (const each of notes) dropped += await dropReverted(each);
  for (const step of steps)
    for (const place of step.places)
      if (await oldSteps.removePlace(emend, place, step.files))
        removed.push(
          ...step.files.filter(({ path }) => path === place || path.startsWith(`${place}/`)),
        );
  for (const file of [...temps, ...caches, ...hosts]) {
    const at = oldSteps.filesAt(emend, file.path);
    if ((await at.at(file.path))?.written_ms !== file.written_ms) continue;
    await at.remove(file.path);
    removed.push(file);
  }
  await clearScratch();
  const cleared = await removeLayers(emend.home, layers);
  for (const { path } of named) await emend.files.restoreBlob(path);
  for (const file of blobs) if (await emend.files.removeBlob(file)) removed.push(file);
  return {
    notesRemoved: dropped,
    files: removed.length + filesOf(cleared),
    bytes: bytesOf(removed) + bytesOf(cleared),
  };
};

/** What only the history of another namespace's run names would look like garbage from here. */
const refuseOtherNamespaces = async (
  emend: Emend,
  assumeClosed: readonly string[],
): Promise<void> => {
  needRuns(emend);
  const known = new Set([emend.namespace, ...assumeClosed]);
  const open = new Map<string, number>();
  for (const { isEnded, facts } of (await runIndex(emend, { isThorough: true })).rows())
    if (facts.namespace !== null && !isEnded && !known.has(facts.namespace))
      open.set(facts.namespace, (open.get(facts.namespace) ?? 0) + 1);
  const [first] = open.keys();
  if (first === undefined) return;
  const list = [...open].map(([namespace, runs]) => `${namespace} (${runs})`).join(', ');
  fail(
    'conflict',
    `Runs of other namespaces use this store and may still be open: ${list}. Nothing was removed.`,
    `If they have ended: TEMPORAL_NAMESPACE=${first} emend list, or emend gc --assume-closed ${first}.`,
  );
};

const addRefs = (refs: Set<BlobRef>, text: string): void => {
  for (const [ref] of text.matchAll(REF)) refs.add(ref as BlobRef);
};
