/** What may pass (a git that fails for a moment) is never kept as a run's refusal; real git behind a wrapper that fails while a file is there. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { activity as wrapped } from '../../src/activities/frame/activity.js';
import { createEditRunner } from '../../src/activities/frame/edit-worker.js';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { readPlan } from '../../src/activities/plan/read-plan.js';
import { preflight } from '../../src/activities/step/preflight/index.js';
import { versioned } from '../../src/shared/problems.js';
import type { PreflightInput } from '../../src/shared/step-activities.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../src/stores/directory/records.js';
import { resolveTimings } from '../../src/temporal/settings.js';
import { workspacePorts } from '../support/workspace-ports.js';

const STEP = 'cd'.repeat(16);
const { PATH } = process.env;
let dir: string;
let repo: string;
let failing: string;
let dependencies: ActivityPorts;

const git = (...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    cwd: repo,
  });

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-transient-')));
  [repo, failing] = [join(dir, 'repo'), join(dir, 'git-fails')];
  await mkdir(join(dir, 'bin'));
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const wrapper = `#!/bin/sh\n[ -e '${failing}' ] && { echo 'fatal: cannot fork: out of processes' >&2; exit 128; }\nexec ${real} "$@"\n`;
  await writeFile(join(dir, 'bin/git'), wrapper, { mode: 0o755 });
  await mkdir(repo);
  await writeFile(join(repo, 'a.js'), 'let a = 1;\n');
  await writeFile(join(repo, 'p.md'), '# P\n\n### Phase 1: A\n\n- [ ] Change `a.js`\n');
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'base');
  process.env.PATH = `${join(dir, 'bin')}:${PATH ?? ''}`;
  dependencies = {
    archive: createArchive({ dir: join(dir, 'home/archive') }),
    ...workspacePorts(join(dir, 'home'), createBlobStore({ dir: join(dir, 'home/blobs') })),
    records: createRecordStore({ dir: join(dir, 'home/records') }),
    edits: createEditRunner(),
    timings: resolveTimings({}),
    checkHome: () => Promise.resolve(),
    logger: { warn: () => undefined },
  } as unknown as ActivityPorts;
});
afterEach(async () => {
  process.env.PATH = PATH;
  await rm(dir, { recursive: true, force: true });
});

const JOB = '---\ntarget_files: [a.js]\ncommit: true\ntest: false\n---\n# Change\n\nChange it.\n';
const lookInput = async (): Promise<PreflightInput> =>
  versioned({
    stepKey: STEP,
    log: [],
    workspace: repo,
    job: await dependencies.blobs.put(Buffer.from(JOB)),
    jobPath: 'job.md',
    snapshotNumber: 1,
    overrides: {},
    approval: null,
    hints: [],
    picked: null,
    only: null,
  });
const look = async () =>
  preflight(dependencies, await lookInput(), { signal: new AbortController().signal });
const read = () =>
  readPlan(dependencies, {
    stepKey: STEP,
    log: [],
    workspace: repo,
    planPath: 'p',
    reading: 1,
    known: [],
    overrides: {},
    approval: null,
    resume: { checkpoint: null },
  });

test.each([
  ['a first look at the files', look],
  ['a first reading of a plan', read],
])(
  '%s, while git fails: a failure to be tried again, and ready once git works',
  async (_, activity) => {
    await writeFile(failing, '');
    await expect(activity()).rejects.toMatchObject({ problem: { code: 'git_failed' } });
    await rm(failing);
    expect(await activity()).toMatchObject({ outcome: 'ready' });
  },
);

test('what is refused is looked at again where the run is set back', async () => {
  await writeFile(join(repo, 'a.js'), 'let a = 2;\n');
  expect(await look()).toMatchObject({ outcome: 'refused', problem: { code: 'target_dirty' } });
  await writeFile(join(repo, 'a.js'), 'let a = 1;\n');
  expect(await look()).toMatchObject({ outcome: 'ready' });
});

const REMOTE = { url: 'https://example.org/a.git', base: 'main' };
test.each([
  ['its host, first', 1, undefined, false],
  ['its host, three times', 3, undefined, true],
  ['a remote, which may be away', 3, REMOTE, false],
])(
  'git fails on %s: attempt %s; asked of a person in its words once it does not pass',
  async (...[, attempt, repository, isLast]) => {
    git('config', 'filter.broken.clean', "echo 'no such key' >&2; false");
    git('config', 'filter.broken.required', 'true');
    await writeFile(join(repo, '.git/info/attributes'), 'a.js filter=broken\n');
    await writeFile(join(repo, 'a.js'), 'let a = 9;\n');
    const input = { ...(await lookInput()), ...(repository === undefined ? {} : { repository }) };
    const run = new MockActivityEnvironment({ attempt }).run(
      wrapped('preflight', dependencies, preflight),
      input,
    );
    await expect(run).rejects.toMatchObject({
      type: 'git_failed',
      nonRetryable: isLast,
      message: expect.stringMatching(/git status.*no such key.*clean filter 'broken' failed/s),
    });
  },
);
