/** Which test commands a plan finds, on a real repository, and which of them run without a person's word. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { testsOfPlan } from '../../src/activities/plan/read-plan.js';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { remember } from '../../src/activities/step/found-tests.js';
import { reportOf } from '../../src/documents/plan/index.js';
import type { PlanTests } from '../../src/shared/plan.js';
import { readPlan } from '../../src/workspace/documents/index.js';
import { workspacePorts } from '../support/workspace-ports.js';
import { Blobs, isolateGit, Repo, STEP } from '../workspace/git-fixture.js';

isolateGit();
let repo: Repo;
const records = new Map<string, unknown>();
beforeEach(async () => {
  records.clear();
  repo = await Repo.make();
});
afterEach(() => repo.remove());

/** Of memory; everything else is real. */
const ports = (): ActivityPorts =>
  ({
    ...workspacePorts(join(repo.dir, '.home'), new Blobs()),
    records: {
      get: (key: string) => Promise.resolve(records.get(key) ?? null),
      putIfAbsent: (key: string, value: unknown) =>
        Promise.resolve(records.set(key, records.get(key) ?? value)),
    },
  }) as unknown as ActivityPorts;

const TRUST = { test: null, trustsTests: true } as const;
const found = async (
  config: Parameters<typeof testsOfPlan>[2]['config'],
  reading = 1,
): Promise<PlanTests> => {
  const plan = await readPlan(repo.dir, 'plans/010_demo.md');
  const { phases } = reportOf(plan.tree, plan.thresholds, plan.show);
  const ids = phases.map(({ number }) => `p${number}`);
  const input = { workspace: repo.dir, planPath: 'plans/010_demo', reading };
  return testsOfPlan(ports(), input, { plan, root: repo.dir, config }, { phases, ids });
};
const confirmed = async (
  ...given: Parameters<typeof found>
): Promise<readonly [boolean | undefined, boolean | undefined]> => {
  const { phases, from } = await found(...given);
  return [phases?.p1?.confirmed, from?.confirmed];
};

const plan = (...tasks: string[]): string =>
  `# Demo\n\n### Phase 1: One\n\n${tasks.map((task) => `- [ ] ${task}\n`).join('')}\n### Phase 2: Two\n\n- [ ] Write it\n`;
const MANIFEST = '{ "scripts": { "test": "jest" } }\n';

test("each phase by the first source that has some: its tasks, the notes, the project's files; a configured test: wins", async () => {
  await repo.write(
    'plans/010_demo.md',
    plan('Run `npm test -- auth`', 'All of `pytest tests/x.py` pass'),
  );
  await repo.write('package.json', MANIFEST);
  await repo.commitAll();
  expect(await found({ test: null })).toEqual({
    commands: [],
    found: 'npm test',
    from: {
      commands: ['npm test'],
      source: 'package.json',
      key: expect.any(String),
      confirmed: false,
    },
    phases: {
      p1: {
        commands: ['npm test -- auth', 'pytest tests/x.py'],
        source: 'tasks of Phase 1',
        key: expect.any(String),
        confirmed: false,
      },
    },
  });
  await repo.write('AGENTS.md', '## Testing Protocols\n- `make check`\n- `make test`\n');
  expect(await found({ test: 'auto' })).toMatchObject({
    found: 'make check && make test',
    from: { commands: ['make check', 'make test'], source: 'AGENTS.md, Testing Protocols' },
  });
  for (const commands of [['true'], []])
    expect(await found({ test: commands })).toEqual({ commands, found: null });
});

test('a phase for which nothing was found is told; one that is done with wants none', async () => {
  await repo.write('plans/010_demo.md', plan('Run `npm test`'));
  await repo.commitAll();
  expect(await found({ test: null })).toMatchObject({ found: null, unset: true });
  await repo.write('plans/010_demo.md', plan('Run `npm test`').replace('Two', 'Two [COMPLETED]'));
  expect(await found({ test: null })).not.toHaveProperty('unset');
});

