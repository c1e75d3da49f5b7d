/** Two attempts at one record: at once, and one that sleeps through everything and wakes up late. */
import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { type ProcessIdentity, ownProcess } from '../../src/system/process.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import type { ApplyEngine } from '../../src/workspace/ports.js';
import { drawn, randomFrom, sampled, seed, spread, WHOLE } from '../support/seeded.js';
import { errnoError, shimSys, shownPath } from '../support/sys-shim.js';
import {
  leftovers,
  makeScene,
  mixedFiles,
  requestOf,
  sidesOf,
  snapshot,
  type Scene,
} from './apply-scene.js';

/** A process that other engines take for dead, whatever it does. */
const DEAD: ProcessIdentity = { boot: 'another-boot', pid: 1, started: '1' };

const WRITES = /^(writeExclusive|copyExclusive|append|fsyncDir)$/;
/** `disk_ms`: what a write takes at most. */
const dithering = (random: () => number, disk_ms = 0): Sys => {
  const wait = async (name: string): Promise<void> => {
    for (let turns = Math.floor(random() * 6); turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve));
    if (disk_ms > 0 && WRITES.test(name)) await sleep(random() * disk_ms);
  };
  const entries = Object.entries(realSys).map(([name, call]) => [
    name,
    async (...args: unknown[]) => {
      await wait(name);
      return (call as (...a: unknown[]) => Promise<unknown>)(...args);
    },
  ]);
  return Object.fromEntries(entries) as Sys;
};

/** What is asked of this directory is never answered. */
const hanging = (dir: string): Sys => {
  const or = <T>(path: string, ask: () => Promise<T>): Promise<T> =>
    path === dir ? new Promise(() => undefined) : ask();
  return {
    ...realSys,
    stat: (path) => or(path, () => realSys.stat(path)),
    realpath: (path) => or(path, () => realSys.realpath(path)),
  };
};

describe('at once', () => {
  const both = async (round: number, disk_ms = 0): Promise<void> => {
    const scene = await makeScene(mixedFiles(6));
    const random = randomFrom(seed + round);
    const engines = [DEAD, { ...DEAD, pid: 2 }].map((process) =>
      scene.engine({ process, patience_ms: 0, sys: dithering(random, disk_ms) }),
    );
    const outcomes = await Promise.all(engines.map((engine) => engine.apply(scene.request)));
    await scene.engine().recover();
    const applied = { outcome: 'applied', files: scene.request.files };
    expect({ round, outcomes }).toMatchObject({ round, outcomes: [applied, applied] });
    expect({ round, sides: [...new Set(sidesOf(scene))] }).toEqual({ round, sides: ['new'] });
    expect({ round, left: leftovers(scene.workspace) }).toEqual({ round, left: [] });
    scene.remove();
  };
  const rounds = Array.from({ length: 400 }, (_, i) => i);
  test('two attempts that each take the other for dead: both applied, nothing left over', async () => {
    for (const round of sampled('two at once', rounds, drawn(6, 60), [], WHOLE)) await both(round);
  }, 600_000);

  test('on a slow disk, too, where a generation takes longer than they wait at first', async () => {
    for (const round of rounds.slice(0, drawn(1, 4))) await both(round, 60);
  }, 600_000);

  test('a directory that the clearing of an earlier generation takes away late is made again', async () => {
    const scene = await makeScene([{ path: 'made/here/a.txt', before: null, after: 'new\n' }]);
    const isTemp = (path: string): boolean =>
      shownPath(path).includes('/made/here/') && path.endsWith('.tmp');
    const failsAt = async (path: string) => {
      if (isTemp(path)) throw errnoError('EIO', 'write', path);
      return Promise.resolve();
    };
    const dies: Sys = {
      ...realSys,
      writeExclusive: async (path, bytes, file) => {
        await failsAt(path);
        return realSys.writeExclusive(path, bytes, file);
      },
      unlink: failsAt,
      rmdir: (path) => Promise.reject(errnoError('EIO', 'rmdir', path)),
    };
    await scene
      .engine({ sys: dies, process: DEAD })
      .apply(scene.request)
      .catch(() => undefined);
    expect(fs.existsSync(scene.at('made/here'))).toBe(true);
    let taken = 0;
    const sys: Sys = {
      ...realSys,
      writeExclusive: (path, bytes, file) => {
        if (isTemp(path) && taken === 0) {
          taken++;
          fs.rmdirSync(scene.at('made/here'));
        }
        return realSys.writeExclusive(path, bytes, file);
      },
    };
    expect(await scene.engine({ sys }).apply(scene.request)).toMatchObject({ outcome: 'applied' });
    expect(taken).toBe(1);
    expect(sidesOf(scene)).toEqual(['new']);
    expect(leftovers(scene.workspace)).toEqual([]);
    scene.remove();
  });

  test('two attempts in live processes: the second waits for the first', async () => {
    const scene = await makeScene(mixedFiles(4));
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => scene.engine({ patience_ms: 20_000 }).apply(scene.request)),
    );
    expect(new Set(outcomes.map((o) => JSON.stringify(o))).size).toBe(1);
    expect(outcomes[0]).toMatchObject({ outcome: 'applied' });
    expect(fs.readdirSync(`${scene.home}/transactions/${scene.request.stepKey}`)).toHaveLength(1);
    scene.remove();
  });

  test('two steps: one has the workspace, the other is told who', async () => {
    const scene = await makeScene([{ path: 'a.txt', before: 'old\n', after: 'new\n' }]);
    const other = requestOf(scene.workspace, scene.files, 1, 'ffff0000ffff0000');
    const outcomes = await Promise.all([
      scene.engine().apply(scene.request),
      scene.engine().apply(other),
    ]);
    expect(outcomes.map((o) => o.outcome).sort()).toEqual(['applied', 'busy']);
    scene.remove();
  });
});

