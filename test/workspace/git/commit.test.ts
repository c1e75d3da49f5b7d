import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import { planCommits } from '../../../src/workspace/landing/revert-commits.js';
import type { CommitOutcome, CommitRequest } from '../../../src/workspace/ports.js';
import type { Proposal, ProposalFile } from '../../../src/workspace/proposal.js';
import { sampled } from '../../support/seeded.js';
import { longOnly } from '../../support/skipped.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor, STEP } from '../git-fixture.js';

isolateGit();

let repo: Repo;
let blobs: Blobs;
const commit = (request: CommitRequest): Promise<CommitOutcome> =>
  createCommitter({ ...hookPorts(), blobs, lockWait_ms: 300 })(request);

/** Writes the results as apply would, then commits them. */
async function applyAndCommit(
  files: readonly ProposalFile[],
  more: Partial<CommitRequest> = {},
): Promise<CommitOutcome> {
  const request = await requestFor(repo, files, more);
  await apply(request);
  return commit(request);
}
async function apply(request: CommitRequest): Promise<void> {
  for (const { path, result } of request.files) {
    const at = join(request.workspace, path);
    if (result === null) await rm(at, { force: true });
    else {
      await mkdir(join(at, '..'), { recursive: true });
      await writeFile(at, await blobs.get(result.ref), { mode: result.mode });
    }
  }
}
const committed = (outcome: CommitOutcome): string => {
  if (outcome.outcome !== 'committed') throw new Error(JSON.stringify(outcome));
  return outcome.commit;
};
const conflict = (outcome: CommitOutcome): string => {
  if (outcome.outcome !== 'conflict') throw new Error(JSON.stringify(outcome));
  return outcome.why;
};

beforeEach(async () => {
  repo = await Repo.make();
  blobs = new Blobs();
});
afterEach(() => repo.remove());

