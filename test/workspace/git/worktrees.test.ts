/** Worktrees of phases: made once, found again, removed without a trace and without touching anything else. Real git. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import {
  createWorktreeKeeper,
  worktreesDir,
  type WorktreeKeeper,
} from '../../../src/workspace/git/worktrees.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import type { Worktree } from '../../../src/workspace/repository.js';
import { createApplyEngine } from '../../../src/workspace/apply/engine.js';
import { problem, ProblemError } from '../../../src/shared/problems.js';
import { realSys, type Sys } from '../../../src/system/sys.js';
import { drawn, sampled, seed } from '../../support/seeded.js';
import { noLinks } from '../../support/store-faults.js';
import { longOnly } from '../../support/skipped.js';
import { Blobs, isolateGit, Repo } from '../git-fixture.js';

isolateGit();

let repo: Repo;
let root: string;
let home: string;
let base: string;
const PLAN = '0123456789abcdef0123456789abcdef';
const keeper = (sys: Sys = realSys): WorktreeKeeper => {
  const engine = createApplyEngine({ home, blobs: new Blobs() });
  return createWorktreeKeeper({ home, readLock: (workspace) => engine.readLock(workspace), sys });
};
const make = async (name = 'p1-1', workspace = repo.dir, sys?: Sys): Promise<Worktree> => {
  const made = await keeper(sys).make({ plan: PLAN, name, workspace, base });
  if (!made.ok) throw new Error(made.problem.message);
  return made.value;
};
const gitIn = (dir: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: dir, encoding: 'utf8' });
/** A new file of that name, with its name in it; resolves to the commit's id. */
const commitIn = async ({ path }: Worktree, name: string): Promise<string> => {
  await writeFile(join(path, `${name}.txt`), `${name}\n`);
  gitIn(path, 'add', '-A');
  gitIn(path, 'commit', '-q', '-m', 'work');
  return gitIn(path, 'rev-parse', 'HEAD').trim();
};
/** All that Emend may leave behind. */
const traces = async (): Promise<unknown> => ({
  worktrees: gitIn(repo.dir, 'worktree', 'list', '--porcelain').match(/^worktree .*/gm),
  branches: gitIn(repo.dir, 'for-each-ref', '--format=%(refname)'),
  admin: existsSync(join(repo.dir, '.git', 'worktrees'))
    ? await readdir(join(repo.dir, '.git', 'worktrees'))
    : [],
  home: await readdir(root),
  records: existsSync(join(home, 'worktrees')) ? await readdir(join(home, 'worktrees')) : [],
});

beforeEach(async () => {
  repo = await Repo.make();
  root = await realpath(await mkdtemp(join(tmpdir(), 'emend trees-')));
  home = join(root, 'home');
  await mkdir(home);
  await repo.write('sub/a.txt', 'a\n');
  base = await repo.commitAll();
});
afterEach(async () => {
  await repo.remove();
  await rm(root, { recursive: true, force: true });
});

test('where there are no hard links it is made anew where it was deleted, and removed without a trace', async () => {
  const before = await traces();
  const first = await make('p1-1', repo.dir, noLinks);
  await rm(first.path, { recursive: true });
  const second = await make('p1-1', repo.dir, noLinks);
  expect(await readFile(join(second.path, 'sub/a.txt'), 'utf8')).toBe('a\n');
  await keeper(noLinks).remove(PLAN, 'p1-1');
  expect(await traces()).toEqual(before);
});

test('beside a worktree that is half noted the next waits until it is whole', async () => {
  const notes = join(repo.dir, '.git', 'worktrees', 'p1-9');
  await mkdir(notes, { recursive: true });
  await writeFile(join(notes, 'gitdir'), '/nowhere/.git\n');
  await writeFile(join(notes, 'HEAD'), `${'0'.repeat(40)}\n`);
  await writeFile(join(notes, 'commondir'), '');
  const made = make();
  await sleep(400);
  await writeFile(join(notes, 'commondir'), '../..\n');
  expect(existsSync((await made).path)).toBe(true);
  expect(existsSync(notes)).toBe(true);
});

