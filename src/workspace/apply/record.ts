/**
 * ◆ The durable record of a transaction: a directory of files that are each written once.
 *
 *     plan-<g>.json      what generation g is about to do, by whom; written before anything in the workspace
 *     verdict-<g>.json   `committed` (the point of no return) or `reverted`: whoever writes it first decides, for all processes
 *     cleaned-<g>.json   a reverted generation's temp files are gone
 *     driver-<id>.json   another attempt goes forward with a committed generation
 *     ended-<id>.json    an attempt could not go on, and does nothing any more
 *     saved-<id>.json    bytes of a person that were superseded and now lie in the blob store
 *     copying.json       results are copied, as the filesystem has no links: a half copy may stand under a path
 *     closed.json        the outcome; never changes
 *     reverted.json        the step asked for a rollback: what has no verdict yet must not go forward any more
 *     swept.json         nothing that a late attempt left is lying about
 */
import { dirname, join, resolve } from 'node:path';
import type { BlobRef } from '../../shared/ids.js';
import { refOf, sha256 } from '../../system/hash.js';
import { checkPath } from '../../edits/index.js';
import { onDisk, orNull, putJsonIfAbsent, readJson } from '../../system/durable.js';
import type { FileStat, Sys } from '../../system/sys.js';
import type { ProcessIdentity } from '../../system/process.js';
import type { ApplyRequest, ConflictFile, WorkspaceLock } from '../ports.js';
import type { ProposalFile } from '../proposal.js';

export interface PlannedFile {
  /** As the proposal says. */
  readonly path: string;
  /** Where it lies: relative to the plan's workspace, free of links. */
  readonly real: string;
  readonly base: Side;
  readonly result: Side;
  readonly by: ProposalFile['by'];
  /** False: at its result already (or by a person); only looked at. */
  readonly write: boolean;
  /** Special mode bits and owner of the file that is replaced. */
  readonly special: number;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

/** One attempt to carry a record through, in one process. */
export interface Driver {
  /** 12 hex digits; part of the names of what it keeps. */
  readonly attempt: string;
  readonly process: ProcessIdentity;
}

export interface TransactionPlan
  extends Driver, Pick<ApplyRequest, 'stepKey' | 'proposalId' | 'decision'> {
  readonly kind: 'apply' | 'rollback';
  readonly generation: number;
  /** Real path. */
  readonly workspace: string;
  /** 12 hex digits in the names of this generation's temp files and backups: no name is ever used twice. */
  readonly token: string;
  readonly lock: WorkspaceLock;
  readonly files: readonly PlannedFile[];
  /** Directories to make, outermost first; removed again (where empty) when reverted. */
  readonly dirs: readonly string[];
  /** Directories to remove at the end where they are empty, outermost first. */
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
  /** The newest generation's; null before the first. */
  readonly plan: TransactionPlan | null;
  readonly verdict: Verdict | null;
  readonly cleaned: boolean;
  readonly drivers: readonly Driver[];
  /** Attempts that gave up after the point of no return. */
  readonly ended: readonly string[];
  readonly closed: ClosedRecord | null;
  readonly swept: boolean;
}

/** Something in the workspace may still have to be finished or removed. */
export const isOpen = (state: RecordState): boolean =>
  state.plan !== null && state.closed === null && !(state.verdict === 'reverted' && state.cleaned);

export type TransactionRecord = ReturnType<typeof openRecord>;

/** The step's records, in no order. `absent`: errnos that mean that it has none. */
export const recordsOf = async (
  sys: Sys,
  dir: string,
  stepKey: string,
  absent?: readonly string[],
): Promise<readonly TransactionRecord[]> =>
  ((await orNull(sys.readdir(join(dir, stepKey)), absent)) ?? []).map((name) =>
    openRecord(sys, dir, `${stepKey}/${name}`),
  );

/** Names and paths of a plan become those of files that are made and removed: what leads anywhere else was written by somebody else. */
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

/** `name` as recordName makes it; `dir` is the home's transactions directory. */
export const openRecord = (sys: Sys, dir: string, name: string) => {
  const at = (file: string): string => join(dir, name, `${file}.json`);

  const read = <T extends object>(
    file: string,
    kind: string,
    oddIn?: (value: T) => string | null,
  ) => onDisk(`Reading ${at(file)}`, () => readJson<T>(sys, at(file), kind, oddIn));
  const readPlan = (generation: number) =>
    read<TransactionPlan>(`plan-${generation}`, 'TransactionPlan', (plan) => strayIn(plan, name));
  const put = <T extends object>(file: string, value: T) => putJsonIfAbsent(sys, at(file), value);
  const note = async (file: string, value: object = {}): Promise<void> => {
    await put(file, value);
  };
  const isThere = async (file: string): Promise<boolean> =>
    (await orNull(sys.stat(at(file)))) !== null;
  const list = async (): Promise<readonly string[]> =>
    (await orNull(sys.readdir(join(dir, name)))) ?? [];
  /** The values of those of the files that are called so. */
  const readAll = async <T extends object>(
    names: readonly string[],
    called: RegExp,
    kind: string,
  ): Promise<T[]> => {
    const files = names.filter((n) => called.test(n)).map((file) => file.replace(/\.json$/, ''));
    return (await Promise.all(files.map((file) => read<T>(file, kind)))).filter(
      (value) => value !== null,
    );
  };

  return {
    name,
    load: async (): Promise<RecordState> => {
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
          const stray =
            plan && files.find((path) => !plan.files.some((file) => file.path === path));
          return stray == null ? null : `its plan has no file ${JSON.stringify(stray)}`;
        }),
        swept: names.includes('swept.json'),
      };
    },
    /**
     * By the names of its files alone: it is closed, and no attempt but the one that planned it was at work, or what they left is swept.
     * Nothing of it changes any more.
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
    /** The verdict that stands: ours, or that of whoever was first. */
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
    /** When the record was closed, by the clock of its file. */
    closedAt_ns: async (): Promise<bigint> => (await sys.stat(at('closed'))).changed_ns,
    putSwept: () => note('swept'),
  };
};