interface Meanwhile {
  readonly name: string;
  readonly act: (scene: Scene, engine: ApplyEngine) => Promise<void> | void;
}
const MEANWHILE: readonly Meanwhile[] = [
  { name: 'nothing more', act: () => undefined },
  {
    name: 'a rollback',
    act: async (scene, engine) => {
      expect(await engine.rollback(scene.request)).toMatchObject({ files: scene.request.files });
    },
  },
  {
    name: 'saves of a person in every file',
    act: (scene) => {
      for (const file of scene.files) {
        fs.rmSync(scene.at(file.path), { force: true });
        fs.writeFileSync(scene.at(file.path), `mine ${file.path}`);
      }
    },
  },
  {
    name: 'a rollback and a second apply by another decision',
    act: async (scene, engine) => {
      await engine.rollback(scene.request);
      expect(await engine.apply({ ...scene.request, decision: 2 })).toMatchObject({
        outcome: 'applied',
      });
    },
  },
];

describe('an attempt that sleeps at some system call while another finishes', () => {
  const files = mixedFiles(5);
  /** Always run: the steps that name the first file (replaced) or the fourth (deleted), their temps or backups. */
  const walk = async () => {
    const scene = await makeScene(files);
    const count = shimSys(realSys);
    await scene.engine({ sys: count.sys, process: DEAD }).apply(scene.request);
    scene.remove();
    const isOf = (p: string) =>
      p.startsWith(scene.workspace) && /file[03]\.txt$|-[03]\.\w*(tmp|keep|-)/.test(p);
    expect(count.stepsAbout(isOf).length).toBeGreaterThan(15);
    return { steps: count.names().map((_, i) => i + 1), critical: count.stepsAbout(isOf) };
  };
  test.each(MEANWHILE)(
    'then wakes up after $name: nothing changes',
    async ({ name, act }) => {
      const { steps, critical } = await walk();
      for (const at of sampled(
        `asleep, ${name}`,
        steps,
        drawn(2, 25),
        spread(critical, 12),
        WHOLE,
      )) {
        const scene = await makeScene(files);
        let wake = (): void => undefined;
        const woken = new Promise<void>((resolve) => (wake = resolve));
        let fellAsleep = (): void => undefined;
        const asleep = new Promise<void>((resolve) => (fellAsleep = resolve));
        const shim = shimSys(realSys, {
          at,
          when: 'before',
          fault: () => {
            fellAsleep();
            return woken;
          },
        });
        const sleeper = scene.engine({ sys: shim.sys, process: DEAD }).apply(scene.request);
        await asleep;
        const engine = scene.engine({ process: await ownProcess(realSys), patience_ms: 0 });
        expect(await engine.apply(scene.request)).toMatchObject({
          outcome: 'applied',
          files: scene.request.files,
        });
        expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
        await act(scene, engine);
        // The sleeper's own files may lie there until it wakes up or is swept.
        const visible = () =>
          Object.entries(snapshot(scene.workspace)).filter(([path]) => !path.includes('.emend-'));
        const before = visible();
        wake();
        await sleeper;
        expect({ at, files: visible() }).toEqual({ at, files: before });
        await engine.recover();
        expect({ at, files: visible(), left: leftovers(scene.workspace) }).toEqual({
          at,
          files: before,
          left: [],
        });
        scene.remove();
      }
    },
    900_000,
  );

  test('and never wakes up: its files are swept by recovery, and put back what it took too late', async () => {
    const { steps, critical } = await walk();
    for (const at of sampled('asleep for ever', steps, drawn(2, 25), spread(critical, 12), WHOLE)) {
      const scene = await makeScene(files);
      let fellAsleep = (): void => undefined;
      const asleep = new Promise<void>((resolve) => (fellAsleep = resolve));
      const fault = () => {
        fellAsleep();
        return Promise.reject(errnoError('EIO', 'killed', ''));
      };
      const shim = shimSys(realSys, { at, when: 'before', fault, onwards: true });
      await scene
        .engine({ sys: shim.sys, process: DEAD })
        .apply(scene.request)
        .catch(() => undefined);
      await asleep;
      const engine = scene.engine({ patience_ms: 0 });
      await engine.recover();
      const sides = [...new Set(sidesOf(scene))];
      expect({ at, sides: sides.length, left: leftovers(scene.workspace) }).toEqual({
        at,
        sides: 1,
        left: [],
      });
      scene.remove();
    }
  }, 600_000);
});

