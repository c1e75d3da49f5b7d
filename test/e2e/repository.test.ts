/** Runs on a repository, which is nobody's working tree: any host makes the checkout that it needs, and a branch is what they leave. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { readJobFile, resolveRun, startStep, type ResolvedRun } from '../../src/client/index.js';
import { branchOf, tokenRef } from '../../src/shared/repository.js';
import { longOnly } from '../support/skipped.js';
import { longInBucket } from './bucket-store.js';
import { emendCommand } from './ends.js';
import { bury, doomedWorker, holdingGit, homeOf, originScene, type Origin } from './origin.js';
import { numbered, whole, type Scene } from './support.js';

let o: Origin;
let s: Scene;
afterEach(() => o.close());

const BEFORE = numbered(20);
const AFTER = BEFORE.replace('line 15\n', 'line fifteen\n');
const LATER = BEFORE.replace('line 15\n', 'line XV\n');
const RULES = [
  { name: 'review', match: { contains: 'Name it XV' }, answer: whole({ 'a.txt': LATER }) },
  {
    name: 'pick',
    match: { contains: ['Files of the project', 'Raise the first'] },
    answer: `${JSON.stringify({ files: [{ path: 'a.txt', why: 'it is the first' }] })}\nEMEND-COMPLETE {{nonce}} 0 0\n`,
  },
  ...['a.txt', 'b.txt'].map((path) => ({
    name: path,
    match: { contains: `- ${path}` },
    answer: whole({ [path]: AFTER }),
  })),
];
const jobFor = (path: string, more: readonly string[] = []): string =>
  [
    '---',
    `target_files: [${path}]`,
    `test: grep -q line ${path}`,
    ...more,
    '---',
    `# Raise ${path}`,
    '',
    'Words.',
    '',
  ].join('\n');

const withOrigin = async (isGroup = false): Promise<string> => {
  o = await originScene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, isGroup);
  s = o.s;
  return o.url;
};
const start = async (name: string, text: string, repository: string): Promise<ResolvedRun> => {
  const jobPath = join(dirname(s.repo), 'jobs', name);
  writeFileSync(jobPath, text);
  const job = await readJobFile({
    jobPath,
    workspace: null,
    cwd: s.repo,
    repository,
    base: 'main',
  });
  return resolveRun(s.emend, (await startStep(s.emend, { job })).stepKey);
};
const inOrigin = (...args: string[]): string => o.git(...args);
const pushed = (run: ResolvedRun): string =>
  inOrigin('log', '--format=%s', `main..${branchOf(run.stepKey)}`);

test('a job with a URL alone: previewed, approved, tested in a checkout, and pushed as a branch; nothing else is changed', async () => {
  const url = await withOrigin();
  await s.worker();
  const run = await start('a.md', jobFor('a.txt'), url);
  const asked = await s.settle(run);
  expect(asked.status).toMatchObject({ workspace: url, decision: { reason: 'approval' } });
  await s.answer(run, 'approve');
  const result = await s.end(run);
  expect(result).toMatchObject({ outcome: 'committed', verification: 'pass' });
  expect(inOrigin('rev-parse', branchOf(run.stepKey))).toBe(result.commit);
  expect(inOrigin('show', `${branchOf(run.stepKey)}:a.txt`)).toBe(AFTER.trim());
  expect(pushed(run)).toBe('Raise a.txt');
  expect(o.refs()).toEqual([
    tokenRef(run.stepKey),
    `refs/heads/${branchOf(run.stepKey)}`,
    'refs/heads/main',
  ]);
  expect(readdirSync(s.repo)).toEqual([]);

  // Its commit is pushed: a note of a person is the next commit of the same branch.
  const shown = run.stepKey.slice(0, 8);
  expect(await emendCommand(s, 'revise', shown)).toMatchObject({
    code: 2,
    err: expect.stringContaining('Add --note'),
  });
  const first = await emendCommand(s, 'revise', shown, '--note', 'Name it XV', '--wait', '--yes');
  expect(first).toMatchObject({ code: 0 });
  const tip = inOrigin('rev-parse', branchOf(run.stepKey));
  expect(inOrigin('rev-parse', `${tip}^`)).toBe(result.commit);
  expect(inOrigin('show', `${tip}:a.txt`)).toBe(LATER.trim());
  expect(pushed(run)).toBe('Review of: Raise a.txt\nRaise a.txt');
  const next = /^([0-9a-f]{8}) {2}/m.exec(first.out)?.[1] ?? '';
  const typed = /^ {2}(git fetch .+)$/m.exec(first.out)?.[1] ?? '';
  const clone = join(dirname(s.repo), 'clone');
  s.git('init', '-q', clone);
  expect(execFileSync('sh', ['-ec', typed], { cwd: clone, encoding: 'utf8' })).toContain(
    'Review of: Raise a.txt',
  );
  expect((await emendCommand(s, 'show', next)).out).toContain(
    `follows    ${shown}: ${branchOf(run.stepKey)}`,
  );
  expect(o.refs().filter((ref) => ref.startsWith('refs/heads/'))).toEqual([
    `refs/heads/${branchOf(run.stepKey)}`,
    'refs/heads/main',
  ]);
  // Merged, and its branch deleted.
  inOrigin('branch', '-D', branchOf(run.stepKey));
  const late = await emendCommand(s, 'revise', shown, '--note', 'Name it XV');
  expect(late.err).toContain(`emend run -m "…" --repository '${url}' --base BRANCH`);
}, 120_000);

longOnly('checkouts.test.ts tells remotes apart')(
  'a URL where no repository is ends the run at its first look, in git’s words; nothing is paid',
  async () => {
    const url = await withOrigin();
    await s.worker();
    const absent = url.replace('origin.git', 'absent.git');
    const result = await s.end(await start('a.md', jobFor('a.txt'), absent));
    expect(result).toMatchObject({
      outcome: 'refused',
      problem: {
        code: 'remote_refused',
        message: expect.stringContaining('does not appear to be a git repository'),
      },
      usage: { calls: 0 },
    });
  },
  60_000,
);

longOnly('a job in words')(
  'a job in words: the files are found in the checkout, what it would take is said before, and a review is taken up on its branch',
  async () => {
    const url = await withOrigin();
    await s.worker();
    const at = ['--repository', url, '--base', 'main'];
    const before = o.refs();
    const estimate = await emendCommand(s, 'run', '-m', 'Raise the first', '--estimate', ...at);
    expect(estimate).toMatchObject({
      code: 0,
      out: expect.stringContaining('raise-the-first: about'),
    });
    expect(o.refs()).toEqual(before);
    const done = await emendCommand(s, 'run', '-m', 'Raise the first', ...at, '--wait', '--yes');
    expect(done).toMatchObject({ code: 0 });
    const run = await resolveRun(s.emend, /^([0-9a-f]{8}) {2}/m.exec(done.out)?.[1] ?? '');
    expect(inOrigin('show', `${branchOf(run.stepKey)}:a.txt`)).toBe(AFTER.trim());

    const dir = dirname(s.repo);
    const said = { path: 'a.txt', line: 15, author: 'bob', text: 'Name it XV' };
    const review = (branch: string) =>
      writeFileSync(
        join(dir, 'said.json'),
        JSON.stringify({
          v: 1,
          pull_request: 'the/7',
          branch,
          comments: [said, { ...said, resolved: true }],
        }),
      );
    const script = `test "$REVIEW_REPOSITORY $REVIEW_COMMIT" = '${url} ${inOrigin('rev-parse', branchOf(run.stepKey))}' && cat '${join(dir, 'said.json')}'`;
    mkdirSync(join(dir, 'config', 'emend'), { recursive: true });
    writeFileSync(
      join(dir, 'config', 'emend', 'config.yaml'),
      `review_comments: ${JSON.stringify(['sh', '-c', script])}\n`,
    );
    Object.assign(s.env, {
      XDG_CONFIG_HOME: join(dir, 'config'),
      GH_TOKEN: undefined,
      GH_HOST: undefined,
    });
    review('main');
    const other = await emendCommand(s, 'revise', run.stepKey, '--from-pr', '--yes');
    expect(other).toMatchObject({
      code: 2,
      err: expect.stringContaining('the/7 is of the branch main, the run pushed'),
    });
    review(branchOf(run.stepKey));
    const taken = await emendCommand(s, 'revise', run.stepKey, '--from-pr', '--wait', '--yes');
    expect(taken).toMatchObject({
      code: 0,
      out: expect.stringContaining(
        `the/7 (${branchOf(run.stepKey)}): 1 comment taken up. Left out: 1 resolved.`,
      ),
    });
    expect(pushed(run)).toBe('Review of: Raise the first\nRaise the first');
    expect(inOrigin('show', `${branchOf(run.stepKey)}:a.txt`)).toBe(LATER.trim());
    expect(s.rehearsal.requests()).toHaveLength(3);
  },
  180_000,
);

const hosts = longInBucket('several homes on one store, and workers that are killed or stopped');
const AUTO = ['approval: auto'];

hosts(
  'a host that is killed, with all that it had on its disk: another ends the run with one commit, and nothing is asked twice',
  async () => {
    await withOrigin(true);
    const url = await o.serve();
    const points = [
      'runTests:before:1',
      'buildProposal:before:1',
      'runTests:before:2',
      'runTests:after:2',
      'applyProposal:before:1',
      'applyProposal:after:1',
      'commit:before:1',
      'commit:after:1',
    ];
    for (const [index, point] of points.entries()) {
      const first = await doomedWorker(s, point, `first-${index}`);
      const run = await start(`${index}.md`, jobFor('a.txt', AUTO), url);
      await s.until(first.fired, 120);
      await first.exited;
      bury(s, `first-${index}`);
      const second = await s.worker(undefined, homeOf(s, 'second'));
      expect([point, await s.end(run, 240)]).toMatchObject([
        point,
        { outcome: 'committed', verification: 'pass' },
      ]);
      expect([point, pushed(run), s.rehearsal.requests().length]).toEqual([
        point,
        'Raise a.txt',
        index + 1,
      ]);
      await second.kill();
    }
  },
  900_000,
);

hosts(
  'two runs on one repository side by side on one host',
  async () => {
    const url = await withOrigin();
    await s.worker();
    const runs = await Promise.all([
      start('a.md', jobFor('a.txt', AUTO), url),
      start('b.md', jobFor('b.txt', AUTO), url),
    ]);
    for (const run of runs)
      expect(await s.end(run, 240)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(runs.map(pushed)).toEqual(['Raise a.txt', 'Raise b.txt']);
    expect(
      runs.map((run) => inOrigin('diff', '--name-only', `main..${branchOf(run.stepKey)}`)),
    ).toEqual(['a.txt', 'b.txt']);
  },
  300_000,
);

hosts(
  'the base branch moves before the approval: other files are below the commit, the same file is merged and reviewed again',
  async () => {
    const url = await withOrigin();
    await s.worker();
    const runs = [
      await start('a.md', jobFor('a.txt'), url),
      await start('b.md', jobFor('b.txt'), url),
    ];
    for (const run of runs)
      expect((await s.settle(run, 120)).status.decision?.reason).toBe('approval');
    const clone = join(dirname(s.repo), 'clone');
    s.git('clone', '-q', url, clone);
    writeFileSync(join(clone, 'a.txt'), BEFORE.replace('line 2\n', 'line two\n'));
    const mine = ['-C', clone, 'commit', '-q', '-am', 'Mine'];
    s.git(...mine);
    s.git('-C', clone, 'push', '-q');
    const main = inOrigin('rev-parse', 'main');
    for (const run of runs) await s.answer(run, 'approve');
    const [a, b] = runs as [ResolvedRun, ResolvedRun];
    expect(await s.end(b, 240)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(inOrigin('rev-parse', `${branchOf(b.stepKey)}^`)).toBe(main);
    const asked = (await s.settle(a, 120)).status.decision;
    expect(asked).toMatchObject({ reason: 'conflict', files: [{ path: 'a.txt' }] });
    await s.answer(a, 'rebase');
    expect((await s.settle(a, 120)).status.decision).toMatchObject({ reason: 'approval' });
    await s.answer(a, 'approve');
    expect(await s.end(a, 240)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(inOrigin('rev-parse', `${branchOf(a.stepKey)}^`)).toBe(main);
    expect(inOrigin('show', `${branchOf(a.stepKey)}:a.txt`)).toBe(
      AFTER.replace('line 2\n', 'line two\n').trim(),
    );
    expect(s.rehearsal.requests()).toHaveLength(2);
  },
  600_000,
);

hosts(
  'the branch of a run that follows moves before its commit: the other commit stays, and `rebase` tests and commits on top of it',
  async () => {
    const url = await withOrigin();
    await s.worker();
    const run = await start('a.md', jobFor('a.txt', AUTO), url);
    await s.end(run, 240);
    const branch = branchOf(run.stepKey);
    const bin = holdingGit(join(dirname(s.repo), 'bin'));
    await s.workers()[0]?.kill();
    await s.worker(undefined, { PATH: `${bin}:${process.env.PATH ?? ''}` });
    const begun = emendCommand(s, 'revise', run.stepKey, '--note', 'Name it XV', '--yes');
    await s.until(() => existsSync(join(bin, 'held')), 120);
    const tree = inOrigin('rev-parse', `${branch}^{tree}`);
    const who = ['-c', 'user.name=Bob', '-c', 'user.email=bob@example.org'];
    const theirs = inOrigin(...who, 'commit-tree', tree, '-p', branch, '-m', 'Theirs');
    inOrigin('update-ref', `refs/heads/${branch}`, theirs);
    writeFileSync(join(bin, 'go'), '');
    const waits = await begun;
    expect(waits).toMatchObject({ code: 3 });
    const next = await resolveRun(s.emend, /^([0-9a-f]{8}) {2}/m.exec(waits.out)?.[1] ?? '');
    const asked = (await s.settle(next, 120)).status.decision;
    expect(asked).toMatchObject({ reason: 'conflict', files: [{ path: '(commit)' }] });
    expect(inOrigin('rev-parse', branch)).toBe(theirs);
    await s.answer(next, 'rebase');
    expect(await s.end(next, 240)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(inOrigin('rev-parse', `${branch}^`)).toBe(theirs);
    expect(inOrigin('show', `${branch}:a.txt`)).toBe(LATER.trim());
  },
  600_000,
);

hosts(
  'a worker that is stopped past its time-outs, before its push, wakes up and can neither push nor record',
  async () => {
    const url = await withOrigin(true);
    const bin = holdingGit(join(dirname(s.repo), 'bin'));
    const first = await s.worker(undefined, {
      ...homeOf(s, 'first'),
      PATH: `${bin}:${process.env.PATH ?? ''}`,
    });
    const run = await start('a.md', jobFor('a.txt', AUTO), url);
    await s.until(() => existsSync(join(bin, 'held')), 120);
    first.child.kill('SIGSTOP');
    await s.worker(undefined, homeOf(s, 'second'));
    const result = await s.end(run, 240);
    expect(result).toMatchObject({ outcome: 'committed' });
    expect(inOrigin('log', '-1', '--format=%an', branchOf(run.stepKey))).toBe('second');
    const entries = async () => (await s.emend.archive.read(run.stepKey)).length;
    const before = [inOrigin('for-each-ref'), await entries()];
    first.child.kill('SIGCONT');
    writeFileSync(join(bin, 'go'), '');
    await s.until(() => existsSync(join(bin, 'ended')), 60);
    expect(readFileSync(join(bin, 'ended'), 'utf8').trim()).not.toBe('0');
    await sleep(3_000);
    expect([inOrigin('for-each-ref'), await entries()]).toEqual(before);
    expect(await s.end(run)).toEqual(result);
    // What it can use no more is gone, whatever its home is called.
    const dir = dirname(s.repo);
    const places = readdirSync(dir).flatMap((name) =>
      name.endsWith('-repositories')
        ? readdirSync(join(dir, name)).map((place) => join(dir, name, place))
        : [],
    );
    expect(places).not.toEqual([]);
    await s.until(() => places.every((place) => readdirSync(place).join() === 'mirror.git'), 60);
  },
  600_000,
);
