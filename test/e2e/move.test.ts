/**
 * A run in a directory whose host is gone goes on in a copy of the directory on another host, or as a run on its repository: what is
 * recorded is used, there is one commit, and what the lost host had written is put back there once it is back.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { branchOf } from '../../src/shared/repository.js';
import { longInBucket, testInBucket } from './bucket-store.js';
import { eventually, lockOf } from './ends.js';
import { AFTER, BEFORE, groupOf, RULES, type Group, type SaidAt } from './group.js';
import type { Scene, WorkerProcess } from './support.js';

const inBucket = testInBucket();
let open: Moving | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const jobFor = (...more: readonly string[]): string =>
  [
    ...[
      '---',
      'target_files: [a.txt, b.txt]',
      'baseline: off',
      'test: grep -q fifteen a.txt',
      ...more,
    ],
    ...['---', '# Raise it', '', 'Words.', ''],
  ].join('\n');
const COMMIT = 'commit: true';
const AUTO = 'approval: auto';

/** The directory of `alpha` is copied before anything runs, and people type in the copy. */
interface Moving extends Group {
  readonly copy: string;
  at(home: string, crash?: string, env?: Record<string, string>): Promise<WorkerProcess>;
  /** Its decision once the run waits for a host. */
  unreachable(run: ResolvedRun): Promise<string>;
}
const group = async (prepare: (s: Scene) => void = () => undefined): Promise<Moving> => {
  const env = { EMEND_SCHEDULETOSTART_MS: '1500' };
  const s = await groupOf({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, { env, cwd: 'copy' });
  prepare(s);
  const copy = join(dirname(s.repo), 'copy');
  cpSync(s.repo, copy, { recursive: true });
  open = {
    ...s,
    copy,
    at: (name, crash, more = {}) => s.worker(crash, { EMEND_HOME: s.homeAt(name), ...more }),
    unreachable: (run) =>
      eventually(
        'the question',
        async () => {
          const { decision } = (await s.show(run)).status;
          return decision?.reason === 'workspace_unreachable' && decision.id;
        },
        120,
      ),
  };
  return open;
};
const shownOf = (run: ResolvedRun): string => run.stepKey.slice(0, 8);
const subjects = (dir: string, ...range: readonly string[]): readonly string[] =>
  execFileSync('git', ['log', '--format=%s', ...range], { cwd: dir, encoding: 'utf8' })
    .trim()
    .split('\n');
const files = (dir: string): readonly string[] =>
  ['a.txt', 'b.txt'].map((path) => readFileSync(join(dir, path), 'utf8'));
const lose = (s: Moving): void => {
  for (const each of [s.home, s.repo]) rmSync(each, { recursive: true, force: true });
};

inBucket(
  'killed after it had applied: the run goes on in a copy with one commit, and the lost host puts back what it wrote',
  async () => {
    const s = await group();
    const own = await s.at('alpha', 'commit:before:1');
    const run = await s.start('job.md', jobFor(COMMIT, AUTO));
    await own.exited;
    expect(own.fired()).toBe(true);
    expect(files(s.repo)).toEqual([AFTER, AFTER]);
    await s.at('beta');
    const decision = await s.unreachable(run);
    const asked = s.rehearsal.requests().length;
    const shown = shownOf(run);
    const told = await s.emendAt('beta', 'show', shown);
    expect(told.said).toContain(`emend move ${shown} --decision ${decision} --to DIR`);
    expect(told.said).toContain('with a copy of its files: emend move');

    const move = (...to: readonly string[]): Promise<SaidAt> =>
      s.emendAt('beta', 'move', shown, '--decision', decision, ...to);
    writeFileSync(join(s.copy, 'b.txt'), 'other\n');
    const base = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: s.copy,
      encoding: 'utf8',
    }).trim();
    expect(await move('--to', s.copy)).toMatchObject({
      code: 2,
      said: expect.stringContaining(
        `1 of 2 files in ${s.copy} are not as the run read them: b.txt. Restore them first: git -C '${s.copy}' checkout ${base} -- 'b.txt'`,
      ),
    });
    writeFileSync(join(s.copy, 'b.txt'), BEFORE);
    expect(await move('--to', '.')).toMatchObject({
      code: 0,
      said: expect.stringContaining('move: continue in a copy'),
    });
    const left = [{ host: s.id('alpha'), workspace: s.repo, files: ['a.txt', 'b.txt'] }];
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass', left });
    expect([s.rehearsal.requests().length, files(s.copy), subjects(s.copy)]).toEqual([
      asked,
      [AFTER, AFTER],
      ['Raise it', 'base'],
    ]);
    const after = await s.emendAt('beta', 'show', shown);
    expect(after.said).toMatch(
      new RegExp(`^ {2}workspace +${s.copy} on \\S+ \\(${s.id('beta').slice(0, 8)}\\)$`, 'm'),
    );
    expect(after.said).toMatch(/^ {2}moved from .*; applied: a\.txt, b\.txt$/m);

    // From the home that has it now nothing is undone there; the lost one is back.
    expect(await s.emendAt('beta', 'recover')).toMatchObject({
      said: expect.stringContaining('It used another EMEND_HOME'),
    });
    expect([files(s.repo), (await lockOf(s))?.stepKey]).toEqual([[AFTER, AFTER], run.stepKey]);
    expect(await s.emendAt('alpha', 'recover')).toMatchObject({
      code: 0,
      said: expect.stringMatching(
        /has ended \(moved to another place\).*aborted or moved while this host .*\n {2}2 files restored/,
      ),
    });
    expect([files(s.repo), await lockOf(s), subjects(s.repo)]).toEqual([
      [BEFORE, BEFORE],
      null,
      ['base'],
    ]);
  },
  300_000,
);

