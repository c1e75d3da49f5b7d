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
import { together } from '../../system/turns.js';
import { archivedRun } from '../archive/run.js';
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

export const oldSteps = async (
  emend: Emend,
  stored: readonly StoredFile[],
  runs: readonly DescribedRun[],
  { before, archivesBefore, assumeClosed }: StepsWanted,
): Promise<readonly OldStep[]> => {
  const { records, calls, archive } = storePaths(emend.store);
  const { transactions } = homePaths(emend.home);
  const places = { calls, records: `${records}/steps`, transactions, archive };
  const known = new Set(runs.map((run) => run.memo?.stepKey));
  const found: OldStep[] = [];
  const holds = holdersOf(emend);
  for (const [stepKey, files] of byStep(stored, Object.values(places))) {
    if (known.has(stepKey) || known.has(planOf(stepKey))) continue;
    if (files.some((file) => file.changed_ms >= before)) continue;
    if (!(await hasEnded(emend, holds, stepKey, assumeClosed))) continue;
    const states = await statesOf(transactions, stepKey);
    if (states.some(isOpen)) continue;
    const archiveGoes =
      archivesBefore !== null &&
      files.every((file) => !under(file, archive) || file.changed_ms < archivesBefore);
    const goes = files.filter((file) => archiveGoes || !under(file, archive));
    if (goes.length === 0) continue;
    const dirs = [
      places.calls,
      places.records,
      places.transactions,
      ...(archiveGoes ? [archive] : []),
    ];
    found.push({
      stepKey,
      archive: archiveGoes,
      places: dirs.map((dir) => `${dir}/${stepKey}`),
      files: goes,
      workspaces: goes.length < files.length ? [] : await workspacesOf(emend, states, stepKey),
    });
  }
  return found;
};

const statesOf = async (transactions: string, stepKey: StepKey) => {
  const records = await recordsOf(realSys, transactions, stepKey, ABSENT);
  return Promise.all(records.map((record) => record.load()));
};

const workspacesOf = async (
  emend: Emend,
  states: Awaited<ReturnType<typeof statesOf>>,
  stepKey: StepKey,
) => {
  const { started } = archivedRun(stepKey, await emend.archive.read(stepKey));
  const all = [started?.workspace, ...states.map(({ plan }) => plan?.workspace)];
  return [...new Set(all.filter((each) => typeof each === 'string'))];
};

const under = ({ path }: StoredFile, directory: string): boolean =>
  path.startsWith(`${directory}/`);

const byStep = (
  stored: readonly StoredFile[],
  directories: readonly string[],
): Map<StepKey, StoredFile[]> => {
  const steps = groupBy(stored, (file) => {
    const directory = directories.find((each) => under(file, each));
    return directory === undefined
      ? ''
      : (file.path.slice(directory.length + 1).split('/')[0] ?? '');
  });
  for (const name of steps.keys()) if (!isStepKey(name)) steps.delete(name);
  return steps;
};

/** By its archive; a step without one came to nothing (every activity appends to it before it does anything else). */
const hasEnded = async (
  emend: Emend,
  holderOf: HolderOf,
  stepKey: StepKey,
  assumeClosed: readonly string[],
): Promise<boolean> => {
  const entries = await emend.archive.read(stepKey);
  if (entries.length === 0) return true;
  const { started, closed, events, omitted } = archivedRun(stepKey, entries);
  // What cannot be read may say that it goes on, or which workspace it holds.
  if (omitted !== null) return false;
  const ended = closed !== null || events.some((event) => event.type === 'step_finished');
  if (!ended && !assumeClosed.includes(started?.namespace ?? '')) return false;
  // What it applied under the lock can still be undone, with its transactions and what they name.
  return started === null || (await holderOf(started.workspace)) !== stepKey;
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

/** Every file below the places, without the directory `skipped`. */
export const storedFiles = async (
  emend: Pick<Emend, 'files'>,
  places: readonly string[],
  skipped?: string,
): Promise<readonly StoredFile[]> => {
  const found = await together(places, (place) => filesAt(emend, place).list(place, skipped), 1);
  return found.flat();
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
