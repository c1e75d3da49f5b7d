/** Checkouts of a repository that is nobody's working tree: two homes, one remote, real git. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { problem, ProblemError } from '../../../src/shared/problems.js';
import { branchOf, phaseBranchOf, tokenRef } from '../../../src/shared/repository.js';
import { createApplyEngine } from '../../../src/workspace/apply/index.js';
import {
  createCheckouts,
  type Checkout,
  type Checkouts,
} from '../../../src/workspace/checkout/index.js';
import { createRepository } from '../../../src/workspace/landing/repository.js';
import type { CommitOutcome } from '../../../src/workspace/ports.js';
import { proposalIdOf } from '../../../src/workspace/proposal.js';
import { serveBelow } from '../../e2e/origin.js';
import { sampled } from '../../support/seeded.js';
import { longOnly } from '../../support/skipped.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor, STEP } from '../git-fixture.js';

isolateGit();
const long = longOnly('each has clones of its own; the tests that stay show the promise');

const [BRANCH, TOKEN] = [`refs/heads/${branchOf(STEP)}`, tokenRef(STEP)];
const { signal } = new AbortController();
let root: string;
let repo: Repo;
let url: string;
let base: string;
let blobs: Blobs;

const checkoutsOf = (home: string): Checkouts => {
  const engine = createApplyEngine({ home: join(root, home), blobs });
  return createCheckouts(
    { home: join(root, home), host: home, blobs },
    engine,
    createRepository({ home: join(root, home), blobs, engine, ...hookPorts(join(root, home)) }),
  );
};
const run = (stepKey = STEP) => ({ stepKey, repository: { url, base: 'main' }, signal });
let at = 1_000;
const use = (home: string, takeOver = false, stepKey = STEP, time = ++at): Promise<Checkout> =>
  checkoutsOf(home).use({ ...run(stepKey), commit: base, takeOver, scheduledAt_ms: time });
const refs = (): Record<string, string> =>
  Object.fromEntries(
    execFileSync('git', ['ls-remote', url], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map((line) => line.split('\t').reverse()),
  ) as Record<string, string>;
/** The token stays, so that whoever wakes up late knows of it, and so does what a plan pushed last. */
const branches = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(refs()).filter(([name]) => name !== 'HEAD' && !name.startsWith('refs/emend/')),
  );
const push = (...args: string[]): string =>
  execFileSync('git', ['push', '-q', url, ...args], { cwd: repo.dir, encoding: 'utf8' });

const change = () => blobs.file('a.txt', 'one\n', 'two\n');
const proposal = () => ({ stepKey: STEP, files: [change()], renames: [] });
const holder = { workflowId: 'w', namespace: 'default' };
const applyRequest = () => ({
  stepKey: STEP,
  workspace: url,
  decision: 1,
  files: ['a.txt'],
  holder,
  proposal: proposal(),
  proposalId: proposalIdOf(proposal()),
});
const commitIn = async (
  checkout: Checkout,
  more: Parameters<typeof requestFor>[2] = {},
): Promise<CommitOutcome> => {
  const request = await requestFor(repo, [change()], { workspace: url, ...more });
  return checkout.repository.commit({
    ...request,
    lock: { ...request.lock, head: base, headRef: null },
  });
};
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no failure',
    (error: unknown) => (error instanceof ProblemError ? error.problem.code : error),
  );

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'emend-homes-')));
  repo = await Repo.make();
  blobs = new Blobs();
  await repo.write('a.txt', 'one\n');
  await repo.write('.gitignore', 'deps\n');
  base = await repo.commitAll();
  const bare = join(root, 'origin.git');
  execFileSync('git', ['clone', '-q', '--bare', repo.dir, bare]);
  url = `file://${bare}`;
  for (const home of ['a', 'b']) await mkdir(join(root, home));
});
afterEach(async () => {
  await repo.remove();
  await rm(root, { recursive: true, force: true });
});

