/** The file of a backup: a home comes out of it as it went in, and a file that is damaged anywhere restores nothing. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { backUp } from '../../../src/client/files/backup.js';
import { restoreBackup } from '../../../src/client/files/restore.js';
import { hostId } from '../../../src/stores/home.js';
import { sealed } from '../../../src/system/sealed.js';
import { sha256 } from '../../../src/system/hash.js';
import { drawn, randomFrom, seed } from '../../support/seeded.js';
import { testIf } from '../../support/skipped.js';

const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

let dir: string;
let home: string;
let file: string;
beforeEach(async () => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-backup-')));
  home = join(dir, 'home');
  file = join(dir, 'a.backup');
  mkdirSync(home, { mode: 0o700 });
  await hostId(home);
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const put = (path: string, content: string | Buffer, mode = 0o600): void => {
  mkdirSync(dirname(join(home, path)), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, path), content, { mode });
  chmodSync(join(home, path), mode);
};
const blob = (content: string): string => {
  const hash = sha256(content);
  put(`blobs/${hash.slice(0, 2)}/${hash}`, content, 0o400);
  return hash;
};
const RUN = 'a'.repeat(32);
const fill = (): void => {
  const inner = blob('inner');
  const outer = blob(`sha256:${inner}`);
  put(`archive/${RUN}/log.jsonl`, `${sealed({ v: 2, ref: `sha256:${outer}` })}\n`);
  put(`records/steps/${RUN}/preflight-1.json`, `${sealed({ v: 2 })}\n`);
  put('server/db/temporal.sqlite', Buffer.alloc(2_500_000, 7));
  put('server/db/temporal.sqlite-wal', 'w'.repeat(64));
};
const filesIn = (top: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(top, { recursive: true, encoding: 'utf8' })
      .filter((path) => statSync(join(top, path)).isFile() && path !== 'restored.json')
      .sort()
      .map((path) => {
        const { mode } = statSync(join(top, path));
        return [path, `${(mode & 0o777).toString(8)} ${sha256(readFileSync(join(top, path)))}`];
      }),
  );

test('a home comes back as it was: bytes, modes, and nothing that only a process needs', async () => {
  fill();
  const before = filesIn(home);
  put('dev-server.json', '{}');
  put(`records/steps/${RUN}/a.json.TMP-1-ab`, 'half');
  const backup = await backUp(home, file);
  expect(backup).toMatchObject({ database: true, damaged: [], files: Object.keys(before).length });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const there = join(dir, 'there');
  const restored = await restoreBackup(file, there);
  expect(filesIn(there)).toEqual(before);
  expect(restored).toMatchObject({ home: there, from: home, host: await hostId(home) });
  expect(statSync(there).mode & 0o777).toBe(0o700);
  expect(readdirSync(dir).sort()).toEqual(['a.backup', 'home', 'there']);
});

test('a content that `emend gc` has moved aside is copied to its place; one that its directory did not list is found by its name', async () => {
  fill();
  const hash = sha256('inner');
  const path = join(home, `blobs/${hash.slice(0, 2)}/${hash}`);
  renameSync(path, `${path}.GC`);
  await backUp(home, file);
  await restoreBackup(file, join(dir, 'there'));
  expect(filesIn(join(dir, 'there'))[`blobs/${hash.slice(0, 2)}/${hash}`]).toBe(`400 ${hash}`);
});

test('a backup is never overwritten, and a home that is not empty never replaced', async () => {
  fill();
  await backUp(home, file);
  const bytes = readFileSync(file);
  await expect(backUp(home, file)).rejects.toMatchObject({ problem: { code: 'usage' } });
  expect(readFileSync(file).equals(bytes)).toBe(true);
  const before = filesIn(home);
  await expect(restoreBackup(file, home)).rejects.toMatchObject({
    problem: { code: 'conflict', next: expect.stringContaining(`mv '${home}'`) },
  });
  expect(filesIn(home)).toEqual(before);
  expect(readdirSync(dir).sort()).toEqual(['a.backup', 'home']);
});

test('a backup that cannot be written is named, and leaves nothing', async () => {
  fill();
  await expect(backUp(home, join(dir, 'none', 'a.backup'))).rejects.toMatchObject({
    problem: {
      code: 'disk',
      message: expect.stringMatching(/^Writing the backup .*a\.backup failed/),
      next: expect.stringMatching(/does not exist/),
    },
  });
  expect(readdirSync(dir)).toEqual(['home']);
});

test('a backup that is absent or a directory is reported with what to do, which is not to free space', async () => {
  const target = join(dir, 'new home');
  await expect(restoreBackup(file, target)).rejects.toMatchObject({
    problem: { code: 'disk', next: expect.stringMatching(/does not exist.*Correct the path/) },
  });
  await expect(restoreBackup(dir, target)).rejects.toMatchObject({
    problem: { code: 'disk', next: expect.stringMatching(/is a directory.*Name a file/) },
  });
  expect(readdirSync(dir)).toEqual(['home']);
});

/** Runs `use` with a disk of so many KiB. */
const withSmallDisk = async (size_kib: number, use: (disk: string) => Promise<void>) => {
  const disk = join(dir, 'disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size_kib}k`, 'none', disk]);
  try {
    await use(disk);
  } finally {
    execFileSync('umount', ['-l', disk]);
    rmdirSync(disk);
  }
};
/** The disk is full at the first line, in the database and after it. */
const SIZES_KIB = [4, 64, 1024, 2440];
const FULL = {
  problem: { code: 'disk', message: expect.stringMatching(/^(?:Writing|Restoring) .*: ENOSPC/) },
};

testIf(canMount, 'a small disk needs the right to mount (run as root)').each(SIZES_KIB)(
  'a backup to a disk of %i KiB, which is too small, is named, leaves nothing there and leaves the home as it is',
  async (size_kib) => {
    fill();
    const before = filesIn(home);
    await withSmallDisk(size_kib, async (disk) => {
      await expect(backUp(home, join(disk, 'a.backup'))).rejects.toMatchObject(FULL);
      expect(readdirSync(disk)).toEqual([]);
    });
    expect(filesIn(home)).toEqual(before);
    expect((await backUp(home, file)).files).toBe(Object.keys(before).length);
    await withSmallDisk(size_kib, async (disk) => {
      await expect(restoreBackup(file, join(disk, 'home'))).rejects.toMatchObject(FULL);
      expect(readdirSync(disk)).toEqual([]);
    });
  },
);

test('a damaged content is named by the backup, and copied as it is', async () => {
  fill();
  const hash = sha256('inner');
  put(`blobs/${hash.slice(0, 2)}/${hash}`, 'other', 0o600);
  expect(await backUp(home, file)).toMatchObject({
    damaged: [`blobs/${hash.slice(0, 2)}/${hash}`],
  });
});

test('a backup with one changed byte, or cut off at any place, restores nothing', async () => {
  fill();
  rmSync(join(home, 'server'), { recursive: true });
  await backUp(home, file);
  const whole = readFileSync(file);
  const random = randomFrom(seed);
  const places = Array.from({ length: drawn(40, 400) }, () => Math.floor(random() * whole.length));
  const refused = { problem: { code: expect.stringMatching(/^(?:disk|version_unknown)$/) } };
  const there = join(dir, 'there');
  for (const offset of [0, whole.length - 1, ...places]) {
    const changed = Buffer.from(whole);
    changed[offset] = (changed[offset] ?? 0) ^ 0x10;
    for (const bytes of [changed, whole.subarray(0, offset)]) {
      writeFileSync(file, bytes);
      const outcome = await restoreBackup(file, there).catch((error: unknown) => error);
      // A changed character of a seal changes nothing that is read.
      if (outcome instanceof Error) expect(outcome).toMatchObject(refused);
      else {
        expect(filesIn(there)).toEqual(filesIn(home));
        rmSync(there, { recursive: true });
      }
      expect(readdirSync(dir).sort()).toEqual(['a.backup', 'home']);
    }
  }
});

test('a file outside the home is refused', async () => {
  const head = { v: 2, kind: 'emend-backup', createdAt: '', home, host: '' };
  const lines = (path: string): string =>
    [head, { path, mode: 0o600, bytes: 0 }, { sha256: sha256('') }, { files: 1 }]
      .map((line) => `${sealed(line)}\n`)
      .join('');
  for (const path of ['../out', '/etc/out', 'a/../../out', '', './out', '..']) {
    writeFileSync(file, lines(path));
    await expect(restoreBackup(file, join(dir, 'there'))).rejects.toMatchObject({
      problem: { code: 'disk', message: expect.stringContaining('outside the home') },
    });
  }
  expect(readdirSync(dir).sort()).toEqual(['a.backup', 'home']);
});
