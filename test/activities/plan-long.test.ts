/** What a reading of a plan tells: it does not grow with the square of its phases, and knows them again after people changed the document. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { readPlan } from '../../src/activities/plan/read-plan.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createEditRunner } from '../../src/activities/frame/edit-worker.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../src/stores/directory/records.js';
import type { ReadPlanInput, ReadPlanResult } from '../../src/shared/plan-activities.js';
import { reducePlan } from '../../src/workflows/plan/reduce.js';
import { nextPlanEffect } from '../../src/workflows/plan/stages/index.js';
import { resolveChanged } from '../../src/workflows/plan/stages/read/changes.js';
import { initialPlan } from '../../src/workflows/plan/state.js';
import { readAgain, withPhase } from '../../src/workflows/plan/ways.js';
import { progressOfPlan } from '../../src/workflows/plan/views.js';
import { within } from '../../src/workflows/frame/machine.js';
import { currentRules } from '../../src/shared/rules.js';
import type { PlanSetup } from '../../src/shared/run.js';
import type { ReadyPlan } from '../../src/shared/plan.js';
import { workspacePorts } from '../support/workspace-ports.js';

const PHASES = 300;

let dir: string;
let repo: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-long-plan-')));
  repo = join(dir, 'repo');
  await mkdir(repo);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const phase = (n: number): string =>
  `### Phase ${n}: Part ${n}\n\n**Objective**: Write \`${n}.js\`\n\n- [ ] Create \`${n}.js\`\n`;
const committed = async (text: string): Promise<void> => {
  await writeFile(join(repo, 'p.md'), text);
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: repo });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit', '-qm', 'base');
};
const stepKey = 'ab'.repeat(16);
const read = (more: Partial<ReadPlanInput>): Promise<ReadPlanResult> => {
  const home = join(dir, 'home');
  const dependencies = {
    archive: createArchive({ dir: join(home, 'archive') }),
    ...workspacePorts(home, createBlobStore({ dir: join(home, 'blobs') })),
    records: createRecordStore({ dir: join(home, 'records') }),
    edits: createEditRunner(),
  } as unknown as ActivityPorts;
  return readPlan(dependencies, {
    stepKey,
    log: [],
    workspace: repo,
    planPath: 'p',
    reading: 1,
    known: [],
    overrides: {},
    approval: null,
    ...more,
  });
};
const ready = (result: ReadPlanResult): ReadyPlan => {
  if (result.outcome !== 'ready') throw new Error(JSON.stringify(result));
  return result;
};
const input = {
  v: 2,
  stepKey,
  workspace: '/w',
  planPath: 'p',
  title: 'P',
  timings: {},
  rules: currentRules(),
  options: { phase: null, mode: 'auto', forceReplan: false, drift: null },
} as unknown as PlanSetup;

test('phases wait for the one before, which waits for the others; a second reading tells only what may differ', async () => {
  await committed(
    `# P\n\n${Array.from({ length: PHASES }, (_, index) => phase(index + 1)).join('\n')}`,
  );
  const first = ready(await read({}));
  expect(first.phases.map(({ dependsOn }) => dependsOn)).toEqual(
    first.phases.map((_, index) => (index === 0 ? [] : [`p${index}`])),
  );
  expect(JSON.stringify(first).length / PHASES).toBeLessThan(1_000);
  // No tests is what a person has answered.
  const begun = within(initialPlan(input, 0), 'tests', { answered: true });
  let state = reducePlan(begun, { type: 'plan_read', result: first }, 1);
  expect(JSON.stringify(progressOfPlan(state)).length / PHASES).toBeLessThan(1_000);

  const known = first.phases.map(({ id, name, number }) => ({ id, name, number }));
  // Phase 1 was marked, and a person took the mark of Phase 2 away again.
  const marked = (await readFile(join(repo, 'p.md'), 'utf8'))
    .replace('Phase 1: Part 1\n', 'Phase 1: Part 1 [COMPLETED]\n')
    .replace('- [ ] Create `1.js`', '- [x] Create `1.js`');
  await writeFile(join(repo, 'p.md'), marked);
  const done = { status: 'completed', marked: true } as const;
  state = withPhase(withPhase(readAgain(state), 'p1', done), 'p2', done);
  const again = await read({ reading: 2, known, hash: first.hash });
  expect(again.outcome).toBe('same');
  expect(JSON.stringify(again).length / PHASES).toBeLessThan(120);
  // In every respect what the whole reading comes to.
  const whole = ready(await read({ reading: 3, known }));
  const after = reducePlan(state, { type: 'plan_read', result: again }, 2);
  expect(after).toEqual(reducePlan(state, { type: 'plan_read', result: whole }, 2));
  expect(after.phases[0]).toMatchObject({
    marker: 'completed',
    marked: true,
    tasks: { total: 1, done: 1 },
  });
  expect(nextPlanEffect(after, 3, false)).toEqual({ kind: 'mark', phase: 'p2' });

  // A reset may bring back what was recorded for another state: the plan is read again under the next number.
  const other = within(state, 'reading', { plan: { ...first, hash: 'another' } });
  expect(
    nextPlanEffect(reducePlan(other, { type: 'plan_read', result: again }, 2), 3, false),
  ).toEqual({
    kind: 'read',
  });
  expect(reducePlan(other, { type: 'plan_read', result: again }, 2).reading.number).toBe(3);

  await writeFile(join(repo, 'p.md'), marked.replace('Create `3.js`', 'Create `three.js`'));
  expect((await read({ reading: 4, known, hash: first.hash })).outcome).toBe('ready');
});

test('a declared dependency in between: those behind wait for what nothing before them waits for', async () => {
  const free = phase(3).replace('\n\n**Objective', '\n\n**Dependencies**: []\n**Objective');
  await committed(`# P\n\n${[phase(1), phase(2), free, phase(4), phase(5)].join('\n')}`);
  const { phases, waves } = ready(await read({}));
  expect(phases.map(({ dependsOn }) => dependsOn)).toEqual([[], ['p1'], [], ['p2', 'p3'], ['p4']]);
  expect(waves).toEqual([[['p1', 'p3']], [['p2']], [['p4']], [['p5']]]);
});

test('of two phases with one name each keeps its id by its number, whichever stands first', async () => {
  await committed(
    '# P\n\n### Phase 3: Same\n\n- [ ] new\n\n### Phase 1: Same [COMPLETED]\n\n- [x] a\n',
  );
  const second = ready(await read({ reading: 2, known: [{ id: 'p1', name: 'Same', number: 1 }] }));
  expect(second.phases.map(({ id, number }) => [id, number])).toEqual([
    ['p2', 3],
    ['p1', 1],
  ]);
  // Renumbered, the name alone says which it is.
  const other = ready(await read({ reading: 3, known: [{ id: 'p7', name: 'Same', number: 9 }] }));
  expect(other.phases.map(({ id }) => id)).toEqual(['p7', 'p8']);
});

test('an open phase that a person marks as done or skipped: they are asked, and take_new leaves it out', async () => {
  const text = `# P\n\n${[1, 2, 3].map(phase).join('\n')}`;
  await committed(text);
  const first = ready(await read({}));
  const begun = within(initialPlan(input, 0), 'tests', { answered: true });
  const started = reducePlan(begun, { type: 'plan_read', result: first }, 1);
  const done = { status: 'completed', marked: true } as const;
  const state = withPhase(readAgain(started), 'p1', done);
  const known = state.phases.map((each) => ({ ...each, open: each.status === 'pending' }));
  // The mark of the plan's own is no change.
  const own = text.replace('Phase 1: Part 1\n', 'Phase 1: Part 1 [COMPLETED]\n');
  await writeFile(join(repo, 'p.md'), own);
  expect((await read({ reading: 2, known, hash: first.hash })).outcome).toBe('same');
  const marked = own
    .replace('Part 2\n', 'Part 2 [SKIPPED]\n')
    .replace('Part 3\n', 'Part 3 [COMPLETED]\n');
  await writeFile(join(repo, 'p.md'), marked);
  const changed = reducePlan(
    state,
    { type: 'plan_read', result: await read({ reading: 3, known, hash: first.hash }) },
    2,
  );
  expect(changed.ask).toMatchObject({ reason: 'plan_changed' });
  const taken = { ...resolveChanged(changed, true), ask: null };
  expect(taken.phases.map(({ status, marked: isMarked }) => [status, isMarked])).toEqual([
    ['completed', true],
    ['skipped', true],
    ['completed', true],
  ]);
  expect(nextPlanEffect(taken, 3, false)).toEqual({ kind: 'close', outcome: 'incomplete' });
  const kept = { ...resolveChanged(changed, false), ask: null, estimateAsked: null };
  expect(nextPlanEffect(kept, 3, false)).toMatchObject({ kind: 'begin', group: ['p2'] });
});
