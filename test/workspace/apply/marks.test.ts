/** Marks of open transactions: a start finds every transaction that a dead process left, and looks at no other run. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { homePaths } from '../../../src/stores/home.js';
import { realSys, type Sys } from '../../../src/system/sys.js';
import { errnoError } from '../../support/sys-shim.js';
import { leftovers, makeScene, requestOf, sidesOf, type Scene } from '../apply-scene.js';

const FILES = [{ path: 'a.txt', before: 'a\n', after: 'b\n' }];
const DEAD = { boot: 'another-boot', pid: 1, started: '1' };
const SETTLED = 20;

let scene: Scene;
beforeEach(async () => {
  scene = await makeScene(FILES);
  fs.mkdirSync(transactions());
});
afterEach(() => scene.remove());

const transactions = (): string => homePaths(scene.home).transactions;
const marksDir = (): string => join(homePaths(scene.home).index, 'transactions');
const marks = (): readonly string[] => fs.readdirSync(marksDir()).filter((n) => n !== 'complete');

/** Leaves a transaction after its point of no return, as a process that died there. */
const die = async (): Promise<void> => {
  const rename: Sys['rename'] = (from, to) =>
    from.startsWith(scene.home)
      ? realSys.rename(from, to)
      : Promise.reject(errnoError('EIO', 'rename', from));
  const engine = scene.engine({ sys: { ...realSys, rename }, process: DEAD });
  await engine.apply(scene.request).catch(() => null);
  expect(leftovers(scene.workspace)).not.toEqual([]);
};

/** Recovers as a start does, and counts the folders that it reads. */
const start = async (options: Parameters<Scene['engine']>[0] = {}) => {
  const read: string[] = [];
  const readdir: Sys['readdir'] = (path) => {
    if (path.startsWith(`${transactions()}/`)) read.push(path);
    return realSys.readdir(path);
  };
  const recovered = await scene
    .engine({ sys: { ...realSys, readdir }, ...options })
    .recoverMarked();
  return { dids: recovered.map(({ did }) => did), read };
};

const settle = async (): Promise<void> => {
  for (let n = 0; n < SETTLED; n += 1) {
    const stepKey = `${n}`.padStart(32, 'a');
    const request = requestOf(scene.workspace, FILES, 1, stepKey);
    expect(await scene.engine().apply(request)).toMatchObject({ outcome: 'applied' });
    expect(await scene.engine().rollback(request)).toMatchObject({ outcome: 'rolled_back' });
    const lock = await scene.engine().readLock(scene.workspace);
    await scene.engine().releaseLock(scene.workspace, stepKey, lock!.token);
  }
};

test('a start looks through all folders once in a boot, then only into marked ones', async () => {
  await settle();
  expect(marks()).toEqual([]);
  expect((await start()).read.length).toBeGreaterThan(SETTLED);
  expect(await start()).toEqual({ dids: [], read: [] });
  await die();
  expect(marks()).toHaveLength(1);
  const found = await start();
  expect(found.dids).toEqual(['finished']);
  expect(
    new Set(found.read.map((path) => path.slice(transactions().length + 1).split('/')[0])),
  ).toEqual(new Set([scene.request.stepKey]));
  expect(sidesOf(scene)).toEqual(['new']);
  expect(leftovers(scene.workspace)).toEqual([]);
  expect((await start()).dids).toEqual([]);
});

test('a transaction that was open when all folders were looked through gets a mark', async () => {
  await die();
  fs.rmSync(marksDir(), { recursive: true });
  fs.renameSync(scene.workspace, `${scene.workspace}-away`);
  expect((await start()).dids).toEqual(['workspace_missing']);
  expect(marks()).toHaveLength(1);
  expect((await start()).dids).toEqual(['workspace_missing']);
  fs.renameSync(`${scene.workspace}-away`, scene.workspace);
  expect((await start()).dids).toEqual(['finished']);
});

test('marks of another boot, of another directory, or without an undamaged note do not count', async () => {
  const complete = join(marksDir(), 'complete');
  const isThorough = async (): Promise<boolean> => (await start()).read.length > 0;
  await settle();
  await start();
  expect(await isThorough()).toBe(false);
  fs.writeFileSync(complete, fs.readFileSync(complete, 'utf8').replace(/-/, '+'));
  expect(await isThorough()).toBe(true);
  expect(await isThorough()).toBe(false);
  fs.truncateSync(complete, 10);
  expect(await isThorough()).toBe(true);
  // An older copy of the home is restored.
  fs.cpSync(transactions(), `${transactions()}-copy`, { recursive: true });
  fs.rmSync(transactions(), { recursive: true });
  fs.renameSync(`${transactions()}-copy`, transactions());
  expect(await isThorough()).toBe(true);
  expect(await isThorough()).toBe(false);
  fs.rmSync(homePaths(scene.home).index, { recursive: true });
  expect(await isThorough()).toBe(true);
  expect((await start({ process: { ...DEAD, boot: 'a-later-boot' } })).read).not.toEqual([]);
});

test('if a mark cannot be made, the next start looks through all folders', async () => {
  await start();
  const append: Sys['append'] = (path, bytes, sync) =>
    path.startsWith(marksDir())
      ? Promise.reject(errnoError('ENOSPC', 'open', path))
      : realSys.append(path, bytes, sync);
  const applied = await scene.engine({ sys: { ...realSys, append } }).apply(scene.request);
  expect(applied).toMatchObject({ outcome: 'applied' });
  expect(fs.readdirSync(marksDir())).toEqual([]);
  expect((await start()).read).not.toEqual([]);
});

test('if what is open cannot be marked, the next start looks through all folders again', async () => {
  await die();
  fs.rmSync(marksDir(), { recursive: true });
  fs.renameSync(scene.workspace, `${scene.workspace}-away`);
  const append: Sys['append'] = (path) => Promise.reject(errnoError('ENOSPC', 'open', path));
  const engine = scene.engine({ sys: { ...realSys, append } });
  expect(await engine.recoverMarked()).toMatchObject([{ did: 'workspace_missing' }]);
  expect(fs.existsSync(join(marksDir(), 'complete'))).toBe(false);
  expect((await start()).dids).toEqual(['workspace_missing']);
});

test('an old mark of a run of which nothing is left to do is removed', async () => {
  await settle();
  await start();
  const path = join(marksDir(), `${'0'.padStart(32, 'a')}.0123456789ab`);
  fs.writeFileSync(path, '');
  await start();
  // It is young: its attempt may be about to write its plan.
  expect(marks()).toHaveLength(1);
  const stat: Sys['stat'] = async (file) => {
    const found = await realSys.stat(file);
    return file === path ? { ...found, changed_ns: 0n } : found;
  };
  await scene.engine({ sys: { ...realSys, stat } }).recoverMarked();
  expect(marks()).toEqual([]);
});