test('made beside the home, on its own branch at the base; the same again; removed without a trace', async () => {
  const before = await traces();
  const tree = await make('p1-1', join(repo.dir, 'sub'));
  expect(tree.path.startsWith(`${worktreesDir(home)}/`)).toBe(true);
  expect(tree.workspace).toBe(`${tree.path}/sub/`);
  expect(await readFile(join(tree.path, 'sub', 'a.txt'), 'utf8')).toBe('a\n');
  expect(gitIn(tree.path, 'symbolic-ref', 'HEAD').trim()).toBe(tree.branch);
  expect(tree.branch).toBe('refs/heads/emend/0123456789abcdef/p1-1');
  await repo.commitAll('nothing new').catch(() => null);
  expect(await make('p1-1', join(repo.dir, 'sub'))).toEqual(tree);
  expect(await keeper().list(PLAN)).toEqual([tree]);
  expect(await keeper().remove(PLAN, 'p1-1')).toEqual({
    name: 'p1-1',
    branch: tree.branch,
    dropped: null,
    kept: null,
  });
  expect(await traces()).toEqual(before);
  expect(await keeper().remove(PLAN, 'p1-1')).toBeNull();
  expect(await keeper().list(PLAN)).toEqual([]);
});

longOnly('makers that die show that nothing is left')(
  'what a worker left that died while it noted or removed a worktree goes with it',
  async () => {
    const before = await traces();
    await make();
    const records = join(home, 'worktrees', PLAN);
    await writeFile(join(records, 'p1-1.made.json.TMP-4711-0123456789ab'), '{');
    // Another of the plan's: only its own remove takes what is its.
    await make('p1-10');
    const beside = join(records, 'p1-10.ready.json.TMP-4711-0123456789ab');
    await writeFile(beside, '{');
    await keeper().remove(PLAN, 'p1-1');
    expect(existsSync(beside)).toBe(true);
    await keeper().remove(PLAN, 'p1-10');
    expect(await traces()).toEqual(before);

    const tree = await make();
    for (const name of await readdir(records)) await rm(join(records, name));
    await rm(tree.path, { recursive: true });
    await rm(join(repo.dir, '.git', 'worktrees'), { recursive: true });
    gitIn(repo.dir, 'update-ref', '-d', tree.branch);
    expect(await keeper().remove(PLAN, 'p1-1')).toBeNull();
    expect(await traces()).toEqual(before);
  },
);

test('commits that nothing else holds are kept under a ref when the branch goes; those that were merged are not', async () => {
  const tree = await make();
  const tip = await commitIn(tree, 'b');
  const kept = 'refs/emend/kept/0123456789abcdef/p1-1';
  expect(await keeper().remove(PLAN, 'p1-1')).toMatchObject({ dropped: tip, kept });
  expect(await repo.line('rev-parse', kept)).toBe(tip);
  expect((await traces()) as object).toMatchObject({
    worktrees: [`worktree ${repo.dir}`],
    admin: [],
    records: [],
  });

  const merged = await make('p2-1');
  await commitIn(merged, 'c');
  await repo.git('merge', '-q', '--ff-only', merged.branch);
  expect(await keeper().remove(PLAN, 'p2-1')).toMatchObject({ dropped: null, kept: null });
});

longOnly('makers that die show removers that die, too')(
  'a remover that dies after the branch has gone: the next still names the ref',
  async () => {
    const tree = await make();
    const tip = await commitIn(tree, 'b');
    const dies: Sys = { ...realSys, unlink: () => Promise.reject(new Error('killed')) };
    await expect(keeper(dies).remove(PLAN, 'p1-1')).rejects.toThrow('killed');
    expect(existsSync(tree.path)).toBe(false);
    expect(await keeper().remove(PLAN, 'p1-1')).toMatchObject({
      dropped: tip,
      kept: 'refs/emend/kept/0123456789abcdef/p1-1',
    });
  },
);