describe('a plain commit', () => {
  test('edits, adds and deletes; branch moved, status clean, fixed author, dates and trailer', async () => {
    await repo.write('a.txt', 'one\ntwo\n');
    await repo.write('gone.txt', 'x\n');
    await repo.write('other.txt', 'keep\n');
    const parent = await repo.commitAll();
    const outcome = await applyAndCommit([
      blobs.file('a.txt', 'one\ntwo\n', 'one\nTWO\n'),
      blobs.file('gone.txt', 'x\n', null),
      blobs.file('new/b.txt', null, 'b\n'),
    ]);
    const id = committed(outcome);
    expect(outcome).toEqual({ outcome: 'committed', commit: id, marks: false });
    expect(await repo.line('rev-parse', 'main')).toBe(id);
    expect(await repo.line('rev-parse', `${id}^`)).toBe(parent);
    expect(await repo.git('show', '--format=', '--name-status', '--no-renames', id)).toBe(
      'M\ta.txt\nD\tgone.txt\nA\tnew/b.txt\n',
    );
    expect(await repo.git('show', `${id}:a.txt`)).toBe('one\nTWO\n');
    expect(await repo.status()).toBe('');
    expect(await repo.git('log', '-1', '--format=%an|%ae|%cn|%ce|%at|%ct|%B')).toBe(
      `Ada Person|ada@example.org|Ada Person|ada@example.org|1767323045|1767323045|Change things\n\nEmend-Step: ${STEP}\n\n`,
    );
  });

  test('the author falls back to Emend where git has none', async () => {
    await repo.write('a', '1\n');
    await repo.commitAll();
    await repo.git('config', '--unset', 'user.name');
    await repo.git('config', '--unset', 'user.email');
    committed(await applyAndCommit([blobs.file('a', '1\n', '2\n')]));
    expect(await repo.line('log', '-1', '--format=%an <%ae>')).toBe('Emend <emend@localhost>');
  });

  test('modes: the executable bit is kept, set and taken; a link stays a link', async () => {
    await repo.write('run.sh', 'a\n', 0o755);
    await repo.write('plain.sh', 'b\n', 0o644);
    await repo.write('was.sh', 'c\n', 0o755);
    await repo.commitAll();
    const request = await requestFor(repo, [
      blobs.file('run.sh', 'a\n', 'A\n', [0o755, 0o755]),
      blobs.file('plain.sh', 'b\n', 'b\n', [0o644, 0o755]),
      blobs.file('was.sh', 'c\n', 'C\n', [0o755, 0o644]),
      blobs.file('link', null, 'run.sh', [0, 0o120777]),
    ]);
    await repo.write('run.sh', 'A\n', 0o755);
    await repo.write('plain.sh', 'b\n', 0o755);
    await repo.write('was.sh', 'C\n', 0o644);
    await repo.link('link', 'run.sh');
    committed(await commit(request));
    const modes = (await repo.git('ls-tree', '-r', '--format=%(objectmode) %(path)', 'HEAD'))
      .trim()
      .split('\n');
    expect(modes).toEqual(['120000 link', '100755 plain.sh', '100755 run.sh', '100644 was.sh']);
    expect(await repo.status()).toBe('');
  });

  test('odd paths: spaces, quotes, unicode, leading dash, glob and pathspec characters, line end', async () => {
    const odd = [
      'a b.txt',
      '"quoted".txt',
      "it's.txt",
      'äöü/ñ.txt',
      '-rf',
      '--all',
      '*.txt',
      ':(top)x',
      'a\tb',
      'line\nend',
      '#c',
      '[x]',
    ];
    for (const path of odd) await repo.write(path, 'old\n');
    await repo.write('untouched.txt', 'same\n');
    await repo.commitAll();
    committed(await applyAndCommit(odd.map((path) => blobs.file(path, 'old\n', `new ${path}\n`))));
    const held = await repo.git('show', ...odd.map((path) => `HEAD:${path}`));
    expect(held).toBe(odd.map((path) => `new ${path}\n`).join(''));
    const changed = (await repo.git('show', '--format=', '--name-only', '-z', 'HEAD'))
      .split('\0')
      .filter((p) => p !== '');
    expect(changed.sort()).toEqual([...odd].sort());
    expect(await repo.status()).toBe('');
  });

  test('a moved file is one change: gone there, here with its edit', async () => {
    await repo.write('old.txt', '1\n2\n3\n');
    await repo.commitAll();
    const files = [
      blobs.file('new.txt', null, '1\n2\n3!\n'),
      blobs.file('old.txt', '1\n2\n3\n', null),
    ];
    committed(await applyAndCommit(files, { renames: [{ from: 'old.txt', to: 'new.txt' }] }));
    expect(await repo.git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('new.txt\n');
    expect(await repo.git('show', 'HEAD:new.txt')).toBe('1\n2\n3!\n');
    expect(await repo.status()).toBe('');
  });

  test('a move of a file that was never committed adds the new file', async () => {
    await repo.write('a', '1\n');
    await repo.commitAll();
    await repo.write('draft.txt', '1\n2\n3\n');
    const files = [
      blobs.file('draft.txt', '1\n2\n3\n', null),
      blobs.file('final.txt', null, '1\n2\n3\n'),
    ];
    committed(await applyAndCommit(files, { renames: [{ from: 'draft.txt', to: 'final.txt' }] }));
    expect(await repo.git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('a\nfinal.txt\n');
    expect(await repo.status()).toBe('');
  });

  longOnly('trees are compared with those of git in trees.test.ts')(
    'an empty change is nothing',
    async () => {
      await repo.write('a', '1\n');
      const head = await repo.commitAll();
      expect(await applyAndCommit([blobs.file('a', '1\n', '1\n')])).toEqual({ outcome: 'nothing' });
      expect(await applyAndCommit([])).toEqual({ outcome: 'nothing' });
      expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
    },
  );

  test('a message that looks like a patch, a comment or a trailer is kept, and no temporary directory stays', async () => {
    await repo.write('a', '1\n');
    await repo.commitAll();
    const message = 'fix: it\n\n---\n# not a comment\n\nSigned-off-by: B <b@c>\n';
    committed(await applyAndCommit([blobs.file('a', '1\n', '2\n')], { message }));
    expect(await repo.line('log', '-1', '--format=%B')).toBe(
      `fix: it\n\n---\n# not a comment\n\nSigned-off-by: B <b@c>\nEmend-Step: ${STEP}`,
    );
    // Tests beside this one commit too, in processes of their own.
    const ours = (await readdir(tmpdir())).filter(
      (name) => name.startsWith('emend-commit.') && name.includes(`.${process.pid}.`),
    );
    expect(ours).toEqual([]);
  });
});

test('what a log says is read as UTF-8, whatever encoding the repository is set to', async () => {
  await repo.write('a', '1\n');
  await repo.commitAll();
  for (const key of ['commitEncoding', 'logOutputEncoding'])
    await repo.git('config', `i18n.${key}`, 'ISO-8859-1');
  const message = 'Grüße\n\nPlan pläne/p.md, phase 1';
  const stepKey = `${STEP}-p1-1`;
  const made = committed(
    await applyAndCommit([blobs.file('a', '1\n', '2\n')], { message, stepKey }),
  );
  expect(await planCommits(repo.dir, 'pläne/p.md')).toMatchObject([
    { commit: made, phase: 'p1', subject: 'Grüße' },
  ]);
});

describe('where HEAD may be', () => {
  longOnly('commit-locked.test.ts commits on a detached HEAD')('detached', async () => {
    await repo.write('a', '1\n');
    const parent = await repo.commitAll();
    await repo.git('checkout', '-q', '--detach');
    const outcome = await applyAndCommit([blobs.file('a', '1\n', '2\n')]);
    expect(outcome).toMatchObject({ outcome: 'committed' });
    expect(await repo.line('rev-parse', 'HEAD')).toBe(committed(outcome));
    expect(await repo.line('rev-parse', 'main')).toBe(parent);
    expect(await repo.status()).toBe('');
  });

  test('unborn: new files make the first commit; a file nobody committed is a conflict', async () => {
    await repo.write('mine.txt', 'm\n');
    expect(
      conflict(await commit(await requestFor(repo, [blobs.file('mine.txt', 'm\n', 'n\n')]))),
    ).toContain('mine.txt');
    const outcome = await applyAndCommit([blobs.file('a', null, '1\n')]);
    expect(await repo.line('rev-list', '--count', committed(outcome))).toBe('1');
    expect(await repo.git('ls-tree', '--name-only', 'main')).toBe('a\n');
    expect(await repo.status()).toBe('?? mine.txt\n');
  });

  longOnly('the worktree of sha256.test.ts and the plans show it')(
    'a linked worktree: its own branch and index',
    async () => {
      await repo.write('a', '1\n');
      const parent = await repo.commitAll();
      await repo.git('worktree', 'add', '-q', '-b', 'side', join(repo.dir, 'wt'));
      const tree = new Repo(join(repo.dir, 'wt'));
      const request = await requestFor(tree, [blobs.file('a', '1\n', '2\n')]);
      await apply(request);
      const id = committed(await commit(request));
      expect(await repo.line('rev-parse', 'side')).toBe(id);
      expect(await repo.line('rev-parse', 'main')).toBe(parent);
      expect(await tree.status()).toBe('');
      expect(await repo.status()).toBe('?? wt/\n');
    },
  );

  test('a workspace that is a sub-directory, with a twin of its path at the top', async () => {
    await repo.write('a', 'top\n');
    await repo.write('pkg ü/a', '1\n');
    await repo.commitAll();
    const workspace = join(repo.dir, 'pkg ü');
    const files = [blobs.file('a', '1\n', '2\n'), blobs.file('sub/new', null, 'n\n')];
    committed(await applyAndCommit(files, { workspace }));
    expect(await repo.git('show', 'HEAD:pkg ü/a')).toBe('2\n');
    expect(await repo.git('show', 'HEAD:pkg ü/sub/new')).toBe('n\n');
    expect(await repo.git('show', 'HEAD:a')).toBe('top\n');
    expect(await repo.status()).toBe('');
  });

  test('outside git: a problem with a sentence', async () => {
    const request = await requestFor(repo, []);
    await rm(join(repo.dir, '.git'), { recursive: true });
    expect(await commit(request)).toMatchObject({
      outcome: 'failed',
      problem: { code: 'not_a_repository' },
    });
  });
});

describe('again, and elsewhere', () => {
  test('a retry after success returns the same commit, also after more commits', async () => {
    await repo.write('a', '1\n');
    await repo.commitAll();
    // What a person's git takes for a trailer is theirs.
    await repo.git('config', 'trailer.separators', '=');
    const request = await requestFor(repo, [blobs.file('a', '1\n', '2\n')]);
    await apply(request);
    const first = await commit(request);
    expect(await commit(request)).toEqual(first);
    expect(await repo.line('rev-list', '--count', 'HEAD')).toBe('2');
    await repo.write('b', 'b\n');
    const later = await repo.commitAll('later');
    expect(await commit(request)).toEqual(first);
    expect(await repo.line('rev-parse', 'HEAD')).toBe(later);
    expect(await repo.status()).toBe('');
  });

  test('the same request makes the same id: killed before update-ref, the retry makes no second commit', async () => {
    await repo.write('a', '1\n');
    const parent = await repo.commitAll();
    const request = await requestFor(repo, [blobs.file('a', '1\n', '2\n')]);
    await apply(request);
    const id = committed(await commit(request));
    await repo.git('update-ref', 'refs/heads/main', parent);
    await repo.git('reset', '-q');
    expect(committed(await commit(request))).toBe(id);
  });

  longOnly('a retry after success shows that its commit is found')(
    'a commit that was amended afterwards still counts: its trailer names the step',
    async () => {
      await repo.write('a', '1\n');
      await repo.commitAll();
      const request = await requestFor(repo, [blobs.file('a', '1\n', '2\n')]);
      await apply(request);
      committed(await commit(request));
      await repo.git('commit', '-q', '--amend', '-m', `reworded\n\nEmend-Step: ${STEP}`);
      expect(committed(await commit(request))).toBe(await repo.line('rev-parse', 'HEAD'));
      expect(await repo.line('rev-list', '--count', 'HEAD')).toBe('2');
    },
  );

  test('another commit on the branch is a conflict that names both; nothing moves', async () => {
    await repo.write('a', '1\n');
    const parent = await repo.commitAll();
    const request = await requestFor(repo, [blobs.file('a', '1\n', '2\n')]);
    await repo.write('b', 'b\n');
    const other = await repo.commitAll('theirs');
    const why = conflict(await commit(request));
    expect(why).toContain(parent.slice(0, 12));
    expect(why).toContain(other.slice(0, 12));
    expect(await repo.line('rev-parse', 'HEAD')).toBe(other);
  });

  longOnly('another commit on the branch shows the conflict')(
    'another branch checked out at the same commit is a conflict',
    async () => {
      await repo.write('a', '1\n');
      const parent = await repo.commitAll();
      const request = await requestFor(repo, [blobs.file('a', '1\n', '2\n')]);
      await repo.git('checkout', '-q', '-b', 'elsewhere');
      expect(conflict(await commit(request))).toContain('refs/heads/elsewhere');
      expect(await repo.line('rev-parse', 'main')).toBe(parent);
      expect(await repo.line('rev-parse', 'elsewhere')).toBe(parent);
    },
  );
});

describe('marks of a plan that go along', () => {
  const TEXT = 'a\n\n\n\nb\n\n\n\nc\n';
  const key = (n: number): string => `${'feedc0de'.repeat(4)}-p${n}-m1`;
  const mark = (n: number, base: string, result: string): Proposal => ({
    stepKey: key(n),
    files: [blobs.file('plan.md', base, result)],
    renames: [],
  });
  const own = () => [blobs.file('x.txt', 'x\n', 'y\n')];
  const changedBy = async (id: string): Promise<string[]> =>
    (await repo.git('show', '--format=', '--name-only', id)).trim().split('\n');
  beforeEach(async () => {
    await repo.write('plan.md', TEXT);
    await repo.write('x.txt', 'x\n');
    await repo.commitAll();
  });

  test('each onto what the one before made of it; what a person wrote in between stays out; a retry finds it done', async () => {
    const one = TEXT.replace('a', 'a [x]');
    const edited = one.replace('c', 'c, which is mine');
    const two = edited.replace('b', 'b [x]');
    await repo.write('plan.md', two);
    const request = await requestFor(repo, own(), {
      marks: [mark(1, TEXT, one), mark(2, edited, two)],
    });
    await apply(request);
    const outcome = await commit(request);
    const id = committed(outcome);
    expect(outcome).toMatchObject({ marks: true });
    expect(await changedBy(id)).toEqual(['plan.md', 'x.txt']);
    expect(await repo.git('show', `${id}:plan.md`)).toBe('a [x]\n\n\n\nb [x]\n\n\n\nc\n');
    expect((await repo.git('log', '-1', '--format=%(trailers)', id)).trim().split('\n')).toEqual([
      ...[1, 2].map((n) => `Emend-Mark: ${key(n)}`),
      `Emend-Step: ${STEP}`,
    ]);
    expect(await repo.status()).toBe(' M plan.md\n');
    expect(await commit(request)).toEqual(outcome);
    expect(await repo.line('rev-parse', 'HEAD')).toBe(id);
  });

  test('a person has committed them meanwhile, though each changed the same line: there is nothing left of them', async () => {
    const [one, two] = ['a 1', 'a 2'].map((a) => TEXT.replace('a', a)) as [string, string];
    const three = two.replace('b', 'b [x]');
    await repo.write('plan.md', two);
    await repo.commitAll('wip');
    await repo.write('plan.md', three);
    const marks = [mark(1, TEXT, one), mark(2, one, two), mark(3, two, three)];
    const outcome = await applyAndCommit(own(), { marks });
    expect(outcome).toMatchObject({ outcome: 'committed', marks: true });
    expect(await repo.git('show', `${committed(outcome)}:plan.md`)).toBe(three);
  });

  const reasons = [
    [
      'the parent holds other lines in their place',
      () => Promise.resolve(),
      (): Proposal => mark(1, 'a [ ]\n', 'a [x]\n'),
    ],
    [
      'a hook refuses them',
      async () => {
        const hook = join(repo.dir, '.git/hooks/pre-commit');
        await mkdir(join(hook, '..'), { recursive: true });
        await writeFile(hook, '#!/bin/sh\n! git diff --cached --name-only | grep -q plan\n');
        await chmod(hook, 0o755);
      },
      (): Proposal => mark(1, TEXT, TEXT.replace('a', 'a [x]')),
    ],
  ] as const;
  test.each(sampled('marks that are left out', reasons, 1))(
    'are left out where %s: the change is committed all the same',
    async (_, before, of) => {
      await before();
      const outcome = await applyAndCommit(own(), { marks: [of()], hooks: true, sandbox: 'off' });
      expect(outcome).toMatchObject({ outcome: 'committed', marks: false });
      expect(await changedBy(committed(outcome))).toEqual(['x.txt']);
      expect(await repo.git('log', '-1', '--format=%B')).not.toContain('Emend-Mark');
    },
  );
});
