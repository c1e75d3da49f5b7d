/** Commands of one activity run one after the other, in the one slot that it has; large edits, no more at once than there are cores. Real processes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../src/activities/index.js';
import { createEditRunner } from '../../src/activities/frame/edit-worker.js';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { preflight } from '../../src/activities/step/preflight/index.js';
import type { BuildProposalInput } from '../../src/shared/proposal-activities.js';
import type { RunTestsInput } from '../../src/shared/test-activities.js';
import { resolveTimings } from '../../src/temporal/settings.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../src/stores/directory/records.js';
import { drawn } from '../support/seeded.js';
import { testIf } from '../support/skipped.js';
import { workspacePorts } from '../support/workspace-ports.js';

const STEP = 'ef'.repeat(16);
const FILES = Array.from({ length: 12 }, (_, n) => `f${n}.txt`);
const cores = availableParallelism();
let dir: string;
let repo: string;
let dependencies: ActivityPorts;
let base: { readonly v: 2; readonly stepKey: string; readonly log: []; readonly workspace: string };

/** Notes how many of its kind run beside it. */
const counting = (more: string): string =>
  `mkdir -p "${dir}/now/$$" && ls "${dir}/now" | wc -l >> "${dir}/counts"; ${more}; rmdir "${dir}/now/$$"`;
const counts = (): readonly number[] =>
  readFileSync(join(dir, 'counts'), 'utf8').trim().split(/\s+/).map(Number);

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-at-once-')));
  repo = join(dir, 'repo');
  await mkdir(repo);
  await writeFile(join(repo, 'emend.yaml'), 'sandbox: off\n'); // they count in a file beside the workspace
  base = { v: 2, stepKey: STEP, log: [], workspace: repo };
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
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A proposal of twelve edited files, with a formatter. */
const buildInput = async (formatCommand: string): Promise<BuildProposalInput> => {
  for (const file of FILES) await writeFile(join(repo, file), 'a\n');
  await writeFile(
    join(repo, 'emend.yaml'),
    `sandbox: off\nformatCommand: ${JSON.stringify(formatCommand)}\n`,
  );
  const { blobs } = dependencies;
  const job = `---\ntarget_files: ${JSON.stringify(FILES)}\ntest: false\n---\n# Change\n\nChange them.\n`;
  const looked = await preflight(
    dependencies,
    {
      ...base,
      job: await blobs.put(Buffer.from(job)),
      jobPath: 'job.md',
      snapshotNumber: 1,
      overrides: {},
      approval: null,
      hints: [],
      picked: null,
      only: null,
    },
    { signal: new AbortController().signal },
  );
  if (looked.outcome !== 'ready') throw new Error(JSON.stringify(looked));
  const [before, after] = [
    await blobs.put(Buffer.from('a\n')),
    await blobs.put(Buffer.from('b\n')),
  ];
  const files = FILES.map((path) => ({
    path,
    base: { ref: before, mode: 0o644 },
    result: { ref: after, mode: 0o644 },
  }));
  const accepted = {
    v: 2,
    seq: 1,
    after: [],
    covers: FILES,
    files,
    renames: [],
    tolerances: [],
    findings: [],
    summary: null,
  };
  const head = await blobs.put(Buffer.from(JSON.stringify(accepted)));
  return { ...base, snapshot: looked.snapshot, accepted: [head], exclude: [], manual: [] };
};
const testsInput = (commands: readonly string[], timeout_s: number): RunTestsInput => ({
  ...base,
  on: { kind: 'workspace' },
  commands,
  timeout_s,
  maxOutput_bytes: 10_000,
});
const run = <I, O>(work: (input: I) => Promise<O>, input: I): Promise<O> =>
  new MockActivityEnvironment({ activityId: randomUUID(), startToCloseTimeoutMs: 600_000 }).run(
    work,
    input,
  );
const command = () => createActivities(dependencies).command;

test('the formatter of many files: one file after the other, all of them formatted', async () => {
  const input = await buildInput(counting('sleep 0.1; echo formatted >> {file}'));
  const built = await run(command().buildProposal, input);
  expect(built).toMatchObject({ outcome: 'built', proposal: { files: { length: FILES.length } } });
  expect(counts()).toHaveLength(FILES.length);
  expect(Math.max(...counts())).toBe(1);
});

test('the limit of one verification is that of its commands together', async () => {
  const ends = await run(command().runTests, testsInput(['sleep 1.5', 'sleep 1.5'], 2));
  expect(ends).toMatchObject({
    summary: expect.stringMatching(/^sleep 1\.5: timed out after 2 s/),
  });
  expect('seconds' in ends && ends.seconds).toBeLessThan(6);
});

const entry = new URL(`file://${join(process.cwd(), 'dist/src/activities/frame/edit-thread.js')}`);
const built = existsSync(entry) && existsSync('/proc/self/task');
testIf(built, 'not built: node scripts/build.js')(
  'large edits: no more threads at once than there are cores',
  async () => {
    const threads = (): number => readdirSync('/proc/self/task').length;
    const runner = createEditRunner({ entry, inline_bytes: 0, turn_ms: 60_000 });
    const bytes = Buffer.from('const a = 1;\n'.repeat(20_000));
    const file = { path: 'a.ts', bytes, encoding: null };
    const before = threads();
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, threads() - before)), 1);
    const signal = new AbortController().signal;
    await Promise.all(
      Array.from({ length: drawn(4, 6) * cores }, () => runner.run('describe', file, signal)),
    );
    clearInterval(timer);
    expect(most).toBeGreaterThan(0);
    // A thread that has ended may be a moment in going.
    expect(most).toBeLessThanOrEqual(3 * cores);
  },
);
