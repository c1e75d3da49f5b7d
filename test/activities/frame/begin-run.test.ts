/** The first activity of a run: which host it finds, what it refuses, and what it stores. With real stores. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { activity } from '../../../src/activities/frame/activity.js';
import { beginRun } from '../../../src/activities/frame/begin-run.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import type { BeginRunInput, BeginRunResult, LiveHost } from '../../../src/shared/begin-run.js';
import { queueNames, type Queues } from '../../../src/shared/names.js';
import type { PlanCheckpoint } from '../../../src/shared/plan.js';
import { fail, versioned } from '../../../src/shared/problems.js';
import { currentRules } from '../../../src/shared/rules.js';
import type { PlanSetup, StepSetup } from '../../../src/shared/run.js';
import { createArchive } from '../../../src/stores/directory/archive.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { resolveTimings } from '../../../src/temporal/settings.js';

const KEY = 'ab'.repeat(16);
const OWN = '11111111'.repeat(4);
const OTHER = '2222aaaa'.repeat(4);
const OWNER = { workflowId: 'w', runId: 'r', namespace: 'default' };
const host = (id: string, name: string, isLive = true): LiveHost => ({ id, name, isLive });

let dir: string;
let hosts: readonly LiveHost[];
let queues: Queues;
let last: PlanCheckpoint | null;
let page: string | null;
let ports: ActivityPorts;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-begin-')));
  hosts = [host(OWN, 'laptop')];
  queues = queueNames('emend', OWN);
  last = null;
  page = null;
  ports = {
    archive: createArchive({ dir: join(dir, 'archive') }),
    blobs: createBlobStore({ dir: join(dir, 'blobs') }),
    timings: resolveTimings({}),
    clock: { time_ms: () => 0 },
    checkHome: () => Promise.resolve(),
    logger: { warn: () => undefined },
    group: {
      facts: () =>
        Promise.resolve({ queues, address: 'localhost:7233', searchAttributes: true, page }),
      hosts: () => Promise.resolve(hosts),
      lastCheckpoint: () => Promise.resolve(last),
    },
  } as unknown as ActivityPorts;
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const begin = (input: unknown, kind: 'job' | 'plan' = 'job'): Promise<BeginRunResult> =>
  beginRun(
    ports,
    { stepKey: KEY, log: [], kind, input },
    { owner: OWNER, signal: new AbortController().signal, assertCurrent: () => undefined },
  );
const begunSetup = (result: BeginRunResult): StepSetup | PlanSetup => {
  if (result.outcome !== 'begun') throw new Error(result.message);
  return result.setup;
};
const stepSetup = (result: BeginRunResult): StepSetup => begunSetup(result) as StepSetup;
const planSetup = (result: BeginRunResult): PlanSetup => begunSetup(result) as PlanSetup;
const messageOf = (result: BeginRunResult): string =>
  result.outcome === 'invalid' ? result.message : 'it began';

describe('a job in words', () => {
  test('is stored as the job file that says the same, and the archive knows of the run', async () => {
    const input = {
      workspace: '/r/',
      task: '# Raise\n\nSet a.',
      targetFiles: ['a.js'],
      budget_usd: 2,
    };
    const setup = stepSetup(await begin(input));
    expect(setup).toMatchObject({
      stepKey: KEY,
      workspace: '/r',
      title: 'Raise',
      jobPath: 'raise-set-a',
      queues,
      overrides: { budget_usd: 2 },
      rules: currentRules(),
      searchAttributes: true,
    });
    const job = new TextDecoder().decode(await ports.blobs.get(setup.job!));
    expect(job).toBe('---\ntarget_files:\n  - a.js\n---\n# Raise\n\nSet a.');
    const [started] = await ports.archive.read(KEY);
    expect(started).toMatchObject({
      id: 'started',
      data: { ...OWNER, workspace: '/r', title: 'Raise', jobPath: 'raise-set-a', job: setup.job },
    });
  });

  test('hides a secret in what names it', async () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const setup = stepSetup(await begin({ workspace: '/r', task: `Use ${token} once` }));
    expect(JSON.stringify(setup)).not.toContain(token);
  });
});

test('a run knows the address of the review page, if one is served', async () => {
  const input = { workspace: '/r', task: 'x' };
  expect(stepSetup(await begin(input))).not.toHaveProperty('page');
  page = 'http://127.0.0.1:8260';
  expect(stepSetup(await begin(input))).toMatchObject({ page });
  const plan = await begin({ workspace: '/r', planFile: 'plans/010_x.md' }, 'plan');
  expect(planSetup(plan)).toMatchObject({ page });
});

test('a job file is left to preflight, on the host that has it', async () => {
  const setup = stepSetup(await begin({ workspace: '/r', jobFile: './jobs/x.md' }));
  expect(setup).toMatchObject({ job: null, jobPath: 'jobs/x.md', title: 'x.md' });
});

test('a run on a repository goes to any host', async () => {
  const input = { repository: 'https://example.org/a/b.git', base: 'main', task: 'x' };
  const setup = stepSetup(await begin(input));
  expect(setup).toMatchObject({
    workspace: input.repository,
    repository: { url: input.repository, base: 'main' },
    queues: { host: 'emend-hosts' },
  });
});

describe('the host of a workspace', () => {
  const hostQueue = async (input: object): Promise<string> =>
    stepSetup(await begin({ workspace: '/r', task: 'x', ...input })).queues.host;

  test('is the only one that a worker serves', async () => {
    hosts = [host(OWN, 'laptop', false), host(OTHER, 'server')];
    expect(await hostQueue({})).toBe(`emend-host-${OTHER}`);
  });
  test('is the only one that is known, also if no worker serves it yet', async () => {
    hosts = [host(OTHER, 'server', false)];
    expect(await hostQueue({})).toBe(`emend-host-${OTHER}`);
  });
  test('must be named if no worker serves one of several: the worker that reads the input need not have the files', async () => {
    hosts = [host(OWN, 'laptop', false), host(OTHER, 'server', false)];
    const message = messageOf(await begin({ workspace: '/r', task: 'x' }));
    expect(message).toContain('`host`: expected the host that has the workspace');
    expect(message).toContain('no worker serves one of them now');
    expect(message).toContain(
      'Hosts: laptop (11111111, no worker), server (2222aaaa, no worker). Example',
    );
    expect(await hostQueue({ host: 'server' })).toBe(`emend-host-${OTHER}`);
  });
  test('is named by its name, its id, or the first digits of it', async () => {
    hosts = [host(OWN, 'laptop'), host(OTHER, 'server', false)];
    for (const named of ['server', OTHER, '2222'])
      expect(await hostQueue({ host: named })).toBe(`emend-host-${OTHER}`);
  });
  test('is one that no worker has served yet, if its whole id names it', async () => {
    const unseen = '3333bbbb'.repeat(4);
    expect(await hostQueue({ host: unseen })).toBe(`emend-host-${unseen}`);
  });
  test('must be named among several, and the message lists them', async () => {
    hosts = [host(OWN, 'laptop'), host(OTHER, 'server')];
    const message = messageOf(await begin({ workspace: '/r', task: 'x' }));
    expect(message).toContain('several hosts serve the task queue emend');
    expect(message).toContain('Hosts: laptop (11111111), server (2222aaaa)');
  });
  test('is refused if no host or more than one has that name', async () => {
    hosts = [host(OWN, 'laptop'), host(OTHER, 'laptop', false)];
    const named = async (name: string): Promise<string> =>
      messageOf(await begin({ workspace: '/r', task: 'x', host: name }));
    expect(await named('desk')).toContain('no host is called "desk"');
    expect(await named('laptop')).toContain('more than one host is called "laptop"');
    expect(await named('laptop')).toContain('laptop (2222aaaa, no worker)');
  });
  test('is the dev server of the home itself, where all roles share a queue', async () => {
    const own = `emend-host-${OWN}`;
    queues = { workflow: own, model: own, host: own };
    hosts = [host(OWN, 'laptop'), host(OTHER, 'server')];
    for (const named of [{}, { host: 'laptop' }, { host: OWN }])
      expect(await hostQueue(named)).toBe(own);
    const message = messageOf(await begin({ workspace: '/r', task: 'x', host: 'server' }));
    expect(message).toContain('no host is called "server". Hosts: laptop (11111111). Example');
  });
});

test.each([
  ['job', 'jobFile', 'The path of the job file'],
  ['plan', 'planFile', 'The path of the plan'],
] as const)('the path of a %s may hold no secret: it names the run', async (kind, key, subject) => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const message = messageOf(await begin({ workspace: '/r', [key]: `notes/${token}.md` }, kind));
  expect(message).toContain(`\`${key}\`: ${subject} contains what looks like a secret`);
  expect(message).toMatch(/: notes\/\(secret\)[.\w]* Rename the file or its folder\.$/);
});

describe('a plan', () => {
  const input = { workspace: '/r', planFile: 'plans/010_demo/010_demo.md' };
  const checkpoint = { step_key: 'cd'.repeat(16), branch: 'emend/earlier' } as PlanCheckpoint;

  test('is named by its path without its level, and has the options of its input', async () => {
    const setup = planSetup(await begin({ ...input, phase: 2 }, 'plan'));
    expect(setup).toMatchObject({
      planPath: 'plans/010_demo',
      options: { phase: 2, mode: 'auto', estimate: 'ask', restart: false },
    });
    expect(setup.resumeFrom).toBeUndefined();
  });
  test('continues where an earlier run of it ended, on its branch', async () => {
    last = checkpoint;
    const place = { repository: 'https://example.org/a/b.git', base: 'main' };
    const setup = planSetup(await begin({ planFile: input.planFile, ...place }, 'plan'));
    expect(setup).toMatchObject({
      resumeFrom: checkpoint.step_key,
      repository: { branch: 'emend/earlier' },
    });
    const restarted = { planFile: input.planFile, ...place, restart: true };
    expect(planSetup(await begin(restarted, 'plan')).repository?.branch).toBe(
      `emend/${KEY.slice(0, 16)}`,
    );
  });
});

test('a server or a store that does not answer is asked again: the run opens no decision yet', async () => {
  const failing = {
    ...ports,
    group: { ...ports.group, facts: () => Promise.resolve().then(() => fail('no_server', 'gone')) },
  };
  const wrapped = activity('beginRun', failing, beginRun);
  const input: BeginRunInput = versioned({
    stepKey: KEY,
    log: [],
    kind: 'job',
    input: { workspace: '/r', task: 'x' },
  });
  await expect(new MockActivityEnvironment().run(wrapped, input)).rejects.toMatchObject({
    type: 'no_server',
    nonRetryable: false,
  });
});
