/**
 * Attempts that wake up late: after the step has gone on, was rolled back, or has ended. Whatever they were about to do, they write
 * nothing, commit nothing, and end no lock that was taken after theirs. EMEND_WHOLE=1 puts them to sleep at every system call.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { afterEach, describe, expect, test } from '@jest/globals';
import { startHeartbeat } from '../../src/activities/frame/activity.js';
import { fail } from '../../src/shared/problems.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { hookPorts } from './git-fixture.js';
import { createCommitter } from '../../src/workspace/git/commit.js';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { storePaths } from '../../src/stores/location.js';
import { realSys, type Sys } from '../../src/system/sys.js';
import { recordName } from '../../src/workspace/proposal.js';
import type {
  ApplyEngine,
  ApplyOutcome,
  CommitRequest,
  WorkspaceLock,
} from '../../src/workspace/ports.js';
import { drawn, sampled, spread, WHOLE } from '../support/seeded.js';
import { shimSys } from '../support/sys-shim.js';
import {
  leftovers,
  makeScene,
  mixedFiles,
  sidesOf,
  snapshot,
  STEP,
  type Scene,
} from './apply-scene.js';

const DEAD = { boot: 'another-boot', pid: 1, started: '1' };
const OTHER = 'ffff0000ffff0000';
let open: Scene | null = null;
afterEach(() => {
  open?.remove();
  open = null;
});

const git = (scene: Scene, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', ...args], {
    cwd: scene.workspace,
    stdio: 'pipe',
  })
    .toString()
    .trim();
/** A repository that has the files at their base. */
const committedScene = async (files = mixedFiles(3)): Promise<Scene> => {
  const scene = await makeScene(files, { git: true });
  git(scene, 'add', '-A');
  git(scene, 'commit', '-q', '-m', 'files');
  return scene;
};
const visible = (scene: Scene) =>
  Object.entries(snapshot(scene.workspace)).filter(([path]) => !path.includes('.emend-'));
const lockOf = (scene: Scene): Promise<WorkspaceLock | null> =>
  scene.engine().readLock(scene.workspace);

interface Sleep {
  readonly name: string;
  readonly work: 'apply' | 'rollback';
  /** What other attempts, the step's later moves and persons do while it sleeps; true: the sleeper can know that it is late. */
  readonly meanwhile: (scene: Scene, engine: ApplyEngine) => Promise<void>;
}
const takeOther = async (scene: Scene): Promise<void> => {
  const keeper = createLocks({ home: scene.home });
  expect(
    await keeper.take(scene.workspace, OTHER, { workflowId: 'o', namespace: 'n' }),
  ).toMatchObject({
    outcome: 'held',
  });
};
const release = (scene: Scene, engine: ApplyEngine) => engine.releaseLock(scene.workspace, STEP);

const SLEEPS: readonly Sleep[] = [
  {
    name: 'of apply, while the step is rolled back, ends, and another step takes the workspace',
    work: 'apply',
    meanwhile: async (scene, engine) => {
      await engine.rollback(scene.request);
      await release(scene, engine);
      await takeOther(scene);
    },
  },
  {
    name: 'of apply, while a person refuses the change (conflict, take_theirs) and puts the file back to its base',
    work: 'apply',
    meanwhile: async (scene, engine) => {
      const [file] = scene.files;
      // Put aside for a moment, where its replacement is not there yet: an editor still has it.
      const before = fs.existsSync(scene.at(file!.path))
        ? fs.readFileSync(scene.at(file!.path))
        : file!.before!;
      fs.writeFileSync(scene.at(file!.path), 'mine\n');
      const told = await engine.apply(scene.request);
      if (told.outcome === 'base_changed') fs.writeFileSync(scene.at(file!.path), before);
      else await release(scene, engine);
      expect(await lockOf(scene)).toBeNull();
    },
  },
  {
    name: 'of rollback, while the next proposal is applied, which has the same bytes',
    work: 'rollback',
    meanwhile: async (scene, engine) => {
      await engine.rollback(scene.request);
      await release(scene, engine);
      expect(await engine.apply({ ...scene.request, decision: 2 })).toMatchObject({
        outcome: 'applied',
      });
    },
  },
];