test('from the base to a pushed commit; the remote keeps the branch and its token, the home only its mirror', async () => {
  expect(await checkoutsOf('a').resolve(run())).toEqual({ commit: base });
  const checkout = await use('a');
  const path = await checkout.workspace.root(url);
  expect(path.startsWith(`${join(root, 'a')}-repositories/`)).toBe(true);
  expect(await checkout.repository.head(url)).toMatchObject({ head: base, headRef: null });
  expect(await checkout.workspace.apply(applyRequest())).toMatchObject({
    outcome: 'applied',
    lock: { head: base, headRef: null, token: (await checkout.workspace.readLock(url))?.token },
  });
  expect(await checkout.workspace.differing(url, [change()])).toEqual([]);
  const made = await commitIn(checkout);
  expect(made).toMatchObject({ outcome: 'committed' });
  if (made.outcome !== 'committed') return;
  expect(branches()).toEqual({ 'refs/heads/main': base, [BRANCH]: made.commit });
  expect(
    execFileSync('git', ['log', '-1', '--format=%P %s', made.commit], {
      cwd: join(root, 'origin.git'),
    }).toString(),
  ).toBe(`${base} Change things\n`);
  const dir = dirname(path);
  expect(await readdir(dir)).toEqual(['mirror.git']);
  const inMirror = (...args: string[]): string =>
    execFileSync('git', args, { cwd: join(dir, 'mirror.git'), encoding: 'utf8' });
  // The same once more, with the answer of the first lost: what is on the branch is found, whoever made it.
  for (const home of ['a', 'b'])
    expect(await commitIn(await use(home, true))).toMatchObject({ commit: made.commit });
  expect(branches()).toEqual({ 'refs/heads/main': base, [BRANCH]: made.commit });
  // What has become much in its mirror is packed.
  inMirror('config', 'gc.auto', '1');
  inMirror('config', 'gc.autoDetach', 'false');
  // Git guesses at their number by one of the 256 directories.
  const isIn17 = (text: string): boolean =>
    createHash('sha1').update(`blob ${text.length}\0${text}`).digest('hex').startsWith('17');
  const texts = Array.from({ length: 3000 }, (_, i) => `${i}`).filter(isIn17);
  for (const input of texts.slice(0, 3))
    execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: join(dir, 'mirror.git'), input });
  expect(inMirror('count-objects', '-v')).toMatch(/^packs: 0$/m);
  await use('a', true);
  expect(inMirror('count-objects', '-v')).toMatch(/^packs: 1$/m);
});

test('a host whose git turns line ends has the files as they are committed', async () => {
  const before = process.env.GIT_CONFIG_GLOBAL;
  process.env.GIT_CONFIG_GLOBAL = join(root, 'turns');
  await writeFile(join(root, 'turns'), '[core]\n\tautocrlf = true\n');
  try {
    const checkout = await use('b');
    expect(await checkout.workspace.apply(applyRequest())).toMatchObject({ outcome: 'applied' });
    expect(await commitIn(checkout)).toMatchObject({ outcome: 'committed' });
  } finally {
    process.env.GIT_CONFIG_GLOBAL = before;
  }
});

test('whoever was overtaken pushes nothing; what it left on its disk is not what the next one works on', async () => {
  const old = await use('a');
  await old.workspace.apply(applyRequest());
  const token = refs()[TOKEN];
  const fresh = await use('b');
  expect(refs()[TOKEN]).not.toBe(token);
  const other = { message: 'Other words' };
  expect(await failure(commitIn(old, other))).toBe('busy');
  expect(refs()[BRANCH]).toBeUndefined();
  const made = await commitIn(fresh);
  expect(made.outcome).toBe('committed');
  expect(await failure(commitIn(old, other))).toBe('busy');
  // The very same commit is there: nothing is pushed, and nothing is wrong.
  expect(await commitIn(await use('b', true))).toMatchObject({
    commit: (made as { commit: string }).commit,
  });
  expect(branches()).toEqual({
    'refs/heads/main': base,
    [BRANCH]: (made as { commit: string }).commit,
  });
  // The same of another attempt in the same home, in a directory of its own.
  const again = await use('a', true);
  const path = await again.workspace.root(url);
  expect(path).not.toBe(await old.workspace.root(url));
  await old.leave();
  expect(await again.repository.head(url)).toMatchObject({ head: base });
  await again.leave();
  expect(await readdir(dirname(path))).toEqual(['mirror.git']);
  expect(await readdir(join(dirname(path), 'mirror.git', 'worktrees')).catch(() => [])).toEqual([]);
});

long(
  'an attempt that was scheduled before another one takes its place nowhere, however late it wakes up',
  async () => {
    const [early, late] = [++at, ++at];
    await use('b', false, STEP, late);
    const token = refs()[TOKEN];
    for (const takeOver of [false, true])
      expect(await failure(use('a', takeOver, STEP, early))).toBe('busy');
    // In the same home, whose own note it finds.
    expect(await failure(use('b', false, STEP, early))).toBe('busy');
    expect(refs()[TOKEN]).toBe(token);
    expect(await commitIn(await use('b', false, STEP, late))).toMatchObject({
      outcome: 'committed',
    });
    expect(await failure(use('a', true, STEP, early))).toBe('busy');
  },
);

test('an attempt that its worker was told to give up pushes nothing, and a rollback fences it', async () => {
  const old = await use('a');
  await old.workspace.apply(applyRequest());
  expect(await commitIn(old, { mayMove: () => Promise.resolve(false) })).toMatchObject({
    outcome: 'conflict',
  });
  const givenUp = () => Promise.reject(new ProblemError(problem('busy', 'suspended')));
  expect(await commitIn(await use('a', true), { mayMove: givenUp })).toMatchObject({
    problem: { code: 'busy' },
  });
  const undoing = await use('a', true);
  expect(await undoing.workspace.rollback(applyRequest())).toMatchObject({
    outcome: 'rolled_back',
    files: ['a.txt'],
  });
  // In the same home its directory is gone, too.
  expect(await commitIn(old)).toMatchObject({ outcome: 'failed' });
  expect(Object.keys(refs()).sort()).toEqual(['HEAD', TOKEN, 'refs/heads/main'].sort());
  await commitIn(await use('b'));
  expect(await (await use('a', true)).workspace.rollback(applyRequest())).toMatchObject({
    outcome: 'committed',
  });
});

