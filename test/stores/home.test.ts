import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { absentHome, homePaths, hostId, isNewHome, resolveHome } from '../../src/stores/home.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import { errnoError } from '../support/sys-shim.js';

let dir: string;
beforeEach(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend home-')));
});
afterEach(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});
const unusable = { problem: { code: 'home_unusable' } };

test.each([
  [{ EMEND_HOME: 'X/set/here', XDG_STATE_HOME: 'X/state', HOME: 'X' }, 'set/here'],
  [{ EMEND_HOME: '', XDG_STATE_HOME: 'X/state', HOME: 'X' }, 'state/emend'],
  [{ XDG_STATE_HOME: 'relative/is/ignored', HOME: 'X' }, '.local/state/emend'],
  [{ HOME: 'X' }, '.local/state/emend'],
])('%j is %s, made with mode 0700', async (env, expected) => {
  const here = Object.fromEntries(
    Object.entries(env).map(([k, v]) => [k, v.startsWith('X') ? dir + v.slice(1) : v]),
  );
  const home = await resolveHome(here);
  expect(home).toBe(join(dir, expected));
  expect(fs.statSync(home).mode & 0o777).toBe(0o700);
  expect(await resolveHome(here)).toBe(home);
});

test.each(['', 'here', './here'])('HOME=%j names no place, and nothing is made', async (HOME) => {
  await expect(resolveHome({ HOME })).rejects.toMatchObject({
    problem: { code: 'home_unusable', next: 'Set HOME, or EMEND_HOME to a writable directory.' },
  });
});

test('a file, a path through a file, and a home that others may write to are refused with what to do', async () => {
  const file = join(dir, 'file');
  fs.writeFileSync(file, '');
  await expect(resolveHome({ EMEND_HOME: file })).rejects.toMatchObject(unusable);
  await expect(resolveHome({ EMEND_HOME: join(file, 'below') })).rejects.toMatchObject(unusable);
  const open = join(dir, 'open');
  fs.mkdirSync(open);
  fs.chmodSync(open, 0o777);
  await expect(resolveHome({ EMEND_HOME: open })).rejects.toMatchObject({
    problem: { next: `Run: chmod go-w '${open}'` },
  });
});

test.each(['EROFS', 'EACCES', 'ENOSPC', 'EPERM'])(
  '%s is one sentence with the path',
  async (errno) => {
    const refuse = (path: string) => Promise.reject(errnoError(errno, 'x', path));
    const sys: Sys = { ...realSys, mkdir: refuse, accessWrite: refuse };
    for (const home of [dir, join(dir, 'new')]) {
      await expect(resolveHome({ EMEND_HOME: home }, sys)).rejects.toMatchObject({
        problem: {
          code: 'home_unusable',
          message: expect.stringMatching(new RegExp(`^${home} .*\\(${errno}\\)\\.$`)),
        },
      });
    }
  },
);

test("another user's directory is refused", async () => {
  const sys: Sys = {
    ...realSys,
    stat: async (path) => ({ ...(await realSys.stat(path)), uid: 4242 }),
  };
  await expect(resolveHome({ EMEND_HOME: dir }, sys)).rejects.toMatchObject(unusable);
});

test('the host id is made once and stays; one that is lost or damaged is written again from its copy, and so is the copy', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => hostId(dir)));
  expect(new Set(ids).size).toBe(1);
  const [id = ''] = ids;
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  const { hostId: own, hostIdCopy } = homePaths(dir);
  const whole = fs.readFileSync(own, 'utf8');
  const flipped = whole.replace(id.slice(0, 1), id.startsWith('a') ? 'b' : 'a');
  for (const path of [own, hostIdCopy])
    for (const damage of ['nonsense', '', flipped, whole.slice(0, 9), null]) {
      if (damage === null) fs.rmSync(path);
      else fs.writeFileSync(path, damage);
      expect(await absentHome({ EMEND_HOME: dir })).toBeNull();
      expect(await isNewHome(dir)).toBe(false);
      expect(await hostId(dir)).toBe(id);
      expect([own, hostIdCopy].map((path) => fs.readFileSync(path, 'utf8'))).toEqual([
        whole,
        whole,
      ]);
    }
  fs.writeFileSync(own, flipped);
  fs.rmSync(hostIdCopy);
  await expect(hostId(dir)).rejects.toMatchObject(unusable);
  expect(fs.readFileSync(own, 'utf8')).toBe(flipped);
});
