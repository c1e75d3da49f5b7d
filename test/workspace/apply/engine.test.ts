import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { realSys, type Sys } from '../../../src/system/sys.js';
import { sampled } from '../../support/seeded.js';
import { errnoError, shownPath } from '../../support/sys-shim.js';
import {
  leftovers,
  makeScene,
  mixedFiles,
  requestOf,
  sidesOf,
  snapshot,
  STEP,
  type Scene,
  type SceneFile,
} from '../apply-scene.js';

let scene: Scene;
const start = async (files: readonly SceneFile[], options?: { git?: boolean }): Promise<Scene> => {
  scene = await makeScene(files, { ...options, disk: true });
  return scene;
};
afterEach(() => {
  scene.remove();
});
/** The bound in src/workspace/apply/prepare.ts. */
const AT_ONCE = 4;
const ONE: SceneFile = { path: 'a.txt', before: 'old\n', after: 'new\n' };

describe('apply', () => {
  test.each(sampled('numbers of files', [1, 2, 12], 1))(
    'changes %i files of every kind, bytes and modes, whatever the umask',
    async (count) => {
      const { request, workspace, engine } = await start(mixedFiles(count), { git: true });
      const umask = process.umask(0o077);
      const outcome = await engine()
        .apply(request)
        .finally(() => process.umask(umask));
      expect(outcome).toMatchObject({
        outcome: 'applied',
        files: request.files,
        lock: { stepKey: STEP, token: 1, headRef: 'refs/heads/main' },
      });
      expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
      expect(leftovers(workspace)).toEqual([]);
    },
  );

  test('many files: results are made durable several at a time, a directory once a moment however much was made in it', async () => {
    const made = Array.from({ length: 24 }, (_, i): SceneFile => {
      return { path: `made/${i}/a.txt`, before: null, after: `${i}\n` };
    });
    const { request, engine, at } = await start(made);
    const syncs = new Map<string, number>();
    let [now, most] = [0, 0];
    const sys: Sys = {
      ...realSys,
      fsyncDir: (path) => {
        const shown = shownPath(path);
        syncs.set(shown, (syncs.get(shown) ?? 0) + 1);
        return realSys.fsyncDir(path);
      },
      writeExclusive: async (path, ...rest) => {
        if (path.endsWith('.tmp')) most = Math.max(most, (now += 1));
        await realSys.writeExclusive(path, ...rest);
        if (path.endsWith('.tmp')) now -= 1;
      },
    };
    expect(await engine({ sys }).apply(request)).toMatchObject({ outcome: 'applied' });
    expect(most).toBe(AT_ONCE);
    expect(syncs.get(at('made'))).toBe(1);
    expect(syncs.get(at('made/0'))).toBe(3);
  });

  test('one of many results cannot be written: nothing that was begun beside it is left', async () => {
    const { request, workspace, engine } = await start(mixedFiles(12));
    let writes = 0;
    const sys: Sys = {
      ...realSys,
      writeExclusive: async (path, ...rest) => {
        const isTemp = path.endsWith('.tmp');
        if (isTemp && ++writes === 2) throw errnoError('EIO', 'write', path);
        // The others are slower than what the failure brings about.
        if (isTemp) await sleep(50);
        await realSys.writeExclusive(path, ...rest);
      },
    };
    expect(await engine({ sys }).apply(request)).toMatchObject({
      outcome: 'failed',
      problem: { code: 'disk' },
    });
    expect(writes).toBeLessThanOrEqual(AT_ONCE);
    await sleep(100);
    expect(leftovers(workspace)).toEqual([]);
    expect(new Set(sidesOf(scene))).toEqual(new Set(['old']));
  });

  test('again with the same key: the same outcome, and nothing is touched', async () => {
    const { request, workspace, engine } = await start(mixedFiles(6));
    const first = await engine().apply(request);
    const inodes = () =>
      scene.files.filter((f) => f.after !== null).map((f) => fs.statSync(scene.at(f.path)).ino);
    const before = [snapshot(workspace), inodes()];
    expect(await engine().apply(request)).toEqual(first);
    expect([snapshot(workspace), inodes()]).toEqual(before);
  });

  test('a closed record whose files are at their base again is a conflict, not a second apply', async () => {
    const { request, engine, at } = await start([ONE]);
    await engine().apply(request);
    fs.writeFileSync(at('a.txt'), 'old\n');
    expect(await engine().apply(request)).toMatchObject({
      outcome: 'conflict',
      files: [],
      conflicts: [{ path: 'a.txt' }],
    });
    expect(fs.readFileSync(at('a.txt'), 'utf8')).toBe('old\n');
  });

  test('a file that is at its result already is left as it is, and counts as applied', async () => {
    const { request, engine, at } = await start([
      ONE,
      { path: 'b.txt', before: 'b\n', after: 'B\n' },
    ]);
    fs.writeFileSync(at('a.txt'), 'new\n');
    const { ino } = fs.statSync(at('a.txt'));
    expect(await engine().apply(request)).toMatchObject({
      outcome: 'applied',
      files: ['a.txt', 'b.txt'],
    });
    expect(fs.statSync(at('a.txt')).ino).toBe(ino);
  });

  test('a file and one below its path: refused, nothing is written', async () => {
    const { request, engine, workspace } = await start([
      { path: 'n', before: null, after: 'n\n' },
      { path: 'n/b.txt', before: null, after: 'b\n' },
    ]);
    const before = snapshot(workspace);
    expect(await engine().apply(request)).toMatchObject({
      outcome: 'base_changed',
      conflicts: [{ path: 'n', why: 'n: the proposal also makes files below it' }],
    });
    expect(snapshot(workspace)).toEqual(before);
  });

  const disturbed: [string, (path: string) => void, SceneFile][] = [
    [
      'other bytes',
      (p) => {
        fs.writeFileSync(p, 'mine\n');
      },
      ONE,
    ],
    [
      'another mode',
      (p) => {
        fs.chmodSync(p, 0o755);
      },
      ONE,
    ],
    [
      'a file that is gone',
      (p) => {
        fs.rmSync(p);
      },
      ONE,
    ],
    [
      'a file that became a directory',
      (p) => {
        fs.rmSync(p);
        fs.mkdirSync(p);
      },
      ONE,
    ],
    [
      'a new file that is there already',
      (p) => {
        fs.writeFileSync(p, 'mine\n');
      },
      { path: 'n.txt', before: null, after: 'n\n' },
    ],
    [
      'a file to delete that changed',
      (p) => {
        fs.writeFileSync(p, 'mine\n');
      },
      { path: 'd.txt', before: 'd\n', after: null },
    ],
    [
      'a directory that became a file',
      (p) => {
        fs.rmSync(dirname(p), { recursive: true });
        fs.writeFileSync(dirname(p), 'x');
      },
      { path: 'p/f', before: 'p\n', after: 'P\n' },
    ],
  ];
  test.each(sampled('what is disturbed', disturbed, 3))(
    '%s: base_changed, nothing is written, the lock is free again',
    async (_what, disturb, file) => {
      const { request, engine, at, workspace } = await start([
        { path: 'z.txt', before: 'z\n', after: 'Z\n' },
        file,
      ]);
      disturb(at(file.path));
      const before = snapshot(workspace);
      expect(await engine().apply(request)).toMatchObject({
        outcome: 'base_changed',
        conflicts: [{ path: file.path }],
      });
      expect(snapshot(workspace)).toEqual(before);
      expect(await engine().readLock(workspace)).toBeNull();
    },
  );

  test('special mode bits are kept', async () => {
    const { request, engine, at } = await start([ONE]);
    fs.chmodSync(at('a.txt'), 0o2644);
    expect(await engine().apply(request)).toMatchObject({ outcome: 'applied' });
    expect(fs.statSync(at('a.txt')).mode & 0o7777).toBe(0o2644);
  });

  test('files of a person are only looked at', async () => {
    const person: SceneFile = { path: 'p.txt', before: 'p\n', after: 'P\n', by: 'person' };
    const { request, engine, at } = await start([ONE, person]);
    expect(await engine().apply(request)).toMatchObject({
      outcome: 'base_changed',
      conflicts: [{ path: 'p.txt' }],
    });
    fs.writeFileSync(at('p.txt'), 'P\n');
    const { ino } = fs.statSync(at('p.txt'));
    expect(await engine().apply(request)).toMatchObject({
      outcome: 'applied',
      files: ['a.txt', 'p.txt'],
    });
    expect(fs.statSync(at('p.txt')).ino).toBe(ino);
    expect(await engine().rollback(request)).toEqual({
      outcome: 'rolled_back',
      files: ['a.txt'],
      leftAlone: [],
    });
    expect(fs.readFileSync(at('p.txt'), 'utf8')).toBe('P\n');
  });

  test('only the files asked for are applied', async () => {
    const { request, engine } = await start([ONE, { path: 'b.txt', before: 'b\n', after: 'B\n' }]);
    expect(await engine().apply({ ...request, files: ['b.txt'] })).toMatchObject({
      outcome: 'applied',
      files: ['b.txt'],
    });
    expect(sidesOf(scene)).toEqual(['old', 'new']);
  });

  test('a proposal that does not have the approved id is a bug, and refused', async () => {
    const { request, engine } = await start([ONE]);
    const other = requestOf(scene.workspace, [{ ...ONE, after: 'evil\n' }]);
    await expect(engine().apply({ ...request, proposal: other.proposal })).rejects.toMatchObject({
      problem: { code: 'internal' },
    });
    expect(sidesOf(scene)).toEqual(['old']);
  });

  test('a result whose blob is lost: failed, nothing changed', async () => {
    const { request, engine, workspace, home } = await start([ONE]);
    const hex = request.proposal.files[0]!.result!.ref.slice(7);
    fs.rmSync(`${home}/blobs/${hex.slice(0, 2)}/${hex}`);
    expect(await engine().apply(request)).toMatchObject({
      outcome: 'failed',
      problem: { code: 'blob_lost' },
    });
    expect(sidesOf(scene)).toEqual(['old']);
    expect(leftovers(workspace)).toEqual([]);
  });
});