test('each activity finds the files of the base, and what is ignored stays', async () => {
  const first = await use('a');
  const path = await first.workspace.root(url);
  await first.workspace.apply(applyRequest());
  await writeFile(join(path, 'left.txt'), 'left');
  await writeFile(join(path, 'deps'), 'installed');
  const second = await use('a');
  expect(await second.workspace.root(url)).toBe(path);
  expect((await readdir(path)).sort()).toEqual(['.git', '.gitignore', 'a.txt', 'deps']);
  expect(await second.workspace.differing(url, [blobs.file('a.txt', 'two\n', 'one\n')])).toEqual(
    [],
  );
});

long(
  'runs side by side share the mirror and nothing else; what no activity used for long is removed',
  async () => {
    const keys = [1, 2, 3, 4].map((n) => STEP.replace(/^./, String(n)));
    const all = await Promise.all(keys.map((key) => use('a', false, key)));
    const paths = await Promise.all(all.map(({ workspace }) => workspace.root(url)));
    expect(new Set(paths).size).toBe(4);
    const dir = join(paths[0]!, '..');
    const old = new Date(Date.now() - 8 * 86_400_000);
    await utimes(join(dir, `${keys[0]}.json`), old, old);
    await use('a');
    expect(existsSync(paths[0]!)).toBe(false);
    expect(existsSync(paths[1]!)).toBe(true);
  },
);

long('what a run leaves is removed beside a checkout that is only just being added', async () => {
  const path = await (await use('a')).workspace.root(url);
  // As `git worktree add` begins; `git worktree prune` takes it for a remnant.
  const begun = join(
    path,
    '..',
    'mirror.git',
    'worktrees',
    `${STEP.replace(/^./, '9')}.0123456789abcdef`,
  );
  mkdirSync(begun);
  expect(await (await use('a', true)).workspace.root(url)).not.toBe(path);
  expect([existsSync(begun), existsSync(path)]).toEqual([true, false]);
});

/** As `git worktree add` notes a checkout of another run before it is whole: with a HEAD of zeros, and an empty file (git 2.39.5). */
const halfMade = (mirror: string, commondir: string): string => {
  const begun = join(mirror, 'worktrees', `${STEP.replace(/^./, '9')}.0123456789abcdef`);
  mkdirSync(begun, { recursive: true });
  writeFileSync(join(begun, 'gitdir'), '/nowhere/.git\n');
  writeFileSync(join(begun, 'HEAD'), `${'0'.repeat(40)}\n`);
  writeFileSync(join(begun, 'commondir'), commondir);
  return begun;
};

test('beside a checkout that is half there a run waits until it is whole', async () => {
  const mirror = join(await (await use('a')).workspace.root(url), '..', 'mirror.git');
  const begun = halfMade(mirror, '');
  const others = use('a', false, STEP.replace(/^./, '8'));
  await sleep(400);
  writeFileSync(join(begun, 'commondir'), '../..\n');
  writeFileSync(join(begun, 'HEAD'), `${base}\n`);
  expect(existsSync(await (await others).workspace.root(url))).toBe(true);
  expect(existsSync(begun)).toBe(true);
});

long.each(['', '../..\n'])(
  'a checkout whose maker died half-way (commondir: %j) is removed',
  async (commondir) => {
    const mirror = join(await (await use('a')).workspace.root(url), '..', 'mirror.git');
    const begun = halfMade(mirror, commondir);
    await repo.write('a.txt', 'new\n');
    base = await repo.commitAll('new');
    push('HEAD:refs/heads/main');
    expect(
      existsSync(await (await use('a', false, STEP.replace(/^./, '8'))).workspace.root(url)),
    ).toBe(true);
    expect(existsSync(begun)).toBe(false);
  },
);

long(
  'a file that is not as the proposal has its base is a conflict, and nothing is written',
  async () => {
    await repo.write('a.txt', 'ONE\n');
    base = await repo.commitAll('mine');
    push('HEAD:refs/heads/main');
    const checkout = await use('a');
    const conflicts = [
      { path: 'a.txt', why: expect.stringContaining('changed on main') as unknown },
    ];
    expect(await checkout.workspace.apply(applyRequest())).toEqual({
      outcome: 'base_changed',
      conflicts,
    });
    expect(await checkout.workspace.differing(url, [blobs.file('a.txt', null, 'ONE\n')])).toEqual(
      [],
    );
  },
);

long('a branch of its name that others made is left as it is, until it is gone', async () => {
  await repo.write('b.txt', 'b\n');
  await repo.commitAll('mine');
  push(`HEAD:${BRANCH}`);
  const before = refs()[BRANCH];
  expect(await commitIn(await use('a'))).toMatchObject({ outcome: 'conflict' });
  expect(refs()[BRANCH]).toBe(before);
  push(`:${BRANCH}`);
  expect(await commitIn(await use('a'))).toMatchObject({ outcome: 'committed' });
});