describe('a late attempt', () => {
  test.each(SLEEPS)(
    '$name',
    async ({ name, work, meanwhile }) => {
      const prepare = async (): Promise<Scene> => {
        const scene = await committedScene();
        if (work === 'rollback') await scene.engine().apply(scene.request);
        return scene;
      };
      const counted = await prepare();
      const count = shimSys(realSys);
      await counted.engine({ sys: count.sys, process: DEAD })[work](counted.request);
      counted.remove();
      const steps = count.names().map((_, i) => i + 1);
      // The calls around the point of no return are those on the verdict.
      const critical = count.stepsAbout((path) => path.includes('verdict-'));
      expect(critical.length).toBeGreaterThan(2);
      for (const at of sampled(name, steps, drawn(4, 60), spread(critical, 12), WHOLE)) {
        const scene = (open = await prepare());
        let wake = (): void => undefined;
        const woken = new Promise<void>((resolve) => (wake = resolve));
        let fellAsleep = (): void => undefined;
        const asleep = new Promise<void>((resolve) => (fellAsleep = resolve));
        const fault = () => {
          fellAsleep();
          return woken;
        };
        const shim = shimSys(realSys, { at, when: 'before', fault });
        let late = false;
        const assertCurrent = (): void => {
          if (late) fail('busy', 'late');
        };
        const tired = scene.engine({ sys: shim.sys, process: DEAD });
        const sleeper = tired[work](scene.request, assertCurrent).catch(() => null);
        await asleep;
        const engine = scene.engine({ patience_ms: 0 });
        await meanwhile(scene, engine);
        const [before, lock] = [visible(scene), await lockOf(scene)];
        late = true;
        wake();
        await sleeper;
        expect({ at, files: visible(scene) }).toEqual({ at, files: before });
        expect({ at, lock: await lockOf(scene) }).toEqual({ at, lock });
        await engine.recover();
        expect({ at, files: visible(scene), left: leftovers(scene.workspace) }).toEqual({
          at,
          files: before,
          left: [],
        });
        scene.remove();
      }
    },
    900_000,
  );

  test('of apply leaves the lock that it took to the attempt that works under it', async () => {
    const counted = await committedScene();
    const count = shimSys(realSys);
    await counted.engine({ sys: count.sys, process: DEAD }).apply(counted.request);
    counted.remove();
    const taking = count.stepsAbout((path) => path.includes('/emend/lock/'));
    let underOne = 0;
    for (const at of taking) {
      const scene = (open = await committedScene());
      let late = false;
      let held: WorkspaceLock | null = null;
      // The other attempt comes and goes while this one sleeps.
      const fault = async (): Promise<void> => {
        await scene.engine({ patience_ms: 0 }).apply(scene.request);
        held = await lockOf(scene);
        late = true;
      };
      const shim = shimSys(realSys, { at, when: 'before', fault });
      const assertCurrent = (): void => {
        if (late) fail('busy', 'late');
      };
      const said = await scene
        .engine({ sys: shim.sys, process: DEAD })
        .apply(scene.request, assertCurrent)
        .catch(() => null);
      expect({ at, late }).toEqual({ at, late: true });
      expect({ at, lock: await lockOf(scene) }).toEqual({ at, lock: held });
      if (said === null) underOne += 1;
      scene.remove();
    }
    expect(underOne).toBeGreaterThan(2);
  });

  test('of apply that finds its step done gives back the lock that it took for it', async () => {
    const scene = (open = await committedScene());
    let done = false;
    const sys = {
      ...realSys,
      // The first look at the workspace comes after the record was read, before the lock is taken.
      realpath: async (path: string) => {
        if (!done) {
          done = true;
          await scene.engine().apply(scene.request);
          await scene.engine().releaseLock(scene.workspace, STEP);
        }
        return realSys.realpath(path);
      },
    };
    expect(await scene.engine({ sys }).apply(scene.request)).toMatchObject({ outcome: 'applied' });
    expect(await lockOf(scene)).toBeNull();
  });
});

test('a release by token ends no later lock of the same step', async () => {
  const scene = (open = await committedScene());
  const engine = scene.engine();
  await engine.apply(scene.request);
  await engine.rollback(scene.request);
  await engine.releaseLock(scene.workspace, STEP, 1);
  await engine.apply({ ...scene.request, decision: 2 });
  await engine.releaseLock(scene.workspace, STEP, 1);
  expect(await lockOf(scene)).toMatchObject({ stepKey: STEP, token: 2 });
});

