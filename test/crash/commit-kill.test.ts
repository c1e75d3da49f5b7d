/** SIGKILL before, in and after every system call of a commit that holds git's lock of the index. EMEND_LONG=1 runs them all. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { realSys } from '../../src/system/sys.js';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { createCommitter } from '../../src/workspace/git/commit.js';
import type { CommitRequest } from '../../src/workspace/ports.js';
import { sampled } from '../support/seeded.js';
import type { ShimPlan, SysCall } from '../support/sys-shim.js';
import { transpile } from '../support/transpile.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor } from '../workspace/git-fixture.js';
import type { CommitTask } from './commit-child.js';
import { NO_KILL, runChild } from './killed.js';

isolateGit();

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('commit-kill', 'test/crash/commit-child.ts');
});
afterAll(() => {
  child.remove();
});

interface Scene {
  readonly repo: Repo;
  readonly root: string;
  readonly request: CommitRequest;
}

/** `ours` is changed by the step, `gone` removed, `theirs` staged by a person. */
const makeScene = async (): Promise<Scene> => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'emend commit-kill-')));
  const repo = await Repo.make({ dir: root });
  for (const name of ['ours', 'gone', 'theirs']) await repo.write(name, '0\n');
  await repo.commitAll();
  await repo.write('theirs', '1\n');
  await repo.git('add', 'theirs');
  await repo.write('ours', '1\n');
  await rm(join(repo.dir, 'gone'));
  const names = new Blobs();
  const files = [names.file('gone', '0\n', null), names.file('ours', '0\n', '1\n')];
  const blobs = createBlobStore({ dir: join(root, '.git/blobs'), sys: realSys });
  for (const text of ['0\n', '1\n']) await blobs.put(Buffer.from(text));
  return { repo, root, request: await requestFor(repo, files) };
};

const runKilled = (scene: Scene, plan: ShimPlan, noLinks: boolean) => {
  const file = join(scene.root, '.git/task.json');
  const task: CommitTask = {
    blobs: join(scene.root, '.git/blobs'),
    request: scene.request,
    plan,
    noLinks,
  };
  writeFileSync(file, JSON.stringify(task));
  return runChild([child.path, file], { cwd: scene.root, env: process.env });
};

const leftovers = ({ root }: Scene): string[] => [
  ...readdirSync(join(root, '.git')).filter((name) => name.startsWith('index.')),
  ...(existsSync(join(root, '.git/emend'))
    ? readdirSync(join(root, '.git/emend')).filter((name) => name.startsWith('index'))
    : []),
];

const isCommitted = async ({ repo }: Scene): Promise<boolean> =>
  (await repo.git('log', '--format=%s')).startsWith('Change things\n');

const BEFORE = ' D gone\n M ours\nM  theirs\n';
const AFTER = 'M  theirs\n';

/** The events after the kill. */
const FOLLOWS = {
  'the next attempt': async (scene: Scene) => {
    const commit = createCommitter({
      blobs: createBlobStore({ dir: join(scene.root, '.git/blobs'), sys: realSys }),
      ...hookPorts(),
      lockWait_ms: 300,
    });
    expect(await commit(scene.request)).toMatchObject({ outcome: 'committed' });
    expect(await scene.repo.git('log', '--format=%s')).toBe('Change things\nbefore\n');
    expect(await scene.repo.status()).toBe(AFTER);
    expect(leftovers(scene)).toEqual([]);
  },
  'another step takes the workspace': async (scene: Scene) => {
    const locks = createLocks({ home: join(scene.root, '.git/home') });
    const holder = { workflowId: 'other', namespace: 'default' };
    const taken = await locks.take(scene.root, 'ff'.repeat(16), holder);
    expect(taken).toMatchObject({ outcome: 'held' });
    expect(await scene.repo.status()).toBe((await isCommitted(scene)) ? AFTER : BEFORE);
    expect(leftovers(scene)).toEqual([]);
  },
  'a person removes the lock and commits': async (scene: Scene) => {
    await rm(join(scene.root, '.git/index.lock'), { force: true });
    const committed = await isCommitted(scene);
    await scene.repo.git('commit', '-q', '-m', 'theirs');
    // Emend never reverts the change of a commit.
    if (committed) expect(await scene.repo.git('show', 'HEAD:ours')).toBe('1\n');
    const index = await scene.repo.git('ls-files', '-s');
    // Emend keeps the person's new lock, and the index that they have worked on since.
    writeFileSync(join(scene.root, '.git/index.lock'), 'a person works here');
    const locks = createLocks({ home: join(scene.root, '.git/home') });
    await locks.take(scene.root, 'ff'.repeat(16), { workflowId: 'other', namespace: 'default' });
    expect(await scene.repo.read('.git/index.lock')).toBe('a person works here');
    await rm(join(scene.root, '.git/index.lock'));
    expect(await scene.repo.git('ls-files', '-s')).toBe(index);
    expect(leftovers(scene)).toEqual([]);
  },
} as const;

const TORN: readonly SysCall[] = ['writeExclusive', 'copyExclusive'];
const killsOf = (names: readonly SysCall[]): ShimPlan[] =>
  names.flatMap((name, i): ShimPlan[] => [
    { at: i + 1, when: 'before', fault: 'kill' },
    { at: i + 1, when: 'after', fault: 'kill' },
    ...(TORN.includes(name) ? [{ at: i + 1, when: 'before', fault: 'tear' } as const] : []),
  ]);

const KILLS = 1;

describe.each(Object.entries(FOLLOWS))('%s after a kill', (name, follow) => {
  test.each([
    ['with hard links', false],
    ['without hard links', true],
  ])(
    'finds all of the commit or none of it, %s',
    async (links, noLinks) => {
      const scene = await makeScene();
      const whole = await runKilled(scene, NO_KILL, noLinks);
      expect(whole.stderr).toBe('');
      const { outcome, names } = JSON.parse(whole.stdout) as {
        outcome: unknown;
        names: SysCall[];
      };
      expect(outcome).toMatchObject({ outcome: 'committed' });
      expect(leftovers(scene)).toEqual([]);
      await scene.repo.remove();
      const writes = killsOf(names).filter((plan) => WRITES.has(names[plan.at - 1] ?? 'lstat'));
      for (const kill of sampled(`kills of a commit, ${name}, ${links}`, writes, KILLS)) {
        const killed = await makeScene();
        try {
          expect(await runKilled(killed, kill, noLinks)).toMatchObject({ signal: 'SIGKILL' });
          // Without hard links, the lock looks like one of another program at this one moment.
          const isTornLock =
            noLinks && kill.fault === 'tear' && existsSync(join(killed.root, '.git/index.lock'));
          if (isTornLock) await rm(join(killed.root, '.git/index.lock'));
          await follow(killed);
        } catch (error) {
          throw new Error(
            `${JSON.stringify(kill)} (${names[kill.at - 1] ?? ''}): ${String(error)}`,
            { cause: error },
          );
        } finally {
          await killed.repo.remove();
        }
      }
    },
    600_000,
  );
});

/** Between calls that only read nothing changes. */
const WRITES = new Set<SysCall>([
  'writeExclusive',
  'copyExclusive',
  'rename',
  'link',
  'unlink',
  'mkdir',
  'rmdir',
  'fsyncFile',
  'fsyncDir',
]);
