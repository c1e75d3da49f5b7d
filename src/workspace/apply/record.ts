/**
 * ◆ The durable record of a transaction: a directory of files that are each written once.
 *
 *     plan-<g>.json      the changes of generation g and their attempt; written before anything in the workspace
 *     verdict-<g>.json   `committed` (the point of no return) or `reverted`: whoever writes it first decides, for all processes
 *     cleaned-<g>.json   a reverted generation's temp files are gone
 *     driver-<id>.json   another attempt continues a committed generation
 *     ended-<id>.json    an attempt could not continue, and has stopped
 *     saved-<id>.json    bytes of a person that were replaced and are now in the blob store
 *     copying.json       results are copied, as the filesystem has no links: an incomplete copy may be under a path
 *     closed.json        the outcome; never changes
 *     reverted.json      the step requested a rollback: a generation without a verdict must not be committed any more
 *     swept.json         all files that late attempts left behind are removed
 */
import { dirname, join, resolve } from 'node:path';
import type { BlobRef } from '../../shared/ids.js';
import type { Side } from './sides.js';
import { sha256 } from '../../system/hash.js';
import { checkPath } from '../../edits/index.js';
import { onDisk, orNull, putJsonIfAbsent, readJson } from '../../system/durable.js';
import type { Sys } from '../../system/sys.js';
import type { ProcessIdentity } from '../../system/process.js';
import type { ApplyRequest, ConflictFile, WorkspaceLock } from '../ports.js';
import type { ProposalFile } from '../proposal.js';