describe('commit and rollback exclude each other', () => {
  const commitRequest = (
    scene: Scene,
    applied: ApplyOutcome,
    mayMove?: () => Promise<boolean>,
    decision = scene.request.decision,
  ): CommitRequest => {
    if (applied.outcome !== 'applied') throw new Error(JSON.stringify(applied));
    const { lock } = applied;
    const { proposalId } = scene.request;
    return {
      stepKey: STEP,
      workspace: scene.workspace,
      files: scene.request.proposal.files,
      renames: [],
      message: 'Change',
      lock,
      date: lock.takenAt,
      hooks: false,
      env: [],
      sign: false,
      sandbox: 'off',
      records: [recordName(STEP, proposalId, decision)],
      ...(mayMove === undefined ? {} : { mayMove }),
    };
  };
  const committer = (scene: Scene, sys: Sys = realSys) =>
    createCommitter({
      sys,
      ...hookPorts(),
      blobs: createBlobStore({ dir: storePaths(scene.home).blobs }),
      lockWait_ms: 300,
    });

  test('rolled back while a commit was about to move the branch: nothing is committed', async () => {
    const scene = (open = await committedScene());
    const applied = await scene.engine().apply(scene.request);
    const head = git(scene, 'rev-parse', 'HEAD');
    let asked = 0;
    const rollBackMeanwhile = async (): Promise<boolean> => {
      if (asked++ === 0)
        expect(await scene.engine().rollback(scene.request)).toMatchObject({
          outcome: 'rolled_back',
        });
      // As a late attempt would say that stopped right after it asked.
      return true;
    };
    expect(await committer(scene)(commitRequest(scene, applied, rollBackMeanwhile))).toMatchObject({
      outcome: 'conflict',
      why: expect.stringContaining('the files were restored'),
    });
    expect(asked).toBe(1);
    expect(git(scene, 'rev-parse', 'HEAD')).toBe(head);
    expect(git(scene, 'status', '--porcelain')).toBe('');
    expect(new Set(sidesOf(scene))).toEqual(new Set(['old']));
    // The next application of the step can be committed.
    const next = await scene.engine().apply({ ...scene.request, decision: 2 });
    expect(await committer(scene)(commitRequest(scene, next, undefined, 2))).toMatchObject({
      outcome: 'committed',
    });
  });

  test('without the hold nothing is committed', async () => {
    const scene = (open = await committedScene());
    const applied = await scene.engine().apply(scene.request);
    const head = git(scene, 'rev-parse', 'HEAD');
    const outcome = await committer(scene)(
      commitRequest(scene, applied, () => Promise.resolve(false)),
    );
    expect(outcome).toMatchObject({
      outcome: 'conflict',
      why: expect.stringContaining('no longer holds'),
    });
    expect(git(scene, 'rev-parse', 'HEAD')).toBe(head);
  });

  test.each([
    ['nobody goes on', false],
    ['the next step goes on', true],
  ])(
    'another attempt commits and ends the hold right before the index is locked, %s: it is committed, no conflict',
    async (_name, others) => {
      const scene = (open = await committedScene());
      const applied = await scene.engine().apply(scene.request);
      let commit: string | null = null;
      // The other attempt: given up by the server, and not dead.
      const overtake = async (): Promise<void> => {
        if (commit !== null) return;
        const first = await committer(scene)(commitRequest(scene, applied));
        if (first.outcome !== 'committed') throw new Error(JSON.stringify(first));
        ({ commit } = first);
        await scene.engine().releaseLock(scene.workspace, STEP);
        if (others) {
          git(scene, 'commit', '-q', '--allow-empty', '-m', 'later');
          fs.writeFileSync(scene.at(scene.request.files[0]!), 'of the next step\n');
        }
      };
      const link: Sys['link'] = async (from, to) => {
        if (to.endsWith('/index.lock')) await overtake();
        return realSys.link(from, to);
      };
      const late = committer(scene, { ...realSys, link });
      const outcome = await late(commitRequest(scene, applied, () => Promise.resolve(false)));
      expect(outcome).toMatchObject({ outcome: 'committed', commit });
      expect(git(scene, 'diff', '--cached', '--name-only')).toBe('');
    },
  );

  test('another attempt and a person cannot commit while the index is locked; both can afterwards', async () => {
    const scene = (open = await committedScene());
    const applied = await scene.engine().apply(scene.request);
    const head = git(scene, 'rev-parse', 'HEAD');
    const refused: string[] = [];
    const commitMeanwhile = async (): Promise<boolean> => {
      const other = await committer(scene)(commitRequest(scene, applied));
      if (other.outcome === 'failed') refused.push(other.problem.message);
      try {
        git(scene, 'commit', '-q', '--allow-empty', '-m', 'a person');
      } catch (error) {
        refused.push(String(error));
      }
      // The attempt was given up meanwhile.
      return false;
    };
    expect(await committer(scene)(commitRequest(scene, applied, commitMeanwhile))).toMatchObject({
      outcome: 'conflict',
      why: expect.stringContaining('no longer holds'),
    });
    expect(refused).toEqual([
      expect.stringContaining('has locked the index'),
      expect.stringContaining('index.lock'),
    ]);
    expect(git(scene, 'rev-parse', 'HEAD')).toBe(head);
    expect(await committer(scene)(commitRequest(scene, applied))).toMatchObject({
      outcome: 'committed',
    });
    git(scene, 'commit', '-q', '--allow-empty', '-m', 'a person');
    expect(git(scene, 'status', '--porcelain')).toBe('');
  });

  test('a step whose commit is there is not rolled back, whatever was committed on top', async () => {
    const scene = (open = await committedScene());
    const engine = scene.engine();
    const applied = await engine.apply(scene.request);
    const outcome = await committer(scene)(commitRequest(scene, applied));
    const commit = git(scene, 'rev-parse', 'HEAD');
    expect(outcome).toMatchObject({ outcome: 'committed', commit });
    git(scene, 'commit', '-q', '--allow-empty', '-m', 'later');
    expect(await engine.rollback(scene.request)).toEqual({ outcome: 'committed', commit });
    expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
    expect(await committer(scene)(commitRequest(scene, applied))).toMatchObject({
      outcome: 'committed',
      commit,
    });
  });
});

