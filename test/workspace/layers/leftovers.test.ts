/** SIGKILL of a process whose command runs on a layer: the command ends, and what it left is found and removed by those who come later. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { FOREIGN_SCRATCH_MS } from '../../../src/system/scratch.js';
import { clearLayers, layersDir, listLayers } from '../../../src/workspace/layers/index.js';
import { isRunning } from '../../support/alive.js';
import { boxUsers, endBoxUsers, found, whyNone } from '../../support/box-users.js';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';

const exec = promisify(execFile);
const users = await boxUsers();

let children: Record<'hold' | 'find' | 'start', ReturnType<typeof transpile>>;
let dir: string;
let home: string;
let workspace: string;
beforeAll(() => {
  children = {
    hold: transpile('layer-hold', 'test/workspace/layers/hold-child.ts'),
    find: transpile('layer-find', 'test/workspace/layers/leftovers-child.ts'),
    start: transpile('layer-start', 'test/workspace/layers/start-child.ts'),
  };
});
afterAll(async () => {
  for (const child of Object.values(children)) child.remove();
  await endBoxUsers();
});
beforeEach(async () => {
  // Not in TMPDIR: another user must be able to go there.
  dir = await mkdtemp('/tmp/emend-leftovers-');
  home = `${dir}/home`;
  workspace = `${dir}/workspace`;
  await chmod(dir, 0o755);
  for (const path of [home, workspace]) await mkdir(path, { mode: 0o755 });
});
const holders: ChildProcess[] = [];
afterEach(async () => {
  for (const holder of holders.splice(0)) holder.kill('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

const argvFor = (
  user: (typeof users)[number],
  child: keyof typeof children,
  args: readonly string[],
): [string, string[]] => {
  const [file = '', ...rest] = [...user.as, process.execPath, children[child].path, ...args];
  return [file, rest];
};
const envFor = (user: (typeof users)[number]) => ({
  ...process.env,
  NODE_OPTIONS: '',
  HOME: dir,
  // That of the tests is closed to another user.
  TMPDIR: '/tmp',
  EMEND_HOME: home,
  EMEND_BWRAP: user.ownBubblewrap,
  // Nobody listens there.
  TEMPORAL_ADDRESS: '127.0.0.1:1',
});

const until = async (holds: () => boolean, what: string): Promise<void> => {
  const limit = Date.now() + 20_000;
  while (!holds()) {
    if (Date.now() > limit) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
};

describeIf(found.works, whyNone)('a process that was killed', () => {
  describe.each(sampled('users of killed processes', users, 1))('as $name', (user) => {
    const runs = (): string[] => readdirSync(join(layersDir(home), 'run'));
    /** Returns the output of each. */
    const find = async (
      ...works: readonly ('doctor' | 'recover' | 'gc')[]
    ): Promise<readonly string[]> => {
      const options = { env: envFor(user), cwd: dir };
      const { stdout } = await exec(...argvFor(user, 'find', works), options);
      return stdout.split('\n');
    };
    /** Starts a command on a layer, kills its process once the command has written, and waits for the end of both. */
    const kill = async (): Promise<void> => {
      for (const path of [home, workspace]) await chown(path, user.uid, user.uid);
      const seconds = `sleep 600.${process.pid}${Math.round(performance.now())}`;
      const command = `mkdir -p a/b; echo 12345 >a/b/f; chmod 000 a/b a; touch written; ${seconds}`;
      const holder = spawn(...argvFor(user, 'hold', [workspace, command]), {
        env: envFor(user),
        stdio: 'ignore',
      });
      holders.push(holder);
      const layer = (): string => join(layersDir(home), 'run', runs()[0] ?? '');
      const isWritten = (): boolean =>
        existsSync(join(layersDir(home), 'run')) && existsSync(join(layer(), 'upper/written'));
      await until(isWritten, 'the command writes');
      await until(() => isRunning(seconds), 'the command waits');
      const exit = once(holder, 'exit');
      holder.kill('SIGKILL');
      await exit;
      await until(() => !isRunning(seconds), 'the command ends');
      expect(runs()).toHaveLength(1);
      expect(existsSync(join(layer(), 'upper/a'))).toBe(true);
      expect(readdirSync(workspace)).toEqual([]);
    };

    test('leaves what `emend doctor` reports and `emend recover` removes', async () => {
      await kill();
      const [before = '', ...rest] = await find('doctor', 'recover', 'doctor', 'recover');
      expect(JSON.parse(before)).toMatchObject({
        ok: true,
        found: expect.stringMatching(
          /^left behind: 1 of killed commands \(\d files?, \d+ bytes?\)$/,
        ),
        fix: 'Remove them with: emend recover',
      });
      expect(rest.slice(0, 4)).toEqual([
        'No interrupted change found.',
        'Removed 1 layer that killed commands left.',
        '',
        JSON.stringify({ ok: true, found: 'none left behind', fix: null }),
      ]);
      expect(rest[4]).toBe('No interrupted change found.');
      expect(rest[5]).not.toContain('layer');
      expect(runs()).toEqual([]);
    });

    test("leaves what the next worker's start removes", async () => {
      await kill();
      await exec(...argvFor(user, 'start', []), { env: envFor(user), cwd: dir });
      expect(runs()).toEqual([]);
    });

    test('leaves what `emend gc` counts and removes', async () => {
      await kill();
      const [layer = ''] = runs();
      const [output = ''] = await find('gc');
      const path = join(layersDir(home), 'run', layer);
      // As root the file in the directory that nobody may enter counts also.
      const size = user.uid === 0 ? { files: 2, bytes: 6 } : { files: 1, bytes: 0 };
      expect(JSON.parse(output)).toEqual({ found: [{ path, ...size }], ...size });
      expect(runs()).toEqual([]);
    });
  });
});

describe('layers that are not removed', () => {
  const layerOf = async (run: string, name: string): Promise<string> => {
    const path = join(layersDir(home), run, name);
    await mkdir(path, { recursive: true });
    return path;
  };

  test('are those of a foreign process, until they are a day old', async () => {
    const path = await layerOf('run', 'command.00000000.1.00000000.abcdef');
    expect(await clearLayers(home)).toEqual([]);
    const old = new Date(Date.now() - FOREIGN_SCRATCH_MS - 60_000);
    utimesSync(path, old, old);
    expect(await clearLayers(home)).toEqual([path]);
  });

  test('are what a run keeps between its commands, and what a link leads to', async () => {
    const warm = await layerOf('run', 'warm');
    const elsewhere = join(dir, 'elsewhere');
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, 'f'), '');
    await symlink(elsewhere, join(layersDir(home), 'run/command.00000000.1.00000000.abcdef'));
    await symlink(elsewhere, join(layersDir(home), 'linked'));
    expect(await clearLayers(home)).toEqual([]);
    expect([warm, join(elsewhere, 'f')].map((path) => existsSync(path))).toEqual([true, true]);
  });

  test('are none in a home that has no layers', async () => {
    expect(await listLayers(home)).toEqual([]);
    expect(await clearLayers(home)).toEqual([]);
  });
});
