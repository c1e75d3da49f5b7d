/** The states that a run can be in when somebody cancels it, terminates it, or a time-out of the server ends it; how each is reached. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResolvedRun } from '../../src/client/index.js';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { eventually, lockOf, pidsIn } from './ends.js';
import { numbered, scene, whole, type Scene, type WorkerProcess } from './support.js';

const BEFORE = numbered(20);
const AFTER = BEFORE.replace('line 15\n', 'line fifteen\n');
/** A person's change beside ours. */
const MINE = BEFORE.replace('line 2\n', 'line two\n');
/** Whoever holds the workspace in the state `busy`. */
const OTHER = 'feedbeef'.padEnd(32, '0');

export interface At {
  readonly s: Scene;
  readonly run: ResolvedRun;
  readonly worker: WorkerProcess | null;
}
export interface State {
  readonly name: string;
  /** Front matter beside `target_files: [a.txt]`. */
  readonly keys?: readonly string[];
  readonly targets?: string;
  /** The rule whose answer is held back in the middle. */
  readonly held?: { readonly name: string; readonly contains: string };
  readonly overloaded?: true;
  /** With the sandbox, so the tests run before the apply. */
  readonly sandboxed?: true;
  readonly env?: Record<string, string>;
  /** What the worker does, as crash-worker.js reads it; null: there is no worker. */
  readonly worker?: string | null;
  readonly reach: (at: At) => Promise<unknown>;
  /** Lets go what is held, after what was done to the run. */
  readonly go?: (at: At) => Promise<unknown>;
  /** How a cancelled run ends, and what a terminated (or timed out) one leaves. */
  readonly cancelled: 'rolled back' | 'committed';
  readonly terminated: 'untouched' | 'applied' | 'committed';
  /** What a.txt holds where the run leaves nothing. */
  readonly base?: string;
  /** Calls that the model answered or that were cut off. */
  readonly calls: number;
}

const AUTO = ['approval: auto', 'commit: true'];
const pidsOf = (s: Scene): string => join(s.home, '..', 'pids');
const sleeper = (pids: string): string =>
  `sleep 300 & echo $$ $! >> '${pids}'; while [ ! -e '${pids}-go' ]; do sleep 0.1; done; kill $!`;
const fired = ({ s, worker }: At) => s.until(() => worker!.fired(), 90);
const paused = (reason: string) => async (at: At) => {
  const { status } = await at.s.settle(at.run, 90);
  if (status.decision?.reason !== reason)
    throw new Error(`paused for ${String(status.decision?.reason)}`);
};
const inCall = (rule: string) => (at: At) =>
  at.s.until(
    () =>
      at.s.rehearsal
        .requests()
        .some((request) => request.rule === rule && request.state === 'held'),
    90,
  );
const go = ({ worker }: At): Promise<void> => {
  worker!.go();
  return Promise.resolve();
};
const conflict = async (at: At): Promise<void> => {
  await paused('approval')(at);
  at.s.write('a.txt', MINE);
  await at.s.answer(at.run, 'approve');
  await eventually(
    'the conflict',
    async () => (await at.s.show(at.run)).status.decision?.reason === 'conflict',
    90,
  );
};
const UNTOUCHED = { cancelled: 'rolled back', terminated: 'untouched' } as const;
const APPLIED = { cancelled: 'rolled back', terminated: 'applied' } as const;
const TOO_LATE = { cancelled: 'committed' } as const;

export const STATES: readonly State[] = [
  {
    ...UNTOUCHED,
    name: 'waiting for its first worker',
    keys: AUTO,
    worker: null,
    reach: () => Promise.resolve(),
    go: ({ s }) => s.worker(),
    calls: 0,
  },
  {
    ...UNTOUCHED,
    name: 'in preflight',
    keys: AUTO,
    worker: 'preflight:hold-before:1',
    reach: fired,
    go,
    calls: 0,
  },
  {
    ...UNTOUCHED,
    name: 'in pick',
    keys: AUTO,
    targets: '',
    held: { name: 'pick', contains: 'Files of the project' },
    reach: inCall('pick'),
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'in the brief',
    keys: AUTO,
    targets: 'a.txt, b.txt',
    held: { name: 'brief', contains: 'Now write the brief' },
    reach: inCall('brief'),
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'in a model call',
    keys: AUTO,
    held: { name: 'held', contains: '- a.txt' },
    reach: inCall('held'),
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'between two attempts of a call',
    keys: AUTO,
    overloaded: true,
    env: { EMEND_RETRYINITIAL_MS: '600000', EMEND_RETRYMAXIMUM_MS: '600000' },
    reach: ({ s }) => s.until(() => s.rehearsal.requests().length > 0, 90),
    calls: 0,
  },
  {
    ...UNTOUCHED,
    name: 'building the proposal',
    keys: AUTO,
    worker: 'buildProposal:hold-after:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'in the tests of a proposal',
    keys: [...AUTO, 'baseline: off', 'test: exit 0'],
    sandboxed: true,
    worker: 'runTests:hold-before:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'in the tests of a proposal, they passed',
    keys: [...AUTO, 'baseline: off', 'test: exit 0'],
    sandboxed: true,
    worker: 'runTests:hold-after:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'paused: approval',
    keys: ['commit: true'],
    reach: paused('approval'),
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'paused: tests_failed',
    keys: [...AUTO, 'baseline: off', 'test: exit 1'],
    reach: paused('tests_failed'),
    calls: 2,
  },
  {
    ...UNTOUCHED,
    name: 'paused: conflict',
    keys: ['commit: true'],
    reach: conflict,
    base: MINE,
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'in rebase',
    keys: ['commit: true'],
    worker: 'rebaseProposal:hold-before:1',
    reach: async (at) => {
      await conflict(at);
      await at.s.answer(at.run, 'rebase');
      await fired(at);
    },
    go,
    base: MINE,
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'waiting for a busy workspace',
    keys: AUTO,
    reach: async ({ s, run }) => {
      await eventually(
        'the wait',
        async () => (await s.events(run)).some(({ type }) => type === 'apply_busy'),
        90,
      );
    },
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'in apply, before it began',
    keys: AUTO,
    worker: 'applyProposal:hold-before:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...APPLIED,
    name: 'in apply, all written',
    keys: AUTO,
    worker: 'applyProposal:hold-after:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...APPLIED,
    name: 'in verify',
    keys: [...AUTO, 'baseline: off', 'test: SLEEPER'],
    reach: ({ s }) => s.until(() => pidsIn(pidsOf(s)).length >= 2, 90),
    calls: 1,
  },
  {
    ...APPLIED,
    name: 'in rollback, before it began',
    keys: [...AUTO, 'baseline: off', 'test: exit 1'],
    worker: 'rollBack:hold-before:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...UNTOUCHED,
    name: 'in rollback, all put back',
    keys: [...AUTO, 'baseline: off', 'test: exit 1'],
    worker: 'rollBack:hold-after:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...TOO_LATE,
    terminated: 'applied',
    name: 'in commit, before it began',
    keys: AUTO,
    worker: 'commit:hold-before:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...TOO_LATE,
    terminated: 'applied',
    name: 'in a commit hook',
    keys: AUTO,
    // A commit that has not been told yet that its run is over is made all the same.
    worker: 'commit:watch-before:1',
    reach: ({ s }) => s.until(() => pidsIn(pidsOf(s)).length >= 2, 90),
    go: ({ s }) => {
      writeFileSync(`${pidsOf(s)}-go`, '');
      return Promise.resolve();
    },
    calls: 1,
  },
  {
    ...TOO_LATE,
    terminated: 'committed',
    name: 'in commit, it is made',
    keys: AUTO,
    worker: 'commit:hold-after:1',
    reach: fired,
    go,
    calls: 1,
  },
  {
    ...TOO_LATE,
    terminated: 'committed',
    name: 'finished',
    keys: AUTO,
    reach: ({ s, run }) => s.end(run, 90),
    calls: 1,
  },
];