long(
  'a run that follows another commits onto its branch; a branch that has moved is a conflict, and nothing is lost',
  async () => {
    const BEFORE = 'refs/heads/emend/before';
    push(`HEAD:${BEFORE}`);
    const follow = (home: string, takeOver = false): Promise<Checkout> => {
      const repository = { url, base: 'emend/before', branch: 'emend/before' };
      return checkoutsOf(home).use({
        stepKey: STEP,
        repository,
        signal,
        commit: base,
        takeOver,
        scheduledAt_ms: ++at,
      });
    };
    const late = await follow('a');
    const made = await commitIn(await follow('b'));
    expect(made).toMatchObject({ outcome: 'committed' });
    const { commit } = made as { readonly commit: string };
    expect(branches()).toEqual({ 'refs/heads/main': base, [BEFORE]: commit });
    expect(await failure(commitIn(late, { message: 'Other words' }))).toBe('busy');
    // Its answer was lost: it is found, by a rollback, too.
    expect(await commitIn(await follow('a', true))).toMatchObject({ outcome: 'committed', commit });
    expect(await (await follow('b', true)).workspace.rollback(applyRequest())).toMatchObject({
      commit,
    });
    // Somebody's commit, after this run looked at the branch: no push of ours replaces it.
    push('--force', `${base}:${BEFORE}`);
    const mine = await follow('a', true);
    await repo.write('b.txt', 'b\n');
    const theirs = await repo.commitAll('theirs');
    push(`${theirs}:${BEFORE}`);
    const why = expect.stringContaining(
      `is at ${theirs.slice(0, 12)}, expected ${base.slice(0, 12)}`,
    ) as unknown;
    expect(await commitIn(mine)).toEqual({ outcome: 'conflict', why });
    expect(branches()).toEqual({ 'refs/heads/main': base, [BEFORE]: theirs });
  },
);

test('a token of a time that has not come is refused by name, and nobody waits for it', async () => {
  const later = Date.now() + 30 * 86_400_000;
  // Made under a clock that was put right since, by this home and by another.
  await use('a', false, STEP, later);
  for (const home of ['a', 'b']) {
    await expect(use(home)).rejects.toThrow(
      `${TOKEN} of ${url} is of ${new Date(later).toISOString()}`,
    );
    expect(await failure(use(home))).toBe('remote_refused');
  }
  push(`:${TOKEN}`);
  expect(await commitIn(await use('a'))).toMatchObject({ outcome: 'committed' });
});

test('a token that somebody else made is refused by name; a copy of a home works in checkouts of its own', async () => {
  const other = execFileSync('git', ['hash-object', '-w', '--stdin'], {
    cwd: repo.dir,
    input: `9\n${STEP}\n`,
    encoding: 'utf8',
  });
  await repo.git('tag', '-a', 'v1', '-m', 'v1');
  for (const made of [base, other.trim(), 'v1', 'v1^{tree}']) {
    push('-f', `${made}:${TOKEN}`);
    await expect(use('a')).rejects.toThrow(`${TOKEN} of ${url} is no token of this run`);
    expect(await failure(use('a'))).toBe('remote_refused');
  }
  push(`:${TOKEN}`);
  const path = await (await use('a')).workspace.root(url);
  await writeFile(join(path, 'a.txt'), 'at work\n');
  await cp(join(root, 'a-repositories'), join(root, 'b-repositories'), { recursive: true });
  const copied = await (await use('b')).workspace.root(url);
  expect(copied.startsWith(join(root, 'b-repositories'))).toBe(true);
  expect(await readFile(join(path, 'a.txt'), 'utf8')).toBe('at work\n');
});

test('a look: the files of the base, and the remote does not know of it', async () => {
  const before = refs();
  const { workspace, repository } = await checkoutsOf('a').look(run());
  expect((await readdir(await workspace.root(url))).sort()).toEqual([
    '.git',
    '.gitignore',
    'a.txt',
  ]);
  expect(await repository.head(url)).toMatchObject({ head: base });
  expect(refs()).toEqual(before);
});

test('what a remote refuses is said, and is neither a conflict nor a success', async () => {
  const checkout = await use('a');
  const hook = join(root, 'origin.git', 'hooks', 'pre-receive');
  await writeFile(hook, '#!/bin/sh\necho "no pushes on Fridays" >&2\nexit 1\n');
  await chmod(hook, 0o755);
  const outcome = await commitIn(checkout);
  expect(outcome.outcome === 'failed' && outcome.problem).toMatchObject({
    code: 'remote_refused',
    message: expect.stringContaining('no pushes on Fridays') as unknown,
  });
  await rm(hook);
  expect(await commitIn(await use('a'))).toMatchObject({ outcome: 'committed' });
});