describe('links and places', () => {
  test('a link inside the workspace: its target is edited, the link stays', async () => {
    const { engine, at } = await start([{ path: 'dir/real.txt', before: 'old\n', after: 'new\n' }]);
    fs.symlinkSync('dir/real.txt', at('link.txt'));
    const viaLink = requestOf(scene.workspace, [
      { path: 'link.txt', before: 'old\n', after: 'new\n' },
    ]);
    expect(await engine().apply(viaLink)).toMatchObject({
      outcome: 'applied',
      files: ['link.txt'],
    });
    expect(fs.readlinkSync(at('link.txt'))).toBe('dir/real.txt');
    expect(fs.readFileSync(at('dir/real.txt'), 'utf8')).toBe('new\n');
    expect(await engine().rollback(viaLink)).toMatchObject({ files: ['link.txt'], leftAlone: [] });
    expect(fs.readFileSync(at('dir/real.txt'), 'utf8')).toBe('old\n');
  });

  const placements: [string, (at: (p: string) => string, root: string) => void, SceneFile][] = [
    [
      'a link out of the workspace',
      (at, root) => {
        fs.writeFileSync(`${root}/out.txt`, 'old\n');
        fs.symlinkSync('../out.txt', at('l'));
      },
      { path: 'l', before: 'old\n', after: 'new\n' },
    ],
    [
      'a directory that leads out',
      (at, root) => {
        fs.mkdirSync(`${root}/out`);
        fs.writeFileSync(`${root}/out/f`, 'old\n');
        fs.symlinkSync('../out', at('d'));
      },
      { path: 'd/f', before: 'old\n', after: 'new\n' },
    ],
    [
      'a new file below a directory that leads out',
      (at, root) => {
        fs.mkdirSync(`${root}/out`);
        fs.symlinkSync('../out', at('d'));
      },
      { path: 'd/new/f', before: null, after: 'new\n' },
    ],
    [
      'a dangling link',
      (at) => {
        fs.symlinkSync('nowhere', at('l'));
      },
      { path: 'l', before: null, after: 'new\n' },
    ],
    [
      'deleting a link',
      (at) => {
        fs.writeFileSync(at('t'), 'old\n');
        fs.symlinkSync('t', at('l'));
      },
      { path: 'l', before: 'old\n', after: null },
    ],
    [
      'the git directory by another name',
      (at) => {
        fs.mkdirSync(at('.git'));
        fs.writeFileSync(at('.git/config'), 'old\n');
        fs.symlinkSync('.git', at('g'));
      },
      { path: 'g/config', before: 'old\n', after: 'new\n' },
    ],
    [
      'a git directory that is not called so',
      (at) => void execFileSync('git', ['init', '-q', '--bare', at('.repo')]),
      { path: '.repo/hooks/post-commit', before: null, after: 'new\n' },
    ],
    ['a path that climbs out', () => undefined, { path: '../x', before: null, after: 'new\n' }],
  ];
  test.each(sampled('links and places', placements, 3))(
    '%s is refused, nothing is written',
    async (_what, place, file) => {
      const { at, root, workspace } = await start([]);
      place(at, root);
      const before = snapshot(root);
      const request = requestOf(workspace, [file]);
      expect(await scene.engine().apply(request)).toMatchObject({
        outcome: 'base_changed',
        conflicts: [{ path: file.path }],
      });
      const after = Object.entries(snapshot(root)).filter(([path]) => !path.startsWith('home/'));
      expect(Object.fromEntries(after)).toEqual(
        Object.fromEntries(Object.entries(before).filter(([p]) => !p.startsWith('home/'))),
      );
    },
  );

  test("files of Emend's own home are refused, also where the home lies in the workspace", async () => {
    const { root, home, engine } = await start([]);
    fs.writeFileSync(`${home}/host-id`, 'old\n', { mode: 0o644 });
    const request = requestOf(root, [{ path: 'home/host-id', before: 'old\n', after: 'new\n' }]);
    expect(await engine().apply(request)).toMatchObject({
      outcome: 'base_changed',
      conflicts: [{ path: 'home/host-id' }],
    });
    expect(fs.readFileSync(`${home}/host-id`, 'utf8')).toBe('old\n');
  });

  test('two paths of one file are refused', async () => {
    const { at, workspace } = await start([ONE]);
    fs.symlinkSync('a.txt', at('l.txt'));
    const request = requestOf(workspace, [ONE, { ...ONE, path: 'l.txt', after: 'other\n' }]);
    expect(await scene.engine().apply(request)).toMatchObject({ outcome: 'base_changed' });
  });
});

