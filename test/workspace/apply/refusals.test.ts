/** Targets that the system refuses to replace: found before anything is written, or named with what ends it. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, jest, test } from '@jest/globals';
import { ProblemError } from '../../../src/shared/problems.js';
import { processOf } from '../../../src/system/process.js';
import { realSys, type Sys } from '../../../src/system/sys.js';
import type { ApplyEngine } from '../../../src/workspace/ports.js';
import { sampled } from '../../support/seeded.js';
import { testIf } from '../../support/skipped.js';
import { errnoError, shimSys, shownPath } from '../../support/sys-shim.js';
import { leftovers, makeScene, sidesOf, type Scene } from '../apply-scene.js';

const FILES = ['a.txt', "b o'b.txt", 'sub/c.txt'].map((path) => ({
  path,
  before: 'old\n',
  after: 'new\n',
}));

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

const failure = async (engine: ApplyEngine, { request }: Scene): Promise<string> => {
  const outcome = await engine.apply(request);
  if (outcome.outcome !== 'failed') throw new Error(JSON.stringify(outcome));
  return outcome.problem.message;
};
const thrown = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (!(error instanceof ProblemError)) throw new Error(`no problem but ${JSON.stringify(error)}`);
  expect(error.problem.code).toBe('disk');
  return error.problem.message;
};
/** A name of a target is refused at its rename, as of an immutable file or a mount point that was not to be seen before. */
const refusing = (
  scene: Scene,
  path: string,
  errno: string,
  times = Infinity,
): Sys & { fired: () => number } => {
  let fired = 0;
  const rename: Sys['rename'] = async (from, to) => {
    if (shownPath(from) === scene.at(path) && fired < times) {
      fired++;
      throw errnoError(errno, 'rename', from);
    }
    return realSys.rename(from, to);
  };
  return { ...realSys, rename, fired: () => fired };
};

test.each(sampled('refusals that are over', ['EPERM', 'EBUSY', 'EACCES'], 1))(
  'a refusal (%s) that is over in a moment is tried again',
  async (errno) => {
    const scene = await makeScene(FILES);
    const sys = refusing(scene, 'sub/c.txt', errno, 2);
    expect(await scene.engine({ sys }).apply(scene.request)).toMatchObject({ outcome: 'applied' });
    expect(sys.fired()).toBe(2);
    expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['new']);
    scene.remove();
  },
);

test.each(sampled('refusals that stay', ['EPERM', 'EBUSY'], 1))(
  'one that stays (%s) names file, cause and what to type; then it goes on',
  async (errno) => {
    const scene = await makeScene(FILES);
    const sys = refusing(scene, 'a.txt', errno);
    const message = await thrown(scene.engine({ sys }).apply(scene.request));
    expect(sys.fired()).toBeGreaterThan(1);
    expect(message).toContain(`refuses to change ${scene.at('a.txt')} (${errno})`);
    expect(message).toContain(`lsattr -d '${scene.at('a.txt')}'`);
    expect(message).toContain('continues where it stopped');
    expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
    expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['new']);
    scene.remove();
  },
);

test('recover does not take a process that lives for one that is at work: it names the file', async () => {
  const scene = await makeScene(FILES);
  const worker = spawn('sleep', ['60']);
  undo.push(() => void worker.kill('SIGKILL'));
  const process = (await processOf(realSys, worker.pid!))!;
  await thrown(
    scene.engine({ sys: refusing(scene, 'a.txt', 'EBUSY'), process }).apply(scene.request),
  );
  const [found] = await scene.engine({ sys: refusing(scene, 'a.txt', 'EBUSY') }).recover();
  expect(found?.did).toBe('failed');
  expect(found?.conflicts[0]?.why).toContain(`refuses to change ${scene.at('a.txt')} (EBUSY)`);
  expect(await scene.engine().recover()).toMatchObject([{ did: 'finished', conflicts: [] }]);
  expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['new']);
  scene.remove();
});

test('what can be known is found before anything is written: attributes and mount points, by the shim', async () => {
  const scene = await makeScene(FILES);
  const shim = shimSys(realSys, {
    at: 1,
    when: 'before',
    fault: { errno: 'EPERM' },
    only: ['openToWrite'],
  });
  expect(await failure(scene.engine({ sys: shim.sys }), scene)).toBe(
    `Nothing was written: ${scene.at('a.txt')} is immutable or append-only. Type: sudo chattr -i -a '${scene.at('a.txt')}', then try again.`,
  );
  expect(shim.fired()).toBe(true);
  const mounts = `1 2 0:1 / / rw - ext4 /dev/sda rw\n3 1 0:1 /x ${scene.at("b o'b.txt").replaceAll(' ', '\\040')} rw - ext4 /dev/sda rw\n`;
  const readFile: Sys['readFile'] = (path) =>
    path === '/proc/self/mountinfo'
      ? Promise.resolve(new TextEncoder().encode(mounts))
      : realSys.readFile(path);
  const said = await failure(scene.engine({ sys: { ...realSys, readFile } }), scene);
  expect(said).toContain(`${scene.at("b o'b.txt")} is a mount point. Type: sudo umount '`);
  const touch: Sys['touch'] = (path) =>
    shownPath(path) === scene.at('sub')
      ? Promise.reject(errnoError('EPERM', 'utimes', path))
      : realSys.touch(path);
  expect(await failure(scene.engine({ sys: { ...realSys, touch } }), scene)).toContain(
    `${scene.at('sub')} is immutable`,
  );
  expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['old']);
  expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
  scene.remove();
});

