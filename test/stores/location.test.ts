import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { homePaths, hostId, resolveHome } from '../../src/stores/home.js';
import { openStores, resolveStore } from '../../src/stores/location.js';
import { putFileIfAbsent } from '../../src/system/durable.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import type { ArchiveEntry } from '../../src/stores/ports.js';
import { errnoError } from '../support/sys-shim.js';

let dir: string;
beforeEach(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend store-')));
});
afterEach(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});
const homeOf = (name: string): Promise<string> => resolveHome({ EMEND_HOME: join(dir, name) });
const at = (store: string) => ({ EMEND_STORE: join(dir, store) });
const refused = (says: RegExp) => ({
  problem: { code: 'store_unusable', message: expect.stringMatching(says) },
});

describe('which store a home works with', () => {
  test('its own unless EMEND_STORE says otherwise; the id stays', async () => {
    const home = await homeOf('home');
    const stores = await Promise.all([
      resolveStore({}, home),
      resolveStore({ EMEND_STORE: '' }, home),
    ]);
    expect(stores[0]).toEqual({
      dir: home,
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      apart: false,
    });
    expect(stores[1]).toEqual(stores[0]);
    expect(await resolveStore({ EMEND_STORE: home }, home)).toEqual(stores[0]);
    expect(fs.existsSync(homePaths(home).storeNote)).toBe(false);
  });

  test('EMEND_STORE is made with mode 0700, shared by homes, and remembered where the variable is forgotten', async () => {
    const [a, b] = await Promise.all([homeOf('a'), homeOf('b')]);
    const [first, second] = await Promise.all([
      resolveStore(at('store'), a),
      resolveStore(at('store'), b),
    ]);
    expect(first).toEqual({ dir: join(dir, 'store'), id: expect.any(String), apart: true });
    expect(second).toEqual(first);
    expect(fs.statSync(first.dir).mode & 0o777).toBe(0o700);
    expect(await resolveStore({}, a)).toEqual(first);
    fs.renameSync(first.dir, join(dir, 'moved'));
    expect(await resolveStore(at('moved'), a)).toEqual({ ...first, dir: join(dir, 'moved') });
  });

  test('one that is not mounted, or another one, is refused and left as it is', async () => {
    const home = await homeOf('home');
    const { id } = await resolveStore(at('store'), home);
    fs.rmSync(join(dir, 'store'), { recursive: true });
    fs.mkdirSync(join(dir, 'store'), { mode: 0o700 });
    for (const env of [at('store'), {}])
      await expect(resolveStore(env, home)).rejects.toMatchObject(refused(/but there is no store/));
    expect(fs.readdirSync(join(dir, 'store'))).toEqual([]);
    const other = await resolveStore(at('other'), await homeOf('elsewhere'));
    await expect(resolveStore(at('other'), home)).rejects.toMatchObject(
      refused(
        new RegExp(`uses store ${id.slice(0, 8)} .*but it contains store ${other.id.slice(0, 8)}`),
      ),
    );
    // Its own home is no way out either: what the runs need is in the store.
    await expect(resolveStore({ EMEND_STORE: home }, home)).rejects.toMatchObject(
      refused(/there is no store/),
    );
  });

  test('a home with runs of its own is not pointed elsewhere without a word', async () => {
    const home = await homeOf('home');
    const { archive } = await openStores(home, await resolveStore({}, home));
    await archive.append('0123456789abcdef', [entry('1')]);
    await expect(resolveStore(at('store'), home)).rejects.toMatchObject(
      refused(/contains its own store \(archive\)/),
    );
    // As the message says: moved over, it works.
    fs.renameSync(join(home, 'archive'), join(dir, 'store', 'archive'));
    const apart = await openStores(home, await resolveStore(at('store'), home));
    expect(await apart.archive.list()).toEqual(['0123456789abcdef']);
  });

  test('one that another Emend made is refused, whichever home works with it', async () => {
    const { dir: store } = await resolveStore(at('store'), await homeOf('home'));
    fs.writeFileSync(join(store, 'store-id'), `3 ${'a'.repeat(32)}\n`);
    for (const home of ['home', 'new'])
      await expect(resolveStore(at('store'), await homeOf(home))).rejects.toMatchObject({
        problem: {
          code: 'version_unknown',
          message: `The store at ${store} has version 3; this Emend reads version 2.`,
        },
      });
  });

  test('another home is refused: what its workers wrote may only be in their logs', async () => {
    await hostId(await homeOf('other'));
    const home = await homeOf('home');
    await expect(resolveStore(at('other'), home)).rejects.toMatchObject(
      refused(/it is another home/),
    );
    expect(fs.existsSync(homePaths(home).storeNote)).toBe(false);
  });

  test('a file, and a directory that others may write to, are refused with what to do', async () => {
    const home = await homeOf('home');
    fs.writeFileSync(join(dir, 'file'), '');
    await expect(resolveStore(at('file'), home)).rejects.toMatchObject(
      refused(/it is not a directory/),
    );
    fs.mkdirSync(join(dir, 'open'));
    fs.chmodSync(join(dir, 'open'), 0o777);
    await expect(resolveStore(at('open'), home)).rejects.toMatchObject(
      refused(/other users can write to it/),
    );
    expect(fs.existsSync(homePaths(home).storeNote)).toBe(false);
  });
});

