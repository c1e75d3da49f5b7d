/** Commit hooks in the sandbox, on an overlay of the working tree: what they write there is dropped, and what they stage counts. */
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import type { CommitOutcome, CommitRequest } from '../../../src/workspace/ports.js';
import { describeIf } from '../../support/skipped.js';
import { found, whyNone } from '../../support/box-users.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor } from '../git-fixture.js';

isolateGit();

describeIf(found.works, whyNone)('commit hooks on an overlay', () => {
  let repo: Repo;
  let blobs: Blobs;
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'emend-hooks-'));
    repo = await Repo.make();
    blobs = new Blobs();
    await repo.write('src/a.js', 'a = 1\n');
    await repo.write('other.js', 'other\n');
    await repo.commitAll();
    await repo.write('src/a.js', 'a = 2\n');
  });
  afterEach(async () => {
    await repo.remove();
    await rm(home, { recursive: true, force: true });
  });

  const hook = async (lines: string, dir = '.git/hooks'): Promise<void> => {
    await mkdir(join(repo.dir, dir), { recursive: true });
    await writeFile(join(repo.dir, dir, 'pre-commit'), `#!/bin/sh\n${lines}\n`);
    await chmod(join(repo.dir, dir, 'pre-commit'), 0o755);
  };
  const commit = async (more: Partial<CommitRequest> = {}): Promise<CommitOutcome> => {
    const files = [blobs.file('src/a.js', 'a = 1\n', 'a = 2\n')];
    const request = await requestFor(repo, files, { hooks: true, sandbox: SANDBOX_ON, ...more });
    return createCommitter({ ...hookPorts(home), blobs, lockWait_ms: 300 })(request);
  };
  const staged = (text: string, path = 'src/a.js') => [{ path, ref: blobs.add(text), mode: 0o644 }];

  test('drops what a hook writes in the working tree, and commits what was approved', async () => {
    await hook(
      'cat src/a.js > seen; echo b >> src/a.js; echo new > made; rm other.js; ln -s /etc link; test "$(cat seen)" = "a = 2"',
    );
    expect(await commit()).toMatchObject({ outcome: 'committed' });
    expect(await repo.status()).toBe('');
    expect(await repo.read('src/a.js')).toBe('a = 2\n');
    expect(await repo.git('show', 'HEAD:src/a.js')).toBe('a = 2\n');
    expect(await readdir(join(home, 'layers'))).toEqual([]);
  });

  test('returns what a hook formats and stages, and the working tree keeps what was applied', async () => {
    await hook("sed -i 's/$/;/' src/a.js && git add src/a.js");
    expect(await commit()).toEqual({
      outcome: 'hook_changed',
      why: 'the pre-commit hook changed what was to be committed: src/a.js',
      staged: staged('a = 2;\n'),
    });
    expect(await repo.read('src/a.js')).toBe('a = 2\n');
    expect(await repo.status()).toBe(' M src/a.js\n');
  });

  test('returns what a hook formats before it fails, as `pre-commit` does, but no other file', async () => {
    await hook("sed -i 's/$/;/' src/a.js other.js; echo reformatted; exit 1");
    const outcome = await commit();
    expect(outcome).toMatchObject({
      outcome: 'failed',
      problem: { code: 'hook_failed', message: 'the pre-commit hook ended with 1: reformatted' },
      staged: staged('a = 2;\n'),
    });
  });

  test.each([
    ['touches', 'touch src/a.js'],
    ['writes the same bytes to', 'cat src/a.js > x; cat x > src/a.js'],
    ['removes', 'rm src/a.js'],
    ['replaces by a link', 'ln -sf ../other.js src/a.js'],
  ])('returns no file that a failing hook %s', async (_, lines) => {
    await hook(`${lines}; exit 1`);
    expect(await commit()).toEqual({
      outcome: 'failed',
      problem: expect.objectContaining({ message: 'the pre-commit hook ended with 1' }),
    });
  });

  test('runs hooks of the working tree, as husky has them, from the overlay of a workspace below', async () => {
    await hook('printf "hooked\\n" > src/a.js; git add src/a.js', '.husky');
    await repo.commitAll('husky');
    await repo.write('src/a.js', 'a = 2\n');
    await repo.git('config', 'core.hooksPath', '.husky');
    const files = [blobs.file('a.js', 'a = 2\n', 'a = 3\n')];
    await repo.write('src/a.js', 'a = 3\n');
    expect(await commit({ files, workspace: join(repo.dir, 'src') })).toMatchObject({
      outcome: 'hook_changed',
      staged: staged('hooked\n', 'a.js'),
    });
    expect(await repo.read('src/a.js')).toBe('a = 3\n');
  });

  test('a stash, as lint-staged begins with, fails: the git directory is read-only', async () => {
    await hook('git stash create >/dev/null && git stash store HEAD 2>&1');
    expect(await commit()).toMatchObject({
      outcome: 'failed',
      problem: {
        code: 'hook_failed',
        message: expect.stringMatching(/\.git.*Read-only file system/),
      },
    });
  });

  test('runs the hooks again for a commit without the marks that they refuse', async () => {
    await repo.write('plan.md', 'todo\n');
    await repo.git('add', 'plan.md');
    await repo.git('commit', '-q', '-m', 'plan', 'plan.md');
    await repo.write('plan.md', 'done\n');
    await hook(
      'rm "$GIT_INDEX_FILE.x" 2>/dev/null; ! git diff --cached --name-only | grep -q plan',
    );
    const mark = {
      stepKey: 'ff'.repeat(16),
      files: [blobs.file('plan.md', 'todo\n', 'done\n')],
      renames: [],
    };
    const marks = [mark] as unknown as NonNullable<CommitRequest['marks']>;
    expect(await commit({ marks })).toMatchObject({ outcome: 'committed', marks: false });
  });
});