describe('rollback', () => {
  test('restores bytes, modes and absences, and removes made directories', async () => {
    const { request, engine, workspace } = await start(mixedFiles(12));
    const before = snapshot(workspace);
    const applied = await engine().apply(request);
    const back = await engine().rollback(request);
    expect(back).toEqual({ outcome: 'rolled_back', files: request.files, leftAlone: [] });
    expect(snapshot(workspace)).toEqual(before);
    expect(await engine().rollback(request)).toEqual(back);
    expect(applied.outcome).toBe('applied');
    expect(await engine().apply(request)).toMatchObject({ outcome: 'conflict', files: [] });
    expect(snapshot(workspace)).toEqual(before);
  });

  test('leaves files alone that are no longer at the result', async () => {
    const { request, engine, at } = await start([
      ONE,
      { path: 'b.txt', before: 'b\n', after: 'B\n' },
    ]);
    await engine().apply(request);
    fs.writeFileSync(at('a.txt'), 'mine\n');
    expect(await engine().rollback(request)).toMatchObject({
      files: ['b.txt'],
      leftAlone: [{ path: 'a.txt' }],
    });
    expect(fs.readFileSync(at('a.txt'), 'utf8')).toBe('mine\n');
  });

  test('of something never applied does nothing', async () => {
    const { request, engine } = await start([ONE]);
    expect(await engine().rollback(request)).toEqual({
      outcome: 'rolled_back',
      files: [],
      leftAlone: [],
    });
    expect(sidesOf(scene)).toEqual(['old']);
  });

  test('the same proposal can be applied again by another decision', async () => {
    const { request, engine } = await start(mixedFiles(4));
    await engine().apply(request);
    await engine().rollback(request);
    expect(await engine().apply({ ...request, decision: 2 })).toMatchObject({ outcome: 'applied' });
    expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
  });
});

