/** The plan of docs/plans.md is one: it has every construct, without a fault or a note, and goes through all levels and back. */
import { expect, test } from '@jest/globals';
import { collapsePhase, collapseStage } from '../../../src/documents/plan/collapse.js';
import { expandPhase, expandStage } from '../../../src/documents/plan/expand.js';
import { reportOf } from '../../../src/documents/plan/plan-report.js';
import { DEFAULT_THRESHOLDS, resolveThresholds } from '../../../src/documents/plan/thresholds.js';
import { levelOf, type PlanTree } from '../../../src/documents/plan/plan-tree.js';
import { DOCUMENTED as PLAN, done, inOneFile } from './support.js';

const check = (tree: PlanTree) => reportOf(tree, resolveThresholds([]), (path) => path);

test('it is checked without a fault or a note, and runs in two waves', () => {
  const tree = inOneFile(PLAN);
  const { faults, notes, waves, declared, number, level } = check(tree);
  expect({ faults, notes, declared, number, level }).toEqual({
    faults: [],
    notes: [],
    declared: true,
    number: '010',
    level: 0,
  });
  expect(waves.map(({ subWaves }) => subWaves)).toEqual([[[1]], [[2, 3]]]);
});

test('it has every construct of the table', () => {
  const { main } = inOneFile(PLAN);
  expect(main.title).toBe('Feature Implementation Plan');
  expect(main.metadata.map(({ name }) => name)).toEqual(['Date', 'Expanded Phases']);
  expect(main.counter?.value).toBe(0);
  expect([main.progress, main.revisions]).not.toContain(null);
  const [one, two, three] = main.phases;
  expect(one).toMatchObject({
    heading: { number: 1, name: 'Foundation', markers: ['COMPLETED'] },
    objective: 'Lay the ground.',
    dependencies: { on: [] },
    tasks: [
      { done: true, depth: 0 },
      { done: true, depth: 1 },
    ],
  });
  expect(two).toMatchObject({
    complexity: 'Medium',
    estimatedTime: '4-6 hours',
    dependencies: { on: [1] },
    prerequisites: ['The tables that [the notes][notes] name'],
    stages: [{ heading: { name: 'Tables' } }, { dependencies: { on: [1] } }],
  });
  expect(three?.tasks).toHaveLength(1);
  expect(main.links.map(({ target }) => target)).toEqual([
    ...['#phase-2-core-logic', '../notes/users.md', '../README.md', '#stage-2-endpoints'],
  ]);
});

test('it is expanded to level 2, in the files that the document names, and collapsed again', () => {
  const phases = [1, 2, 3];
  const one = phases.reduce(
    (tree, number) => done(expandPhase(tree, number, DEFAULT_THRESHOLDS)),
    inOneFile(PLAN),
  );
  expect(levelOf(one)).toBe(1);
  expect(check(one)).toMatchObject({ faults: [], notes: [] });
  expect([...one.files.keys()]).toContain('010_demo/phase_2_core_logic.md');
  const two = [1, 2].reduce((tree, number) => done(expandStage(tree, 2, number)), one);
  expect(levelOf(two)).toBe(2);
  expect(check(two)).toMatchObject({ faults: [], notes: [] });
  expect([...two.files.keys()].sort()).toEqual([
    '010_demo/010_demo.md',
    '010_demo/phase_1_foundation.md',
    '010_demo/phase_2_core_logic/phase_2_overview.md',
    '010_demo/phase_2_core_logic/stage_1_tables.md',
    '010_demo/phase_2_core_logic/stage_2_endpoints.md',
    '010_demo/phase_3_documentation.md',
  ]);
  expect(two.files.get('010_demo/phase_3_documentation.md')).toContain(
    '[the endpoints](phase_2_core_logic/stage_2_endpoints.md#stage-2-endpoints)',
  );
  const flat = [1, 2].reduce((tree, number) => done(collapseStage(tree, 2, number)), two);
  expect([...flat.files]).toEqual(expect.arrayContaining([...one.files]));
  const back = phases.reduce((tree, number) => done(collapsePhase(tree, number)), flat);
  expect([...back.files]).toEqual([['010_demo.md', PLAN]]);
});