const long = longInBucket('two workers, and a host that is waited for');

long(
  'killed while its approval waits, home and directory lost: moved to a named host, and what was approved is applied there',
  async () => {
    const s = await group();
    const [own] = await Promise.all([s.at('alpha'), s.at('beta')]);
    const run = await s.start('job.md', jobFor(COMMIT));
    await s.settle(run, 120);
    const shown = shownOf(run);
    const asked = s.rehearsal.requests().length;
    // The host lives: there is nothing to move, and it is said what is asked instead.
    const { decision } = (await s.show(run)).status;
    expect(await s.emendAt('beta', 'move', shown, '--to', s.copy)).toMatchObject({
      code: 2,
      said: expect.stringMatching(
        /move is not an answer to approval; answers are: approve[^]*emend show/,
      ),
    });
    expect(
      await s.emendAt('beta', 'move', shown, '--decision', decision!.id, '--to', s.copy),
    ).toMatchObject({
      code: 2,
    });
    expect(await s.emendAt('beta', 'move', shown)).toMatchObject({
      code: 2,
      said: expect.stringContaining('--as-repository'),
    });
    expect(await s.emendAt('beta', 'move', shown, '--host', 'ffff')).toMatchObject({
      code: 2,
      said: expect.stringContaining('has an id that begins with "ffff"'),
    });
    await own.kill();
    await s.answer(run, 'approve');
    const open = await s.unreachable(run);
    lose(s);
    expect(
      await s.emendAt(
        'gamma',
        'move',
        shown,
        '--decision',
        open,
        '--host',
        s.id('beta').slice(0, 8),
      ),
    ).toMatchObject({
      code: 2,
      said: expect.stringContaining(`${s.repo} is not the real path of a directory of this host`),
    });
    const to = ['--host', s.id('beta').slice(0, 8), '--to', s.copy];
    expect(await s.emendAt('gamma', 'move', shown, '--decision', open, ...to)).toMatchObject({
      code: 0,
    });
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      left: [{ files: ['a.txt', 'b.txt'] }],
    });
    expect([s.rehearsal.requests().length, subjects(s.copy)]).toEqual([
      asked,
      ['Raise it', 'base'],
    ]);
  },
  300_000,
);

long(
  'killed before it had read a file: the files of the new place are what the run begins with',
  async () => {
    const s = await group();
    const own = await s.at('alpha', 'preflight:before:1');
    const run = await s.start('job.md', jobFor(COMMIT, AUTO));
    await own.exited;
    await s.at('beta');
    const decision = await s.unreachable(run);
    lose(s);
    const to = ['--decision', decision, '--to', s.copy];
    const as = await s.emendAt(
      'beta',
      'move',
      shownOf(run),
      '--decision',
      decision,
      '--as-repository',
      'file:///none',
    );
    expect(as).toMatchObject({
      code: 2,
      said: expect.stringContaining('has read its files, can continue'),
    });
    expect(await s.emendAt('beta', 'move', shownOf(run), ...to)).toMatchObject({
      code: 2,
      said: expect.stringContaining('The run has not read its job yet'),
    });
    writeFileSync(join(s.copy, 'job.md'), jobFor(COMMIT, AUTO));
    expect(await s.emendAt('beta', 'move', shownOf(run), ...to)).toMatchObject({ code: 0 });
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect([files(s.copy), subjects(s.copy)]).toEqual([
      [AFTER, AFTER],
      ['Raise it', 'base'],
    ]);
  },
  300_000,
);