describe('an application that was recorded before, asked for again', () => {
  test('files changed since are a conflict; the others are said to be applied', async () => {
    const scene = (open = await committedScene());
    await scene.engine().apply(scene.request);
    const [changed, ...others] = scene.request.files;
    fs.writeFileSync(scene.at(changed!), 'mine\n');
    expect(await scene.engine().apply(scene.request)).toMatchObject({
      outcome: 'conflict',
      files: others,
      conflicts: [{ path: changed, why: expect.stringContaining('has since been changed') }],
    });
    expect(fs.readFileSync(scene.at(changed!), 'utf8')).toBe('mine\n');
  });

  test('once committed, later changes are later work: applied, as it was', async () => {
    const scene = (open = await committedScene());
    const applied = await scene.engine().apply(scene.request);
    git(scene, 'add', '-A');
    git(scene, 'commit', '-q', '-m', `Change\n\nEmend-Step: ${STEP}`);
    fs.writeFileSync(scene.at(scene.request.files[0]!), 'mine\n');
    expect(await scene.engine().apply(scene.request)).toEqual(applied);
  });

  test('rolled back before it was written: it is not written any more', async () => {
    const scene = (open = await committedScene());
    await scene.engine().rollback(scene.request);
    expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'base_changed' });
    expect(new Set(sidesOf(scene))).toEqual(new Set(['old']));
    expect(await lockOf(scene)).toBeNull();
  });

  test('a rollback waits for the workspace like everybody else', async () => {
    const scene = (open = await committedScene());
    await scene.engine().apply(scene.request);
    await scene.engine().releaseLock(scene.workspace, STEP);
    await takeOther(scene);
    await expect(scene.engine().rollback(scene.request)).rejects.toMatchObject({
      problem: { code: 'busy' },
    });
    expect(new Set(sidesOf(scene))).toEqual(new Set(['new']));
  });
});

describe('an attempt sees by the clocks that it stood still', () => {
  const at = (running: number, wall: number) => ({
    running_ms: () => running,
    wall_ms: () => wall,
  });
  const clockOf = () => {
    const now = { running: 0, wall: 0 };
    return { now, clock: { running_ms: () => now.running, wall_ms: () => now.wall } };
  };
  test('longer than its beats may be late, by either clock, and for good', () => {
    for (const which of ['running', 'wall'] as const) {
      const { now, clock } = clockOf();
      const pulse = startHeartbeat(1000, clock);
      now.running = now.wall = 500;
      pulse.assertCurrent();
      pulse.beat();
      now[which] += 1100;
      expect(() => {
        pulse.assertCurrent();
      }).toThrow('was suspended for 1100 ms');
      pulse.beat();
      // A beat after waking up does not make it the one that counts again.
      expect(() => {
        pulse.assertCurrent();
      }).toThrow('was suspended');
    }
  });
  test('never without a heartbeat time-out', () => {
    const pulse = startHeartbeat(null, at(0, 0));
    pulse.beat();
    pulse.assertCurrent();
  });
});
