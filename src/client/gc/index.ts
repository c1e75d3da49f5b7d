/**
 * What of home and store nothing names any more: old steps (gc/steps.ts), layers (gc/layers.ts), and then blobs. Named is what a kept archive, record, call
 * or transaction or the history of a run that the server knows mentions, and what a named blob mentions in turn (snapshots, proposals and
 * accepted results name others). What is younger than the given age stays whatever names it: its writer may be about to name it.
 */
import { fail } from '../../shared/problems.js';
import type { BlobRef } from '../../shared/ids.js';
import { blobName, diskFiles, isAside, unAside } from '../../stores/index.js';
import { homePaths } from '../../stores/home.js';
import { clearScratch, deadScratch } from '../../system/scratch.js';
import { isOldAnnouncement } from '../../stores/announcements.js';
import { storePaths } from '../../stores/location.js';
import type { StoredFile } from '../../stores/ports.js';
import { together } from '../../system/together.js';
import { dropReverted, revertedNotes, type RevertedNotes } from '../../workspace/git/index.js';
import { runIndex, type RunIndex } from '../run-index/index.js';
import { allHosts } from '../runs/hosts.js';
import { NamedRefs } from './named.js';
import { removeLayers, unusedLayers, type UnusedLayers } from './layers.js';
import * as oldSteps from './steps.js';
import { needRuns, type Emend } from '../types.js';

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
  /** More can be removed: another pass finds it. */
  readonly isMore: boolean;
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
 * Looks through the store a directory after the other; of what stays no more than 16 bytes for each blob that is named are in memory. At most
 * `GC_FILES` files are returned (`isMore`). Throws ProblemError `no_server`: only a server can say what its runs name; `conflict` where runs
 * of other namespaces that use this store may still be open; `limit_reached` where the server knows too many runs.
 */
export const findUnused = async (emend: Emend, wanted: UnusedWanted): Promise<Unused> => {
  const { olderThan_ms, archivesOlderThan_ms = null, assumeClosed = [] } = wanted;
  needRuns(emend);
  const index = await runIndex(emend, { isThorough: true });
  refuseOtherNamespaces(emend, index, assumeClosed);
  const runs = await oldSteps.knownRuns(emend);
  const newest_ms = await newestOf(emend);
  const now = Date.now();
  // A clock that jumped ahead makes all files old, those of this minute too: age is counted from the newest of them.
  const before = Math.min(now, newest_ms) - olderThan_ms;
  const search = new Search(emend, before);
  for (const run of runs) search.name(await needRuns(emend).historyText(run));
  await search.steps({
    index,
    known: new Set(runs.map((run) => run.memo?.stepKey)),
    before: now - olderThan_ms,
    archivesBefore: archivesOlderThan_ms === null ? null : now - archivesOlderThan_ms,
    assumeClosed,
  });
  const needed = new Set(runs.map(({ memo }) => memo?.host));
  const { hosts } = await allHosts(emend, { all: true });
  const gone = hosts.filter(
    ({ id, here, roles, checked, seen }) =>
      !here && checked && roles.length === 0 && !needed.has(id) && Date.parse(seen) < before,
  );
  await search.others(gone.map(({ id }) => id));
  await search.namedBlobs();
  await search.blobs();
  const { found } = search;
  return {
    ...found,
    temps: [
      ...found.temps,
      ...(await oldSteps.storedFiles(emend, await deadScratch()).catch(() => [])),
    ],
    layers: await unusedLayers(emend, { before: now - olderThan_ms, assumeClosed }),
    notes: await notesOf(found.steps),
  };
};

const GC_FILES = 500_000; // bound: Files that are found in one pass: the next one finds the rest.

/** What is derived and names no blob, or is as large as a database. Layers have directories that cannot be read. */
const skippedPlaces = ({ home }: Pick<Emend, 'home'>): readonly string[] => {
  const { server, layers, index } = homePaths(home);
  return [server, layers, index];
};
const rootsOf = ({ store, home }: Pick<Emend, 'store' | 'home'>): readonly string[] =>
  store === home ? [home] : [store, home];

/** Returns when the newest file was written, in milliseconds since 1970. */
const newestOf = async (emend: Emend): Promise<number> => {
  let newest_ms = 0;
  for (const root of rootsOf(emend))
    for await (const files of oldSteps.filesAt(emend, root).walk(root, skippedPlaces(emend)))
      for (const { written_ms } of files) newest_ms = Math.max(newest_ms, written_ms);
  return newest_ms;
};

type Found = {
  -readonly [K in Exclude<keyof Unused, 'layers' | 'notes'>]: Unused[K] extends readonly (infer T)[]
    ? T[]
    : Unused[K];
};

/** One pass over home and store. What stays names blobs, and what a named blob names is named. */
class Search {
  readonly found: Found = {
    steps: [],
    blobs: [],
    named: [],
    temps: [],
    caches: [],
    hosts: [],
    isMore: false,
  };
  readonly #emend: Emend;
  readonly #before: number;
  readonly #named = new NamedRefs();
  /** Named blobs that were not read yet. */
  #unread: BlobRef[] = [];
  #count = 0;

  constructor(emend: Emend, before: number) {
    this.#emend = emend;
    this.#before = before;
  }

