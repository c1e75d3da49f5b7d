/** Two who decide at once, from different faces: one answer counts, and whoever came too late is told so and goes on. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { askDecision } from '../../src/cli/ask-decision.js';
import { approveBy } from '../../src/cli/headless/approve.js';
import { followRun, type FollowOptions } from '../../src/cli/follow-run.js';
import { review } from '../../src/cli/commands/review.js';
import {
  decide,
  type DecideOptions,
  type Emend,
  type ResolvedRun,
} from '../../src/client/index.js';
import { valueOf } from '../../src/shared/problems.js';
import { parsePolicy } from '../../src/documents/job/index.js';
import { fakeIo } from '../cli/io.js';
import { scene, whole, type Scene } from './support.js';

const RULES = [
  {
    name: 'again',
    match: { contains: ['- a.js', 'make it four'] },
    answer: whole({ 'a.js': 'const a = 4;\n' }),
  },
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) },
];
const JOB = '---\ntarget_files: [a.js]\n---\n# Grow\n\nRaise the number.\n';

/** None of the runs is applied, so they share a workspace. */
let s: Scene;
beforeAll(async () => {
  s = await scene({ 'a.js': 'const a = 1;\n' }, RULES, { env: { EMEND_ACCEPTWAIT_MS: '30000' } });
  await s.worker();
}, 60_000);
afterAll(() => s.close());

let runs = 0;
const waiting = async () => {
  const run = await s.start(`job-${(runs += 1)}.md`, JOB);
  return { run, decision: (await s.settle(run)).status.decision! };
};
/** Another person, whose answer comes first. */
const other = (run: ResolvedRun, decision: string, more: Partial<DecideOptions> = {}) =>
  decide(s.emend, run, { answer: 'skip', decision, by: { name: 'bob', from: 'web' }, ...more });
/** The same stores and server, where somebody else always answers first. */
const late = (first: () => Promise<unknown>): Emend => {
  const runs = s.emend.runs!;
  const update: typeof runs.update = async (...args) => {
    await first();
    return runs.update(...args);
  };
  return { ...s.emend, runs: { ...runs, update } };
};
const OPTIONS: Omit<FollowOptions, 'signal'> = {
  interactive: false,
  wait: false,
  yes: false,
  shows: 'progress',
  live: false,
  needWorker: false,
};

test.each(['--yes', '--policy'])(
  '%s is too late: the command goes on with what the other decided',
  async (how) => {
    const { run, decision } = await waiting();
    const io = fakeIo({ env: s.env, cwd: s.repo });
    const session = { io, emend: late(() => other(run, decision.id)), flags: {} };
    s.write('policy.yaml', 'v: 1\n');
    const source = 'v: 1\npaths: ["*.js"]\n';
    const policy = { policy: valueOf(parsePolicy(source, 'policy.yaml')), source };
    const { signal } = new AbortController();
    const followed = await followRun(session, run, {
      ...OPTIONS,
      signal,
      yes: how === '--yes',
      ...(how === '--yes' ? {} : { policy: approveBy(session, policy, 'policy.yaml', false) }),
    });
    expect(followed).toMatchObject({ kind: 'closed', closed: { result: { outcome: 'skipped' } } });
  },
);

test('a review that another was faster than says so, and does not say that the run waits', async () => {
  const { run, decision } = await waiting();
  const io = fakeIo({ env: s.env, cwd: s.repo, isTty: true });
  const asked: string[] = [];
  io.key = async (question) => {
    if (asked.push(question) === 2)
      await other(run, decision.id, { answer: 'revise', note: 'make it four' });
    return 'y';
  };
  const exit = await review(io, run.stepKey, {});
  expect([exit, io.printed.err]).toEqual([
    0,
    expect.stringMatching(/^decision 1-.* is resolved: revise by bob\n/),
  ]);
  expect(asked.slice(0, 2)).toEqual([
    'Take hunk 1/1 [y,n,a,d,c,p,q,?]? ',
    'Send these answers [y,n]? ',
  ]);
  expect(io.printed.out).not.toContain('waits on');
});

test('a question about an older decision does not show the newer proposal, and is over', async () => {
  const { run, decision } = await waiting();
  await other(run, decision.id, { answer: 'revise', note: 'make it four' });
  await s.settle(run);
  const io = fakeIo({ env: s.env, cwd: s.repo, isTty: true });
  io.key = (_, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        resolve(null);
      });
    });
  const asked = await askDecision(
    { io, emend: s.emend, flags: {} },
    run,
    decision,
    new AbortController().signal,
  );
  const newer = (await s.show(run)).proposal?.id.slice(0, 8) ?? 'none';
  expect([asked, io.tools, io.printed.out]).toEqual([
    'changed',
    [],
    expect.not.stringContaining(newer),
  ]);
});

test.each(['skip', 'abort'] as const)(
  'whoever answers a run that %s of another has ended reads who gave which answer',
  async (answer) => {
    const { run, decision } = await waiting();
    const first = async (): Promise<void> => {
      await other(run, decision.id, { answer });
      await s.emend.runs!.closed(run.live!);
    };
    const approval = decide(late(first), run, { answer: 'approve', decision: decision.id });
    const id = run.stepKey.slice(0, 8);
    const words = answer === 'skip' ? `decision ${decision.id} is resolved: skip` : 'abort';
    await expect(approval).rejects.toMatchObject({
      problem: {
        code: 'answer_not_accepted',
        message: `Run ${id} has ended in the meantime: ${words} by bob (web).`,
      },
    });
  },
);
