/** Commits beside what a person has changed, staged, locked or hooked. */
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import { createCommitter } from '../../src/workspace/git/commit.js';
import type { CommitOutcome, CommitRequest } from '../../src/workspace/ports.js';
import { sampled } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor, STEP } from './git-fixture.js';

isolateGit();

let repo: Repo;
let blobs: Blobs;
const commit = (request: CommitRequest, lockWait_ms = 300): Promise<CommitOutcome> =>
  createCommitter({
    ...hookPorts(),
    blobs,
    lockWait_ms,
    hookTimeout_s: 20,
  })(request);
const committed = (outcome: CommitOutcome): { commit: string; note?: string } => {
  if (outcome.outcome !== 'committed') throw new Error(JSON.stringify(outcome));
  return outcome;
};

beforeEach(async () => {
  repo = await Repo.make();
  blobs = new Blobs();
});
afterEach(() => repo.remove());

const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`);
const text = (changed: Record<number, string> = {}): string =>
  LINES.map((line, i) => changed[i + 1] ?? line).join('');

describe('a file with uncommitted changes', () => {
  test("only the proposal's hunks are committed; the person's stay uncommitted", async () => {
    await repo.write('f', text());
    await repo.commitAll();
    const base = text({ 2: 'mine\n' });
    await repo.write('f', text({ 2: 'mine\n', 15: 'theirs\n' }));
    const request = await requestFor(repo, [
      blobs.file('f', base, text({ 2: 'mine\n', 15: 'theirs\n' })),
    ]);
    committed(await commit(request));
    expect(await repo.git('show', 'HEAD:f')).toBe(text({ 15: 'theirs\n' }));
    expect(await repo.status()).toBe(' M f\n');
    expect(await repo.git('diff', '--unified=0', '--', 'f')).toContain('+mine');
    expect(await repo.git('diff', '--', 'f')).not.toContain('theirs\n+');
  });

  test('the same lines: a conflict that names file and lines; nothing is committed', async () => {
    await repo.write('f', text());
    const head = await repo.commitAll();
    const request = await requestFor(repo, [
      blobs.file('f', text({ 7: 'mine\n' }), text({ 7: 'both\n' })),
    ]);
    const outcome = await commit(request);
    expect(outcome).toMatchObject({ outcome: 'conflict' });
    expect(JSON.stringify(outcome)).toMatch(/f: .*\(7 before the step\)/);
    expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
  });

  longOnly('the hunks of the first show that what a person changed stays theirs')(
    "a person's uncommitted mode stays theirs",
    async () => {
      await repo.write('f', text(), 0o644);
      await repo.commitAll();
      await repo.write('f', text({ 3: 'x\n' }), 0o755);
      committed(
        await commit(
          await requestFor(repo, [blobs.file('f', text(), text({ 3: 'x\n' }), [0o755, 0o755])]),
        ),
      );
      expect(await repo.git('ls-tree', '--format=%(objectmode)', 'HEAD')).toBe('100644\n');
    },
  );

  longOnly('git/commit.test.ts moves a file; the first shows hunks')(
    'a move of a changed file carries only the hunks of the proposal',
    async () => {
      await repo.write('old', text());
      await repo.commitAll();
      const files = [
        blobs.file('new', null, text({ 2: 'mine\n', 15: 'x\n' })),
        blobs.file('old', text({ 2: 'mine\n' }), null),
      ];
      await repo.write('new', text({ 2: 'mine\n', 15: 'x\n' }));
      await rm(join(repo.dir, 'old'));
      committed(
        await commit(await requestFor(repo, files, { renames: [{ from: 'old', to: 'new' }] })),
      );
      expect(await repo.git('show', 'HEAD:new')).toBe(text({ 15: 'x\n' }));
      expect(await repo.git('ls-tree', '--name-only', 'HEAD')).toBe('new\n');
    },
  );

  const conflicts: readonly [string, string, string | null, string | null][] = [
    ['deleted, but the commit has more', 'f', text({ 1: 'mine\n' }), null],
    ['made new, where the commit has one', 'f', null, 'new\n'],
    ['changed, but never added', 'untracked', 'u\n', 'U\n'],
    ['new below what the commit has as a file', 'f/below', null, 'b\n'],
    ['new in the place of what the commit has as a directory', 'dir', null, 'b\n'],
  ];
  test.each(sampled('what conflicts', conflicts, 2))(
    '%s: conflict',
    async (_, path, base, result) => {
      await repo.write('f', text());
      await repo.write('dir/inner', 'i\n');
      const head = await repo.commitAll();
      expect(await commit(await requestFor(repo, [blobs.file(path, base, result)]))).toMatchObject({
        outcome: 'conflict',
      });
      expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
    },
  );
});

describe("the person's index", () => {
  test('other files that they staged, and other content of ours, stay staged as they were', async () => {
    await repo.write('ours', text());
    await repo.write('both', text());
    await repo.write('theirs', '1\n');
    await repo.commitAll();
    await repo.write('theirs', '2\n');
    await repo.write('fresh', 'n\n');
    await repo.write('both', text({ 2: 'staged\n' }));
    await repo.git('add', '-A');
    const request = await requestFor(repo, [
      blobs.file('ours', text(), text({ 5: 'x\n' })),
      blobs.file('both', text({ 2: 'staged\n' }), text({ 2: 'staged\n', 15: 'x\n' })),
    ]);
    await repo.write('ours', text({ 5: 'x\n' }));
    await repo.write('both', text({ 2: 'staged\n', 15: 'x\n' }));
    const { commit: id, note } = committed(await commit(request));
    expect(await repo.git('show', '--format=', '--name-only', id)).toBe('both\nours\n');
    expect(await repo.git('show', `${id}:both`)).toBe(text({ 15: 'x\n' }));
    expect(await repo.git('show', ':both')).toBe(text({ 2: 'staged\n' }));
    expect(await repo.status()).toBe('MM both\nA  fresh\nM  theirs\n');
    expect(note).toContain('both');
    expect(note).not.toContain('ours');
  });

  test('what keeps a file local (skip-worktree, assume-unchanged) is kept', async () => {
    const names = ['-skip w', 'assume', 'both', 'plain'];
    for (const name of names) await repo.write(name, text());
    await repo.commitAll();
    await repo.git('update-index', '--skip-worktree', '--', '-skip w', 'both');
    await repo.git('update-index', '--assume-unchanged', '--', 'assume', 'both');
    const [base, result] = [text({ 2: 'local\n' }), text({ 2: 'local\n', 15: 'x\n' })];
    for (const name of names) await repo.write(name, result);
    committed(
      await commit(
        await requestFor(
          repo,
          names.map((name) => blobs.file(name, base, result)),
        ),
      ),
    );
    expect(await repo.git('ls-files', '-v')).toBe('S -skip w\nh assume\ns both\nH plain\n');
    expect(await repo.git('show', 'HEAD:both', ':both')).toBe(text({ 15: 'x\n' }).repeat(2));
    expect(await repo.status()).toBe(' M plain\n');
  });

  test('a lock that is let go in time is waited for, and the branch does not move before', async () => {
    await repo.write('f', '1\n');
    const head = await repo.commitAll();
    await repo.write('f', '2\n');
    const lock = join(repo.dir, '.git/index.lock');
    await writeFile(lock, '');
    const waiting = commit(await requestFor(repo, [blobs.file('f', '1\n', '2\n')]), 20_000);
    await new Promise((go) => setTimeout(go, 500));
    expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
    await rm(lock);
    expect(committed(await waiting).note).toBeUndefined();
    expect(await repo.status()).toBe('');
  });

  test('a lock that stays: failed with what to type, nothing committed, and the lock is not removed', async () => {
    await repo.write('f', '1\n');
    const head = await repo.commitAll();
    await repo.write('f', '2\n');
    await writeFile(join(repo.dir, '.git/index.lock'), 'not ours');
    const request = await requestFor(repo, [blobs.file('f', '1\n', '2\n')]);
    expect(await commit(request)).toMatchObject({
      outcome: 'failed',
      problem: { code: 'git_failed', message: expect.stringContaining('index.lock') },
    });
    expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
    expect(await repo.read('.git/index.lock')).toBe('not ours');
    await rm(join(repo.dir, '.git/index.lock'));
    committed(await commit(request));
    expect(await repo.status()).toBe('');
  });

  test.each(['a split index', 'no index file', 'a linked worktree', 'a link in its place'])(
    'follows the commit with %s',
    async (kind) => {
      for (const name of ['f', 'theirs']) await repo.write(name, '1\n');
      await repo.commitAll();
      let tree = repo;
      if (kind === 'a split index') await repo.git('update-index', '--split-index');
      if (kind === 'no index file') await rm(join(repo.dir, '.git/index'));
      if (kind === 'a link in its place')
        await repo.git(
          '-c',
          'alias.move=!mv .git/index .git/real && ln -s real .git/index',
          'move',
        );
      if (kind === 'a linked worktree') {
        await repo.git('worktree', 'add', '-q', '-b', 'side', join(repo.dir, '.git/side'));
        tree = new Repo(join(repo.dir, '.git/side'));
      }
      await tree.write('f', '2\n');
      committed(await commit(await requestFor(tree, [blobs.file('f', '1\n', '2\n')])));
      if (kind === 'no index file') await repo.git('reset', '-q');
      expect(await tree.status()).toBe('');
      expect(await tree.git('ls-files')).toBe('f\ntheirs\n');
      const entries = await readdir(join(repo.dir, '.git/emend')).catch(() => []);
      expect(entries.filter((name) => name.startsWith('index'))).toEqual([]);
    },
  );
});

test('during a rebase: the note says that its abort drops the commit', async () => {
  await repo.write('f', '1\n');
  await repo.commitAll();
  await repo.write('f', '2\n');
  await repo.commitAll();
  await repo.git('-c', 'sequence.editor=sed -i s/^pick/edit/', 'rebase', '-q', '-i', 'HEAD~1');
  await repo.write('f', '3\n');
  const { note } = committed(await commit(await requestFor(repo, [blobs.file('f', '2\n', '3\n')])));
  expect(note).toContain('git rebase --abort');
  await repo.git('rebase', '--quit');
  // It left HEAD detached.
  await repo.write('f', '4\n');
  expect(
    committed(await commit(await requestFor(repo, [blobs.file('f', '3\n', '4\n')]))).note,
  ).toBe('HEAD is detached: no local branch has this commit');
  await repo.git('switch', '-q', '-c', 'kept');
  await repo.write('f', '5\n');
  expect(
    committed(await commit(await requestFor(repo, [blobs.file('f', '4\n', '5\n')]))).note,
  ).toBeUndefined();
});

describe('line endings', () => {
  test('autocrlf: LF in the commit, CRLF in the workspace, status clean', async () => {
    await repo.git('config', 'core.autocrlf', 'true');
    await repo.write('f', 'a\r\nb\r\n');
    await repo.commitAll();
    await repo.write('f', 'a\r\nB\r\n');
    committed(await commit(await requestFor(repo, [blobs.file('f', 'a\r\nb\r\n', 'a\r\nB\r\n')])));
    expect(await repo.git('show', 'HEAD:f')).toBe('a\nB\n');
    expect(await repo.status()).toBe('');
  });

  test('autocrlf over a file that was committed with CRLF: its lines are not all rewritten', async () => {
    await repo.write('f', 'a\r\nb\r\n');
    await repo.commitAll();
    await repo.git('config', 'core.autocrlf', 'true');
    await repo.write('f', 'a\r\nB\r\n');
    committed(await commit(await requestFor(repo, [blobs.file('f', 'a\r\nb\r\n', 'a\r\nB\r\n')])));
    expect(await repo.git('show', 'HEAD:f')).toBe('a\r\nB\r\n');
    expect(await repo.status()).toBe('');
  });

  longOnly('the one before shows files that were committed with CRLF')(
    'autocrlf over a file that was committed with CRLF: it may be deleted',
    async () => {
      await repo.write('f', 'a\r\nb\r\n');
      await repo.commitAll();
      await repo.git('config', 'core.autocrlf', 'true');
      await rm(join(repo.dir, 'f'));
      committed(await commit(await requestFor(repo, [blobs.file('f', 'a\r\nb\r\n', null)])));
      expect(await repo.git('ls-tree', 'HEAD')).toBe('');
      expect(await repo.status()).toBe('');
    },
  );

  longOnly('autocrlf and uncommitted changes are each shown alone')(
    'autocrlf with uncommitted changes: hunks are merged in what git stores',
    async () => {
      const crlf = (lf: string): string => lf.replaceAll('\n', '\r\n');
      await repo.git('config', 'core.autocrlf', 'true');
      await repo.write('f', crlf(text()));
      await repo.commitAll();
      const [base, result] = [crlf(text({ 2: 'mine\n' })), crlf(text({ 2: 'mine\n', 15: 'x\n' }))];
      await repo.write('f', result);
      committed(await commit(await requestFor(repo, [blobs.file('f', base, result)])));
      expect(await repo.git('show', 'HEAD:f')).toBe(text({ 15: 'x\n' }));
    },
  );

  test('eol attributes and clean filters of .gitattributes apply by path, also below a sub-directory workspace', async () => {
    await repo.write('.gitattributes', 'pkg/*.txt text eol=crlf\n*.up filter=up\n');
    await repo.git('config', 'filter.up.clean', 'tr a-z A-Z');
    await repo.write('pkg/f.txt', 'a\r\n');
    await repo.write('pkg/g.up', 'abc\n');
    await repo.commitAll();
    await repo.write('pkg/f.txt', 'b\r\n');
    await repo.write('pkg/g.up', 'xyz\n');
    const files = [blobs.file('f.txt', 'a\r\n', 'b\r\n'), blobs.file('g.up', 'abc\n', 'xyz\n')];
    committed(await commit(await requestFor(repo, files, { workspace: join(repo.dir, 'pkg') })));
    expect(await repo.git('show', 'HEAD:pkg/f.txt')).toBe('b\n');
    expect(await repo.git('show', 'HEAD:pkg/g.up')).toBe('XYZ\n');
    expect(await repo.status()).toBe('');
  });
});

describe('hooks', () => {
  const hook = async (name: string, script: string): Promise<void> => {
    await mkdir(join(repo.dir, '.git/hooks'), { recursive: true });
    await writeFile(join(repo.dir, '.git/hooks', name), `#!/bin/sh\n${script}\n`);
    await chmod(join(repo.dir, '.git/hooks', name), 0o755);
  };
  const request = async (more: Partial<CommitRequest> = {}): Promise<CommitRequest> => {
    await repo.write('f', '1\n');
    await repo.write('g', '1\n');
    await repo.commitAll();
    await repo.write('f', '2\n');
    await repo.write('g', 'staged by the person\n');
    await repo.git('add', 'g');
    return requestFor(repo, [blobs.file('f', '1\n', '2\n')], { hooks: true, ...more });
  };

  longOnly('a refusal that is not asked shows a commit without hooks')(
    'none there: committed',
    async () => {
      committed(await commit(await request()));
    },
  );

  test('pre-commit sees exactly what is to be committed, and no secret', async () => {
    process.env.ANTHROPIC_API_KEY = 'sk-very-secret';
    await hook(
      'pre-commit',
      'git diff --cached --name-only > "$PWD/.git/seen"; env > "$PWD/.git/env"',
    );
    const commitRequest = await request();
    await rm(join(repo.dir, '.git/seen'), { force: true });
    committed(await commit(commitRequest));
    delete process.env.ANTHROPIC_API_KEY;
    expect(await repo.read('.git/seen')).toBe('f\n');
    expect(await repo.read('.git/env')).not.toContain('sk-very-secret');
    expect(await repo.status()).toBe('M  g\n');
  });

  test('a refusal is hook_failed with its words; off, it is not asked', async () => {
    const commitRequest = await request();
    await hook('pre-commit', 'echo "lint: f is ugly" >&2; exit 3');
    const outcome = await commit(commitRequest);
    expect(outcome).toMatchObject({ outcome: 'failed', problem: { code: 'hook_failed' } });
    expect(JSON.stringify(outcome)).toContain('lint: f is ugly');
    expect(await repo.line('rev-list', '--count', 'HEAD')).toBe('1');
    committed(await commit({ ...commitRequest, hooks: false }));
  });

  test('a hook that stages other bytes: hook_changed with the paths, nothing committed, index untouched', async () => {
    const commitRequest = await request();
    await hook('pre-commit', 'echo formatted > f; git add f');
    expect(await commit(commitRequest)).toMatchObject({
      outcome: 'hook_changed',
      why: expect.stringMatching(/: f$/),
    });
    expect(await repo.line('rev-list', '--count', 'HEAD')).toBe('1');
    expect(await repo.git('show', ':f')).toBe('1\n');
  });

  test('commit-msg may refuse or add to the message; the trailer stays', async () => {
    const commitRequest = await request();
    await hook(
      'commit-msg',
      'grep -q Change "$1" || exit 1; printf "Rewritten\\n\\nTicket: 7\\n" > "$1"',
    );
    expect(await commit({ ...commitRequest, message: 'No' })).toMatchObject({
      outcome: 'failed',
      problem: { code: 'hook_failed' },
    });
    committed(await commit(commitRequest));
    expect(await repo.line('log', '-1', '--format=%B')).toBe(
      `Rewritten\n\nTicket: 7\nEmend-Step: ${STEP}`,
    );
  });
});