test('made again under its name: from the base that it had, on what was committed', async () => {
  const tree = await make();
  await commitIn(tree, 'b');
  await rm(tree.path, { recursive: true });
  // Of its own home, too, nothing is left but the branch.
  await rm(join(home, 'worktrees'), { recursive: true });
  const wanted = { plan: PLAN, name: 'p1-1', workspace: repo.dir, base };
  expect(await keeper().make(wanted)).toMatchObject({ ok: false, problem: { code: 'conflict' } });
  const made = await keeper().make({ ...wanted, again: true });
  expect(made.ok && (await readFile(join(made.value.path, 'b.txt'), 'utf8'))).toBe('b\n');
});

test('a record that names something else is refused, and nothing of that is removed', async () => {
  const tree = await make();
  const own = join(root, 'own');
  await repo.git('worktree', 'add', '-q', '-b', 'mine', own);
  const before = await traces();
  for (const [what, forged] of [
    ['', { branch: 'refs/heads/mine' }],
    ['', { path: own }],
    ['', { path: 5 }],
    ['.made', { path: own }],
  ] as const) {
    const path = join(home, 'worktrees', PLAN, `p1-1${what}.json`);
    const text = await readFile(path, 'utf8');
    await writeFile(path, JSON.stringify({ ...JSON.parse(text), ...forged }));
    await expect(keeper().remove(PLAN, 'p1-1')).rejects.toThrow(`${path} is damaged: `);
    expect(await traces()).toEqual(before);
    expect([own, tree.path].map((each) => existsSync(join(each, '.git')))).toEqual([true, true]);
    await writeFile(path, text);
  }
});

test('commits that only refs of Emend hold are kept under a ref of the phase, which a symbolic ref turns to no branch', async () => {
  const tree = await make();
  const tip = await commitIn(tree, 'b');
  const head = await repo.line('rev-parse', 'HEAD');
  const branch = await repo.line('symbolic-ref', 'HEAD');
  const kept = 'refs/emend/kept/0123456789abcdef/p1-1';
  // As `git fetch origin 'refs/emend/*:refs/emend/*'` brings it, and as somebody may have made it.
  await repo.git('update-ref', 'refs/emend/heads/emend/p1-1', tip);
  await repo.git('symbolic-ref', kept, branch);
  expect(await keeper().remove(PLAN, 'p1-1')).toMatchObject({ dropped: tip, kept });
  expect([await repo.line('rev-parse', kept), await repo.line('rev-parse', branch)]).toEqual([
    tip,
    head,
  ]);
});

test("a person's worktrees, branches and files stay", async () => {
  const own = join(root, 'own');
  await repo.git('worktree', 'add', '-q', '-b', 'emend/mine', own);
  const before = await traces();
  await make();
  await make('p2-1');
  await keeper().remove(PLAN, 'p1-1');
  await keeper().remove(PLAN, 'p2-1');
  expect(await traces()).toEqual(before);
  expect(gitIn(own, 'status', '--porcelain')).toBe('');
});

test('a branch that was there before is refused and left alone', async () => {
  await repo.git('branch', 'emend/0123456789abcdef/p1-1');
  const made = await keeper().make({ plan: PLAN, name: 'p1-1', workspace: repo.dir, base });
  expect(made).toMatchObject({ ok: false, problem: { code: 'conflict' } });
  expect(await keeper().remove(PLAN, 'p1-1')).toBeNull();
  expect(await repo.line('rev-parse', 'emend/0123456789abcdef/p1-1')).toBe(base);
});

test('outside git: a problem', async () => {
  expect(await keeper().make({ plan: PLAN, name: 'p1-1', workspace: root, base })).toMatchObject({
    ok: false,
    problem: { code: 'not_a_repository' },
  });
});

longOnly('apply/lock.test.ts shows that a held workspace is left alone')(
  'a worktree that a step holds is not removed',
  async () => {
    const tree = await make();
    const engine = createApplyEngine({ home, blobs: new Blobs() });
    await engine.acquireLock(tree.workspace, PLAN, { workflowId: 'w', namespace: 'default' });
    await expect(keeper().remove(PLAN, 'p1-1')).rejects.toThrow(/has locked/);
    await engine.releaseLock(tree.workspace, PLAN);
    expect(await keeper().remove(PLAN, 'p1-1')).toMatchObject({ name: 'p1-1' });
  },
);

