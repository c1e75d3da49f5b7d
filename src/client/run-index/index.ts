/**
 * The index of all runs of a store, kept in the home and derived from the archive alone: it may be removed at any time. Readers bring it up
 * to date, so that nothing waits for it that writes an archive. docs/decisions/0054-one-index-of-all-runs.md.
 *
 * 1. The file of the index is read, as far as this process has not read it.
 * 2. Runs whose archives were announced as changed are looked at: if the stamp of the logs is not that of the row, the archive is read again.
 * 3. If the names in the archive changed, new ones are read and rows without a name are dropped.
 * 4. If the index is absent, damaged, or of another boot, or announcements are missing, the stamps of all runs are compared.
 * 5. What was read is appended to the file with a mark. A long build appends as it goes, so that one that is cut off goes on.
 */
import { join } from 'node:path';
import { VERSION } from '../../shared/problems.js';
import { planOf, type StepKey } from '../../shared/ids.js';
import { hostOfQueue } from '../../shared/names.js';
import { homePaths } from '../../stores/home.js';
import { ownProcess } from '../../system/process.js';
import { errnoOf, realSys } from '../../system/sys.js';
import { together } from '../../system/together.js';
import { readAmongOthers } from '../archive/run.js';
import type { Emend } from '../types.js';
import { appendTo, readPart, replaceFile, type IndexMark } from './file.js';
import { FIELD_OF, goneLine, IndexMemory, markLine } from './memory.js';
import { lineOfRow, quoted, unquoted, type RunRow } from './row.js';

const FORGOTTEN_MS = 60_000; // bound: The index of a home leaves the memory of a process when it was not used for so long.
const GROUP_RUNS = 500; // bound: Archives that are read before their rows are appended.
/** Without an id of the boot Emend does not know whether the machine lost power: all stamps are compared. */
const NO_BOOT = '-';

type IndexSource = Pick<Emend, 'home' | 'store' | 'archive' | 'blobs'>;

export interface IndexOptions {
  /** Compares all stamps, as before something is removed for good. */
  readonly isThorough?: boolean;
  /** Called while many archives are read: so many of so many are. */
  readonly onProgress?: (read: number, all: number) => void;
}

/** An index that this process has in memory. */
interface Opened {
  readonly path: string;
  readonly memory: IndexMemory;
  /** The last work on it: one follows another. */
  turn: Promise<unknown>;
  forget: NodeJS.Timeout | undefined;
}
/** By path. */
const opened = new Map<string, Opened>();

const openIndex = (home: string): Opened => {
  const path = join(homePaths(home).index, 'runs.log');
  const known = opened.get(path);
  if (known !== undefined) return known;
  const index = { path, memory: new IndexMemory(), turn: Promise.resolve(), forget: undefined };
  opened.set(path, index);
  return index;
};

const inTurn = async (index: Opened, work: () => Promise<unknown>): Promise<void> => {
  const turn = index.turn.then(work);
  index.turn = turn.catch(() => undefined);
  await turn;
  clearTimeout(index.forget);
  const forget = (): void => {
    if (opened.get(index.path) === index) opened.delete(index.path);
  };
  index.forget = setTimeout(forget, FORGOTTEN_MS).unref();
};

/** Returns the index, brought up to date. */
export const runIndex = async (
  emend: IndexSource,
  options: IndexOptions = {},
): Promise<RunIndex> => {
  const index = openIndex(emend.home);
  await inTurn(index, () => new Refresh(emend, index, options).run());
  return new RunIndex(emend, index);
};

export interface RowChoice {
  readonly state: string;
  readonly workspace: string;
  /** In the form of `searchable`. */
  readonly words: readonly string[];
}

/** Rows by the key of a run. What it returns is as new as the last refresh. */
export class RunIndex {
  readonly #emend: IndexSource;
  readonly #index: Opened;

  constructor(emend: IndexSource, index: Opened) {
    this.#emend = emend;
    this.#index = index;
  }

  /** The runs by their last entries, newest first. */
  keys(): readonly StepKey[] {
    return this.#index.memory.keys();
  }