/** A scene with its run in the state. `before`: what is done to the scene before the run starts. */
export const reachState = async (
  state: State,
  opened: (s: Scene) => void,
  before: (s: Scene) => void = () => undefined,
): Promise<At> => {
  const { held } = state;
  const hold = { kind: 'hold' as const, after_bytes: 300 };
  const answer = whole({ 'a.txt': AFTER });
  const rules = [
    ...(held === undefined
      ? []
      : [{ name: held.name, match: { contains: held.contains }, answer, fault: hold }]),
    ...(state.overloaded
      ? [
          {
            name: 'over',
            match: { contains: '- a.txt' },
            answer,
            fault: { kind: 'overload' as const },
          },
        ]
      : []),
    { name: 'a', match: { contains: '- a.txt' }, answer },
  ];
  const s = await scene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, rules, { env: state.env ?? {} });
  opened(s);
  before(s);
  if (state.name === 'in a commit hook') {
    s.write('.git/hooks/pre-commit', `#!/bin/sh\n${sleeper(pidsOf(s))}\n`);
    chmodSync(join(s.repo, '.git/hooks/pre-commit'), 0o755);
  }
  if (state.name === 'waiting for a busy workspace')
    await createLocks({ home: s.home }).take(s.repo, OTHER, {
      workflowId: 'emend-nobody',
      namespace: s.emend.namespace,
    });
  const worker = state.worker === null ? null : await s.worker(state.worker);
  const targets = state.targets ?? 'a.txt';
  const keys = (state.keys ?? []).map((key) =>
    key.replace('SLEEPER', () => JSON.stringify(sleeper(pidsOf(s)))),
  );
  const text = [
    '---',
    ...(targets === '' ? [] : [`target_files: [${targets}]`]),
    ...keys,
    // What it sleeps in tells ids that the machine knows, in a file beside the workspace.
    ...(state.sandboxed === true ? [] : ['sandbox: off']),
    '---',
    '# Raise it',
    '',
    'Fifteen in words.',
    '',
  ];
  const run = await s.start('job.md', text.join('\n'));
  const at = { s, run, worker };
  await state.reach(at);
  return at;
};

/** What a held execution does after its run is gone: it is told first, as it would be some seconds later anyway. */
export const letGo = async (state: State, at: At, told: boolean): Promise<void> => {
  const { s, worker } = at;
  if (told && worker?.fired() === true)
    await s.until(() => existsSync(`${worker.mark}-cancelled`), 60);
  await state.go?.(at);
};

/** The tree as the run found it (or as it committed it), and who holds the workspace. */
export const treeOf = async ({ s }: At) => ({
  a: s.read('a.txt'),
  b: s.read('b.txt'),
  commits: Number(s.git('rev-list', '--count', 'HEAD')) - 1,
  left: s
    .git('status', '--porcelain', '--ignored')
    .split('\n')
    .filter((line) => line !== '' && !/^\?\? \w+\.md$/.test(line) && !line.endsWith(' a.txt')),
  holder: (await lockOf(s))?.stepKey ?? null,
});
export const treeAs = (
  state: State,
  run: ResolvedRun,
  left: 'untouched' | 'applied' | 'committed',
) => ({
  a: left === 'untouched' ? (state.base ?? BEFORE) : AFTER,
  b: BEFORE,
  commits: left === 'committed' ? 1 : 0,
  left: [],
  holder:
    state.name === 'waiting for a busy workspace' ? OTHER : left === 'applied' ? run.stepKey : null,
});
