/** Which layers `emend gc` takes: those of ended runs, whatever their age, and those of killed commands. What is used stays. */
import { existsSync } from 'node:fs';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { findUnused, removeUnused } from '../../../src/client/gc/index.js';
import type { Emend } from '../../../src/client/types.js';
import { makeOwnedDirectory } from '../../../src/system/scratch.js';
import { layersDir } from '../../../src/workspace/layers/index.js';
import { holds } from '../../support/blobs.js';
import { fakeEmend, FakeServer, startedData } from '../fake.js';

const keyOf = (digit: number): string => String(digit).repeat(32);
const KEY = keyOf(1);
const HOUR_MS = 3_600_000;
const DEAD = 'command.00000000.1.00000000.abcdef';

let server: FakeServer;
let emend: Emend;
beforeEach(async () => {
  server = new FakeServer();
  emend = await fakeEmend(server);
});

/** Adds a file of 5 bytes to a layer of the run. */
const write = async (run: string, layer = 'warm'): Promise<string> => {
  const path = join(layersDir(emend.home), run, layer);
  await mkdir(join(path, 'out'), { recursive: true });
  await writeFile(join(path, 'out/f'), '12345');
  return path;
};
const makeOld = async (path: string): Promise<void> => {
  const old = new Date(Date.now() - 48 * HOUR_MS);
  await utimes(path, old, old);
};
const start = (run: string, data: object = {}): Promise<void> => {
  const more = startedData({ workflowId: `emend-${run}`, ...data });
  return emend.archive.append(run, [{ id: 'started', at: '', kind: 'started', data: more }]);
};
const close = (run: string): Promise<void> =>
  emend.archive.append(run, [
    {
      id: 'closed-run-1',
      at: '',
      kind: 'closed',
      data: { status: 'TERMINATED', result: null, message: null },
    },
  ]);
const unused = async (assumeClosed: readonly string[] = []) =>
  (await findUnused(emend, { olderThan_ms: HOUR_MS, assumeClosed })).layers;
const ofRun = (run: string, files = 1) => ({
  path: join(layersDir(emend.home), run),
  files,
  bytes: files * 5,
});

test('layers of a run that the server knows as open stay, and are removed once it has ended', async () => {
  await start(KEY);
  const run = server.add(KEY, `emend-${KEY}`);
  const warm = await write(KEY);
  await makeOld(join(layersDir(emend.home), KEY));
  expect(await unused()).toEqual([]);
  server.close(run, { status: 'COMPLETED', result: null, message: null });
  const found = await findUnused(emend, { olderThan_ms: HOUR_MS });
  expect(found.layers).toEqual([ofRun(KEY)]);
  expect(await removeUnused(emend, found)).toMatchObject({ files: 1, bytes: 5 });
  expect(existsSync(warm)).toBe(false);
});

test('layers of a run that the server has forgotten are removed if its archive says that it ended', async () => {
  await start(KEY);
  await start(keyOf(2));
  await close(keyOf(2));
  await write(KEY);
  await write(keyOf(2));
  expect(await unused()).toEqual([ofRun(keyOf(2))]);
});

test('layers of a run that nobody knows, or without a run, are removed once they are old', async () => {
  for (const run of [KEY, 'probe']) await write(run);
  expect(await unused()).toEqual([]);
  for (const run of [KEY, 'probe']) await makeOld(join(layersDir(emend.home), run));
  expect(await unused()).toEqual([ofRun(KEY), ofRun('probe')]);
});

test("layers of another namespace's run stay unless it counts as closed", async () => {
  await start(KEY, { namespace: 'other' });
  await write(KEY);
  await makeOld(join(layersDir(emend.home), KEY));
  await close(KEY);
  expect(await unused()).toEqual([]);
  expect(await unused(['other'])).toEqual([ofRun(KEY)]);
});

test('of a run in which a process works only the layers of killed commands are removed', async () => {
  await start(KEY);
  await close(KEY);
  const dead = await write(KEY, DEAD);
  await write(KEY);
  // Of a container that may be alive.
  expect(await unused()).toEqual([]);
  await makeOld(dead);
  expect(await unused()).toEqual([ofRun(KEY, 2)]);
  await makeOwnedDirectory(join(layersDir(emend.home), KEY), 'command');
  expect(await unused()).toEqual([{ path: dead, files: 1, bytes: 5 }]);
});

test('layers in which a process has begun to work since they were found stay', async () => {
  await start(KEY);
  await close(KEY);
  const warm = await write(KEY);
  const found = await findUnused(emend, { olderThan_ms: HOUR_MS });
  expect(found.layers).toHaveLength(1);
  await makeOwnedDirectory(join(layersDir(emend.home), KEY), 'command');
  expect(await removeUnused(emend, found)).toMatchObject({ files: 0, bytes: 0 });
  expect(existsSync(warm)).toBe(true);
});

test('a file on a layer keeps no blob', async () => {
  const ref = await emend.blobs.put(new TextEncoder().encode('named on a layer only'));
  await writeFile(join(await write(KEY), 'out/g'), ref);
  const found = await findUnused(emend, { olderThan_ms: -1000 });
  expect(found.blobs).toHaveLength(1);
  await removeUnused(emend, found);
  expect(await holds(emend.blobs, ref)).toBe(false);
});
