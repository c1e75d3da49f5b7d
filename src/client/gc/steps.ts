/**
 * Steps of which nobody will ask again: their recorded calls, records and transactions may go, and with `archivesOlderThan_ms` their archive too.
 * A step stays as long as a server knows its run (it could be reset, and an answer that is paid for must be found then), it is not known
 * to have ended, it holds a workspace, one of its transactions is open, or any of its files is young.
 */
import { fail } from '../../shared/problems.js';
import { isStepKey, planOf, type StepKey } from '../../shared/ids.js';
import { groupBy } from '../../shared/text.js';
import { createApplyEngine, isOpen, recordsOf } from '../../workspace/apply/index.js';
import { homePaths } from '../../stores/home.js';
import { diskFiles } from '../../stores/index.js';
import { isBucket, storePaths } from '../../stores/location.js';
import type { StoredFile, StoreFiles } from '../../stores/ports.js';
import { orNull } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { realSys } from '../../system/sys.js';
import { together } from '../../system/together.js';
import type { RunIndex } from '../run-index/index.js';
import type { RunRow } from '../run-index/row.js';
import { needRuns, OUR_WORKFLOWS, type DescribedRun, type Emend } from '../types.js';

export const GC_RUNS = 1_000_000; // bound: More runs than this are not looked through: what the rest names could not be told from garbage.

export interface OldStep {
  readonly stepKey: StepKey;
  /** Its archive goes too. */
  readonly archive: boolean;
  /** Directories, the archive last: what is left of a removal that was cut off is found again. */
  readonly places: readonly string[];
  readonly files: readonly StoredFile[];
  /** Where it worked: what its rollbacks noted in git goes with its archive, or with all that there is of it. */
  readonly workspaces: readonly string[];
}
export interface StepsWanted {
  /** Milliseconds since 1970: a step with a file changed later stays. */
  readonly before: number;
  /** The same for archives; null: all archives stay. */
  readonly archivesBefore: number | null;
  /** Namespaces whose runs count as closed. */
  readonly assumeClosed: readonly string[];
}

/** What is known of all steps. */
export interface StepFacts extends StepsWanted {
  readonly index: RunIndex;
  /** Keys of the runs that the server knows. */
  readonly known: ReadonlySet<StepKey | undefined>;
}

/** Every run that the server knows, open or closed. Throws ProblemError `no_server`, or `limit_reached` where there are too many. */
export const knownRuns = async (emend: Emend): Promise<readonly DescribedRun[]> => {
  const all = await needRuns(emend).list(OUR_WORKFLOWS, GC_RUNS);
  return all.length < GC_RUNS
    ? all
    : fail(
        'limit_reached',
        `The server knows ${GC_RUNS} runs or more; too many to check what they refer to.`,
      );
};

/** Returns what judges one step after the other: by all its files, whether it is old. Null: it stays. */
export const stepJudge = (emend: Emend, facts: StepFacts) => {
  const { known, before, archivesBefore, assumeClosed, index } = facts;
  const { records, calls, archive } = storePaths(emend.store);
  const { transactions } = homePaths(emend.home);
  const holds = holdersOf(emend);
  return async (stepKey: StepKey, files: readonly StoredFile[]): Promise<OldStep | null> => {
    if (known.has(stepKey) || known.has(planOf(stepKey))) return null;
    if (files.some((file) => file.changed_ms >= before)) return null;
    const row = index.row(stepKey);
    if (!(await hasEnded(emend, holds, { stepKey, row, assumeClosed }))) return null;
    const states = await statesOf(transactions, stepKey);
    if (states.some(isOpen)) return null;
    const archiveGoes =
      archivesBefore !== null &&
      files.every((file) => !under(file, archive) || file.changed_ms < archivesBefore);
    const goes = files.filter((file) => archiveGoes || !under(file, archive));
    if (goes.length === 0) return null;
    const dirs = [calls, `${records}/steps`, transactions, ...(archiveGoes ? [archive] : [])];
    return {
      stepKey,
      archive: archiveGoes,
      places: dirs.map((dir) => `${dir}/${stepKey}`),
      files: goes,
      workspaces: goes.length < files.length ? [] : workspacesOf(row, states),
    };
  };
};

/** Folders with a folder of each step. Their files are found step by step. */
export const foldersOfSteps = ({
  store,
  home,
}: Pick<Emend, 'store' | 'home'>): readonly string[] => {
  const { records, calls, archive } = storePaths(store);
  return [calls, `${records}/steps`, homePaths(home).transactions, archive];
};