describe('a maker that dies', () => {
  /** Dies at the n-th durable write of the keeper; true where it came that far. */
  const dyingAt = (n: number): Sys => {
    let calls = 0;
    const counted =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> => {
        calls += 1;
        return calls === n ? Promise.reject(new Error('killed')) : call(...args);
      };
    return {
      ...realSys,
      link: counted((existing: string, path: string) => realSys.link(existing, path)),
      writeExclusive: counted((path: string, bytes: Uint8Array, file: { mode: number }) =>
        realSys.writeExclusive(path, bytes, file),
      ),
      mkdir: counted((path: string, mode: number) => realSys.mkdir(path, mode)),
      unlink: counted((path: string) => realSys.unlink(path)),
      rmdir: counted((path: string) => realSys.rmdir(path)),
    };
  };

  test('at any of its own writes: the next makes it whole, or removes every trace', async () => {
    const before = await traces();
    let died = 0;
    // `npm test` lets it die at every third write, from one that the seed draws; of those, at both odd and even ones.
    const stride = drawn(3, 1);
    for (let n = 1 + (seed % stride); ; n += stride) {
      const sys = dyingAt(n);
      const first = await make('p1-1', repo.dir, sys).then(
        () => 'made',
        (error: unknown) => String(error),
      );
      if (first !== 'made') died += 1;
      if (n % 2 === 0) {
        const tree = await make();
        expect(gitIn(tree.path, 'status', '--porcelain')).toBe('');
      }
      await keeper(dyingAt(n))
        .remove(PLAN, 'p1-1')
        .catch(() => null);
      await keeper().remove(PLAN, 'p1-1');
      const after = (await traces()) as { home: string[]; records: string[] };
      expect({ ...after, home: [], records: [] }).toEqual({
        ...(before as object),
        home: [],
        records: [],
      });
      if (first === 'made') break;
    }
    expect(died * stride).toBeGreaterThan(5);
  });

  test('in the middle of git worktree add: the next makes one beside it, and both go', async () => {
    const before = await traces();
    const tree = await make();
    // As git leaves it when it is killed between its first files and the checkout: locked, and without an index.
    const admins = join(repo.dir, '.git', 'worktrees');
    const admin = join(admins, (await readdir(admins))[0] ?? '');
    await writeFile(join(admin, 'locked'), 'initializing\n');
    await rm(join(admin, 'index'));
    await rm(join(tree.path, 'sub'), { recursive: true });
    await rm(join(home, 'worktrees', PLAN, 'p1-1.made.json'));
    const next = await make();
    expect(next.path).not.toBe(tree.path);
    expect(gitIn(next.path, 'status', '--porcelain')).toBe('');
    expect(gitIn(next.path, 'symbolic-ref', 'HEAD').trim()).toBe(next.branch);
    // Its first files only: they lead nowhere yet.
    await mkdir(join(admins, `${basename(tree.path)}1`));
    await writeFile(join(admins, `${basename(tree.path)}1`, 'locked'), 'initializing\n');
    await keeper().remove(PLAN, 'p1-1');
    expect(await traces()).toEqual(before);
  });

  longOnly('one made again under its name shows its commits, too')(
    'a worktree that somebody deleted is made again from its branch, with its commits',
    async () => {
      const before = await traces();
      const tree = await make();
      await commitIn(tree, 'b');
      await rm(tree.path, { recursive: true });
      expect(await readFile(join((await make()).path, 'b.txt'), 'utf8')).toBe('b\n');
      const { kept } = (await keeper().remove(PLAN, 'p1-1')) ?? {};
      gitIn(repo.dir, 'update-ref', '-d', kept ?? '');
      expect(await traces()).toEqual(before);
    },
  );
});