test('confirmed is confirmed for this workspace, these commands and what defines them', async () => {
  await repo.write('plans/010_demo.md', plan('Run `npm test -- a`', 'Write'));
  await repo.write('package.json', MANIFEST);
  await repo.commitAll();
  const { phases, from } = await found({ test: null });
  await remember(ports(), STEP, [phases!.p1!.key, from!.key]);
  expect(await confirmed({ test: null })).toEqual([true, true]);
  expect(await found({ test: null })).toMatchObject({ commands: ['npm test'], found: null });
  // A mark and another task change nothing.
  await repo.write(
    'plans/010_demo.md',
    plan('Run `npm test -- a`', 'Write more').replace('[ ] Run', '[x] Run'),
  );
  expect(await confirmed({ test: null })).toEqual([true, true]);
  await repo.write('plans/010_demo.md', plan('Run `npm test -- b`'));
  await repo.write('package.json', MANIFEST.replace('jest', 'curl https://example.org'));
  expect(await confirmed({ test: null })).toEqual([false, false]);
});

test('trust: what a person committed to the plan or its notes; never the project, the uncommitted, a later reading', async () => {
  await repo.write('plans/010_demo.md', plan('Run `npm test -- a`'));
  await repo.write('package.json', MANIFEST);
  await repo.commitAll();
  expect(await confirmed({ test: null })).toEqual([false, false]);
  expect(await confirmed(TRUST)).toEqual([true, false]);
  expect(await confirmed(TRUST, 2)).toEqual([false, false]);
  await repo.write('CLAUDE.md', '## Testing Protocols\n- `make check`\n');
  await repo.write('plans/010_demo.md', plan('Run `npm test -- b`'));
  expect(await confirmed(TRUST)).toEqual([false, false]);
  await repo.commitAll('Tests');
  expect(await confirmed(TRUST)).toEqual([true, true]);
});

test("trust: what a commit of ours brought is a model's, whoever moved it since", async () => {
  const ours = `Revise plans/010_demo: update_tasks\n\nEmend-Step: ${STEP}-p1-r1`;
  await repo.write('plans/010_demo.md', plan('Write'));
  await repo.write('CLAUDE.md', '# Notes\n');
  await repo.commitAll('A plan');
  await repo.write('plans/010_demo.md', plan('Write', 'Run `bash test.sh evil`'));
  await repo.write('CLAUDE.md', '## Testing Protocols\n- `npm test -- evil`\n');
  await repo.commitAll(ours);
  expect(await confirmed(TRUST)).toEqual([false, false]);
  await repo.write('plans/010_demo.md', plan('Run `bash test.sh evil`', 'Write'));
  await repo.commitAll('Another order');
  expect(await confirmed(TRUST)).toEqual([false, false]);
  // In a shallow clone the oldest commit seems to have brought everything.
  const head = await repo.git('rev-parse', 'HEAD');
  await repo.write('.git/shallow', `${head.trim()}\n`);
  expect(await confirmed(TRUST)).toEqual([false, false]);
  await rm(join(repo.dir, '.git/shallow'));
  // The other way round: what a person wrote is theirs, though an expansion of ours moved it.
  await repo.write('plans/010_demo.md', plan('Run `npm test -- mine`'));
  await repo.commitAll('Mine');
  await repo.git('rm', '-q', 'plans/010_demo.md');
  await repo.write('plans/010_demo/010_demo.md', plan('Run `npm test -- mine`'));
  await repo.commitAll(ours.replace('update_tasks', 'expand_phase'));
  expect(await confirmed(TRUST)).toEqual([true, false]);
});

test("trust: a part of what a person wrote is another command, and a model's", async () => {
  await repo.write('plans/010_demo.md', plan('Run `npm test -- a.b --all`', 'Write'));
  await repo.write('CLAUDE.md', '## Testing Protocols\n- npm test -- (x) --all\n');
  await repo.commitAll();
  expect(await confirmed(TRUST)).toEqual([true, true]);
  await repo.write(
    'plans/010_demo.md',
    plan('Run `npm test -- a.b --all`', 'Run `npm test -- a.b`'),
  );
  await repo.write('CLAUDE.md', '## Testing Protocols\n- npm test -- (x) --all\n- npm test\n');
  await repo.commitAll(`Revise\n\nEmend-Step: ${STEP}-p1-r1`);
  expect(await confirmed(TRUST)).toEqual([false, false]);
});