describe('lock of an apply', () => {
  test('another step waits, and gets the workspace after the release, with a higher token', async () => {
    const { request, engine, workspace } = await start([ONE], { git: true });
    await engine().apply(request);
    const other = requestOf(
      workspace,
      [{ ...ONE, before: 'new\n', after: 'old\n' }],
      1,
      'ffff0000ffff0000',
    );
    expect(await engine().apply(other)).toMatchObject({
      outcome: 'busy',
      holder: { stepKey: STEP, workflowId: `emend-${STEP}` },
    });
    await engine().releaseLock(workspace, 'ffff0000ffff0000');
    expect(await engine().readLock(workspace)).toMatchObject({ stepKey: STEP });
    await engine().releaseLock(workspace, STEP);
    expect(await engine().apply(other)).toMatchObject({ outcome: 'applied', lock: { token: 2 } });
  });

  test('a failing second apply of a step does not give away the lock that its first one needs', async () => {
    const { request, engine, workspace, at } = await start([
      ONE,
      { path: 'b.txt', before: 'b\n', after: 'B\n' },
    ]);
    await engine().apply({ ...request, files: ['a.txt'] });
    fs.writeFileSync(at('b.txt'), 'mine\n');
    expect(await engine().apply({ ...request, files: ['b.txt'], decision: 2 })).toMatchObject({
      outcome: 'base_changed',
    });
    expect(await engine().readLock(workspace)).toMatchObject({ stepKey: STEP });
  });
});