long(
  'stopped in the middle of its apply, and awake once the run has gone on: it records nothing, and `emend recover` there closes what it began',
  async () => {
    const s = await group();
    const own = await s.at('alpha', 'applyProposal:sys-after:rename@/b.txt', {
      CRASH_SIGNAL: 'SIGSTOP',
    });
    const run = await s.start('job.md', jobFor(COMMIT, AUTO));
    await eventually('the stop', async () => own.fired(), 120);
    await s.at('beta');
    const decision = await s.unreachable(run);
    expect(
      await s.emendAt('beta', 'move', shownOf(run), '--decision', decision, '--to', s.copy),
    ).toMatchObject({
      code: 0,
    });
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    own.child.kill('SIGCONT');
    await eventually(
      'the end of what it began',
      async () => {
        await s.emendAt('alpha', 'recover');
        return (await lockOf(s)) === null;
      },
      60,
    );
    expect([files(s.repo), subjects(s.repo)]).toEqual([[BEFORE, BEFORE], ['base']]);
    expect([files(s.copy), subjects(s.copy)]).toEqual([
      [AFTER, AFTER],
      ['Raise it', 'base'],
    ]);
  },
  300_000,
);

/** What the directory is a clone of. */
const withOrigin = (s: Scene): void => {
  const origin = join(dirname(s.repo), 'origin.git');
  s.git('clone', '-q', '--bare', s.repo, origin);
};

long(
  'applied and not committed, home and directory lost: the run goes on as one on the repository, and pushes one commit',
  async () => {
    const s = await group(withOrigin);
    const own = await s.at('alpha', 'commit:before:1');
    const run = await s.start('job.md', jobFor(COMMIT, AUTO));
    await own.exited;
    await s.at('beta');
    const decision = await s.unreachable(run);
    const asked = s.rehearsal.requests().length;
    lose(s);
    const origin = join(dirname(s.repo), 'origin.git');
    const as = (url: string): Promise<SaidAt> =>
      s.emendAt('beta', 'move', shownOf(run), '--decision', decision, '--as-repository', url);
    const none = `file://${dirname(s.repo)}/none.git`;
    expect(await as(none)).toMatchObject({ code: 2, said: expect.stringContaining('none.git') });
    expect(await as('https://me:word@example.org/x.git')).toMatchObject({
      code: 2,
      said: expect.stringContaining('without a user or password'),
    });
    const refused = await s.emend.runs!.historyText({
      workflowId: run.live!.workflowId,
      runId: null,
    });
    expect(refused).toContain('none.git');
    expect(refused).not.toContain('me:word');
    expect(await as(`file://${origin}`)).toMatchObject({ code: 0 });
    const result = await s.end(run);
    expect(result).toMatchObject({
      outcome: 'committed',
      verification: 'pass',
      left: [{ files: ['a.txt', 'b.txt'] }],
    });
    expect(subjects(origin, `main..${branchOf(run.stepKey)}`)).toEqual(['Raise it']);
    expect(s.rehearsal.requests()).toHaveLength(asked);
  },
  300_000,
);

long(
  'a run that makes no commit would leave nothing in a checkout: refused, and it waits on',
  async () => {
    const s = await group(withOrigin);
    const own = await s.at('alpha', 'buildProposal:before:1');
    const run = await s.start('job.md', jobFor('commit: false'));
    await own.exited;
    await s.at('beta');
    const decision = await s.unreachable(run);
    const as = (): Promise<SaidAt> =>
      s.emendAt('beta', 'move', shownOf(run), '--decision', decision, '--as-repository');
    expect(await as()).toMatchObject({
      code: 2,
      said: expect.stringContaining('no remote `origin` with a URL'),
    });
    s.git('-C', s.copy, 'remote', 'add', 'origin', `file://${dirname(s.repo)}/origin.git`);
    expect(await as()).toMatchObject({
      code: 2,
      said: expect.stringContaining('only a run that makes a commit'),
    });
    expect((await s.show(run)).status.decision).toMatchObject({ id: decision });
  },
  300_000,
);
