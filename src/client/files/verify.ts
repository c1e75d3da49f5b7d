/** Reads every file of a home and its store, compares each with its hash or checksum, and looks for contents that are named and missing. */
import { blobRefsIn, isBlobRef, type BlobRef } from '../../shared/ids.js';
import { shellWord } from '../../shared/text.js';
import { blobName, diskFiles, isAside, unAside } from '../../stores/index.js';
import { homePaths } from '../../stores/home.js';
import { isBucket } from '../../stores/location.js';
import type { StoredFile } from '../../stores/ports.js';
import { problemOn, sentence } from '../../shared/problems.js';
import { together } from '../../system/together.js';
import type { Emend } from '../types.js';
import { effectOf, faultIn, runOf } from './faults.js';

export interface DamagedFile {
  readonly path: string;
  /** Key of its run; null: it belongs to several runs, or to none. */
  readonly run: string | null;
  /** Such as `it is no JSON`. */
  readonly fault: string;
  /** What becomes of the run. */
  readonly effect: string;
  /** What to type. */
  readonly fix: string;
}
export interface VerifiedFiles {
  readonly files: number;
  readonly bytes: number;
  readonly damaged: readonly DamagedFile[];
}

interface Seen {
  readonly damaged: DamagedFile[];
  /** Contents that are there. */
  readonly blobs: Set<BlobRef>;
  /** Contents that a file names, each with the first file that does. */
  readonly named: Map<BlobRef, string>;
  /** Keys of runs that have a log. */
  readonly logged: Set<string>;
  /** Keys of runs that have recorded calls: the worker that makes one has written to the log of the run. */
  readonly called: Set<string>;
  /** Size in bytes of the log of each run. */
  readonly logBytes: Map<string, number>;
  /** The largest size in bytes at which the index has read the log of each run. A log only grows. */
  readonly indexedBytes: Map<string, number>;
}

/** Throws ProblemError `disk` or `store_unusable` if the files cannot be listed. */
export const verifyFiles = async (
  emend: Pick<Emend, 'home' | 'store' | 'files'>,
): Promise<VerifiedFiles> => {
  const { home, store } = emend;
  const seen: Seen = {
    damaged: [],
    blobs: new Set(),
    named: new Map(),
    logged: new Set(),
    called: new Set(),
    logBytes: new Map(),
    indexedBytes: new Map(),
  };
  const places = store === home ? [home] : [home, store];
  let files = 0;
  let bytes = 0;
  for (const place of places) {
    const listed = await filesOf(emend, place);
    await together(listed, (file) => verify(emend, place, file, seen));
    files += listed.length;
    bytes += listed.reduce((sum, file) => sum + file.bytes, 0);
  }
  return {
    files,
    bytes,
    damaged: [
      ...seen.damaged,
      ...lostLogs(store, seen),
      ...shortenedLogs(store, seen),
      ...missingOf(store, seen),
    ],
  };
};

const filesOf = async (
  { home, files }: Pick<Emend, 'home' | 'files'>,
  place: string,
): Promise<readonly StoredFile[]> => {
  const { layers, server } = homePaths(home);
  const listed = await (isBucket(place) ? files : diskFiles).list(place, layers);
  return listed.filter(({ path }) => !path.startsWith(`${server}/`));
};

const verify = async (
  { files }: Pick<Emend, 'files'>,
  place: string,
  { path }: StoredFile,
  seen: Seen,
): Promise<void> => {
  const name = path.slice(place.length + 1);
  const reader = isBucket(place) ? files : diskFiles;
  const text = await reader.readText(path).catch(problemOn('disk', 'store_unusable'));
  if (typeof text !== 'string') {
    seen.damaged.push(damagedFile(path, name, sentence(text)));
    return;
  }
  // Gone meanwhile, as a log of a worker that ended.
  if (text === '' && (await reader.fileAt(path)) === null) return;
  const fault = faultIn(name, Buffer.from(text, 'latin1'));
  if (fault !== null) seen.damaged.push(damagedFile(path, name, fault));
  const run = runOf(name);
  if (run !== null) noteRun(name, run, text.length, seen);
  if (name === INDEX) noteIndexed(text, seen);
  const ref = refOfName(name);
  if (ref !== null) seen.blobs.add(ref);
  for (const named of blobRefsIn(text)) if (!seen.named.has(named)) seen.named.set(named, name);
};

