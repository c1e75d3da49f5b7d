/**
 * The journal of changes of an archive: before a process appends to the log of a run, it writes the run's key into `<store>/changes`. So an
 * index knows which of 100,000 archives to look at again, without a look at each. A line is `<checksum> <time> <key>`, and it begins with a
 * line end, in case that a dead writer left half of one. A journal that is damaged, cut or removed is noticed: then all archives are compared.
 * Nothing else depends on it, so it is written without a sync; an index of another boot is not believed.
 */
import { dirname, join } from 'node:path';
import { makingDir, orNull, unlinkIfThere } from '../../system/durable.js';
import { jsonOf } from '../../system/json.js';
import { ABSENT } from '../../system/given-file.js';
import { sha256 } from '../../system/hash.js';
import type { Sys } from '../../system/sys.js';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { groupBy, isRecord } from '../../shared/text.js';
import type { ArchiveChanges } from '../ports.js';

const ANNOUNCED_MS = 300_000; // bound: Time after which a process announces changes of a run again.
// bound: Changes announced in this time are reported again and again: their writers may append until `ANNOUNCED_MS` have passed.
export const SETTLED_MS = 2 * ANNOUNCED_MS;
const ANNOUNCED_RUNS = 10_000; // bound: Runs that a process remembers to have announced.
const FILE_BYTES = 4 * 1024 * 1024; // bound: A larger file of the journal is followed by another, and the one before it is removed.
const CHECKSUM_CHARS = 8; // bound: Hex digits of a line's checksum.

/** The journal is next to the archive. */
export const changesDir = (archive: string): string => join(dirname(archive), 'changes');

/** Remembers which runs a process has announced. False: not lately. */
export const createAnnounced = () => {
  const announced = new Map<StepKey, number>();
  return {
    isRecent: (stepKey: StepKey, time_ms: number): boolean => {
      const before = announced.get(stepKey);
      return before !== undefined && time_ms >= before && time_ms - before < ANNOUNCED_MS;
    },
    add: (stepKey: StepKey, time_ms: number): void => {
      if (announced.size >= ANNOUNCED_RUNS) announced.clear();
      announced.set(stepKey, time_ms);
    },
    clear: (): void => announced.clear(),
  };
};

interface Line {
  readonly stepKey: StepKey;
  readonly time_ms: number;
}
const checksumOf = (text: string): string => sha256(text).slice(0, CHECKSUM_CHARS);
const textOf = ({ stepKey, time_ms }: Line): string => {
  const text = `${time_ms} ${stepKey}`;
  return `\n${checksumOf(text)} ${text}\n`;
};
/** Returns the change of a line; null: the line is damaged. */
const lineOf = (line: string): Line | null => {
  const text = line.slice(CHECKSUM_CHARS + 1);
  const [time, stepKey] = text.split(' ');
  if (line.slice(0, CHECKSUM_CHARS) !== checksumOf(text) || !isStepKey(stepKey)) return null;
  return { stepKey, time_ms: Number(time) };
};

const NO_BYTES = new Uint8Array();
const NAME = /^([a-z0-9]+)-(\d+)\.log$/;
interface JournalFile {
  readonly name: string;
  readonly writer: string;
  readonly number: number;
}
const fileOf = (name: string): readonly JournalFile[] => {
  const [, writer, number] = NAME.exec(name) ?? [];
  return writer === undefined ? [] : [{ name, writer, number: Number(number) }];
};
/** State of a file as a reader knows it: its id, its size, and the offset before which all lines are settled. */
interface Known {
  readonly settled: number;
  readonly size: number;
  readonly id: string;
}
/** States by file name. */
type Position = Readonly<Record<string, Known>>;

interface ChangesOptions {
  readonly dir: string;
  readonly sys: Sys;
  /** [a-z0-9] */
  readonly writer: string;
}

const listFiles = async ({ dir, sys }: ChangesOptions): Promise<readonly JournalFile[]> =>
  ((await orNull(sys.readdir(dir), ABSENT)) ?? [])
    .flatMap(fileOf)
    .sort((a, b) => a.number - b.number);

/** Returns the path of the file to append to. One that is full is followed by the next, and the one before it is removed. */
const currentPath = async (options: ChangesOptions): Promise<string> => {
  const { dir, sys, writer } = options;
  const own = (await listFiles(options)).filter((file) => file.writer === writer);
  const last = own.at(-1) ?? { name: `${writer}-1.log`, number: 1 };
  const path = join(dir, last.name);
  const stat = await orNull(sys.stat(path));
  if (stat === null || stat.size < FILE_BYTES) return path;
  for (const { name, number } of own)
    if (number < last.number) await unlinkIfThere(sys, join(dir, name));
  return join(dir, `${writer}-${last.number + 1}.log`);
};