const entry = (
  id: string,
  time = '2026-01-01T00:00:00.000Z',
  data: unknown = id,
): ArchiveEntry => ({
  id,
  at: time,
  kind: 'event',
  data,
});
const KEY = '0123456789abcdef';

describe('archives in a shared store', () => {
  const archives = async (names: readonly string[]) =>
    Promise.all(
      names.map(async (name) => {
        const home = await homeOf(name);
        return {
          host: await hostId(home),
          ...(await openStores(home, await resolveStore(at('store'), home))),
        };
      }),
    );

  test('each home appends to a log of its own, everybody reads all of them', async () => {
    const [a, b] = await archives(['a', 'b']);
    const ids = Array.from({ length: 40 }, (_, i) => `${i}`);
    await Promise.all(ids.map((id, i) => (i % 2 === 0 ? a! : b!).archive.append(KEY, [entry(id)])));
    await b!.archive.append(KEY, [entry('1', undefined, 'again')]);
    expect(fs.readdirSync(join(dir, 'store', 'archive', KEY)).sort()).toEqual(
      [`log-${a!.host}.jsonl`, `log-${b!.host}.jsonl`].sort(),
    );
    for (const { archive } of [a!, b!]) {
      const read = await archive.read(KEY);
      expect(read.map((e) => e.id).sort()).toEqual([...ids].sort());
      expect(read.find((e) => e.id === '1')?.data).toBe('1');
      expect(await archive.find('0123')).toEqual([KEY]);
    }
  });

  test('what one home did keeps its order, whatever the clocks say; among homes the time decides', async () => {
    const [a, b] = await archives(['a', 'b']);
    const minute = (n: number) => `2026-01-01T00:0${n}:00.000Z`;
    await a!.archive.append(KEY, [
      entry('a1', minute(1)),
      entry('a2', minute(5)),
      entry('a3', minute(2)),
    ]);
    await b!.archive.append(KEY, [entry('b1', minute(3)), entry('b2', minute(6))]);
    expect((await a!.archive.read(KEY)).map((e) => e.id)).toEqual(['a1', 'b1', 'a2', 'a3', 'b2']);
  });
});

test('a link that was made although the reply was lost counts as ours (NFS sends it again and hears EEXIST)', async () => {
  let links = 0;
  const nfs: Sys = {
    ...realSys,
    link: async (from, to) => {
      links += 1;
      await realSys.link(from, to);
      throw errnoError('EEXIST', 'link', to);
    },
  };
  const text = new TextEncoder().encode('ours');
  expect(await putFileIfAbsent(nfs, join(dir, 'attempt-1.json'), text)).toEqual({
    bytes: text,
    created: true,
  });
  expect(links).toBe(1);
  expect(fs.readdirSync(dir)).toEqual(['attempt-1.json']);
  // Another's file is another's, the same reply or not.
  const racing: Sys = {
    ...realSys,
    link: async (from, to) => {
      fs.writeFileSync(to, 'theirs');
      await realSys.link(from, to);
    },
  };
  const put = await putFileIfAbsent(racing, join(dir, 'attempt-2.json'), text);
  expect({ created: put.created, text: new TextDecoder().decode(put.bytes) }).toEqual({
    created: false,
    text: 'theirs',
  });
});