test('a new file whose folders are not there yet: what refuses to have them made in it is named before anything is written', async () => {
  const scene = await makeScene([{ path: 'new/dir/n.txt', before: null, after: 'new\n' }]);
  const touch: Sys['touch'] = (path) =>
    shownPath(path) === scene.workspace
      ? Promise.reject(errnoError('EPERM', 'utimes', path))
      : realSys.touch(path);
  expect(await failure(scene.engine({ sys: { ...realSys, touch } }), scene)).toMatch(
    `Nothing was written: ${scene.workspace} is immutable or append-only. Type: sudo chattr -i -a `,
  );
  expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
  scene.remove();
});

test('another user’s file in a sticky directory: refused before anything is written', async () => {
  const scene = await makeScene(FILES);
  fs.chmodSync(scene.at('sub'), 0o1777);
  const euid = jest.spyOn(process, 'geteuid').mockReturnValue(process.geteuid!() + 4_000);
  undo.push(() => {
    euid.mockRestore();
  });
  expect(await failure(scene.engine(), scene)).toContain(
    `${scene.at('sub/c.txt')} belongs to another user (${process.getuid!()}) in a sticky directory. Type: sudo chown `,
  );
  expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['old']);
  for (const each of undo.splice(0)) each();
  expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
  scene.remove();
});

const mayChattr = (() => {
  const dir = fs.mkdtempSync('/tmp/emend-attributes-');
  const file = join(dir, 'file');
  fs.writeFileSync(file, '');
  const can = spawnSync('chattr', ['+i', file]).status === 0;
  if (can) spawnSync('chattr', ['-i', file]);
  fs.rmSync(dir, { recursive: true });
  return can;
})();
const chattr = (path: string, attribute: string): void => {
  execFileSync('chattr', [`+${attribute}`, path]);
  undo.push(() => void spawnSync('chattr', [`-${attribute}`, path]));
};

const ATTRIBUTES: readonly [string, string, string][] = [
  ['i', 'a.txt', 'a.txt'],
  ['a', 'sub/c.txt', 'sub/c.txt'],
  ['a', 'sub', 'sub'],
];
testIf(mayChattr, 'this user may not set attributes with chattr').each(
  sampled('attributes', ATTRIBUTES, 1),
)(
  'chattr +%s %s: refused before anything is written, then as if nothing had been',
  async (attribute, path, named) => {
    const scene = await makeScene(FILES, { disk: true });
    chattr(scene.at(path), attribute);
    expect(await failure(scene.engine(), scene)).toContain(
      `${scene.at(named)} is immutable or append-only`,
    );
    expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['old']);
    for (const each of undo.splice(0)) each();
    expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
    // Back as well: nothing is put back by halves.
    chattr(scene.at(path), attribute);
    expect(await thrown(scene.engine().rollback(scene.request))).toContain(
      `${scene.at(named)} is immutable`,
    );
    expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['new']);
    for (const each of undo.splice(0)) each();
    expect(await scene.engine().rollback(scene.request)).toMatchObject({ outcome: 'rolled_back' });
    expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['old']);
    scene.remove();
  },
);

testIf(mayChattr, 'this user may not set attributes with chattr')(
  'a file that becomes immutable right after the point of no return: named, and finished when it is free again',
  async () => {
    const scene = await makeScene(FILES, { disk: true });
    const rename: Sys['rename'] = async (from, to) => {
      if (shownPath(from) === scene.at('sub/c.txt') && undo.length === 0)
        chattr(scene.at('sub/c.txt'), 'i');
      return realSys.rename(from, to);
    };
    const message = await thrown(
      scene.engine({ sys: { ...realSys, rename } }).apply(scene.request),
    );
    expect(message).toContain(
      `${scene.at('sub/c.txt')} is immutable or append-only. Type: sudo chattr -i -a '`,
    );
    for (const each of undo.splice(0)) each();
    expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
    expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['new']);
    scene.remove();
  },
);

const mayMount = (() => {
  const dir = fs.mkdtempSync('/tmp/emend-mount-');
  const can = spawnSync('mount', ['--bind', dir, dir]).status === 0;
  if (can) spawnSync('umount', [dir]);
  fs.rmdirSync(dir);
  return can;
})();

testIf(mayMount, 'this user may not mount')(
  'a bind mount: refused before anything is written',
  async () => {
    const scene = await makeScene(FILES, { disk: true });
    const source = join(scene.root, 'mounted');
    fs.writeFileSync(source, 'old\n', { mode: 0o644 });
    execFileSync('mount', ['--bind', source, scene.at("b o'b.txt")]);
    undo.push(() => void spawnSync('umount', [scene.at("b o'b.txt")]));
    expect(await failure(scene.engine(), scene)).toContain(
      `${scene.at("b o'b.txt")} is a mount point. Type: sudo umount`,
    );
    expect([...new Set(sidesOf(scene)), ...leftovers(scene.workspace)]).toEqual(['old']);
    for (const each of undo.splice(0)) each();
    expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
    scene.remove();
  },
);
