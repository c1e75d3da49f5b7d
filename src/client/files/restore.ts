/** Makes a home from a backup: everything is read and compared with its hash first, then it is moved into place at once. */
import { open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { randomBytes } from 'node:crypto';
import { fail } from '../../shared/problems.js';
import { shellWord } from '../../shared/text.js';
import { putRestoredNote, type RestoredNote } from '../../stores/restored.js';
import { ensureDir, onDisk, orNull } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import { BackupReader, type BackupHead, type FileHead } from './backup-format.js';

const PRIVATE = 0o600;
const READ_ONLY = 0o400;

export interface Restored extends RestoredNote {
  readonly home: string;
  readonly host: string;
  /** Where the home of the backup was. */
  readonly from: string;
  readonly files: number;
}

/** Reads about a backup. Throws ProblemError `disk`, `version_unknown`. */
export const headOfBackup = async (path: string): Promise<BackupHead> => {
  const { reader, head } = await onDisk(`Reading ${path}`, () => BackupReader.open(path));
  await reader.close();
  return head;
};

/** Throws ProblemError `conflict` if the home has something in it. */
export const refuseFullHome = async (home: string): Promise<void> => {
  const names = await onDisk(`Looking into ${home}`, () => orNull(readdir(home)));
  if (names === null || names.length === 0) return;
  const aside = `${home}.before-restore`;
  fail(
    'conflict',
    `${home} is not empty, so nothing was restored.`,
    `Stop \`emend dev\` and every worker of this home, then move it aside: mv ${shellWord(home)} ${shellWord(aside)}`,
  );
};

/** Throws ProblemError `conflict` for a home that is not empty, `disk` for a backup that is damaged, `version_unknown`. */
export const restoreBackup = async (path: string, home: string): Promise<Restored> => {
  await refuseFullHome(home);
  const staging = `${home}.RESTORE-${randomBytes(6).toString('hex')}`;
  const restoredAt = new Date().toISOString();
  return onDisk(`Restoring ${path} to ${home}`, async () => {
    const { reader, head } = await BackupReader.open(path);
    try {
      await ensureDir(realSys, staging);
      const files = await unpack(reader, path, staging);
      const note = { restoredAt, backupAt: head.createdAt };
      await putRestoredNote(staging, note);
      await syncDirectories(staging);
      // Takes the place of an empty directory, and of nothing else.
      await rename(staging, home);
      await realSys.fsyncDir(dirname(home));
      return { ...note, home, host: head.host, from: head.home, files };
    } finally {
      await reader.close();
      await rm(staging, { recursive: true, force: true });
    }
  });
};

const unpack = async (reader: BackupReader, path: string, staging: string): Promise<number> => {
  for (let files = 0; ; files++) {
    const head = await reader.next(files);
    if (head === null) return files;
    await unpackFile(reader, head, targetIn(path, staging, head));
  }
};

/** Throws ProblemError `disk` for a path that would leave the home. */
const targetIn = (backup: string, staging: string, { path }: FileHead): string => {
  const isPlain = path !== '' && normalize(path) === path && !/^(?:\/|\.\.(?:\/|$))|\0/.test(path);
  return isPlain
    ? join(staging, path)
    : fail('disk', `The backup ${backup} names a file outside the home: ${JSON.stringify(path)}.`);
};

const unpackFile = async (reader: BackupReader, head: FileHead, target: string): Promise<void> => {
  await ensureDir(realSys, dirname(target));
  const file = await open(target, 'wx', PRIVATE);
  try {
    await reader.content(head, async (chunk) => {
      await file.writeFile(chunk);
    });
    await file.chmod(head.mode === READ_ONLY ? READ_ONLY : PRIVATE);
    await file.sync();
  } finally {
    await file.close();
  }
};

const syncDirectories = async (top: string): Promise<void> => {
  const entries = await readdir(top, { recursive: true, withFileTypes: true });
  for (const entry of entries)
    if (entry.isDirectory()) await realSys.fsyncDir(join(entry.parentPath, entry.name));
  await realSys.fsyncDir(top);
};