describe('a maker that is stopped, given up and wakes up late', () => {
  /** Stands still before the n-th call; `reached` false where it came to its end before. */
  const standingAt = (n: number) => {
    let calls = 0;
    let wake = (): void => undefined;
    let stand = (): void => undefined;
    const slept = new Promise<void>((resolve) => (wake = resolve));
    const stood = new Promise<void>((resolve) => (stand = resolve));
    const sys = new Proxy(realSys, {
      get: (target, name) => {
        const call = Reflect.get(target, name) as ((...all: unknown[]) => unknown) | undefined;
        if (call === undefined) return undefined;
        return async (...args: unknown[]) => {
          calls += 1;
          if (calls === n) {
            stand();
            await slept;
          }
          return call.apply(target, args);
        };
      },
    });
    return { sys, stood, wake, reached: () => calls >= n };
  };
  const gone = (): never => {
    throw new ProblemError(problem('busy', 'stood still'));
  };

  const ways = [
    ['and knows it', true],
    ['and does not know it yet', false],
  ] as const;
  test.each(sampled('late makers', ways, 1))(
    'at any of its calls, %s: what the next one made stays, and all goes in the end',
    async (_name, knows) => {
      const before = await traces();
      let stood = 0;
      // `npm test` lets it stand at every tenth call, from one that the seed draws.
      const stride = drawn(10, 1);
      for (let n = 1 + (seed % stride); ; n += stride) {
        const late = standingAt(n);
        let woken = false;
        const assertCurrent = (): void => (knows && woken ? gone() : undefined);
        const first = keeper(late.sys)
          .make({ plan: PLAN, name: 'p1-1', workspace: repo.dir, base }, { assertCurrent })
          .catch(String);
        await Promise.race([late.stood, first]);
        const tree = await make();
        await writeFile(join(tree.path, 'b.txt'), 'of the step in it\n');
        woken = true;
        late.wake();
        const outcome = await first;
        if (late.reached()) stood += 1;
        if (typeof outcome === 'string' || !outcome.ok)
          expect(JSON.stringify(outcome)).toContain('stood still');
        else expect(outcome.value).toEqual(tree);
        expect(await readFile(join(tree.path, 'b.txt'), 'utf8')).toBe('of the step in it\n');
        expect(gitIn(tree.path, 'status', '--porcelain')).toBe('?? b.txt\n');
        expect(await make()).toEqual(tree);
        await keeper().remove(PLAN, 'p1-1');
        expect(await traces()).toEqual(before);
        if (!late.reached()) break;
      }
      expect(stood * stride).toBeGreaterThan(10);
    },
  );

  test('at any of its calls once its record is there, while the next one makes it and it is removed: nothing is left', async () => {
    const before = await traces();
    const stride = drawn(5, 1);
    for (let n = 1 + (seed % stride); ; n += stride) {
      const late = standingAt(n);
      const first = keeper(late.sys).make({ plan: PLAN, name: 'p1-1', workspace: repo.dir, base });
      await Promise.race([late.stood, first]);
      const begun = existsSync(join(home, 'worktrees', PLAN, 'p1-1.json'));
      if (begun) {
        await make();
        await keeper().remove(PLAN, 'p1-1');
      }
      late.wake();
      await first;
      if (!begun || !late.reached()) await keeper().remove(PLAN, 'p1-1');
      expect([n, await traces()]).toEqual([n, before]);
      if (!late.reached()) break;
    }
  });
});

describe('worktree.setup', () => {
  const how = {
    sandbox: 'off' as const,
    env: [],
    timeout_s: 20,
    maxOutput_bytes: 4096,
    commands: createLocalRunner(process.env),
  };
  test('runs in the worktree until it has succeeded once', async () => {
    const tree = await make();
    const command = 'echo run >> count; test "$(wc -l < count)" -ge 2';
    expect(await keeper().setUp(tree, { ...how, command })).toMatchObject({
      outcome: 'failed',
      how: 'exit 1',
    });
    expect(await keeper().setUp(tree, { ...how, command })).toEqual({ outcome: 'ready' });
    expect(await keeper().setUp(tree, { ...how, command })).toEqual({ outcome: 'ready' });
    expect(await readFile(join(tree.path, 'count'), 'utf8')).toBe('run\nrun\n');
  });
  test('its output is told, without secrets', async () => {
    const tree = await make();
    const outcome = await keeper().setUp(tree, {
      ...how,
      commands: createLocalRunner({ ...process.env, MY_TOKEN: 'abcdefgh' }),
      command: 'echo abcdefgh no; exit 3',
    });
    expect(outcome).toEqual({ outcome: 'failed', how: 'exit 3', output: '[redacted] no\n' });
  });
});
