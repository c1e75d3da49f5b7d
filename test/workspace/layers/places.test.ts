/** Overlays over workspaces in unusual places: odd names, below a repository, linked worktrees, outside git. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { found, whyNone } from '../../support/box-users.js';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { scene, type Scene } from './scene.js';

describeIf(found.works, whyNone)('an overlay', () => {
  const scenes: Scene[] = [];
  const newRepository = (name?: string): Scene => {
    const repo = scene(name === undefined ? {} : { name });
    scenes.push(repo);
    repo.put('.gitignore', '*.o\n');
    repo.put('src/a.txt', 'base\n');
    return repo;
  };
  afterEach(async () => {
    for (const repo of scenes.splice(0)) await repo.remove();
  });
  /** Runs a command on one workspace of a scene. */
  const runIn = (repo: Scene, workspace: string, command: string, isOpen = false) =>
    repo.layers.use({ run: 'r1', workspace, proposal: [], isWarm: false }, async (layer) => {
      const ran = await repo.commands.run({
        command,
        cwd: workspace,
        env: [],
        timeout_s: 60,
        maxOutput_bytes: 65_536,
        sandbox: { settings: SANDBOX_ON, workspace, overlay: layer.overlay, isOpen },
      });
      const changed = isOpen ? [] : (await layer.changes()).map(({ path }) => path);
      return { output: ran.output.trim(), exit: ran.exit, changed };
    });

  const NAMES = [
    'a b',
    'a:b',
    'a,b',
    'a\\b',
    'a\\:b,c d=e',
    "it's",
    '"quoted"',
    'ünïcode',
    '-x',
    '#$%&*?[]{}|<>~`!',
    'a\nb',
    'a%20b\\040c',
  ];
  test.each(sampled('names of workspaces', NAMES, 4))(
    'covers a workspace named %j',
    async (name) => {
      const repo = newRepository(name);
      repo.commit();
      const proposal = [await repo.proposed('src/b.txt', 'new\n')];
      const options = { isWarm: true, proposal };
      const command = 'cat src/*.txt; echo x > src/a.txt; echo 1 > one.o; rm src/b.txt';
      const ran = await repo.run(command, options);
      expect([ran.output, ran.exit]).toEqual(['base\nnew', 0]);
      expect(ran.changes).toEqual(['file one.o', 'file src/a.txt', 'removed src/b.txt']);
      expect((await repo.run('cat src/*.txt one.o', options)).output).toBe('base\nnew\n1');
      expect(repo.git('status', '--porcelain', '--ignored')).toBe('');
    },
  );

  test('covers a workspace with a long path', async () => {
    const repo = newRepository(join(...Array.from({ length: 8 }, (_, n) => `${n}`.repeat(200))));
    repo.commit();
    const options = { isWarm: true };
    for (const count of [1, 2, 3, 4])
      expect((await repo.run(`cat src/a.txt; echo > ${count}.o`, options)).exit).toBe(0);
  });

  const GIT =
    'git log --oneline | wc -l; git status --porcelain; git add -A; git stash; git commit -qam x';

  test('keeps the git directory read-only', async () => {
    const repo = newRepository();
    repo.commit();
    const { output, changed } = await runIn(
      repo,
      repo.workspace,
      `echo x > src/a.txt; ${GIT}; mv .git g`,
    );
    expect(output).toMatch(/^1\n/);
    expect(output).toMatch(/Read-only file system[^]*cannot move '.git'/);
    expect(changed).toEqual(['src/a.txt']);
  });

  test('covers a directory below a repository', async () => {
    const repo = newRepository();
    repo.commit();
    const sub = join(repo.workspace, 'src');
    const command = `echo x > a.txt; echo 1 > one.o; ${GIT}; echo x > ../up; echo x > ../.git/up`;
    const { output, changed } = await runIn(repo, sub, command);
    expect(output).toMatch(/^1\n M src\/a.txt\n/);
    expect(output.match(/Read-only file system/g)?.length).toBeGreaterThanOrEqual(4);
    expect(changed).toEqual(['a.txt', 'one.o']);
    expect(repo.git('status', '--porcelain', '--ignored')).toBe('');
  });

  test('covers a linked worktree, whose git directory elsewhere is read-only', async () => {
    const repo = newRepository();
    repo.commit();
    const linked = join(repo.base, 'linked');
    repo.git('worktree', 'add', '-q', linked);
    const command = `echo x > src/a.txt; ${GIT}; echo x > .git; rm .git`;
    const { output, changed } = await runIn(repo, linked, command);
    expect(output).toMatch(/Read-only file system/);
    expect(changed).toEqual(['src/a.txt']);
    const status = execFileSync('git', ['status', '--porcelain'], { cwd: linked });
    expect(status.toString()).toBe('');
    expect(repo.git('log', '--oneline', '--all').trim().split('\n')).toHaveLength(1);
  });

  test('covers a workspace outside git, where a repository that a command makes is dropped', async () => {
    const repo = newRepository();
    const command = `git init -q . && git add -A && git -c user.name=t -c user.email=t commit -qm x && git log --oneline | wc -l`;
    const { output, changed } = await runIn(repo, repo.workspace, command);
    expect(output).toBe('1');
    expect(changed).toEqual(['.git']);
    expect(existsSync(join(repo.workspace, '.git'))).toBe(false);
  });

  test('of an open box drops writes to the workspace and the git directory', async () => {
    const repo = newRepository();
    repo.commit();
    mkdirSync(join(repo.base, 'outside'));
    const command = `echo x > src/a.txt; git -c user.name=t -c user.email=t commit -qam x; git log --oneline | wc -l; echo x > ${repo.base}/outside/file`;
    const { output } = await runIn(repo, repo.workspace, command, true);
    expect(output).toBe('2');
    expect(readFileSync(join(repo.base, 'outside/file'), 'utf8')).toBe('x\n');
    expect(repo.git('log', '--oneline').trim().split('\n')).toHaveLength(1);
    expect(repo.git('status', '--porcelain')).toBe('');
  });
});
