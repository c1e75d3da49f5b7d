/**
 * Plays one command in a situation of exit-table.ts, through the function that the program calls. Where a situation has a server it is a
 * map (test/client/fake.ts).
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, jest } from '@jest/globals';
import * as opening from '../../src/client/open.js';
import type { OpenOptions } from '../../src/client/open.js';
import type { ClosedRun, Emend } from '../../src/client/types.js';
import { EXIT, problem, type ExitCode, type ProblemCode } from '../../src/shared/problems.js';
import type { ProposalSummary } from '../../src/shared/proposal-activities.js';
import type { StepOutcome, StepStatus } from '../../src/shared/run.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import { hostId } from '../../src/stores/home.js';
import { FakeServer, tempDir } from '../client/fake.js';
import type { Situation } from './exit-table.js';
import { fakeIo, type FakeIo } from './io.js';

/** Null: the real function looks for one, at a port where nobody listens. */
const there: { server: FakeServer | null } = { server: null };
const served = (): FakeServer | null => there.server;
const { openEmend } = opening;
jest.unstable_mockModule('../../src/client/open.js', () => ({
  ...opening,
  openEmend: async (options: OpenOptions): Promise<Emend> => {
    const server = served();
    if (server === null) return openEmend(options);
    const stores = await openEmend({ ...options, local: true });
    return { ...stores, namespace: 'default', address: 'a map', runs: server };
  },
}));
const { main } = await import('../../src/cli/main.js');

interface Scene {
  readonly dir: string;
  readonly home: string;
  readonly io: FakeIo;
  readonly write: (path: string, text: string) => void;
  /** A server that is there, with a worker. */
  readonly serve: () => FakeServer;
}
const KEY = 'abcd'.repeat(8);
const JOB = '# Grow\n\nRaise it.\n';
const PLAN =
  '# Plan\n\n### Phase 1: One\n\n- [ ] Create `a.js`\n\n### Phase 2: Two\n\n- [ ] Create `b.js`\n';
const answer = (from: string): string => `--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-${from}\n+two\n`;
const APPROVAL: Partial<StepStatus> = {
  state: 'waiting',
  doing: 'waiting for an answer',
  decision: {
    id: '1-abcdabcd',
    n: 1,
    reason: 'approval',
    message: '',
    files: [{ path: 'a.txt', reason: 'approval', message: '' }],
    accepts: ['approve', 'skip', 'revise', 'retry', 'abort'],
    proposalId: '1'.repeat(64),
    answered: {},
    openedAt: 0,
    subject: null,
  },
};

/** Of the run that is there, and of each that is started: its status, and what comes next. */
const runs = (
  { serve }: Scene,
  status: Partial<StepStatus>,
  next?: (server: FakeServer) => void,
): void => {
  const served = serve();
  const { start } = served;
  served.add(KEY, 'emend-there', {}, status);
  if (next !== undefined)
    served.news.push(() => {
      next(served);
    });
  served.start = async (request) => {
    const started = await start(request);
    Object.assign(served.runs.at(-1)?.status ?? {}, status);
    return started;
  };
};
const ends = (scene: Scene, closed: ClosedRun): void => {
  runs(scene, {}, (served) => {
    for (const run of served.runs) served.close(run, closed);
  });
};
const closedWith = (outcome: StepOutcome, code: ProblemCode | null = null): ClosedRun => ({
  status: 'COMPLETED',
  result: {
    v: 2,
    stepKey: KEY,
    outcome,
    files: [],
    skipped: [],
    wasSplit: false,
    usage: NO_USAGE,
    proposalId: null,
    pausedFor_ms: 0,
    verification: null,
    commit: outcome === 'committed' ? '1'.repeat(40) : null,
    problem: code === null ? null : problem(code, 'why it ended so'),
  },
  message: null,
});
const comesTo =
  (outcome: StepOutcome, code: ProblemCode | null = null) =>
  (scene: Scene): void => {
    ends(scene, closedWith(outcome, code));
  };

/** Ctrl-C as soon as somebody listens for it. */
const interruptSoon = ({ io }: Scene): void => {
  io.onInterrupt = (handler) => {
    setImmediate(handler);
    return () => undefined;
  };
};
/** What waits is a proposal: one line of a.txt. */
const propose = async ({ io, serve }: Scene): Promise<void> => {
  const { blobs } = await openEmend({ env: io.env, local: true });
  const proposal: ProposalSummary = {
    id: '1'.repeat(64),
    ref: await blobs.put(new TextEncoder().encode('{}')),
    diff: await blobs.put(new TextEncoder().encode(answer('one'))),
    files: [
      { path: 'a.txt', change: 'edit', added: 1, removed: 1, changes: 1, by: 'model', key: 'a' },
    ],
    findings: [],
    tolerances: [],
    mustAsk: [],
  };
  serve().proposal = proposal;
};