test('what a remote never takes is refused at the first look, or where it is pushed: hidden refs, a branch `emend` in the way', async () => {
  const inOrigin = (...args: string[]) =>
    execFileSync('git', args, { cwd: join(root, 'origin.git') });
  inOrigin('config', 'receive.hideRefs', 'refs/emend');
  expect(await failure(use('a'))).toBe('remote_refused');
  inOrigin('config', '--unset', 'receive.hideRefs');
  inOrigin('branch', 'emend', 'main');
  const outcome = await commitIn(await use('a'));
  expect(outcome.outcome === 'failed' && outcome.problem).toMatchObject({ code: 'remote_refused' });
});

test('a repository whose objects are named by SHA-256', async () => {
  const own = await Repo.make({ sha256: true });
  await own.write('a.txt', 'one\n');
  base = await own.commitAll();
  const bare = join(root, 'own.git');
  execFileSync('git', ['clone', '-q', '--bare', own.dir, bare]);
  await own.remove();
  url = `file://${bare}`;
  expect(await checkoutsOf('a').resolve(run())).toEqual({ commit: base });
  const made = await commitIn(await use('a'));
  expect(made).toMatchObject({ outcome: 'committed' });
  expect(branches()[BRANCH]).toBe(commitOf(made));
  // Known by its id alone.
  expect(await checkoutsOf('b').resolve({ ...run(), repository: { url, base } })).toEqual({
    commit: base,
  });
});

test('a server that sends half of what is fetched and then nothing is given up, and may be asked again', async () => {
  const dir = join(root, 'origin.git');
  const packOf = (...args: readonly string[]): Buffer =>
    execFileSync('git', ['upload-pack', '--stateless-rpc', ...args, dir], { input: wanted });
  let wanted = Buffer.alloc(0);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      wanted = Buffer.concat(parts);
      if (request.method === 'GET')
        return response.end(
          Buffer.concat([
            Buffer.from('001e# service=git-upload-pack\n0000'),
            packOf('--advertise-refs'),
          ]),
        );
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
      const pack = packOf();
      return response.write(pack.subarray(0, pack.length / 2));
    });
    if (request.method === 'GET')
      response.setHeader('content-type', 'application/x-git-upload-pack-advertisement');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/origin.git`;
  // Seconds; 300 without it.
  process.env.GIT_HTTP_LOW_SPEED_TIME = '1';
  try {
    expect(await failure(checkoutsOf('a').resolve(run()))).toBe('git_failed');
  } finally {
    delete process.env.GIT_HTTP_LOW_SPEED_TIME;
    server.closeAllConnections();
    server.close();
  }
  url = `file://${dir}`;
  expect(await checkoutsOf('a').resolve(run())).toEqual({ commit: base });
}, 30_000);

