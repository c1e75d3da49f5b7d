import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { refOf } from '../../src/system/hash.js';
import { createRecordStore } from '../../src/stores/directory/records.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import type { ArchiveEntry } from '../../src/stores/ports.js';
import type { ChildAnswer } from '../crash/stores-child.js';
import { sampled, spread } from '../support/seeded.js';
import { errnoError, shimSys } from '../support/sys-shim.js';
import { transpile } from '../support/transpile.js';
import { holds } from '../support/blobs.js';

let dir: string;
beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), 'emend stores-'));
});
afterEach(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});
const bytes = (text: string) => new TextEncoder().encode(text);
const noLinks: Sys = {
  ...realSys,
  link: (_, path) => Promise.reject(errnoError('EPERM', 'link', path)),
};
const entry = (id: string, data: unknown = id): ArchiveEntry => ({
  id,
  at: '2026-01-01T00:00:00Z',
  kind: 'event',
  data,
});
const KEY = '0123456789abcdef';

describe.each([
  ['with hard links', realSys],
  ['without hard links', noLinks],
])('blobs and records %s', (_name, sys) => {
  test('a blob comes back by its ref, however often it is put', async () => {
    const store = createBlobStore({ dir, sys });
    const text = 'bytes \0 and more';
    const refs = await Promise.all(Array.from({ length: 8 }, () => store.put(bytes(text))));
    expect(new Set(refs)).toEqual(new Set([refOf(bytes(text))]));
    expect(Buffer.from(await store.get(refs[0]!)).toString()).toBe(text);
    expect(await holds(store, refs[0]!)).toBe(true);
    expect(
      fs.readdirSync(dir, { recursive: true }).filter((n) => String(n).includes('.TMP-')),
    ).toEqual([]);
  });

  test('one writer of a record wins, everybody gets its value', async () => {
    const store = createRecordStore({ dir, sys });
    const puts = await Promise.all(
      Array.from({ length: 16 }, (_, i) => store.putIfAbsent('a/b-1', { i })),
    );
    expect(puts.filter((p) => p.created)).toHaveLength(1);
    expect(new Set(puts.map((p) => p.value.i)).size).toBe(1);
    expect(await store.get('a/b-1')).toEqual(puts[0]?.value);
    expect(await store.putIfAbsent('a/b-1', { i: 99 })).toEqual({
      value: puts[0]?.value,
      created: false,
    });
  });

  test('every system call that fails: a disk problem with path and errno, nothing half there, and the next put succeeds', async () => {
    // The first put of a process also syncs the folders above `dir`; the later ones, whose calls are counted, do not.
    await createRecordStore({ dir: join(dir, 'first'), sys }).putIfAbsent('k', { at: 0 });
    const count = shimSys(sys);
    await createRecordStore({ dir: join(dir, 'count'), sys: count.sys }).putIfAbsent('k', {
      at: 0,
    });
    let failures = 0;
    const calls = Array.from({ length: count.calls() }, (_, i) => i + 1);
    const chosen = sampled('system calls of a record', calls, 4);
    for (const at of chosen) {
      const where = join(dir, `${at}`);
      const shim = shimSys(sys, { at, when: 'before', fault: { errno: 'ENOSPC', short: true } });
      const failed = await createRecordStore({ dir: where, sys: shim.sys })
        .putIfAbsent('k', { at })
        .then(
          () => null,
          (error: unknown) => error as Error,
        );
      expect(shim.fired()).toBe(true);
      const store = createRecordStore({ dir: where, sys });
      if (failed === null) {
        // The call would have failed anyhow (its directory was still to be made): a put that says it succeeded did.
        expect(await store.get('k')).toEqual({ at });
        continue;
      }
      failures++;
      expect(failed).toMatchObject({ problem: { code: 'disk' } });
      expect(failed.message).toMatch(/ENOSPC/);
      expect(failed.message).toContain(where);
      expect([null, { at }]).toContainEqual(await store.get('k'));
      expect((await store.putIfAbsent('k', { at })).value).toEqual({ at });
    }
    expect(failures).toBeGreaterThan(chosen.length - 3);
  });
});

describe('blobs', () => {
  test('lost, damaged and truncated blobs are told; a put mends them', async () => {
    const store = createBlobStore({ dir });
    const ref = await store.put(bytes('text'));
    const path = join(dir, ref.slice(7, 9), ref.slice(7));
    fs.chmodSync(path, 0o600);
    for (const damage of ['', 'texT', 'text more']) {
      fs.writeFileSync(path, damage);
      await expect(store.get(ref)).rejects.toMatchObject({ problem: { code: 'blob_lost' } });
      await store.put(bytes('text'));
      expect(Buffer.from(await store.get(ref)).toString()).toBe('text');
      fs.chmodSync(path, 0o600);
    }
    fs.rmSync(path);
    expect(await holds(store, ref)).toBe(false);
    await expect(store.get(ref)).rejects.toMatchObject({ problem: { code: 'blob_lost' } });
    await expect(store.get('sha256:../../etc/passwd')).rejects.toMatchObject({
      problem: { code: 'blob_lost' },
    });
  });
});

describe('records', () => {
  test.each(['../x', 'a//b', '/a', 'a/../b', 'A', 'a b', '', '.', 'x'.repeat(300)])(
    'the key %j is a bug',
    async (key) => {
      await expect(createRecordStore({ dir }).get(key)).rejects.toMatchObject({
        problem: { code: 'internal' },
      });
    },
  );
  test('absent is null', async () => {
    expect(await createRecordStore({ dir }).get('nothing')).toBeNull();
  });
});