export const createChanges = (options: ChangesOptions) => {
  const { sys } = options;
  const announced = createAnnounced();
  /** State of the file after the last announcement: if another process removes, replaces or cuts it, the announcements of this one are lost. */
  let journal = { path: '', id: '', size: 0 };
  const isStillThere = async (): Promise<boolean> => {
    const stat = await orNull(sys.stat(journal.path), ABSENT);
    return stat !== null && stat.id === journal.id && stat.size >= journal.size;
  };

  const write = async (text: string): Promise<void> => {
    const path = await currentPath(options);
    const bytes = new TextEncoder().encode(text);
    // Half a line is enough: readers then compare all archives.
    await makingDir(sys, path, () => sys.append(path, bytes, 'with_next_append'));
    const stat = await sys.stat(path);
    journal = { path, id: stat.id, size: stat.size };
  };

  return {
    announce: async (stepKey: StepKey): Promise<void> => {
      const time_ms = Date.now();
      if (announced.isRecent(stepKey, time_ms)) {
        if (await isStillThere()) return;
        announced.clear();
      }
      await write(textOf({ stepKey, time_ms }));
      announced.add(stepKey, time_ms);
    },

    since: async (before: string | null): Promise<ArchiveChanges> => {
      const earlier = positionOf(before);
      const files = await listFiles(options);
      const read = await Promise.all(files.map((file) => readFile(options, file, earlier)));
      // There was no journal. The next call must find one, without half a line at its end.
      if (files.length === 0 || read.some(({ isTorn }) => isTorn))
        await write('\n').catch(() => undefined);
      return {
        isComplete:
          before !== null &&
          coversAll(files, earlier) &&
          read.every(({ isComplete }) => isComplete),
        changed: new Set(read.flatMap(({ changed }) => changed)),
        position: JSON.stringify(Object.fromEntries(read.map(({ name, known }) => [name, known]))),
      };
    },
  };
};

/** Reads the new lines of a file of the journal. */
const readFile = async ({ dir, sys }: ChangesOptions, { name }: JournalFile, earlier: Position) => {
  const path = join(dir, name);
  const id = (await orNull(sys.stat(path), ABSENT))?.id ?? '';
  const bytes = (await orNull(sys.readFile(path), ABSENT)) ?? NO_BYTES;
  const before = earlier[name] ?? { settled: 0, size: 0, id };
  // A journal that is shorter than before, or has another inode, is another one.
  const isSame = before.id === id && before.size <= bytes.length;
  const lines = readLines(bytes, isSame ? before.settled : 0);
  return {
    name,
    isTorn: lines.isTorn,
    isComplete: isSame && lines.isComplete,
    changed: lines.changed,
    known: { settled: lines.settled, size: bytes.length, id } satisfies Known,
  };
};

const positionOf = (text: string | null): Position => {
  const value = text === null ? null : jsonOf(text);
  return isRecord(value) ? (value as Position) : {};
};

/** Returns whether each writer's files go on where the position ends, without a gap. */
const coversAll = (files: readonly JournalFile[], earlier: Position): boolean => {
  const seen = Object.keys(earlier).flatMap(fileOf);
  const present = groupBy(files, ({ writer }) => writer);
  if (files.length === 0 || seen.some(({ writer }) => !present.has(writer))) return false;
  return [...present].every(([writer, own]) => {
    const numbers = own.map(({ number }) => number);
    const last = Math.max(
      0,
      ...seen.filter((file) => file.writer === writer).map(({ number }) => number),
    );
    return numbers.includes(last === 0 ? 1 : last);
  });
};

/** Finds the changes in the bytes of a file. `settled` is the offset of the first line that is not settled. */
const readLines = (bytes: Uint8Array, from: number) => {
  const changed: StepKey[] = [];
  const settledAt_ms = Date.now() - SETTLED_MS;
  let isComplete = true;
  let isSettled = true;
  let settled = from;
  let offset = from;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1', from);
  const pieces = text.split('\n');
  // A last line without an end is being written, or its writer died.
  const isTorn = pieces.pop() !== '';
  for (const piece of pieces) {
    const line = piece === '' ? null : lineOf(piece);
    if (line === null && piece !== '') isComplete = false;
    if (line !== null) {
      changed.push(line.stepKey);
      isSettled &&= line.time_ms <= settledAt_ms;
    }
    offset += piece.length + 1;
    if (isSettled) settled = offset;
  }
  return { isComplete: isComplete && !isTorn, isTorn, changed, settled };
};
