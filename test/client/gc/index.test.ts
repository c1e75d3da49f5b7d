import { mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { findUnused, removeUnused } from '../../../src/client/gc/index.js';
import type { Emend } from '../../../src/client/types.js';
import { storePaths } from '../../../src/stores/location.js';
import type { BlobRef } from '../../../src/shared/ids.js';
import { queueNames } from '../../../src/shared/names.js';
import { knownHosts, recordStart } from '../../../src/stores/hosts.js';
import { fakeEmend, FakeServer, startedData, problemOf, tempDir, NOTHING_UNUSED } from '../fake.js';
import { holds } from '../../support/blobs.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const MEMO = { stepKey: KEY, jobPath: 'job.md', title: 'A job', workspace: '/w' };
const put = (emend: Emend, text: string): Promise<BlobRef> =>
  emend.blobs.put(new TextEncoder().encode(text));
const hexOf = (ref: BlobRef): string => ref.slice('sha256:'.length);

describe('what may be removed', () => {
  test('is what neither archive, record, call, transaction nor open run names, not even through another file', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    const content = await put(emend, 'content of a file');
    const snapshot = await put(emend, JSON.stringify({ targets: [{ base: content }] }));
    const inHistory = await put(emend, 'only an open run knows me');
    const inRecord = await put(emend, 'a record names me');
    const nobody = await put(emend, 'nobody names me');
    await emend.archive.append(KEY, [
      { id: '1', at: '', kind: 'activity', data: { result: { snapshot } } },
    ]);
    await mkdir(join(emend.home, 'records'), { recursive: true });
    await writeFile(join(emend.home, 'records/x.json'), JSON.stringify({ ref: inRecord }));
    server.add(KEY, 'emend-1');
    server.historyText = async () => `…"${inHistory}"…`;
    const temp = join(emend.home, 'records', 'y.json.TMP-1-0123456789ab');
    await writeFile(temp, 'half');

    const found = await findUnused(emend, { olderThan_ms: -1000 });
    expect(found.blobs.map(({ path }) => path)).toEqual([
      join(emend.home, 'blobs', hexOf(nobody).slice(0, 2), hexOf(nobody)),
    ]);
    expect(found.temps.map(({ path }) => path)).toEqual([temp]);
    await removeUnused(emend, found);
    expect(await holds(emend.blobs, nobody)).toBe(false);
    for (const ref of [content, snapshot, inHistory, inRecord])
      expect(await holds(emend.blobs, ref)).toBe(true);
    expect(await readdir(join(emend.home, 'records'))).toEqual(['x.json']);
  });

  test('is not said where a file cannot be read, or lies on a disk that is not there', async () => {
    const emend = await fakeEmend(new FakeServer());
    const content = await put(emend, 'content of a file');
    const snapshot = hexOf(await put(emend, JSON.stringify({ base: content })));
    const records = join(emend.home, 'records');
    const disk = `${await tempDir()}/records`;
    await mkdir(disk);
    await writeFile(join(disk, 'x.json'), JSON.stringify({ snapshot: `sha256:${snapshot}` }));
    await symlink(disk, records);
    expect((await findUnused(emend, { olderThan_ms: -1000 })).blobs).toEqual([]);
    const blob = join(emend.home, 'blobs', snapshot.slice(0, 2), snapshot);
    await rename(blob, `${disk}/aside`);
    // As root no mode keeps a file from being read.
    await symlink(blob, blob);
    const refused = await problemOf(() => findUnused(emend, { olderThan_ms: -1000 }));
    expect(refused).toMatchObject({ code: 'disk', message: expect.stringContaining(blob) });
    await rm(blob);
    await mkdir(blob);
    expect(await problemOf(() => findUnused(emend, { olderThan_ms: -1000 }))).toMatchObject({
      code: 'disk',
      message: `Reading ${blob} failed: EISDIR (read).`,
    });
    await rm(blob, { recursive: true });
    await rename(`${disk}/aside`, blob);
    await rename(disk, `${disk}-away`);
    await expect(findUnused(emend, { olderThan_ms: -1000 })).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });

  test('outlines and tests of a base are caches: old ones go, with the blobs that they alone name', async () => {
    const emend = await fakeEmend(new FakeServer());
    const output = await put(emend, 'output of the tests');
    const records = storePaths(emend.store).records;
    const caches = ['outlines/ab/abcd-typescript.json', 'baselines/x.json'].map((name) =>
      join(records, name),
    );
    for (const path of [...caches, join(records, 'test-commands/y.json')]) {
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, JSON.stringify({ output }));
    }
    expect((await findUnused(emend, { olderThan_ms: 60_000 })).caches).toEqual([]);
    expect((await findUnused(emend, { olderThan_ms: -1000 })).blobs).toEqual([]);
    await rm(join(records, 'test-commands'), { recursive: true });
    const found = await findUnused(emend, { olderThan_ms: -1000 });
    expect(found.caches.map(({ path }) => path).sort()).toEqual([...caches].sort());
    await removeUnused(emend, found);
    expect(await holds(emend.blobs, output)).toBe(false);
  });

  test('starts of hosts go where no worker lives, none was heard lately and no known run began there', async () => {
    const server = new FakeServer();
    const [own, gone, lives, needed, young] = ['0a', 'ee', '1b', '2c', '3d'].map((each) =>
      each.repeat(16),
    ) as [...[string, string, string, string, string]];
    const emend = { ...(await fakeEmend(server)), queues: queueNames('emend', own) };
    const start = { name: 'build-1', machine: 'a0000001', boot: 'b0000001', build: 'emend-1' };
    const at = '2026-01-01T00:00:00.000Z';
    for (const id of [own, gone, lives, needed])
      await recordStart(emend.records, id, { ...start, at });
    await recordStart(emend.records, young, {
      ...start,
      at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const again = (await knownHosts(emend.records)).get(gone);
    await recordStart(emend.records, gone, { ...start, at, boot: 'b0000002' }, again);
    server.add(KEY, 'emend-1', { memo: { ...MEMO, host: needed } });
    const of = {
      boot: 'b0000001',
      store: '55555555',
      build: 'emend-1',
      versioned: false,
      said: '',
      seen_ms: 0,
    };
    server.seen = {
      [emend.queues.model]: [{ ...of, host: lives.slice(0, 8), is: 'live' }],
      [emend.queues.workflow]: [{ ...of, host: gone.slice(0, 8), is: 'silent' }],
    };
    expect((await findUnused(emend, { olderThan_ms: 60_000 })).hosts).toEqual([]);
    const found = await findUnused(emend, { olderThan_ms: -1000 });
    const { records } = storePaths(emend.store);
    expect(found.hosts.map(({ path }) => path).sort()).toEqual([
      `${records}/hosts/${gone}.000001.json`,
      `${records}/hosts/${gone}.000002.json`,
    ]);
    await removeUnused(emend, found);
    expect([...(await knownHosts(emend.records)).keys()].sort()).toEqual(
      [own, lives, needed, young].sort(),
    );
  });

  test('what is young stays, also when it only became young after it was found', async () => {
    const emend = await fakeEmend(new FakeServer());
    const ref = await put(emend, 'young');
    expect(await findUnused(emend, { olderThan_ms: 60_000 })).toEqual(NOTHING_UNUSED);
    const found = await findUnused(emend, { olderThan_ms: -1000 });
    expect(found.blobs).toHaveLength(1);
    const soon = new Date(Date.now() + 60_000);
    await utimes(found.blobs[0]!.path, soon, soon);
    await removeUnused(emend, found);
    expect(await holds(emend.blobs, ref)).toBe(true);
  });

  test('blobs of a shared store are kept by what other homes left there; temporary files of the home are found, too', async () => {
    const emend = { ...(await fakeEmend(new FakeServer())), home: await tempDir() };
    const theirs = await put(emend, 'named by the log of another home');
    const nobody = await put(emend, 'nobody names me');
    const log = join(emend.store, 'archive', KEY, 'log-0123.jsonl');
    await mkdir(join(log, '..'), { recursive: true });
    await writeFile(
      log,
      `${JSON.stringify({ v: 2, id: '1', at: '', kind: 'activity', data: { theirs } })}\n`,
    );
    const inTransaction = await put(emend, 'named by a transaction of this home');
    await mkdir(join(emend.home, 'transactions'));
    await writeFile(
      join(emend.home, 'transactions', 'plan.json'),
      JSON.stringify({ inTransaction }),
    );
    const temp = join(emend.home, 'host-id.TMP-1-0123456789ab');
    await writeFile(temp, '');
    const ofIndex = join(emend.home, 'index', 'runs.log.TMP-1-0123456789ab');
    await mkdir(join(emend.home, 'index'), { recursive: true });
    await writeFile(ofIndex, '');
    const found = await findUnused(emend, { olderThan_ms: -1000 });
    expect(found.blobs.map(({ path }) => path.slice(-64))).toEqual([hexOf(nobody)]);
    expect(found.temps.map(({ path }) => path).sort()).toEqual([temp, ofIndex].sort());
  });

  test('nothing is removed while runs of another namespace may be open, unless a person says that they are not', async () => {
    const emend = await fakeEmend(new FakeServer());
    await put(emend, 'perhaps named by a history that nobody here can read');
    const at = '2026-01-01T00:00:00.000Z';
    const data = startedData({ namespace: 'elsewhere' });
    await emend.archive.append(KEY, [{ id: 'started', at, kind: 'started', data }]);
    expect(await problemOf(() => findUnused(emend, { olderThan_ms: -1000 }))).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('elsewhere (1)'),
      next: expect.stringContaining('--assume-closed elsewhere'),
    });
    expect(
      (await findUnused(emend, { olderThan_ms: -1000, assumeClosed: ['elsewhere'] })).blobs,
    ).toHaveLength(1);
    const closed = { status: 'TERMINATED', result: null, message: null };
    await emend.archive.append(KEY, [{ id: 'closed-run-1', at, kind: 'closed', data: closed }]);
    expect((await findUnused(emend, { olderThan_ms: -1000 })).blobs).toHaveLength(1);
  });

  test('nothing can be said without a server', async () => {
    expect(
      await problemOf(async () => findUnused(await fakeEmend(null), { olderThan_ms: 0 })),
    ).toMatchObject({
      code: 'no_server',
    });
  });
});
