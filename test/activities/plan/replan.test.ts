/** A replan that is written to a plan's documents: its result has the changed plan, so that no other activity has to read it. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createEditRunner } from '../../../src/activities/frame/edit-worker.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { readPlan } from '../../../src/activities/plan/read-plan.js';
import { applyReplan } from '../../../src/activities/plan/replan.js';
import type { ReadyPlan } from '../../../src/shared/plan.js';
import { createArchive } from '../../../src/stores/directory/archive.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../../src/stores/directory/records.js';
import { putJson } from '../../../src/stores/ports.js';
import { workspacePorts } from '../../support/workspace-ports.js';

let dir: string;
let repo: string;
let ports: ActivityPorts;
const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: repo, encoding: 'utf8' });
const PLAN = `# Demo

### Phase 1: First

**Objective**: Write \`a.js\`

- [ ] Create \`a.js\`

### Phase 2: Core

**Objective**: Write \`b.js\`

- [ ] Create \`b.js\`
`;
const base = { stepKey: 'ab'.repeat(16), log: [], planPath: 'p' } as const;
const scope = {
  signal: new AbortController().signal,
  assertCurrent: () => undefined,
  owner: undefined as never,
};

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-replan-')));
  repo = join(dir, 'repo');
  await mkdir(repo);
  await writeFile(join(repo, 'p.md'), PLAN);
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'T');
  git('config', 'user.email', 't@example.org');
  git('add', '-A');
  git('commit', '-qm', 'base');
  const home = join(dir, 'home');
  ports = {
    archive: createArchive({ dir: join(home, 'archive') }),
    ...workspacePorts(home, createBlobStore({ dir: join(home, 'blobs') })),
    records: createRecordStore({ dir: join(home, 'records') }),
    edits: createEditRunner(),
  } as unknown as ActivityPorts;
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const readAs = (reading: number, known: ReadyPlan['phases'] = []) => ({
  reading,
  known,
  overrides: {},
  approval: null,
});
const firstReading = async (): Promise<ReadyPlan> => {
  const result = await readPlan(ports, { ...base, workspace: repo, ...readAs(1) });
  if (result.outcome !== 'ready') throw new Error(JSON.stringify(result));
  return result;
};
/** Adds a phase before Phase 2. */
const addPhase = async (
  using: ActivityPorts,
  { settings, texts, phases }: ReadyPlan,
  more: Partial<Parameters<typeof applyReplan>[1]> = {},
) => {
  const replan = {
    action: 'add_phase',
    phase: 2,
    why: 'The table is missing.',
    name: 'Prepare',
    objective: 'Write the table',
    tasks: ['Create `table.js`'],
  };
  return applyReplan(
    using,
    {
      ...base,
      workspace: repo,
      workflowId: 'w',
      namespace: 'default',
      settings,
      texts,
      marks: [],
      phase: { id: 'p2', number: 2, name: 'Core' },
      number: 1,
      trigger: 'test_failure_pattern',
      replan: await putJson(ports.blobs, replan),
      action: 'add_phase',
      why: replan.why,
      forced: false,
      at: Date.UTC(2026, 0, 1),
      read: readAs(2, phases),
      ...more,
    },
    scope,
  );
};

test('returns the changed plan, as a reading under its number would', async () => {
  const plan = await firstReading();
  const result = await addPhase(ports, plan);
  if (result.outcome !== 'replanned') throw new Error(JSON.stringify(result));
  expect(result.plan).toMatchObject({
    outcome: 'ready',
    phases: [
      { id: 'p1', name: 'First' },
      { id: 'p3', name: 'Prepare' },
      { id: 'p2', name: 'Core' },
    ],
  });
  expect(git('log', '-1', '--format=%s')).toBe(
    'Revise p: add_phase of Phase 2 (test_failure_pattern)\n',
  );
  const again = { ...base, workspace: repo, ...readAs(2, plan.phases) };
  expect(await readPlan(ports, again)).toEqual(result.plan);
  // A retry of the activity writes nothing again.
  const head = git('rev-parse', 'HEAD');
  expect(await addPhase(ports, plan)).toEqual(result);
  expect(git('rev-parse', 'HEAD')).toBe(head);
});

test('reports a replan that is committed also if the plan cannot be read afterwards', async () => {
  const plan = await firstReading();
  const { repository } = ports;
  const failing = {
    ...ports,
    repository: { ...repository, head: () => Promise.reject(new Error('EIO')) },
  };
  const result = await addPhase(failing, plan);
  expect(result).toMatchObject({ outcome: 'replanned', plan: null });
  expect(git('show', '--format=', '--name-only')).toContain('p.md');
});

test('leaves the reading to a run on a repository, whose checkout ends with the commit', async () => {
  const plan = await firstReading();
  const repository = { url: `file://${repo}`, base: 'main', branch: 'emend/p' };
  expect(await addPhase(ports, plan, { repository })).toMatchObject({
    outcome: 'replanned',
    plan: null,
  });
});