  name(text: string): void {
    for (const ref of this.#named.addFrom(text)) this.#unread.push(ref);
  }

  /** Closed runs too: payloads that a codec moved into blobs are named nowhere else, and who resets or replays a run needs them. */
  async steps(facts: oldSteps.StepFacts): Promise<void> {
    const judge = oldSteps.stepJudge(this.#emend, facts);
    for await (const [stepKey, files] of oldSteps.filesBySteps(this.#emend)) {
      if (stepKey !== null && !this.#hasRoom()) this.found.isMore = true;
      const old = stepKey === null || !this.#hasRoom() ? null : await judge(stepKey, files);
      if (old !== null) {
        this.found.steps.push(old);
        this.#count += old.files.length;
      }
      const goes = new Set(old?.files.map(({ path }) => path));
      await this.#read(files.filter(({ path }) => !goes.has(path)));
    }
  }

  /** All that is neither of a step nor a blob. */
  async others(goneHosts: readonly string[]): Promise<void> {
    const { blobs, records } = storePaths(this.#emend.store);
    const isOf = (file: StoredFile, places: readonly string[]): boolean =>
      places.some((place) => file.path.startsWith(place));
    const caches = CACHES.map((name) => `${records}/${name}/`);
    const starts = goneHosts.map((id) => `${records}/hosts/${id}.`);
    for await (const files of this.#walk([blobs, ...oldSteps.foldersOfSteps(this.#emend)])) {
      const kept: StoredFile[] = [];
      for (const file of files) {
        const isOld = file.changed_ms < this.#before;
        const isCache = isOf(file, caches) && !TEMP.test(file.path) && isOld;
        if (isOldAnnouncement(file, this.#emend.store)) this.#add(this.found.temps, file);
        if (isCache && this.#hasRoom()) this.#add(this.found.caches, file);
        else kept.push(file);
        if (isOld && isOf(file, starts)) this.#add(this.found.hosts, file);
      }
      await this.#read(kept);
    }
    await this.#tempsOfIndex();
  }

  /** A reader that was killed while it wrote the index again leaves a file as large as the index. */
  async #tempsOfIndex(): Promise<void> {
    const { index } = homePaths(this.#emend.home);
    for await (const files of diskFiles.walk(index)) for (const file of files) this.#addTemp(file);
  }

  /** Reads the named blobs, and those that they name. */
  async namedBlobs(): Promise<void> {
    const { blobs } = storePaths(this.#emend.store);
    while (this.#unread.length > 0) {
      const next = this.#unread.splice(-READ_TOGETHER);
      await together(next, async (ref) =>
        this.name(await this.#emend.files.readText(`${blobs}/${blobName(ref)}`)),
      );
    }
  }

  async blobs(): Promise<void> {
    const { blobs } = storePaths(this.#emend.store);
    for await (const files of oldSteps.filesAt(this.#emend, blobs).walk(blobs))
      for (const file of files) this.#judgeBlob(file);
  }

  #judgeBlob(file: StoredFile): void {
    if (TEMP.test(file.path)) {
      this.#addTemp(file);
      return;
    }
    const path = isAside(file.path) ? unAside(file.path) : file.path;
    const isNamed = this.#named.has(`sha256:${path.slice(path.lastIndexOf('/') + 1)}`);
    if (isNamed && isAside(file.path)) this.found.named.push(file);
    if (!isNamed && file.changed_ms < this.#before) this.#add(this.found.blobs, file);
  }

  /** Texts of files that stay. Temporary ones count, as their writers may be about to give them their names. */
  async #read(files: readonly StoredFile[]): Promise<void> {
    for (const file of files) this.#addTemp(file);
    await together(files, async ({ path }) =>
      this.name(await oldSteps.filesAt(this.#emend, path).readText(path)),
    );
    if (this.#unread.length > UNREAD_BLOBS) await this.namedBlobs();
  }

  #addTemp(file: StoredFile): void {
    if (TEMP.test(file.path) && file.changed_ms < this.#before) this.#add(this.found.temps, file);
  }

  #hasRoom(): boolean {
    return this.#count < GC_FILES;
  }

  #add(list: StoredFile[], file: StoredFile): void {
    if (this.#hasRoom()) list.push(file);
    else this.found.isMore = true;
    this.#count += 1;
  }

  async *#walk(skipped: readonly string[]): AsyncGenerator<readonly StoredFile[]> {
    for (const root of rootsOf(this.#emend)) {
      const walk = oldSteps
        .filesAt(this.#emend, root)
        .walk(root, [...skippedPlaces(this.#emend), ...skipped]);
      yield* walk;
    }
  }
}

const READ_TOGETHER = 64; // bound: Blobs that are read side by side.
const UNREAD_BLOBS = 10_000; // bound: Named blobs that wait to be read.

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
  emend: Pick<Emend, 'files' | 'home' | 'archive'>,
  unused: Unused,
): Promise<Removed> => {
  const { steps, blobs, named, temps, caches, hosts, layers, notes } = unused;
  const removed: StoredFile[] = [];
  // First: the steps' own files say where they are.
  let dropped = 0;
  for (const each of notes) dropped += await dropReverted(each);
  for (const step of steps) {
    if (step.archive) await emend.archive.announce(step.stepKey);
    for (const place of step.places)
      if (await oldSteps.removePlace(emend, place, step.files))
        removed.push(...step.files.filter(({ path }) => path.startsWith(`${place}/`)));
  }
  for (const file of [...temps, ...caches, ...hosts]) {
    const files = oldSteps.filesAt(emend, file.path);
    if ((await files.fileAt(file.path))?.written_ms !== file.written_ms) continue;
    await files.remove(file.path);
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
const refuseOtherNamespaces = (
  emend: Emend,
  index: RunIndex,
  assumeClosed: readonly string[],
): void => {
  const known = new Set([emend.namespace, ...assumeClosed]);
  const open = new Map<string, number>();
  for (const { isEnded, facts } of index.rows())
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
