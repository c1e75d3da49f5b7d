/** SIGKILL before, in and after every system call of an apply and of a rollback. EMEND_LONG=1 runs them all. */
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { homePaths } from '../../src/stores/home.js';
import { realSys } from '../../src/system/sys.js';
import { shimSys, type SysCall } from '../support/sys-shim.js';
import { transpile } from '../support/transpile.js';
import { sampled } from '../support/seeded.js';
import {
  leftovers,
  makeScene,
  mixedFiles,
  sidesOf,
  STEP,
  type Scene,
} from '../workspace/apply-scene.js';
import type { ChildTask } from './apply-child.js';

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('apply-kill', 'test/crash/apply-child.ts');
});
afterAll(() => {
  child.remove();
});

interface Ended {
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}
const runChild = (
  scene: Scene,
  task: Pick<ChildTask, 'work' | 'plan' | 'noLinks'>,
): Promise<Ended> => {
  const file = join(scene.root, 'task.json');
  fs.writeFileSync(
    file,
    JSON.stringify({ home: scene.home, request: scene.request, ...task } satisfies ChildTask),
  );
  return new Promise((resolve) => {
    execFile(process.execPath, [child.path, file], (error, stdout, stderr) => {
      resolve({ signal: error?.signal ?? null, stdout, stderr });
    });
  });
};

interface Setting {
  readonly name: string;
  readonly count: number;
  readonly git?: boolean;
  readonly noLinks?: boolean;
  readonly work: 'apply' | 'rollback' | 'recover';
  /** For `recover`: the call at whose nth time the apply before it died. */
  readonly diedAt?: { readonly call: SysCall; readonly nth: number };
}

/** A process that is dead for everybody else. */
const DEAD = { boot: 'another-boot', pid: 1, started: '1' };

/**
 * An apply that comes as far as the call and then gets nothing more done, as one that died there. False: it left nothing. Files are written side
 * by side, so that the calls before this one are not the same each time.
 */
const dieAt = async (
  scene: Scene,
  { call, nth }: NonNullable<Setting['diedAt']>,
): Promise<boolean> => {
  const counted = await makeScene(scene.files);
  const count = shimSys(realSys);
  await counted.engine({ sys: count.sys, process: DEAD }).apply(counted.request);
  counted.remove();
  const calls = count.names().flatMap((name, i) => (name === call ? [i + 1] : []));
  const dying = shimSys(realSys, {
    at: calls[nth - 1] ?? 0,
    when: 'before',
    fault: { errno: 'EIO' },
    onwards: true,
  });
  const outcome = await scene
    .engine({ sys: dying.sys, process: DEAD })
    .apply(scene.request)
    .catch(() => null);
  expect(outcome?.outcome ?? 'failed').toBe('failed');
  return leftovers(scene.workspace).length > 0;
};

const DEATHS = 5;
const sceneFor = async (setting: Setting, death = 1): Promise<Scene> => {
  const scene = await makeScene(mixedFiles(setting.count), { git: setting.git ?? false });
  // From here on only marks lead to a transaction.
  fs.mkdirSync(homePaths(scene.home).transactions);
  await scene.engine().recoverMarked();
  if (setting.work === 'rollback')
    expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
  if (setting.diedAt === undefined || (await dieAt(scene, setting.diedAt))) return scene;
  scene.remove();
  expect(death).toBeLessThan(DEATHS);
  return sceneFor(setting, death + 1);
};

const callsOf = async (setting: Setting): Promise<readonly SysCall[]> => {
  const scene = await sceneFor(setting);
  try {
    const { stdout, stderr } = await runChild(scene, {
      ...setting,
      plan: { at: 0, when: 'before', fault: 'kill' },
    });
    expect(stderr).toBe('');
    return (JSON.parse(stdout) as { names: SysCall[] }).names;
  } finally {
    scene.remove();
  }
};