// What stands under a path, compared with what a proposal says.

/** One side of a proposal's file; null: absent. */
export type Side = { readonly ref: BlobRef; readonly mode: number } | null;

export type Seen =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'file';
      readonly ref: BlobRef;
      readonly bytes: Uint8Array;
      readonly stat: FileStat;
    }
  | { readonly kind: 'directory' | 'symlink' | 'other'; readonly stat: FileStat };

/** Reads without following a link at the end. */
export const look = async (sys: Sys, path: string): Promise<Seen> => {
  const entry = await orNull(sys.readEntry(path), ['ENOENT', 'ENOTDIR']);
  if (entry === null) return { kind: 'absent' };
  const { stat, bytes } = entry;
  if (bytes !== null) return { kind: 'file', ref: refOf(bytes), bytes, stat };
  return { kind: stat.kind === 'file' ? 'other' : stat.kind, stat };
};

/** Proposals carry the nine permission bits; special bits are kept as they are. */
export const PERMISSIONS = 0o777;

/** Same kind, bytes and permissions. */
export const isAt = (seen: Seen, side: Side): boolean =>
  side === null
    ? seen.kind === 'absent'
    : seen.kind === 'file' &&
      seen.ref === side.ref &&
      (seen.stat.mode & PERMISSIONS) === (side.mode & PERMISSIONS);

const SHOWN_HASH_CHARS = 'sha256:'.length + 12;
const octal = (mode: number): string => (mode & PERMISSIONS).toString(8).padStart(3, '0');
const fileWords = (ref: BlobRef, mode: number): string =>
  `a file ${ref.slice(0, SHOWN_HASH_CHARS)}, mode ${octal(mode)}`;

const SEEN_WORDS = {
  absent: 'nothing',
  directory: 'a directory',
  symlink: 'a symbolic link',
  other: 'not a regular file, or too large to edit',
} as const;

/** "expected …, found …" */
export const difference = (expected: Side, found: Seen): string => {
  const wanted = expected === null ? 'nothing' : fileWords(expected.ref, expected.mode);
  const there =
    found.kind === 'file' ? fileWords(found.ref, found.stat.mode) : SEEN_WORDS[found.kind];
  return `expected ${wanted}, found ${there}`;
};