const SET_UP: Record<Situation, (scene: Scene) => unknown> = {
  anywhere: () => undefined,
  home: ({ home }) => hostId(home),
  no_home: ({ write }) => {
    write('answer.txt', answer('one'));
  },
  bad_job: ({ write }) => {
    write('job.md', '---\nmode: magic\n---\n# x\n\nDo it.\n');
    write('plan.md', '# Plan\n\n### Phase 1: One\n\n**Dependencies**: [7]\n\n- [ ] a\n');
  },
  answer: ({ write }) => {
    write('answer.txt', answer('one'));
  },
  bad_answer: ({ write }) => {
    write('answer.txt', answer('none such'));
  },
  big_answer: ({ write }) => {
    write('emend.yaml', 'limits: { maxAnswer_bytes: 1024 }\n');
    write('answer.txt', `${answer('one')}${' '.repeat(1024)}`);
  },
  saved_since: async ({ write, io }) => {
    write('answer.txt', answer('one'));
    expect(await main(['patch', 'answer.txt'], fakeIo({ cwd: io.cwd, env: io.env }))).toBe(
      EXIT.done,
    );
    write('a.txt', 'three\n');
  },
  committed: comesTo('committed'),
  tests_failed: comesTo('tests_failed'),
  refused: comesTo('refused', 'target_binary'),
  conflict: comesTo('failed', 'conflict'),
  limit: comesTo('failed', 'limit_reached'),
  no_model: comesTo('failed', 'model_rejected'),
  terminated: (scene) => {
    ends(scene, { status: 'TERMINATED', result: null, message: 'by hand' });
  },
  waits: async (scene) => {
    runs(scene, APPROVAL);
    await propose(scene);
  },
  answered: async (scene) => {
    runs(scene, APPROVAL, (served) => {
      for (const run of served.runs) served.close(run, closedWith('committed'));
    });
    await propose(scene);
  },
  stale: (scene) => {
    runs(scene, APPROVAL);
    scene.serve().answer = { kind: 'refused', message: 'Another decision is open.' };
  },
  no_worker: (scene) => {
    runs(scene, APPROVAL, () => {
      scene.io.interrupt();
    });
    scene.serve().workers = false;
  },
  under_way: (scene) => {
    runs(scene, {}, () => {
      scene.io.interrupt();
    });
  },
  not_waiting: (scene) => {
    runs(scene, {});
  },
  nothing_open: (scene) => {
    scene.serve();
    interruptSoon(scene);
  },
  none_waits: ({ serve }) => {
    serve().signal = async () => false;
  },
  paused: async ({ dir, home, serve }) => {
    const memo = {
      stepKey: KEY,
      jobPath: 'plan',
      title: 'Plan',
      workspace: await realpath(dir),
      host: await hostId(home),
    };
    const status = { state: 'waiting', doing: 'paused by ann' } as const;
    serve().add(KEY, 'emend-there', { type: 'plan', memo }, status);
  },
  serving: (scene) => {
    scene.write('script.yaml', 'v: 1\nrules: []\n');
    interruptSoon(scene);
  },
};

export interface Played {
  readonly exit: ExitCode;
  readonly out: string;
  readonly err: string;
  /** The questions. */
  readonly asked: readonly string[];
}
/** `line`: after `emend`; RUN in it stands for the run that is there. `typed`: what the person answers. */
export const played = async (
  situation: Situation,
  line: string,
  { isTty, typed = [] }: { readonly isTty: boolean; readonly typed?: readonly string[] },
): Promise<Played> => {
  const dir = await tempDir();
  const home = join(await tempDir(), 'home');
  const env = { EMEND_HOME: home, HOME: dir, PATH: process.env.PATH, GIT_PAGER: 'cat' };
  const io = fakeIo({
    isTty,
    cwd: dir,
    typed: [...typed],
    env: { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1', EMEND_CONNECT_MS: '100' },
  });
  const write = (path: string, text: string): void => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  there.server = null;
  const serve = (): FakeServer => (there.server ??= new FakeServer());
  if (/^(?:init|plan)\b/.test(line))
    execFileSync('git', ['init', '-q', dir], { env: { ...process.env, ...env } });
  for (const [path, text] of [
    ['a.txt', 'one\n'],
    ['job.md', JOB],
    ['plan.md', PLAN],
    ['policy.yaml', 'v: 1\npaths: ["docs/**"]\n'],
  ] as const)
    write(path, text);
  await SET_UP[situation]({ dir, home, io, write, serve });
  if (served() !== null) await hostId(home);
  const args = line
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => (word === 'RUN' ? KEY.slice(0, 8) : word));
  try {
    return { exit: await main(args, io), ...io.printed, asked: io.asked };
  } finally {
    there.server = null;
  }
};