/** Yields all files of each step, one step after the other. The files of a bucket are all listed first. */
export async function* filesBySteps(
  emend: Pick<Emend, 'store' | 'home' | 'files'>,
): AsyncGenerator<readonly [StepKey | null, readonly StoredFile[]]> {
  const folders = foldersOfSteps(emend);
  if (isBucket(emend.store)) {
    yield* groupedSteps(await storedFiles(emend, folders), folders);
    return;
  }
  const names = new Set<string>();
  for (const folder of folders)
    for (const name of (await orNull(realSys.readdir(folder), ABSENT)) ?? []) names.add(name);
  for (const name of names) {
    const files = await together(folders, (folder) => filesIn(`${folder}/${name}`));
    yield [isStepKey(name) ? name : null, files.flat()];
  }
}

/** Returns the files of a folder, or the file itself if the path is one. */
const filesIn = async (path: string): Promise<readonly StoredFile[]> => {
  const files = await orNull(diskFiles.list(path), ABSENT);
  const file = files === null ? await diskFiles.fileAt(path) : null;
  return files ?? (file === null ? [] : [file]);
};

function* groupedSteps(
  stored: readonly StoredFile[],
  folders: readonly string[],
): Generator<readonly [StepKey | null, readonly StoredFile[]]> {
  const nameOf = (file: StoredFile): string => {
    const folder = folders.find((each) => under(file, each));
    return folder === undefined ? '' : (file.path.slice(folder.length + 1).split('/')[0] ?? '');
  };
  for (const [name, files] of groupBy(stored, nameOf)) yield [isStepKey(name) ? name : null, files];
}

const statesOf = async (transactions: string, stepKey: StepKey) => {
  const records = await recordsOf(realSys, transactions, stepKey, ABSENT);
  return Promise.all(records.map((record) => record.load()));
};

const workspacesOf = (
  row: RunRow | null,
  states: Awaited<ReturnType<typeof statesOf>>,
): readonly string[] => {
  const all = [row?.workspace, ...states.map(({ plan }) => plan?.workspace)];
  return [...new Set(all.filter((each) => typeof each === 'string' && each !== ''))] as string[];
};

const under = ({ path }: StoredFile, directory: string): boolean =>
  path.startsWith(`${directory}/`);

interface EndQuestion extends Pick<StepsWanted, 'assumeClosed'> {
  readonly stepKey: StepKey;
  readonly row: RunRow | null;
}

/** By its archive; a step without one came to nothing (every activity appends to it before it does anything else). */
const hasEnded = async (
  emend: Emend,
  holderOf: HolderOf,
  { stepKey, row, assumeClosed }: EndQuestion,
): Promise<boolean> => {
  if (row === null) return (await emend.archive.stamp(stepKey)) === null;
  const { namespace, isFinished, omitted } = row.facts;
  // What cannot be read may say that it goes on, or which workspace it holds.
  if (omitted !== null) return false;
  if (!row.isEnded && !isFinished && !assumeClosed.includes(namespace ?? '')) return false;
  // What it applied under the lock can still be undone, with its transactions and what they name.
  return row.workspace === '' || (await holderOf(row.workspace)) !== stepKey;
};

type HolderOf = (workspace: string) => Promise<StepKey | null>;

/** Which step holds a workspace: thousands of steps have the same one, and git is asked for each of them once. */
const holdersOf = (emend: Emend): HolderOf => {
  const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  const known = new Map<string, StepKey | null>();
  return async (workspace) => {
    const before = known.get(workspace);
    if (before !== undefined) return before;
    const there = await orNull(realSys.stat(workspace), ['ENOENT', 'ENOTDIR', 'EACCES']);
    const holder = there === null ? null : ((await engine.readLock(workspace))?.stepKey ?? null);
    known.set(workspace, holder);
    return holder;
  };
};

export const filesAt = ({ files }: Pick<Emend, 'files'>, place: string): StoreFiles =>
  isBucket(place) ? files : diskFiles;

/** Every file below the places. */
export const storedFiles = async (
  emend: Pick<Emend, 'files'>,
  places: readonly string[],
): Promise<readonly StoredFile[]> => {
  const found = await together(
    places,
    (place) => orNull(filesAt(emend, place).list(place), ABSENT),
    1,
  );
  return found.flatMap((files) => files ?? []);
};

/** Removes the place where none of its files was written since they were found, and none is new. False: it was left alone. */
export const removePlace = async (
  emend: Pick<Emend, 'files'>,
  place: string,
  files: readonly StoredFile[],
): Promise<boolean> => {
  const before = new Map(files.map((file) => [file.path, file.written_ms]));
  const at = filesAt(emend, place);
  const now = (await orNull(at.list(place))) ?? [];
  if (now.some((file) => before.get(file.path) !== file.written_ms)) return false;
  await at.remove(place);
  return true;
};
