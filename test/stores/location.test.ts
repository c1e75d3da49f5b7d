/** Tests which store a home uses. s3.test.ts has the tests of buckets. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { homePaths, resolveHome } from '../../src/stores/home.js';
import { resolveStore } from '../../src/stores/location.js';
import { putFileIfAbsent } from '../../src/system/durable.js';
import { realSys, type Sys } from '../../src/system/sys.js';

let dir: string;
beforeEach(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend store-')));
});
afterEach(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});
const homeOf = (name: string): Promise<string> => resolveHome({ EMEND_HOME: join(dir, name) });

test('the home is the store unless EMEND_STORE is set; the id stays', async () => {
  const home = await homeOf('home');
  const stores = await Promise.all([
    resolveStore({}, home),
    resolveStore({ EMEND_STORE: '' }, home),
  ]);
  expect(stores[0]).toEqual({
    dir: home,
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    objects: null,
  });
  expect(stores[1]).toEqual(stores[0]);
  expect(fs.existsSync(homePaths(home).storeNote)).toBe(false);
});

describe('a directory is no store', () => {
  test.each(['/mnt/emend/store', 'store', 'file:///mnt/store', ' s3://bucket', 'gs://bucket/x'])(
    'refuses EMEND_STORE=%j, creates nothing, and says what to type',
    async (setting) => {
      const home = await homeOf('home');
      const before = fs.readdirSync(dir);
      await expect(resolveStore({ EMEND_STORE: setting }, home)).rejects.toMatchObject({
        problem: {
          code: 'store_unusable',
          message: `EMEND_STORE names ${JSON.stringify(setting)} as the store, expected s3://BUCKET or s3://BUCKET/PREFIX: hosts share a bucket, not a directory.`,
          next: 'For one host type: unset EMEND_STORE (its home is then the store). For several hosts set it to s3://BUCKET/PREFIX.',
        },
      });
      expect([fs.readdirSync(dir), fs.readdirSync(home)]).toEqual([before, []]);
    },
  );

  test('refuses the home itself: EMEND_STORE is left out for that', async () => {
    const home = await homeOf('home');
    await expect(resolveStore({ EMEND_STORE: home }, home)).rejects.toMatchObject({
      problem: { code: 'store_unusable', next: expect.stringContaining('unset EMEND_STORE') },
    });
  });

  test('refuses the directory that a home noted, and names the note', async () => {
    const home = await homeOf('home');
    const note = homePaths(home).storeNote;
    fs.writeFileSync(note, JSON.stringify({ v: 2, id: 'a'.repeat(32), path: '/mnt/store' }));
    await expect(resolveStore({}, home)).rejects.toMatchObject({
      problem: {
        code: 'store_unusable',
        message: expect.stringContaining(`${note} names "/mnt/store" as the store`),
        next: `Set EMEND_HOME to a new directory. Or, if no run of this home is open, type: rm '${note}'`,
      },
    });
    expect(fs.readdirSync(home)).toEqual(['store.json']);
  });
});

describe('a home on a network file system', () => {
  /** Returns the kernel's table of mounts with further mounts at its end. */
  const withMounts = (...lines: readonly string[]): Sys => ({
    ...realSys,
    readFile: async (path) =>
      path === '/proc/self/mountinfo'
        ? new TextEncoder().encode(
            ['22 1 254:0 / / rw - ext4 /dev/root rw', ...lines].map((line) => `${line}\n`).join(''),
          )
        : realSys.readFile(path),
  });
  /** The kernel writes a blank as an octal number. */
  const point = (path: string): string => path.replaceAll(' ', '\\040');

  test('is refused with its type, its server and its mount, before anything is written into it', async () => {
    const sys = withMounts(`36 22 0:31 / ${point(dir)} rw - nfs4 nas:/export/emend rw,vers=4.2`);
    await expect(resolveHome({ EMEND_HOME: join(dir, 'home') }, sys)).rejects.toMatchObject({
      problem: {
        code: 'home_unusable',
        message: `${dir}/home cannot be Emend's home: it is on a network file system: nfs4 (nas:/export/emend), mounted at ${dir}.`,
        next: 'Set EMEND_HOME to a directory on a local disk. Several hosts share runs through a bucket: EMEND_STORE=s3://BUCKET/PREFIX.',
      },
    });
    await expect(resolveStore({}, join(dir, 'home'), sys)).rejects.toMatchObject({
      problem: { code: 'home_unusable' },
    });
    expect(fs.readdirSync(join(dir, 'home'))).toEqual([]);
  });

  test('is refused if only a part of it is there', async () => {
    const blobs = join(dir, 'home', 'blobs');
    const sys = withMounts(`36 22 0:31 / ${point(blobs)} rw - cifs //nas/emend rw`);
    await expect(resolveHome({ EMEND_HOME: join(dir, 'home') }, sys)).rejects.toMatchObject({
      problem: {
        message: `${dir}/home cannot be Emend's home: a part of it is on a network file system: cifs (//nas/emend), mounted at ${blobs}.`,
      },
    });
  });

  test.each([
    ['a local mount over it', 'xfs /dev/sdb'],
    ['a bind mount of Docker Desktop', 'virtiofs share'],
    ['the root of gVisor', '9p none'],
  ])('is not suspected: %s', async (_, mount) => {
    const sys = withMounts(
      `36 22 0:31 / ${point(tmpdir())} rw - nfs4 nas:/x rw`,
      `37 36 0:32 / ${point(dir)} rw - ${mount} rw`,
    );
    expect(await resolveHome({ EMEND_HOME: join(dir, 'home') }, sys)).toBe(join(dir, 'home'));
  });
});

test('of two writers of a file, the second gets what the first wrote', async () => {
  const racing: Sys = {
    ...realSys,
    link: async (from, to) => {
      fs.writeFileSync(to, 'theirs');
      await realSys.link(from, to);
    },
  };
  const put = await putFileIfAbsent(racing, join(dir, 'x.json'), new TextEncoder().encode('ours'));
  expect({ created: put.created, text: new TextDecoder().decode(put.bytes) }).toEqual({
    created: false,
    text: 'theirs',
  });
  expect(fs.readdirSync(dir)).toEqual(['x.json']);
});
