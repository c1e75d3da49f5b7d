/** A person's own `git commit` next to the commit of a run: no change of either is lost, whichever comes first. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createCommitter } from '../../src/workspace/git/commit.js';
import type { CommitOutcome, CommitRequest } from '../../src/workspace/ports.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor } from './git-fixture.js';

isolateGit();

const LOOPS = process.env.EMEND_LONG === '1' ? 300 : 25;

let repo: Repo;
let tools: string;
const blobs = new Blobs();
const path = process.env.PATH ?? '';
beforeEach(async () => {
  repo = await Repo.make();
  tools = await realpath(await mkdtemp(join(tmpdir(), 'emend tools-')));
  await repo.write('ours', '0\n');
  await repo.write('theirs', '0\n');
  await repo.commitAll();
});
afterEach(async () => {
  process.env.PATH = path;
  await rm(tools, { recursive: true, force: true });
  await repo.remove();
});

const commit = (request: CommitRequest): Promise<CommitOutcome> =>
  createCommitter({ ...hookPorts(), blobs, lockWait_ms: 20_000 })(request);

/** From here on a person's script runs right before or after each git that moves a branch. */
const atTheMoveOfTheBranch = async (when: 'before' | 'after', script: string): Promise<void> => {
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', 'command -v git']);
  const person = `(unset GIT_OPTIONAL_LOCKS; cd '${repo.dir}'; PATH='${path}'; ${script}) </dev/null >>'${tools}/log' 2>&1`;
  const wrapper = `#!/bin/sh
case " $* " in
*' update-ref '*' --stdin '*)
  ${when === 'before' ? person : ':'}
  '${stdout.trim()}' "$@"; code=$?
  ${when === 'after' ? person : ':'}
  exit $code ;;
esac
exec '${stdout.trim()}' "$@"
`;
  await writeFile(join(tools, 'git'), wrapper);
  await chmod(join(tools, 'git'), 0o755);
  process.env.PATH = `${tools}:${path}`;
};

/** Commits as a person does who sees the message that the index is locked. */
const COMMIT_THEIRS =
  'until git add theirs && git commit -q -m theirs; do [ -e .git/index.lock ] || exit 1; sleep 0.05; done';

test.each(['before', 'after'] as const)(
  'keeps both changes when a person commits another file right %s the branch moves',
  async (when) => {
    // The person's commit waits for the lock in the background, as a second terminal would.
    await atTheMoveOfTheBranch(when, `(${COMMIT_THEIRS}; touch '${tools}/done') & sleep 0.3`);
    await repo.write('ours', '1\n');
    await repo.write('theirs', '1\n');
    const request = await requestFor(repo, [blobs.file('ours', '0\n', '1\n')]);
    expect(await commit(request)).toMatchObject({ outcome: 'committed' });
    for (let tries = 0; !existsSync(join(tools, 'done')) && tries < 400; tries++) await sleep(25);
    expect(await repo.git('log', '--format=%s')).toBe('theirs\nChange things\nbefore\n');
    expect(await repo.git('show', 'HEAD:ours', 'HEAD:theirs')).toBe('1\n1\n');
    expect(await repo.git('show', '--format=', '--name-only', 'HEAD')).toBe('theirs\n');
    expect(await repo.status()).toBe('');
  },
  60_000,
);

test('keeps all changes of a run and of a person who commit in turns without waiting for each other', async () => {
  const script = `i=1; while [ $i -le ${LOOPS} ]; do
    echo $i > theirs
    until git add theirs && git commit -q -m "theirs $i"; do sleep 0.0$((i % 7)); done 2>/dev/null
    i=$((i+1)); done`;
  const person = promisify(execFile)('/bin/sh', ['-c', script], { cwd: repo.dir });
  for (let turn = 1; turn <= LOOPS; turn++) {
    const files = [blobs.file('ours', `${turn - 1}\n`, `${turn}\n`)];
    await repo.write('ours', `${turn}\n`);
    for (;;) {
      const stepKey = turn.toString(16).padStart(32, '0');
      const request = await requestFor(repo, files, { stepKey });
      const outcome = await commit({ ...request, lock: { ...request.lock, stepKey } });
      // HEAD moved since the request was made: the answer `rebase` commits onto what is there.
      if (outcome.outcome === 'conflict') continue;
      expect(outcome).toMatchObject({ outcome: 'committed' });
      break;
    }
  }
  await person;
  expect(await repo.git('show', 'HEAD:ours', 'HEAD:theirs')).toBe(`${LOOPS}\n${LOOPS}\n`);
  const changed = await repo.git('log', '--format=%s', '--name-only');
  const commits = changed.trim().split(/\n(?=theirs \d|Change things|before$)/m);
  expect(commits.filter((entry) => /^theirs \d+\n\ntheirs$/.test(entry))).toHaveLength(LOOPS);
  expect(commits.filter((entry) => /^Change things\n\nours$/.test(entry))).toHaveLength(LOOPS);
  expect(await repo.status()).toBe('');
}, 600_000);

test('runs the hooks before the index is locked, as `git commit` does', async () => {
  await mkdir(join(repo.dir, '.git/hooks'), { recursive: true });
  await repo.write(
    '.git/hooks/pre-commit',
    '#!/bin/sh\ntest ! -e "$PWD/.git/index.lock" && git diff --cached --name-only > "$PWD/.git/seen"\n',
    0o755,
  );
  await repo.write('ours', '1\n');
  const request = await requestFor(repo, [blobs.file('ours', '0\n', '1\n')], { hooks: true });
  expect(await commit(request)).toMatchObject({ outcome: 'committed' });
  expect(await repo.read('.git/seen')).toBe('ours\n');
  expect(existsSync(join(repo.dir, '.git/index.lock'))).toBe(false);
});