  row(stepKey: StepKey): RunRow | null {
    return this.#index.memory.row(stepKey);
  }

  last_ms(stepKey: StepKey): number {
    return this.#index.memory.last_ms(stepKey);
  }

  workspace(stepKey: StepKey): string {
    return unquoted(this.#index.memory.field(stepKey, FIELD_OF.workspace));
  }

  /** The plan's document; empty: it is no run of a plan. */
  plan(stepKey: StepKey): string {
    return unquoted(this.#index.memory.field(stepKey, FIELD_OF.plan));
  }

  /** Returns what tells the runs that fit. Empty texts and no words fit all; the state is compared of ended runs alone. */
  test({ state, workspace, words }: RowChoice): (stepKey: StepKey) => boolean {
    const bytesOf = (text: string): Buffer | null =>
      text === '' ? null : Buffer.from(quoted(text));
    const choice = {
      state: bytesOf(state),
      workspace: bytesOf(workspace),
      words: words.map((word) => Buffer.from(quoted(word))),
    };
    return (stepKey) => this.#index.memory.fits(stepKey, choice);
  }

  /** The newest run of a workflow id; null: the archive has none. */
  ofWorkflow(workflowId: string): StepKey | null {
    const field = `"workflowId":${JSON.stringify(workflowId)}`;
    return this.keys().find((stepKey) => this.#index.memory.line(stepKey)?.includes(field)) ?? null;
  }

  /** All rows, newest first. */
  *rows(): Generator<RunRow> {
    for (const stepKey of this.keys()) {
      const row = this.row(stepKey);
      if (row !== null) yield row;
    }
  }

  /** Compares these rows with their archives, and reads again what others than Emend have changed. */
  async check(stepKeys: readonly StepKey[]): Promise<void> {
    const refresh = new Refresh(this.#emend, this.#index, {});
    await inTurn(this.#index, () => refresh.lookAt(stepKeys));
  }
}

/** Returns the runs of a plan's document on a host, newest first. */
export function* runsOfPlan(
  index: RunIndex,
  { workspace, planPath, host }: Readonly<Record<'workspace' | 'planPath' | 'host', string>>,
): Generator<StepKey> {
  const isThere = index.test({ state: '', workspace, words: [] });
  for (const stepKey of index.keys()) {
    if (planOf(stepKey) !== stepKey || !isThere(stepKey)) continue;
    const facts = index.row(stepKey)?.facts;
    if (
      facts?.jobPath === planPath &&
      facts.hostQueue !== null &&
      hostOfQueue(facts.hostQueue) === host
    )
      yield stepKey;
  }
}

class Refresh {
  readonly #emend: IndexSource;
  readonly #path: string;
  readonly #memory: IndexMemory;
  readonly #options: IndexOptions;

  constructor(emend: IndexSource, { path, memory }: Opened, options: IndexOptions) {
    this.#emend = emend;
    this.#path = path;
    this.#memory = memory;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { archive, store } = this.#emend;
    await this.#load();
    const { boot } = await ownProcess(realSys);
    const before = await this.#believedMark(boot);
    // Before names and stamps are read: what changes meanwhile is looked at again by the next reader.
    const changes = await archive.changesSince(before?.position ?? null);
    const names = await archive.namesStamp();
    const isComplete = before !== null && changes.isComplete && this.#options.isThorough !== true;
    const isSameNames = isComplete && (names === null || names === before.names);
    const stepKeys = new Set(isComplete ? changes.changed : []);
    if (!isSameNames) await this.#addNames(stepKeys, isComplete);
    await this.lookAt([...stepKeys]);
    const mark = { v: VERSION, store, boot, position: changes.position, names };
    if (!isComplete || !isSameNames || before.position !== mark.position)
      await this.#keep([markLine(mark)]);
    // A file that was built in parts is in no order.
    const isBuilt = before === null && stepKeys.size > GROUP_RUNS;
    if (isBuilt || this.#needsReplacement()) await this.#replace();
  }

  #needsReplacement(): boolean {
    return this.#memory.isOutdated || this.#memory.hasUnkept;
  }

  /** Adds names without a row and rows without a name; unless the rows are complete, all names. */
  async #addNames(stepKeys: Set<StepKey>, isComplete: boolean): Promise<void> {
    const names = new Set(await this.#emend.archive.names());
    for (const stepKey of names)
      if (!isComplete || !this.#memory.has(stepKey)) stepKeys.add(stepKey);
    for (const stepKey of this.#memory.keys()) if (!names.has(stepKey)) stepKeys.add(stepKey);
  }

  /** Returns the mark of the rows if they are as they were written; what is damaged or of another store is removed from the file. */
  async #believedMark(boot: string): Promise<IndexMark | null> {
    const { mark, isDamaged } = this.#memory;
    const isOurs = mark === null || (mark.v === VERSION && mark.store === this.#emend.store);
    if (!isOurs) this.#memory.clear();
    this.#memory.mark = isOurs && !isDamaged ? mark : null;
    if (!isOurs || isDamaged) await this.#replace();
    return isOurs && !isDamaged && boot !== NO_BOOT && mark?.boot === boot ? mark : null;
  }

  /** Looks at the archives of these runs, and keeps what is new. */
  async lookAt(stepKeys: readonly StepKey[]): Promise<void> {
    for (let from = 0; from < stepKeys.length; from += GROUP_RUNS) {
      const group = stepKeys.slice(from, from + GROUP_RUNS);
      const lines = (await together(group, (stepKey) => this.#linesOf(stepKey))).flat();
      if (lines.length === 0) continue;
      await this.#keep(lines);
      this.#options.onProgress?.(from + group.length, stepKeys.length);
    }
  }

  /** Returns what is new of a run, as lines of the file. */
  async #linesOf(stepKey: StepKey): Promise<readonly string[]> {
    const { archive, blobs } = this.#emend;
    const before = this.#memory.row(stepKey);
    // What cannot be looked at is read again each time, and its row says why.
    const stamp = await archive.stamp(stepKey).catch(unreadable);
    if (stamp === null) return before === null ? [] : [goneLine(stepKey)];
    if (before !== null && stamp !== UNREADABLE && before.facts.stamp === stamp) return [];
    const run = await readAmongOthers({ archive }, stepKey);
    const { rowOf } = await import('./row-of-archive.js');
    return [`R${lineOfRow(await rowOf(blobs, run, stamp))}`];
  }

  /** Reads what is new in the file. A file that cannot be read is none. */
  async #load(): Promise<void> {
    try {
      this.#memory.add(await readPart(this.#path, this.#memory.known));
    } catch (error) {
      if (errnoOf(error) === null) throw error;
      if (this.#memory.known !== null) this.#memory.clear();
    }
  }

  /** Appends lines to the file and reads them back. If another process has replaced it, or it cannot be written, memory has them first. */
  async #keep(lines: readonly string[]): Promise<void> {
    const { known, hasUnkept } = this.#memory;
    const isKept =
      known !== null &&
      !hasUnkept &&
      (await appendTo(this.#path, known.file, lines).catch(falseOnErrno));
    if (isKept) {
      await this.#load();
      return;
    }
    this.#memory.addLines(lines);
    // A disk that is full is not tried again for each group.
    if (!hasUnkept || this.#memory.mark !== null) await this.#replace();
  }

  /** Writes the file again without what is outdated. */
  async #replace(): Promise<void> {
    const isReplaced = await replaceFile(this.#path, this.#memory.lines()).then(
      () => true,
      falseOnErrno,
    );
    if (isReplaced) await this.#load();
    else this.#memory.hasUnkept = true;
  }
}

/** The stamp of logs that cannot be looked at. */
const UNREADABLE = '';
const unreadable = (error: unknown): string => {
  if (errnoOf(error) === null) throw error;
  return UNREADABLE;
};
const falseOnErrno = (error: unknown): false => {
  if (errnoOf(error) === null) throw error;
  return false;
};