describe('recovery', () => {
  test('leaves a live process alone, and says so', async () => {
    const scene = await makeScene(mixedFiles(2));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let reached = (): void => undefined;
    const there = new Promise<void>((resolve) => (reached = resolve));
    const sys: Sys = {
      ...realSys,
      rename: async (from, to) => {
        reached();
        await held;
        return realSys.rename(from, to);
      },
    };
    const going = scene.engine({ sys }).apply(scene.request);
    await there;
    const before = snapshot(scene.workspace);
    expect(await scene.engine().recover()).toMatchObject([
      { did: 'left_to_live_process', stepKey: scene.request.stepKey },
    ]);
    expect(snapshot(scene.workspace)).toEqual(before);
    release();
    expect(await going).toMatchObject({ outcome: 'applied' });
    expect(await scene.engine().recover()).toEqual([]);
    scene.remove();
  });

  test('tells a workspace that is gone, and a record of a newer version, without holding up others', async () => {
    const scene = await makeScene(mixedFiles(2));
    const dies = shimSys(realSys, {
      at: 1,
      when: 'before',
      fault: { errno: 'EIO' },
      onwards: true,
      only: ['rename'],
    });
    await expect(
      scene.engine({ sys: dies.sys, process: DEAD }).apply(scene.request),
    ).rejects.toThrow('EIO');
    fs.renameSync(scene.workspace, `${scene.workspace}-away`);
    const newer = `${scene.home}/transactions/ffff0000ffff0000/x-1`;
    fs.mkdirSync(newer, { recursive: true });
    fs.writeFileSync(`${newer}/plan-1.json`, '{"v":9}');
    const dids = async () => (await scene.engine().recover()).map((r) => r.did).sort();
    expect(await dids()).toEqual(['failed', 'workspace_missing']);
    // A network's filesystem that is gone may never answer: a worker that starts serves the other workspaces.
    expect(await scene.engine({ sys: hanging(scene.workspace) }).recover()).toContainEqual(
      expect.objectContaining({
        did: 'failed',
        conflicts: [{ path: scene.workspace, why: 'no answer' }],
      }),
    );
    fs.renameSync(`${scene.workspace}-away`, scene.workspace);
    expect(await dids()).toEqual(['failed', 'finished']);
    expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
    scene.remove();
  });
});
