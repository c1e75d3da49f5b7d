/** The lock of a run that has ended: released where it stands for nothing any more, also beside an apply that is still under way. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createLocks, type Locks } from '../../../src/workspace/apply/lock.js';
import type { WorkspaceLock } from '../../../src/workspace/ports.js';
import { makeScene, STEP, type Scene } from '../apply-scene.js';

const FILES = [
  { path: 'a.txt', before: 'old a\n', after: 'new a\n' },
  { path: 'b.txt', before: 'old b\n', after: 'new b\n' },
];
const OTHER = '11c0ffee11c0ffee11c0ffee11c0ffee';
const bytes = ({ at }: Scene): string =>
  FILES.map(({ path }) => readFileSync(at(path), 'utf8')).join('');
const [OLD, NEW] = ['old a\nold b\n', 'new a\nnew b\n'];

const git = ({ workspace }: Scene, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    cwd: workspace,
    encoding: 'utf8',
  });

describe('the lock of an ended run', () => {
  test('under which nothing is applied (any more) is ended', async () => {
    const scene = await makeScene(FILES);
    const engine = scene.engine();
    const locks = createLocks({ home: scene.home });
    const taken = await locks.take(scene.workspace, STEP, scene.request.holder);
    if (taken.outcome !== 'held') throw new Error('not held');
    expect(await engine.releaseEnded(scene.workspace, taken.lock, false)).toEqual({
      outcome: 'ended',
      because: 'nothing_applied',
    });
    expect(await engine.releaseEnded(scene.workspace, taken.lock, false)).toEqual({
      outcome: 'not_held',
    });

    const applied = await engine.apply(scene.request);
    if (applied.outcome !== 'applied') throw new Error(applied.outcome);
    expect(await engine.releaseEnded(scene.workspace, applied.lock, false)).toEqual({
      outcome: 'kept',
      files: ['a.txt', 'b.txt'],
    });
    await engine.rollback(scene.request);
    expect(await engine.releaseEnded(scene.workspace, applied.lock, false)).toMatchObject({
      outcome: 'ended',
    });
    expect(await engine.readLock(scene.workspace)).toBeNull();
    expect(bytes(scene)).toBe(OLD);
  });

  test('is ended where the run came to its own end, and where its commit is on the branch', async () => {
    const scene = await makeScene(FILES);
    git(scene, 'init', '-q', '-b', 'main');
    git(scene, 'add', '-A');
    git(scene, 'commit', '-q', '-m', 'base');
    const engine = scene.engine();
    const applied = await engine.apply(scene.request);
    if (applied.outcome !== 'applied') throw new Error(applied.outcome);
    // A commit of somebody else is not this step's.
    git(scene, 'commit', '-q', '--allow-empty', '-m', 'other');
    expect(await engine.releaseEnded(scene.workspace, applied.lock, false)).toMatchObject({
      outcome: 'kept',
    });
    git(scene, 'commit', '-q', '-a', '-m', `step\n\nEmend-Step: ${STEP}`);
    expect(await engine.releaseEnded(scene.workspace, applied.lock, false)).toEqual({
      outcome: 'ended',
      because: 'committed',
    });

    const finished = await makeScene(FILES);
    const done = await finished.engine().apply(finished.request);
    if (done.outcome !== 'applied') throw new Error(done.outcome);
    expect(await finished.engine().releaseEnded(finished.workspace, done.lock, true)).toEqual({
      outcome: 'ended',
      because: 'finished',
    });
    expect(bytes(finished)).toBe(NEW);
  });

  test('is taken over by a worker, whatever it takes it for; files that stand there are named with what to type', async () => {
    const scene = await makeScene(FILES);
    const took: string[] = [];
    const runs = {
      stateOfHolder: () =>
        Promise.resolve({
          state: 'ended',
          how: 'terminated',
          finished: false,
          undo: false,
          elsewhere: false,
        } as const),
      tookOver: (_: string, { stepKey }: WorkspaceLock, because: string) =>
        void took.push(`${stepKey}: ${because}`),
    };
    const engine = scene.engine({ runs });
    const other = { workflowId: 'emend-other', namespace: 'default' };
    const keeper = createLocks({ home: scene.home });
    await keeper.take(scene.workspace, OTHER, other);
    expect(await engine.rollback(scene.request)).toMatchObject({
      outcome: 'rolled_back',
      files: [],
    });
    await keeper.take(scene.workspace, OTHER, other);
    const held = await engine.acquireLock(scene.workspace, STEP, scene.request.holder);
    expect(held).toMatchObject({ outcome: 'held', taken: true });
    expect(took).toEqual(Array(2).fill(`${OTHER}: terminated, nothing_applied`));

    const applied = await makeScene(FILES);
    await applied.engine().apply(applied.request);
    const late = await applied.engine({ runs }).acquireLock(applied.workspace, OTHER, other);
    expect(late).toMatchObject({
      outcome: 'busy',
      advice: expect.stringMatching(
        /has ended \(terminated\) with 2 files applied but not committed: `emend recover --undo/,
      ),
    });
  });

  /** A keeper whose engine is stopped where it asks for its lock before the point of no return. */
  const stopped = (scene: Scene, inBetween: () => Promise<void>): Locks => {
    const keeper = createLocks({ home: scene.home });
    const take: Locks['take'] = async (...taking) => {
      const taken = await keeper.take(...taking);
      const isCurrent = async (): Promise<boolean> => {
        await inBetween();
        return taken.isCurrent();
      };
      return { ...taken, isCurrent };
    };
    return { ...keeper, take };
  };

  test('beside an apply of a live process: left alone', async () => {
    const scene = await makeScene(FILES);
    let seen: unknown = null;
    const locks = stopped(scene, async () => {
      const engine = scene.engine();
      seen = await engine.releaseEnded(
        scene.workspace,
        (await engine.readLock(scene.workspace))!,
        false,
      );
    });
    expect(await scene.engine({ locks }).apply(scene.request)).toMatchObject({
      outcome: 'applied',
    });
    expect(seen).toEqual({ outcome: 'at_work' });
    expect(bytes(scene)).toBe(NEW);
  });

  test('ended before the apply came to its point of no return: nothing is written, another step has the workspace', async () => {
    const scene = await makeScene(FILES);
    const locks = stopped(scene, async () => {
      const keeper = createLocks({ home: scene.home });
      await keeper.break(scene.workspace, (await keeper.read(scene.workspace))!.token);
      await keeper.take(scene.workspace, OTHER, {
        workflowId: 'emend-other',
        namespace: 'default',
      });
    });
    const outcome = await scene.engine({ locks }).apply(scene.request);
    expect(outcome).toMatchObject({ outcome: 'failed', problem: { code: 'busy' } });
    expect(bytes(scene)).toBe(OLD);
    expect(await scene.engine().readLock(scene.workspace)).toMatchObject({ stepKey: OTHER });
    expect(await scene.engine().recover()).toEqual([]);
  });

  test('ended just after an apply was past it: held again for what it applied, which can be undone', async () => {
    const scene = await makeScene(FILES);
    const keeper = createLocks({ home: scene.home });
    const taken = await keeper.take(scene.workspace, STEP, scene.request.holder);
    if (taken.outcome !== 'held') throw new Error('not held');
    const late: Locks['break'] = async (workspace, number) => {
      expect(await scene.engine().apply(scene.request)).toMatchObject({ outcome: 'applied' });
      return keeper.break(workspace, number);
    };
    const engine = scene.engine({ locks: { ...keeper, break: late } });
    const ended = await engine.releaseEnded(scene.workspace, taken.lock, false);
    expect(ended).toEqual({ outcome: 'kept', files: ['a.txt', 'b.txt'] });
    const held = await scene.engine().readLock(scene.workspace);
    expect(held).toMatchObject({ stepKey: STEP, continues: taken.lock.token });
    // Looked at again, it stands for the same files.
    expect(await scene.engine().releaseEnded(scene.workspace, held!, false)).toEqual(ended);
  });
});