longOnly('git/signing.test.ts shows it with real keys')(
  "signing that fails is sign_failed with git's words, nothing committed",
  async () => {
    await repo.write('f', '1\n');
    const head = await repo.commitAll();
    await repo.git('config', 'gpg.program', '/nonexistent/gpg');
    const commitRequest = await requestFor(repo, [blobs.file('f', '1\n', '2\n')], { sign: true });
    expect(await commit(commitRequest)).toMatchObject({
      outcome: 'failed',
      problem: { code: 'sign_failed' },
    });
    expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
  },
);

test('signed: the signature differs each time, yet a retry finds the commit', async () => {
  await repo.write('f', '1\n');
  await repo.commitAll();
  // A stand-in for gpg whose every signature is another one.
  const gpg = `${repo.dir}-gpg`;
  await writeFile(
    gpg,
    '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\nprintf -- "-----BEGIN PGP SIGNATURE-----\\n%s\\n-----END PGP SIGNATURE-----\\n" "$(od -An -N8 -tx8 /dev/urandom)"\n',
    { mode: 0o755 },
  );
  await repo.git('config', 'gpg.program', gpg);
  await repo.write('f', '2\n');
  const commitRequest = await requestFor(repo, [blobs.file('f', '1\n', '2\n')], { sign: true });
  const first = committed(await commit(commitRequest));
  expect(await repo.git('cat-file', 'commit', 'HEAD')).toContain('BEGIN PGP SIGNATURE');
  expect(committed(await commit(commitRequest))).toEqual(first);
  await rm(gpg);
});