/** Notes whether the file is the log of the run, or belongs to one of its calls. */
const noteRun = (name: string, run: string, size_bytes: number, seen: Seen): void => {
  if (LOG.test(name)) seen.logged.add(run);
  if (name.startsWith('calls/')) seen.called.add(run);
  if (DISK_LOG.test(name)) seen.logBytes.set(run, size_bytes);
};

const refOfName = (name: string): BlobRef | null => {
  const hash = /^blobs\/..\/(.*)$/.exec(isAside(name) ? unAside(name) : name)?.[1];
  const ref = `sha256:${hash ?? ''}`;
  return isBlobRef(ref) ? ref : null;
};

const damagedFile = (path: string, name: string, fault: string): DamagedFile => ({
  path,
  run: runOf(name),
  fault,
  effect: effectOf(name),
  fix: `Restore it from a backup, or put it aside: mv ${shellWord(path)} ${shellWord(`${path}.damaged`)}`,
});

/** The index of runs below the home, and its rows of runs whose archives are on a disk. */
const INDEX = 'index/runs.log';
const INDEX_ROW = /^R([^\t\n]+)\t[^\n]*?"stamp":"(\d+)-/gm;
const DISK_LOG = /^archive\/[^/]+\/log[.]jsonl$/;

/** In a bucket a log is a folder of objects. */
const LOG = /^archive\/[^/]+\/log[^/]*(?:\.jsonl$|\/)/;

const lostLogs = (store: string, { logged, called }: Seen): readonly DamagedFile[] =>
  [...called]
    .filter((run) => !logged.has(run))
    .map((run) => {
      const path = `archive/${run}/log.jsonl`;
      return {
        path: `${store}/${path}`,
        run,
        fault: 'it is missing, and the run has recorded calls',
        effect:
          '`list` shows the run without its state, or not at all; `emend calls` shows its calls.',
        fix: 'Restore it from a backup.',
      };
    });

/** Notes the size that each log had when the index read it. A row begins with the key of its run, and its stamp with the size. */
const noteIndexed = (index: string, { indexedBytes }: Seen): void => {
  for (const [, run = '', size = ''] of index.matchAll(INDEX_ROW))
    indexedBytes.set(run, Math.max(indexedBytes.get(run) ?? 0, Number(size)));
};

/** Returns the logs that were cut off. Their lines are whole, so no checksum shows it. */
const shortenedLogs = (store: string, { logBytes, indexedBytes }: Seen): readonly DamagedFile[] =>
  [...logBytes].flatMap(([run, bytes]) => {
    const indexed = indexedBytes.get(run) ?? 0;
    if (bytes >= indexed || bytes === 0) return [];
    const name = `archive/${run}/log.jsonl`;
    return [
      {
        path: `${store}/${name}`,
        run,
        fault: `it has ${bytes} bytes, and had ${indexed} when the index read it`,
        effect: '`show` and `list` miss the last events of the run, perhaps its end.',
        fix: 'Restore it from a backup.',
      },
    ];
  });

/** Files in which a reference to a content is one. */
const NAMES_CONTENTS = /^(?:archive\/.*\.jsonl|calls|records\/steps|transactions|blobs)/;

const missingOf = (store: string, { blobs, named }: Seen): readonly DamagedFile[] =>
  [...named]
    .filter(([ref, name]) => !blobs.has(ref) && NAMES_CONTENTS.test(name))
    .map(([ref, name]) => {
      const path = `blobs/${blobName(ref)}`;
      return {
        path: `${store}/${path}`,
        run: runOf(name),
        fault: `it is missing, and ${name} names it`,
        effect: effectOf(path),
        fix: 'Restore it from a backup.',
      };
    });