export interface PlannedFile {
  /** The path in the proposal. */
  readonly path: string;
  /** The path without links, relative to the workspace of the plan. */
  readonly real: string;
  readonly base: Side;
  readonly result: Side;
  readonly by: ProposalFile['by'];
  /** False: the file has its result already, or a person changed it. It is only read. */
  readonly write: boolean;
  /** Special mode bits and owner of the file that is replaced. */
  readonly special: number;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

/** One attempt to complete a record, in one process. */
export interface Driver {
  /** 12 hex digits; part of the names of its backups. */
  readonly attempt: string;
  readonly process: ProcessIdentity;
}

export interface TransactionPlan
  extends Driver, Pick<ApplyRequest, 'stepKey' | 'proposalId' | 'decision'> {
  readonly kind: 'apply' | 'rollback';
  readonly generation: number;
  /** Real path of the workspace. */
  readonly workspace: string;
  /** 12 hex digits in the names of the temp files and backups of this generation, so that no name is used twice. */
  readonly token: string;
  readonly lock: WorkspaceLock;
  readonly files: readonly PlannedFile[];
  /** Directories to make, outermost first. A revert removes those that are empty. */
  readonly dirs: readonly string[];
  /** Directories to remove at the end if they are empty, outermost first. */
  readonly dropDirs: readonly string[];
}

export type Verdict = 'committed' | 'reverted';
type Decided = Readonly<Record<'verdict', Verdict>>;

export interface ClosedRecord {
  readonly outcome: 'applied' | 'conflict';
  readonly files: readonly string[];
  readonly conflicts: readonly ConflictFile[];
  readonly lock: WorkspaceLock;
}

export interface SavedBytes {
  readonly path: string;
  readonly ref: BlobRef;
}

export interface RecordState {
  /** Plan of the newest generation; null before the first. */
  readonly plan: TransactionPlan | null;
  readonly verdict: Verdict | null;
  readonly cleaned: boolean;
  readonly drivers: readonly Driver[];
  /** Ids of attempts that stopped after the point of no return. */
  readonly ended: readonly string[];
  readonly closed: ClosedRecord | null;
  readonly swept: boolean;
}

/** Returns whether something in the workspace may have to be finished or removed. */
export const isOpen = (state: RecordState): boolean =>
  state.plan !== null && state.closed === null && !(state.verdict === 'reverted' && state.cleaned);

export type TransactionRecord = ReturnType<typeof openRecord>;

/** Returns the records of the step, in no order. `absent`: errnos that mean that it has none. */
export const recordsOf = async (
  sys: Sys,
  dir: string,
  stepKey: string,
  absent?: readonly string[],
): Promise<readonly TransactionRecord[]> =>
  ((await orNull(sys.readdir(join(dir, stepKey)), absent)) ?? []).map((name) =>
    openRecord(sys, dir, `${stepKey}/${name}`),
  );

/** Returns the reason for which a plan cannot be Emend's; null: it can. Files are made and removed by the names and paths of a plan. */
const strayIn = (
  { stepKey, token, attempt, workspace, ...plan }: TransactionPlan,
  name: string,
): string | null => {
  if (stepKey !== dirname(name)) return `it is of step ${JSON.stringify(stepKey)}`;
  if (![token, attempt].every((id) => /^[0-9a-f]+$/.test(id)))
    return 'its token or attempt is no id';
  if (resolve(workspace) !== workspace)
    return `its workspace ${JSON.stringify(workspace)} is no absolute path`;
  for (const path of [...plan.files.map(({ real }) => real), ...plan.dirs, ...plan.dropDirs]) {
    const checked = checkPath(path);
    if (!checked.ok) return `${JSON.stringify(path)}: ${checked.why}`;
  }
  return null;
};

type RecordFiles = ReturnType<typeof openFiles>;

/** Returns the calls that read and write the files of a record. */
const openFiles = (sys: Sys, dir: string, name: string) => {
  const pathOf = (file: string): string => join(dir, name, `${file}.json`);

  const read = <T extends object>(
    file: string,
    kind: string,
    oddIn?: (value: T) => string | null,
  ) => onDisk(`Reading ${pathOf(file)}`, () => readJson<T>(sys, pathOf(file), kind, oddIn));
  const readPlan = (generation: number) =>
    read<TransactionPlan>(`plan-${generation}`, 'TransactionPlan', (plan) => strayIn(plan, name));
  const put = <T extends object>(file: string, value: T) =>
    putJsonIfAbsent(sys, pathOf(file), value);
  const note = async (file: string, value: object = {}): Promise<void> => {
    await put(file, value);
  };
  const isThere = async (file: string): Promise<boolean> =>
    (await orNull(sys.stat(pathOf(file)))) !== null;
  const list = async (): Promise<readonly string[]> =>
    (await orNull(sys.readdir(join(dir, name)))) ?? [];
  /** Reads the values of the files whose name matches. */
  const readAll = async <T extends object>(
    names: readonly string[],
    pattern: RegExp,
    kind: string,
  ): Promise<T[]> => {
    const files = names.filter((n) => pattern.test(n)).map((file) => file.replace(/\.json$/, ''));
    return (await Promise.all(files.map((file) => read<T>(file, kind)))).filter(
      (value) => value !== null,
    );
  };

  return { pathOf, read, readPlan, put, note, isThere, list, readAll };
};

/** Reads the state of a record: its newest plan, and what was noted of it. */
const loadState = async ({ list, read, readAll, readPlan }: RecordFiles): Promise<RecordState> => {
  const names = await list();
  const numbers = names.flatMap((n) => /^plan-([0-9]+)\.json$/.exec(n)?.[1] ?? []).map(Number);
  const generation = Math.max(0, ...numbers);
  const drivers = await readAll<Driver>(names, /^driver-[0-9a-f]+\.json$/, 'Driver');
  const plan = generation === 0 ? null : await readPlan(generation);
  return {
    plan,
    verdict: (await read<Decided>(`verdict-${generation}`, 'Decided'))?.verdict ?? null,
    cleaned: names.includes(`cleaned-${generation}.json`),
    drivers,
    ended: names.flatMap((n) => /^ended-([0-9a-f]+)\.json$/.exec(n)?.[1] ?? []),
    closed: await read<ClosedRecord>('closed', 'ClosedRecord', ({ files }) => {
      const stray = plan && files.find((path) => !plan.files.some((file) => file.path === path));
      return stray == null ? null : `its plan has no file ${JSON.stringify(stray)}`;
    }),
    swept: names.includes('swept.json'),
  };
};

/** Returns a record, which need not exist. `name`: as recordName makes it; `dir`: directory of transactions of the home. */
export const openRecord = (sys: Sys, dir: string, name: string) => {
  const files = openFiles(sys, dir, name);
  const { pathOf, readPlan, put, note, isThere, list, readAll } = files;
  return {
    name,
    load: () => loadState(files),
    /**
     * Returns whether the record never changes again, by the names of its files alone. It is closed, and either only the attempt that
     * planned it was at work, or the files that others left are swept.
     */
    isSettled: async (): Promise<boolean> => {
      const names = await list();
      if (!names.includes('closed.json')) return false;
      return (
        names.includes('swept.json') || !names.some((n) => /^(?:driver-|plan-(?!1\.json$))/.test(n))
      );
    },
    readPlan,
    putPlan: (plan: TransactionPlan) => put(`plan-${plan.generation}`, plan),
    /** Writes the verdict unless there is one. Returns the verdict of the generation, which may be that of a quicker attempt. */
    putVerdict: async (
      generation: number,
      verdict: Verdict,
    ): Promise<{ verdict: Verdict; created: boolean }> => {
      const { value, created } = await put(`verdict-${generation}`, { verdict });
      return { verdict: value.verdict, created };
    },
    putCleaned: (generation: number) => note(`cleaned-${generation}`),
    putDriver: ({ attempt, process }: Driver) => note(`driver-${attempt}`, { attempt, process }),
    putEnded: (attempt: string) => note(`ended-${attempt}`),
    putSaved: (saved: SavedBytes) =>
      note(`saved-${sha256(`${saved.path}\0${saved.ref}`).slice(0, 16)}`, saved),
    saved: async () => readAll<SavedBytes>(await list(), /^saved-[0-9a-f]+\.json$/, 'SavedBytes'),
    putCopying: () => note('copying'),
    isCopying: () => isThere('copying'),
    putReverted: () => note('reverted'),
    isReverted: () => isThere('reverted'),
    putClosed: async (closed: ClosedRecord): Promise<ClosedRecord> =>
      (await put('closed', closed)).value,
    /** Returns the time at which the record was closed, from its file. */
    closedAt_ns: async (): Promise<bigint> => (await sys.stat(pathOf('closed'))).changed_ns,
    putSwept: () => note('swept'),
  };
};