type Kill = Pick<ChildTask['plan'], 'at' | 'when'> & { readonly fault: 'kill' | 'tear' };
const TORN: readonly SysCall[] = ['writeExclusive', 'append', 'copyExclusive'];
const killsOf = (names: readonly SysCall[]): Kill[] =>
  names.flatMap((name, i): Kill[] => [
    { at: i + 1, when: 'before', fault: 'kill' },
    { at: i + 1, when: 'after', fault: 'kill' },
    ...(TORN.includes(name) ? [{ at: i + 1, when: 'before', fault: 'tear' } as const] : []),
  ]);

const killAndRecover = async (setting: Setting, kill: Kill): Promise<'new' | 'old'> => {
  const scene = await sceneFor(setting);
  try {
    const log = join(scene.root, 'fired');
    const ended = await runChild(scene, { ...setting, plan: { ...kill, log } });
    expect({ signal: ended.signal, fired: fs.existsSync(log) }).toEqual({
      signal: 'SIGKILL',
      fired: true,
    });

    const engine = scene.engine();
    const recovered = await engine.recoverMarked();
    const sides = new Set(sidesOf(scene));
    expect(sides.size === 1 && !sides.has('other') ? [] : sidesOf(scene)).toEqual([]);
    expect(leftovers(scene.workspace)).toEqual([]);
    expect(recovered.flatMap((r) => r.conflicts)).toEqual([]);
    expect(recovered.filter((r) => r.did !== 'finished' && r.did !== 'reverted')).toEqual([]);
    expect(await engine.recover()).toEqual([]);
    const lock = await engine.readLock(scene.workspace);
    expect(lock?.stepKey ?? STEP).toBe(STEP);
    const [side] = sides;
    // Nobody else may come in between files that stand and the commit that needs them.
    if (side === 'new') expect(lock).not.toBeNull();

    const back = setting.work === 'rollback';
    const again = await (back ? engine.rollback(scene.request) : engine.apply(scene.request));
    expect(again).toMatchObject({
      outcome: back ? 'rolled_back' : 'applied',
      files: scene.request.files,
    });
    expect(new Set(sidesOf(scene))).toEqual(new Set([back ? 'old' : 'new']));
    expect(leftovers(scene.workspace)).toEqual([]);
    return side === 'new' ? 'new' : 'old';
  } finally {
    scene.remove();
  }
};

/** Of each setting that `npm test` draws. */
const KILLS = 2;
const TWELVE: Setting = { name: 'twelve files of every kind', count: 12, work: 'apply' };
const SETTINGS: readonly Setting[] = [
  { name: 'one file', count: 1, work: 'apply' },
  { name: 'two files in a repository', count: 2, git: true, work: 'apply' },
  TWELVE,
  { name: 'six files, no hard links', count: 6, noLinks: true, work: 'apply' },
  { name: 'rollback of six files', count: 6, work: 'rollback' },
  {
    name: 'recovery going back',
    count: 4,
    work: 'recover',
    diedAt: { call: 'writeExclusive', nth: 7 },
  },
  { name: 'recovery going forward', count: 4, work: 'recover', diedAt: { call: 'rename', nth: 2 } },
];

describe('killed at every system call, recovered: all new or all old', () => {
  test.each(sampled('settings of kills', SETTINGS, 3, [TWELVE]))(
    '$name',
    async (setting) => {
      const kills = killsOf(await callsOf(setting));
      const chosen = sampled(`kills, ${setting.name}`, kills, KILLS);
      const failures: string[] = [];
      const ends = { new: 0, old: 0 };
      const queue = [...chosen];
      const work = async (): Promise<void> => {
        for (let kill = queue.shift(); kill !== undefined; kill = queue.shift()) {
          try {
            ends[await killAndRecover(setting, kill)]++;
          } catch (error) {
            failures.push(`${JSON.stringify(kill)}: ${String(error)}`);
          }
        }
      };
      await Promise.all([work(), work()]);
      process.stdout.write(`${setting.name}: ${ends.old} ended old, ${ends.new} ended new\n`);
      expect(failures).toEqual([]);
      expect(ends.old + ends.new).toBe(chosen.length);
    },
    1_800_000,
  );
});