describe('archive', () => {
  test('entries come back in order; repeated ids are dropped', async () => {
    const archive = createArchive({ dir });
    await archive.append(KEY, [entry('1'), entry('2')]);
    await archive.append(KEY, [entry('2', 'again'), entry('3', { text: 'line\nbreak ü' })]);
    expect((await archive.read(KEY)).map((e) => [e.id, e.data])).toEqual([
      ['1', '1'],
      ['2', '2'],
      ['3', { text: 'line\nbreak ü' }],
    ]);
    expect(await archive.read('ffffffffffff')).toEqual([]);
  });

  test('a line torn at any byte is ignored, and healed by the next append', async () => {
    const archive = createArchive({ dir });
    await archive.append(KEY, [entry('1')]);
    const log = join(dir, KEY, 'log.jsonl');
    const whole = fs.readFileSync(log);
    const second = Buffer.from(`${JSON.stringify({ v: 2, ...entry('torn ü') })}\n`);
    const cuts = Array.from({ length: second.length - 1 }, (_, i) => i + 1);
    for (const cut of spread(cuts, 10)) {
      fs.writeFileSync(log, Buffer.concat([whole, second.subarray(0, cut)]));
      expect((await archive.read(KEY)).map((e) => e.id)).toEqual(['1']);
      await archive.append(KEY, [entry('3')]);
      // Cut just before its line end the line is whole, and the next append makes it count.
      expect((await archive.read(KEY)).map((e) => e.id)).toEqual(
        cut === second.length - 1 ? ['1', 'torn ü', '3'] : ['1', '3'],
      );
    }
  });

  test('a short write is written anew; a disk that takes nothing more is a problem', async () => {
    let shorts = 1;
    const sys: Sys = {
      ...realSys,
      append: (path, data) =>
        realSys.append(path, shorts-- > 0 ? data.subarray(0, data.length - 5) : data),
    };
    const archive = createArchive({ dir, sys });
    await archive.append(KEY, [entry('1'), entry('2')]);
    expect((await archive.read(KEY)).map((e) => e.id)).toEqual(['1', '2']);
    shorts = 99;
    await expect(archive.append(KEY, [entry('3')])).rejects.toMatchObject({
      problem: { code: 'disk' },
    });
    shorts = 0;
    await archive.append(KEY, [entry('4')]);
    expect((await archive.read(KEY)).map((e) => e.id)).toEqual(['1', '2', '4']);
  });

  test('many appenders at once lose nothing', async () => {
    const archives = [createArchive({ dir }), createArchive({ dir })];
    const ids = Array.from({ length: 60 }, (_, i) => `${i}`);
    await Promise.all(
      ids.map((id, i) => archives[i % 2]!.append(KEY, [entry(id, 'x'.repeat(5000))])),
    );
    expect((await archives[0]!.read(KEY)).map((e) => e.id).sort()).toEqual([...ids].sort());
  });

  test('of many kept files the last is found without reading the others', async () => {
    const read: string[] = [];
    const sys: Sys = {
      ...realSys,
      readFile: (path) => {
        read.push(path);
        return realSys.readFile(path);
      },
    };
    const archive = createArchive({ dir, sys });
    expect(await archive.lastFile(KEY, 'checkpoint-')).toBeNull();
    for (const n of ['01', '02', '10']) await archive.putFile(KEY, `checkpoint-${n}`, { n });
    await archive.putFile(KEY, 'checkup', {});
    read.length = 0;
    expect(await archive.lastFile(KEY, 'checkpoint-')).toEqual({ n: '10' });
    expect(read).toEqual([join(dir, KEY, 'checkpoint-10.json')]);
  });

  test('find: by prefix, newest first', async () => {
    const archive = createArchive({ dir });
    // Files' clocks tick every few milliseconds only.
    const tick = () => new Promise((resolve) => setTimeout(resolve, 30));
    for (const key of ['aaaa0000', 'aaaa1111', 'bbbb0000']) {
      await archive.append(key, [entry('1')]);
      await tick();
    }
    fs.mkdirSync(join(dir, 'aaaa2222'));
    expect(await archive.find('aaaa')).toEqual(['aaaa1111', 'aaaa0000']);
    expect(await archive.names()).toHaveLength(4);
    await archive.append('aaaa0000', [entry('2')]);
    expect((await archive.find('aaaa'))[0]).toBe('aaaa0000');
  });
});

test('many processes at once: one record each, one host id, one lock', async () => {
  const child = transpile('stores', 'test/crash/stores-child.ts');
  try {
    const workspace = join(dir, 'work');
    fs.mkdirSync(workspace);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const run = promisify(execFile);
    const outs = await Promise.all(
      names.map((name) => run(process.execPath, [child.path, dir, workspace, name])),
    );
    const got = outs.map((o) => JSON.parse(o.stdout) as ChildAnswer);
    for (let key = 0; key < 20; key++) {
      const puts = got.map((g) => g.puts[key]!);
      expect(puts.filter((p) => p.created)).toHaveLength(1);
      expect(new Set(puts.map((p) => p.value.by)).size).toBe(1);
    }
    expect(new Set(got.map((g) => g.host)).size).toBe(1);
    expect(new Set(got.map((g) => g.blob)).size).toBe(1);
    expect(got.map((g) => g.lock).sort()).toEqual(['busy', 'busy', 'busy', 'busy', 'busy', 'held']);
  } finally {
    child.remove();
  }
});
