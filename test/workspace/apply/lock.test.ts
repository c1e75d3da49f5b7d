import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createLocks } from '../../../src/workspace/apply/lock.js';

let dir: string;
let work: string;
const A = 'aaaaaaaaaaaaaaaa';
const B = 'bbbbbbbbbbbbbbbb';
const holder = { workflowId: 'w', namespace: 'n' };
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', ...args], {
    cwd,
    stdio: 'pipe',
  })
    .toString()
    .trim();

beforeEach(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend lock-')));
  work = join(dir, 'work');
  fs.mkdirSync(work);
});
afterEach(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});
const keeper = (home = 'home') => createLocks({ home: join(dir, home) });
const commit = (): string => {
  git(work, 'commit', '-q', '--allow-empty', '-m', 'c');
  return git(work, 'rev-parse', 'HEAD');
};

describe.each([
  ['in a repository', true],
  ['outside git', false],
])('%s', (_name, inGit) => {
  beforeEach(() => {
    if (!inGit) return;
    git(work, 'init', '-q', '-b', 'main');
    commit();
  });

  test('held by a step, not a process: taken once, given back to it, busy for others, ended by its holder only', async () => {
    const first = await keeper().take(work, A, holder);
    expect(first).toMatchObject({
      outcome: 'held',
      taken: true,
      lock: { token: 1, stepKey: A, workflowId: 'w', namespace: 'n' },
    });
    expect(await keeper().take(work, A, { workflowId: 'other', namespace: 'n' })).toEqual({
      ...first,
      taken: false,
      isCurrent: expect.any(Function),
    });
    expect(await keeper().take(work, B, holder)).toMatchObject({
      outcome: 'busy',
      holder: { stepKey: A },
    });
    await keeper().release(work, B);
    expect(await keeper().read(work)).toMatchObject({ stepKey: A });
    await keeper().release(work, A);
    await keeper().release(work, A);
    expect(await keeper().read(work)).toBeNull();
    expect(await keeper().take(work, B, holder)).toMatchObject({
      outcome: 'held',
      lock: { token: 2 },
    });
  });

  test('the token rises over any number of takings, and old files do not pile up', async () => {
    for (let token = 1; token <= 12; token++) {
      expect(await keeper().take(work, token % 2 === 0 ? A : B, holder)).toMatchObject({
        lock: { token },
      });
      await keeper().release(work, token % 2 === 0 ? A : B);
    }
    const at = inGit
      ? join(work, '.git/emend/lock')
      : join(dir, 'home/locks', fs.readdirSync(join(dir, 'home/locks'))[0]!);
    expect(fs.readdirSync(at).length).toBeLessThan(12);
  });

  test('break ends exactly the lock of that token', async () => {
    await keeper().take(work, A, holder);
    expect(await keeper().break(work, 2)).toBe(false);
    expect(await keeper().read(work)).toMatchObject({ token: 1 });
    expect(await keeper().break(work, 1)).toBe(true);
    expect(await keeper().read(work)).toBeNull();
    await keeper().take(work, B, holder);
    expect(await keeper().break(work, 1)).toBe(false);
    await keeper().release(work, A);
    expect(await keeper().read(work)).toMatchObject({ stepKey: B, token: 2 });
  });

  test('of many takers at once one holds it', async () => {
    const keys = Array.from({ length: 12 }, (_, i) => `${i}`.padStart(16, '0'));
    const takings = await Promise.all(keys.map((key) => keeper().take(work, key, holder)));
    expect(takings.filter((t) => t.outcome === 'held')).toHaveLength(1);
  });
});

describe('git', () => {
  test('records HEAD and its branch; null in a repository without commits, and when detached', async () => {
    git(work, 'init', '-q', '-b', 'main');
    expect(await keeper().take(work, A, holder)).toMatchObject({
      lock: { head: null, headRef: 'refs/heads/main' },
    });
    await keeper().release(work, A);
    const head = commit();
    expect(await keeper().take(work, A, holder)).toMatchObject({
      lock: { head, headRef: 'refs/heads/main' },
    });
    commit();
    expect(await keeper().take(work, A, holder)).toMatchObject({ taken: false, lock: { head } });
    await keeper().release(work, A);
    git(work, 'checkout', '-q', '--detach');
    expect(await keeper().take(work, A, holder)).toMatchObject({ lock: { headRef: null } });
  });

  test('two homes exclude each other, worktrees do not, a folder inside does', async () => {
    git(work, 'init', '-q', '-b', 'main');
    commit();
    git(work, 'worktree', 'add', '-q', '../tree');
    fs.mkdirSync(join(work, 'sub'));
    expect(await keeper('one').take(work, A, holder)).toMatchObject({ outcome: 'held' });
    expect(await keeper('two').take(work, B, holder)).toMatchObject({ outcome: 'busy' });
    expect(await keeper('two').take(join(work, 'sub'), B, holder)).toMatchObject({
      outcome: 'busy',
    });
    expect(await keeper('two').take(join(dir, 'tree'), B, holder)).toMatchObject({
      outcome: 'held',
    });
    expect(git(work, 'status', '--porcelain')).toBe('');
  });

  test('through a link to the workspace it is the same lock', async () => {
    fs.symlinkSync('work', join(dir, 'link'));
    await keeper().take(work, A, holder);
    expect(await keeper().take(join(dir, 'link'), B, holder)).toMatchObject({ outcome: 'busy' });
  });

  test('a lock of a newer version is not taken for none', async () => {
    await keeper().take(work, A, holder);
    const at = join(dir, 'home/locks', fs.readdirSync(join(dir, 'home/locks'))[0]!, '1.json');
    fs.writeFileSync(at, '{"v":3}\n');
    await expect(keeper().take(work, B, holder)).rejects.toMatchObject({
      problem: { code: 'version_unknown' },
    });
  });

  test('a workspace that is not there is a problem', async () => {
    await expect(keeper().take(join(dir, 'nowhere'), A, holder)).rejects.toMatchObject({
      problem: { code: 'disk' },
    });
  });
});
