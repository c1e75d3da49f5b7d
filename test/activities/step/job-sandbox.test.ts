/** Which `sandbox` commands get after the answer `retry`: that of the job's file as it is now, before that of `emend.yaml`. */
import * as fs from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { commandConfig } from '../../../src/activities/step/sandbox.js';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import type { RunTestsInput } from '../../../src/shared/test-activities.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { storePaths } from '../../../src/stores/location.js';
import { putJson } from '../../../src/stores/ports.js';
import { contentHash } from '../../../src/workspace/trust/index.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { makeScene, STEP, type Scene } from '../../workspace/apply-scene.js';

const JOB = 'jobs/greet.md';
const PHASE = `${STEP}-p1-1`;

let scene: Scene;
beforeEach(async () => {
  scene = await makeScene([{ path: 'a.js', before: 'base\n', after: 'after\n' }], { disk: true });
  fs.mkdirSync(scene.at('jobs'));
});
afterEach(() => scene.remove());

/** The `sandbox.read` that each source has: as the run began, and as the file is now. */
interface Sources {
  readonly config?: string;
  readonly job?: string;
  /** Path of the job; absent: `JOB`. */
  readonly path?: string;
  readonly jobAtStart: string | null;
}
const only = (read: string) => ({ ...SANDBOX_ON, read: [read] });
const yaml = (read: string): string => `sandbox: { read: [${read}] }\n`;

const readsOf = async (
  { config, job, path = JOB, jobAtStart }: Sources,
  input: Partial<RunTestsInput> & { readonly changed?: readonly string[] } = {},
) => {
  if (config !== undefined) fs.writeFileSync(scene.at('emend.yaml'), yaml(config));
  if (job !== undefined) fs.writeFileSync(scene.at(JOB), `---\n${job}---\n# Greet\n`);
  const blobs = createBlobStore({ dir: storePaths(scene.home).blobs });
  const own = jobAtStart === null ? null : only(jobAtStart);
  const snapshot = await putJson(blobs, {
    stepKey: STEP,
    config: { env: [], sandbox: own ?? only('/config-at-start') },
    job: { path, sandbox: own },
  });
  const { changed = [], ...more } = input;
  const found = await commandConfig(
    workspacePorts(scene.home, blobs) as ActivityPorts,
    {
      workspace: scene.workspace,
      stepKey: STEP,
      snapshot,
      sandbox: { reread: true },
      ...more,
    },
    changed.map((file) => ({ path: file })),
  );
  const { sandbox, sandboxFile } = found;
  return [sandbox === 'off' ? 'off' : sandbox.read.join(), sandboxFile];
};

test('a job that sets its own sandbox keeps it, as its file is now', async () => {
  const sources = { config: '/config', job: yaml('/job'), jobAtStart: '/job-at-start' };
  expect(await readsOf(sources)).toEqual(['/job', JOB]);
});

test('a job that sets a sandbox only now gets it', async () => {
  const sources = { config: '/config', job: yaml('/job'), jobAtStart: null };
  expect(await readsOf(sources)).toEqual(['/job', JOB]);
});

test('a job without the key, or one that lost it, gets that of emend.yaml', async () => {
  for (const jobAtStart of [null, '/job-at-start'])
    expect(await readsOf({ config: '/config', job: 'test: make\n', jobAtStart })).toEqual([
      '/config',
      'emend.yaml',
    ]);
});

test.each([
  ['a job in words', { path: 'greet-politely', job: yaml('/job') }, {}],
  ['a job outside the workspace', { path: '/elsewhere/greet.md', job: yaml('/job') }, {}],
  ['a job whose file is gone', {}, {}],
  ['a job that the run itself changes', { job: yaml('/job') }, { changed: [JOB] }],
  ['a phase of a plan', { job: yaml('/job') }, { stepKey: PHASE }],
  [
    'a run on a repository',
    { job: yaml('/job') },
    { repository: { url: '/r', base: 'main', branch: 'b' } },
  ],
])('%s keeps the sandbox that it began with', async (_, sources, input) => {
  const all = { config: '/config', jobAtStart: '/job-at-start', ...sources };
  expect((await readsOf(all, input))[0]).toBe('/job-at-start');
});

test('nothing is read again unless a question asked for a change', async () => {
  const sources = { config: '/config', job: yaml('/job'), jobAtStart: null };
  expect(await readsOf(sources, { sandbox: {} })).toEqual(['/config-at-start', 'emend.yaml']);
});

test('a job whose content a run applied without an approval is refused', async () => {
  const blobs = createBlobStore({ dir: storePaths(scene.home).blobs });
  const { trust } = workspacePorts(scene.home, blobs);
  const text = `---\n${yaml('/job')}---\n# Greet\n`;
  await trust.recordUnapproved(scene.workspace, STEP, [{ path: JOB, hash: contentHash(text) }]);
  await expect(readsOf({ job: yaml('/job'), jobAtStart: null })).rejects.toThrow(
    'without your approval',
  );
});

test('a job that cannot be parsed is named', async () => {
  const sources = { job: 'sandbx: on\n', jobAtStart: null };
  await expect(readsOf(sources)).rejects.toThrow(`${JOB}:`);
});