test('what no later try would change is told apart from what may pass, in git’s words, with what to type', async () => {
  const server = createServer(({ url: asked = '' }, response) => {
    const status = Number(asked.split('/')[1]);
    response
      .writeHead(status, status === 401 ? { 'www-authenticate': 'Basic realm="x"' } : {})
      .end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const daemon = await serveBelow(root, false);
  const asked = (at: string): Promise<unknown> =>
    failure(checkoutsOf('a').resolve({ ...run(), repository: { url: at, base: 'main' } }));
  try {
    for (const at of [
      `file://${root}/absent.git`,
      ...[401, 403, 404].map((status) => `${http}/${status}/x.git`),
    ])
      expect([at, await asked(at)]).toEqual([at, 'remote_refused']);
    for (const at of [
      'http://127.0.0.1:1/x.git',
      ...[429, 500, 503].map((status) => `${http}/${status}/x.git`),
    ])
      expect([at, await asked(at)]).toEqual([at, 'git_failed']);
    url = `${daemon.url}/absent.git`;
    expect(await failure(use('a'))).toBe('remote_refused');
    // It is read, and takes no pushes.
    url = `${daemon.url}/origin.git`;
    expect(await failure(use('a'))).toBe('remote_refused');
  } finally {
    server.close();
    daemon.end();
  }
  url = `file://${join(root, 'origin.git')}`;
  const hook = join(root, 'origin.git', 'hooks', 'pre-receive');
  await writeFile(hook, '#!/bin/sh\necho "no tokens here" >&2\nexit 1\n', { mode: 0o755 });
  await expect(use('a')).rejects.toMatchObject({
    problem: {
      code: 'remote_refused',
      message: expect.stringContaining('no tokens here') as unknown,
      next: expect.stringContaining(`git ls-remote '${url}'`) as unknown,
    },
  });
});

/** As a cut of power leaves what git had not synced, and git that was killed its lock. */
const DAMAGE: readonly (readonly [string, (mirror: string) => void])[] = [
  [
    'empty objects',
    (mirror) =>
      void execFileSync(
        'sh',
        ['-ec', 'find objects -type f -exec sh -c \'rm -f "$1"; : > "$1"\' _ {} ";"'],
        {
          cwd: mirror,
        },
      ),
  ],
  ['an empty ref', (mirror) => writeFileSync(join(mirror, `refs/emend/base/${STEP}`), '')],
  ['an empty HEAD', (mirror) => writeFileSync(join(mirror, 'HEAD'), '')],
  [
    'a lock',
    (mirror) => {
      const lock = join(mirror, `refs/emend/base/${STEP}.lock`);
      writeFileSync(lock, '');
      utimesSync(lock, 1, 1);
    },
  ],
];
test.each(sampled('damages of a mirror', DAMAGE, 1))(
  'a mirror that a crash left with %s is made again, also in the middle of a run',
  async (_, damage) => {
    const mirror = async (): Promise<string> =>
      join(dirname(await (await use('a', true)).workspace.root(url)), 'mirror.git');
    const next = async <T>(work: () => Promise<T>): Promise<T> => {
      const first = await work().catch((error: unknown) => error);
      if (first instanceof ProblemError)
        expect(first.problem).toMatchObject({ code: 'git_failed' });
      return work();
    };
    damage(await mirror());
    await repo.write('b.txt', 'b\n');
    const moved = await repo.commitAll('moved');
    push('HEAD:refs/heads/main');
    expect(await next(() => checkoutsOf('a').resolve(run()))).toEqual({ commit: moved });
    damage(await mirror());
    const held = await next(() => use('a', true));
    damage(await mirror());
    const first = await commitIn(held).catch((error: unknown) => error);
    // Of what git does not need it says nothing.
    const made =
      (first as CommitOutcome).outcome === 'committed'
        ? first
        : await commitIn(await next(() => use('a', true)));
    expect(made).toMatchObject({ outcome: 'committed' });
    expect(branches()).toMatchObject({ [BRANCH]: (made as { commit: string }).commit });
    expect(
      (await readdir(dirname(await mirror()))).filter((name) => !name.startsWith(STEP)),
    ).toEqual(['mirror.git']);
  },
);

test('a base is a branch or a commit; what is not there, submodules and LFS are refused before anything is made', async () => {
  const resolve = (wanted: string): Promise<unknown> =>
    failure(checkoutsOf('a').resolve({ ...run(), repository: { url, base: wanted } }));
  expect(await checkoutsOf('a').resolve({ ...run(), repository: { url, base } })).toEqual({
    commit: base,
  });
  // Where LFS was once, or is spoken of.
  await repo.write('.gitattributes', '# *.psd filter=lfs diff=lfs merge=lfs -text\n*.psd -text\n');
  const without = await repo.commitAll('no lfs');
  push('HEAD:refs/heads/without');
  expect(
    await checkoutsOf('a').resolve({ ...run(), repository: { url, base: 'without' } }),
  ).toEqual({
    commit: without,
  });
  const renamed = checkoutsOf('a').resolve({ ...run(), repository: { url, base: 'absent' } }, base);
  await expect(renamed).rejects.toMatchObject({
    problem: { next: expect.stringContaining('answer retry') as unknown },
  });
  expect(await resolve('0'.repeat(40))).toBe('job_invalid');
  await repo.write('a.txt', 'two\n');
  await repo.commitAll('second');
  execFileSync('git', [
    'clone',
    '-q',
    '--bare',
    '--depth=1',
    `file://${repo.dir}`,
    join(root, 'shallow.git'),
  ]);
  const shallow = {
    ...run(),
    repository: {
      url: `file://${join(root, 'shallow.git')}`,
      base: (await repo.git('branch', '--show-current')).trim(),
    },
  };
  await expect(checkoutsOf('a').resolve(shallow)).rejects.toThrow('or that is a shallow clone');
  await repo.write('sub/.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n');
  await repo.commitAll('lfs');
  push('HEAD:refs/heads/lfs');
  await repo.git('update-index', '--add', '--cacheinfo', `160000,${base},lib/dep`);
  await repo.git('commit', '-q', '-m', 'submodule');
  push('HEAD:refs/heads/modules');
  const said = async (wanted: string): Promise<unknown> =>
    checkoutsOf('b')
      .resolve({ ...run(), repository: { url, base: wanted } })
      .catch((error: unknown) => error instanceof ProblemError && error.problem);
  expect(await said('lfs')).toEqual(
    problem(
      'repository_unsupported',
      `${url} has files in Git LFS, by sub/.gitattributes, which a run on a repository does not fetch.`,
    ),
  );
  expect(await said('modules')).toMatchObject({
    message: expect.stringContaining('submodules lib/dep') as unknown,
  });
  expect(Object.keys(refs()).filter((name) => name.startsWith('refs/emend/'))).toEqual([]);
});

test('a URL that comes through a history runs nothing', async () => {
  const mark = join(root, 'ran');
  for (const hostile of [
    `ext::touch ${mark}`,
    `ext::touch% ${mark}`,
    `--upload-pack=touch ${mark}`,
    `-u${mark}`,
    'ssh://-oProxyCommand=touch/x',
    '-oProxyCommand=x@host:path',
    join(root, 'origin.git'),
    '../origin.git',
    'fd::17',
    'https://user:secret@example.org/x.git',
    'https://ghp_token@example.org/x.git',
  ])
    expect([
      hostile,
      await failure(
        checkoutsOf('a').resolve({ ...run(), repository: { url: hostile, base: 'main' } }),
      ),
    ]).toEqual([hostile, 'job_invalid']);
  expect(existsSync(mark)).toBe(false);
});

const onPlan = (more: { readonly base?: string; readonly branch?: string } = {}) => ({
  repository: { url, base: 'main', branch: branchOf(STEP), ...more },
});
/** In the checkout of a plan, or of a phase of it. */
const usePlan = (home: string, more: object = {}): Promise<Checkout> =>
  checkoutsOf(home).use({
    ...run(),
    ...onPlan(),
    commit: base,
    takeOver: false,
    scheduledAt_ms: ++at,
    atTip: true,
    ...more,
  });
const phase = (name: string, more: object = {}) => ({
  stepKey: `${STEP}-${name}`,
  atTip: false,
  ...more,
});
/** Applies and commits, on the commit that the checkout is at. */
const write = async (
  checkout: Checkout,
  stepKey: string,
  [path, before, after]: [string, string | null, string],
) => {
  const files = [blobs.file(path, before, after)];
  const written = { stepKey, files, renames: [] };
  const applied = await checkout.workspace.apply({
    stepKey,
    workspace: url,
    decision: 1,
    files: [path],
    holder,
    proposal: written,
    proposalId: proposalIdOf(written),
  });
  if (applied.outcome !== 'applied') return applied;
  return checkout.repository.commit(
    await requestFor(repo, files, { stepKey, workspace: url, lock: applied.lock }),
  );
};
const commitOf = (outcome: object): string => (outcome as { readonly commit: string }).commit;

test('a plan’s branch that somebody deleted or set back: nothing is built on it without what was pushed there; a command brings that back, another lets it go', async () => {
  const [p1, p2] = [`${STEP}-p1-1`, `${STEP}-p2-1`];
  const one = commitOf(
    await write(await usePlan('a', phase('p1-1')), p1, ['a.txt', 'one\n', 'two\n']),
  );
  const next = { ...run(p2), ...onPlan() };
  const said = async (work: Promise<unknown>): Promise<string> => {
    const error: unknown = await work.catch((caught: unknown) => caught);
    if (!(error instanceof ProblemError)) throw new Error(`no refusal: ${JSON.stringify(error)}`);
    expect(error.problem).toMatchObject({ code: 'remote_refused' });
    return `${error.problem.message} ${error.problem.next ?? ''}`;
  };
  for (const set of [`:${BRANCH}`, `+${base}:${BRANCH}`]) {
    push(set);
    // Of a phase that begins or applies, of one that commits, and of a mark.
    const words = await said(checkoutsOf('b').resolve(next, base));
    expect(words).toContain(`of ${url} no longer holds ${one.slice(0, 12)}`);
    const begun = await usePlan('a', phase('p2-1', { commit: one }));
    expect(await said(write(begun, p2, ['c.txt', null, 'c\n']))).toBe(words);
    expect(
      await said(write(await usePlan('b'), `${STEP}-p1-m1`, ['plan.md', null, 'done\n'])),
    ).toBe(words);
    expect(branches()[BRANCH]).toBe(set.startsWith(':') ? undefined : base);
    // An abort is not held up by it.
    const undone = (await usePlan('b', phase('p2-1', { commit: one, takeOver: true }))).workspace;
    expect(await undone.rollback({ ...applyRequest(), stepKey: p2 })).toMatchObject({
      outcome: 'rolled_back',
    });
    const back = /Bring it back: (.+?)\. If/.exec(words)?.[1] ?? '';
    execFileSync('sh', ['-ec', back], { cwd: repo.dir, stdio: 'ignore' });
    expect(await checkoutsOf('b').resolve(next, base)).toEqual({ commit: one });
  }
  push(`+${base}:${BRANCH}`);
  const go =
    /If that is meant: (.+?)\. Then/.exec(await said(checkoutsOf('a').resolve(next, base)))?.[1] ??
    '';
  execFileSync('sh', ['-ec', go], { cwd: repo.dir, stdio: 'ignore' });
  expect(await checkoutsOf('a').resolve(next, base)).toEqual({ commit: base });
  const two = await write(await usePlan('a', phase('p2-1')), p2, ['c.txt', null, 'c\n']);
  expect(branches()).toEqual({ 'refs/heads/main': base, [BRANCH]: commitOf(two) });
});

longOnly(
  'e2e/plan-repository.test.ts shows phases on one branch; overtaken attempts show that nothing is pushed late',
)(
  'a plan and its phases push to one branch, from its tip; what was pushed is found again, and whoever was overtaken pushes no mark',
  async () => {
    const first = await usePlan('a');
    expect(await first.repository.head(url)).toMatchObject({ head: base });
    const p1 = `${STEP}-p1-1`;
    expect(await checkoutsOf('b').resolve({ ...run(p1), ...onPlan() })).toEqual({ commit: base });
    const one = await write(await usePlan('b', phase('p1-1')), p1, ['a.txt', 'one\n', 'two\n']);
    expect(branches()).toEqual({ 'refs/heads/main': base, [BRANCH]: commitOf(one) });
    // The plan sees it on the host that had it before, and marks it.
    const waiting = await usePlan('a', phase('p9-1'));
    const marking = await usePlan('a');
    expect(await marking.repository.head(url)).toMatchObject({ head: commitOf(one) });
    expect(await marking.repository.message(url, commitOf(one))).toContain(p1);
    const stopped = await usePlan('a');
    const mark = await write(marking, `${STEP}-p1-m1`, ['plan.md', null, 'done\n']);
    expect(branches()[BRANCH]).toBe(commitOf(mark));
    expect(existsSync(await waiting.workspace.root(url))).toBe(true);
    // Its answer was lost: another host finds it.
    const again = await usePlan('b', { takeOver: true });
    expect(await write(again, `${STEP}-p1-m1`, ['plan.md', null, 'done\n'])).toMatchObject({
      commit: commitOf(mark),
    });
    expect(await failure(write(stopped, `${STEP}-p2-m1`, ['late.md', null, 'late\n']))).not.toBe(
      'no failure',
    );
    expect(branches()[BRANCH]).toBe(commitOf(mark));
    expect(await checkoutsOf('a').resolve({ ...run(`${STEP}-p2-1`), ...onPlan() })).toEqual({
      commit: commitOf(mark),
    });
    // A person pushes while a phase is under way.
    const two = await usePlan('a', phase('p2-1', { commit: commitOf(mark) }));
    await repo.git('fetch', '-q', url, BRANCH);
    await repo.git('checkout', '-q', 'FETCH_HEAD');
    await repo.write('mine.txt', 'mine\n');
    const mine = await repo.commitAll('mine');
    push(`HEAD:${BRANCH}`);
    expect(await failure(write(two, `${STEP}-p2-1`, ['c.txt', null, 'c\n']))).toBe('no failure');
    expect(branches()[BRANCH]).toBe(mine);
    const late = await usePlan('a', phase('p2-1', { commit: commitOf(mark) }));
    expect(await write(late, `${STEP}-p2-1`, ['c.txt', null, 'c\n'])).toMatchObject({
      outcome: 'conflict',
      why: expect.stringContaining(`has moved to ${mine.slice(0, 12)}`) as unknown,
    });
  },
);

long(
  'phases side by side have branches of their own: merged into the plan’s once, whoever tries again, and then removed',
  async () => {
    const branchFor = (name: string): string => phaseBranchOf(STEP, name);
    const made: string[] = [];
    for (const name of ['p1-1', 'p2-1', 'p3-1']) {
      const own = { ...onPlan({ base, branch: branchFor(name) }), ...phase(name) };
      const checkout = await usePlan('b', own);
      made.push(commitOf(await write(checkout, own.stepKey, [`${name}.txt`, null, 'x\n'])));
    }
    const merge = async (home: string, index: number, takeOver = false) =>
      (await usePlan(home, { takeOver })).repository.merge(
        {
          stepKey: `${STEP}-p${index + 1}-g11`,
          workspace: url,
          theirs: made[index] ?? '',
          message: 'Merge',
          holder,
          sign: null,
        },
        () => undefined,
      );
    const old = await usePlan('a');
    const one = await merge('a', 0);
    expect(one).toMatchObject({ outcome: 'merged', parent: base });
    expect(await merge('b', 0, true)).toEqual(one);
    const two = await merge('b', 1);
    expect(branches()[BRANCH]).toBe(commitOf(two));
    // An answer that was lost for long moves nothing back.
    expect(await merge('a', 0, true)).toEqual(one);
    expect(branches()[BRANCH]).toBe(commitOf(two));
    const late = {
      stepKey: `${STEP}-p3-g11`,
      workspace: url,
      theirs: made[2] ?? '',
      message: 'Merge',
      holder,
      sign: null,
    };
    const given = old.repository.merge(late, () => undefined);
    expect(await given.catch(() => ({ outcome: 'failed' }))).toMatchObject({ outcome: 'failed' });
    expect(branches()[BRANCH]).toBe(commitOf(two));
    const remove = async (name: string) =>
      (await usePlan('a')).repository.worktrees.remove(STEP, name);
    for (const name of ['p1-1', 'p1-1', 'p2-1'])
      expect(await remove(name)).toMatchObject({ dropped: null, kept: null });
    const kept = `refs/heads/${branchFor('p3-1')}`;
    expect(await remove('p3-1')).toMatchObject({ dropped: made[2], kept });
    expect(Object.keys(branches()).sort()).toEqual([BRANCH, kept, 'refs/heads/main'].sort());
    expect(Object.keys(refs()).filter((name) => name.startsWith('refs/emend/last/'))).toHaveLength(
      2,
    );
  },
);
