/** Replans on documents: only what changes is spliced, and numbers, dependencies and links of everything else stay. */
import { describe, expect, test } from '@jest/globals';

import { treeOf, type Changed } from '../../../src/documents/plan/change.js';
import { expandPhase } from '../../../src/documents/plan/expand.js';
import { applyReplan } from '../../../src/documents/plan/replan.js';
import { replanSchema } from '../../../src/documents/plan/replan-answer.js';
import { measureReplan, withRevision } from '../../../src/documents/plan/revision-history.js';
import { DEFAULT_THRESHOLDS } from '../../../src/documents/plan/thresholds.js';
import type { PlanTree } from '../../../src/documents/plan/plan-tree.js';
import { wavesOf } from '../../../src/documents/plan/waves.js';

const PLAN = `# Plan

## Phases

### Phase 1: First [COMPLETED]
**Objective**: One.

- [x] done, see [it](notes.md)

### Phase 2: Second
**Objective**: Two.

- [ ] a
  - [ ] under a
    with more text
- [x] b
- [ ] c

A person's words behind the tasks.

### Phase 3: Third
- [ ] d

## After

Nothing [here](x.md).
`;
const DECLARED = PLAN.replace('**Objective**: One.', '**Objective**: One.\n**Dependencies**: []')
  .replace('**Objective**: Two.', '**Objective**: Two.\n- **Dependencies:** Phase 1')
  .replace('### Phase 3: Third\n', '### Phase 3: Third\n**Dependencies**: [1, 2]\n\n');

const planOf = (text: string): PlanTree =>
  treeOf({ place: { stem: '010_demo', inFolder: false }, files: new Map([['010_demo.md', text]]) });
const replan = (tree: PlanTree, value: object) =>
  applyReplan(tree, replanSchema.parse({ why: 'because', phase: 2, ...value }), DEFAULT_THRESHOLDS);
const changed = (tree: PlanTree, value: object): Changed => {
  const made = replan(tree, value);
  if (!made.ok) throw new Error(JSON.stringify(made.faults));
  return made;
};
const textAfter = (text: string, value: object): string =>
  changed(planOf(text), value).files.get('010_demo.md') ?? '';
const waves = (text: string): unknown => {
  const found = wavesOf(
    planOf(text).phases.map(({ part }) => part),
    () => 'plan',
  );
  return found.ok ? found.waves.map(({ parts }) => parts) : found.faults;
};
const ADD = {
  action: 'add_phase',
  name: 'Prepare',
  objective: 'Make it ready.',
  tasks: ['x', 'y'],
};
const NEW = '### Phase 4: Prepare\n**Objective**: Make it ready.\n\n- [ ] x\n- [ ] y\n\n';
const NEW_DECLARED = NEW.replace('ready.\n', 'ready.\n**Dependencies**: [1]\n');

describe('add_phase', () => {
  test('goes before the phase under a new number; nothing else changes', () => {
    const after = textAfter(PLAN, ADD);
    expect(after).toBe(PLAN.replace('### Phase 2', `${NEW}### Phase 2`));
    expect(waves(after)).toEqual([[1], [4], [2], [3]]);
  });
  test('takes over declared dependencies, and the phase waits for it', () => {
    const after = textAfter(DECLARED, ADD);
    expect(after).toBe(
      DECLARED.replace('### Phase 2', `${NEW_DECLARED}### Phase 2`).replace(
        '- **Dependencies:** Phase 1',
        '- **Dependencies:** [1, 4]',
      ),
    );
    expect(waves(after)).toEqual([[1], [4], [2], [3]]);
  });
  test('keeps CRLF', () => {
    const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
    expect(textAfter(crlf(PLAN), ADD)).toBe(crlf(PLAN.replace('### Phase 2', `${NEW}### Phase 2`)));
  });
  test('before an expanded phase whose dependencies stand in its own file', () => {
    const expanded = expandPhase(planOf(DECLARED), 2, DEFAULT_THRESHOLDS);
    if (!expanded.ok) throw new Error(JSON.stringify(expanded.faults));
    const tree = treeOf(expanded);
    const made = changed(tree, ADD);
    const file = '010_demo/phase_2_second.md';
    expect(made.files.get(file)).toBe(tree.files.get(file)?.replace('Phase 1\n', '[1, 4]\n'));
    expect(made.files.get('010_demo/010_demo.md')).toContain(NEW_DECLARED);
  });
  test('after a phase that is done: it is not done any earlier, and waits for that phase', () => {
    expect(textAfter(PLAN, { ...ADD, phase: 1 })).toBe(
      PLAN.replace('### Phase 2', `${NEW}### Phase 2`),
    );
    expect(textAfter(DECLARED, { ...ADD, phase: 1 })).toBe(
      DECLARED.replace('### Phase 2', `${NEW_DECLARED}### Phase 2`),
    );
    const all = PLAN.replace('Phase 3: Third', 'Phase 3: Third [COMPLETED]');
    expect(textAfter(all, { ...ADD, phase: 3 })).toBe(all.replace('## After', `${NEW}## After`));
    const last = '# Plan\n\n### Phase 1: Only [SKIPPED]\n- [ ] a';
    expect(textAfter(last, { ...ADD, phase: 1 })).toBe(
      `${last}\n\n${NEW.replace('Phase 4', 'Phase 2')}`,
    );
  });
  test('is refused for a phase that is not there; what is done takes nothing else', () => {
    expect(replan(planOf(PLAN), { ...ADD, phase: 9 })).toMatchObject({ ok: false });
    expect(replan(planOf(PLAN), { action: 'update_tasks', phase: 1, add: ['x'] })).toMatchObject({
      ok: false,
    });
  });
});

describe('split_phase', () => {
  const SPLIT = {
    action: 'split_phase',
    parts: [
      { name: 'Part one', objective: 'First.', tasks: [1] },
      { name: 'Part two', objective: 'Second.', tasks: [4] },
    ],
  };
  test('moves tasks with what stands under them, in parts that wait for each other', () => {
    const after = textAfter(DECLARED, SPLIT);
    expect(after).toBe(
      DECLARED.replace('- [ ] a\n  - [ ] under a\n    with more text\n', '')
        .replace('- [ ] c\n', '')
        .replace(
          '### Phase 3',
          '### Phase 4: Part one\n**Objective**: First.\n**Dependencies**: [2]\n\n- [ ] a\n  - [ ] under a\n    with more text\n\n' +
            '### Phase 5: Part two\n**Objective**: Second.\n**Dependencies**: [4]\n\n- [ ] c\n\n### Phase 3',
        )
        .replace('[1, 2]', '[1, 2, 5]'),
    );
    expect(waves(after)).toEqual([[1], [2], [4], [5], [3]]);
  });
  test('numbers are those of the question, in which a task under another has its own', () => {
    const part = (tasks: readonly number[]) => ({ name: 'N', objective: 'O', tasks });
    const split = (...parts: (readonly number[])[]) => ({
      action: 'split_phase',
      parts: parts.map(part),
    });
    const text = '### Phase 2: Only\n- [ ] a\n  - [ ] a1\n  - [ ] a2\n- [ ] b\n';
    const parted = (own: string, moved: string) =>
      `### Phase 2: Only\n${own}\n### Phase 3: N\n**Objective**: O\n\n${moved}\n`;
    const all = '- [ ] a\n  - [ ] a1\n  - [ ] a2\n';
    expect(textAfter(text, split([4]))).toBe(parted(all, '- [ ] b\n'));
    expect(textAfter(text, split([1, 2, 3]))).toBe(parted('- [ ] b\n', all));
    expect(textAfter(text, split([3]))).toBe(
      parted('- [ ] a\n  - [ ] a1\n- [ ] b\n', '- [ ] a2\n'),
    );
    // A task goes with all that is under it, or stays.
    expect(replan(planOf(text), split([1], [2]))).toMatchObject({ ok: false });
    expect(replan(planOf(text), split([1], [4]))).toMatchObject({ ok: false });
  });
  test('of the last phase, without a line end', () => {
    const text = '### Phase 2: Only\n- [ ] a\n- [ ] b';
    expect(
      textAfter(text, {
        action: 'split_phase',
        parts: [{ name: 'N', objective: 'O', tasks: [2] }],
      }),
    ).toBe('### Phase 2: Only\n- [ ] a\n\n\n### Phase 3: N\n**Objective**: O\n\n- [ ] b\n\n');
  });
  test.each([
    ['a task that is done', [3]],
    ['a task that is not there', [5]],
    ['the same task twice', [1, 1]],
    ['all of them', [1, 2, 3, 4]],
  ])('refuses %s', (_name, tasks) => {
    const parts = [{ name: 'N', objective: 'O', tasks }];
    expect(replan(planOf(PLAN), { action: 'split_phase', parts })).toMatchObject({ ok: false });
  });
});

describe('update_tasks', () => {
  test('of tasks that a person added, moved or changed since: those that were meant, or none', () => {
    const value = {
      phase: 1,
      why: '',
      action: 'update_tasks',
      change: [{ task: 2, text: 'B' }],
      remove: [3],
    };
    const asked = ['a', 'b', 'b'].map((text) => ({ text }));
    const now = (...tasks: readonly string[]): unknown => {
      const tree = planOf(
        ['### Phase 1: N', ...tasks.map((task) => `- [ ] ${task}`), ''].join('\n'),
      );
      const made = applyReplan(tree, replanSchema.parse(value), DEFAULT_THRESHOLDS, asked);
      return made.ok
        ? made.files
            .get('010_demo.md')!
            .split(/\n.*\] /)
            .slice(1)
            .join('')
            .trim()
        : made.faults[0]?.message;
    };
    expect([now('a', 'b', 'b'), now('new', 'b', 'x', 'b', 'a')]).toEqual(['aB', 'newBxa']);
    expect(now('a', 'b', 'changed')).toMatch(
      /^task 3 of Phase 1 .*was changed since the replan was proposed$/,
    );
  });

  test('adds behind the last task, changes and removes only what it names', () => {
    const value = {
      action: 'update_tasks',
      add: ['n1', 'n2'],
      change: [{ task: 4, text: 'C' }],
      remove: [1],
    };
    expect(textAfter(PLAN, value)).toBe(
      PLAN.replace('- [ ] a\n  - [ ] under a\n    with more text\n', '').replace(
        '- [ ] c\n',
        '- [ ] C\n- [ ] n1\n- [ ] n2\n',
      ),
    );
  });
  test('numbers go on, as do indentation and bullets', () => {
    expect(
      textAfter('### Phase 2: N\n 1. [ ] a\n 2. [x] b\n', {
        action: 'update_tasks',
        add: ['c', 'd'],
      }),
    ).toBe('### Phase 2: N\n 1. [ ] a\n 2. [x] b\n 3. [ ] c\n 4. [ ] d\n');
  });
  test('a phase without tasks gets them behind its text', () => {
    expect(
      textAfter('### Phase 2: N\ntext\n\n### Phase 3: M\n', { action: 'update_tasks', add: ['c'] }),
    ).toBe('### Phase 2: N\ntext\n\n- [ ] c\n\n### Phase 3: M\n');
    expect(textAfter('### Phase 2: N\n', { action: 'update_tasks', add: ['c'] })).toBe(
      '### Phase 2: N\n- [ ] c\n',
    );
  });
  test.each([
    ['a task that is done', { remove: [3] }],
    ['one that is not there', { change: [{ task: 9, text: 'x' }] }],
    ['the same twice', { remove: [1], change: [{ task: 1, text: 'x' }] }],
    ['nothing', {}],
  ])('refuses %s', (_name, value) => {
    expect(replan(planOf(PLAN), { action: 'update_tasks', ...value })).toMatchObject({ ok: false });
  });
});

test('expand_phase and collapse_phase are those of the commands', () => {
  const expanded = changed(planOf(PLAN), { action: 'expand_phase' });
  expect([...expanded.files.keys()].sort()).toEqual([
    '010_demo/010_demo.md',
    '010_demo/phase_2_second.md',
  ]);
  const back = changed(treeOf(expanded), { action: 'collapse_phase' });
  expect(back.files.get('010_demo.md')).toBe(PLAN);
  expect(
    measureReplan([planOf(PLAN), treeOf(expanded)], 2, 'expand_phase', DEFAULT_THRESHOLDS),
  ).toMatchObject({
    oldStructure: 'inline',
    newStructure: 'expanded',
  });
});

describe('the revision history', () => {
  const revision = {
    phase: 2,
    trigger: 'test_failure_pattern',
    action: 'add_phase',
    oldStructure: '3 phases',
    newStructure: '4 phases',
    complexityBefore: 9.5,
    complexityAfter: 6.2,
    forced: false,
    reason: 'the schema\n## is <!-- missing',
  } as const;
  const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const ENTRY =
    '- **2026-01-02T03:04:05Z** Phase 2: `add_phase` because of `test_failure_pattern`\n' +
    '  - Structure: 3 phases -> 4 phases\n  - Complexity: 9.5 -> 6.2\n  - Why: the schema ## is missing\n';
  test('is begun at the end of the document, and goes on', () => {
    const first = withRevision(PLAN, revision, at);
    expect(first).toBe(`${PLAN}\n## Revision History\n\n${ENTRY}`);
    expect(withRevision(first, { ...revision, forced: true }, at)).toBe(
      first + ENTRY.replace('pattern`\n', 'pattern` (forced past the limit)\n'),
    );
    expect(planOf(first).phases).toHaveLength(3);
  });
  test("stands behind a person's words in the section, with other sections after it", () => {
    const own = `## Revision History\n\nWe changed much.\n\n${PLAN}`;
    expect(withRevision(own, revision, at)).toBe(
      `## Revision History\n\nWe changed much.\n\n${ENTRY}\n${PLAN}`,
    );
  });
  test('never ends a phase whose heading is of the first level', () => {
    const text = '# Phase 1: A\n- [ ] a\n# Phase 2: B\n- [ ] b';
    const after = withRevision(text, revision, at);
    expect(after).toContain('\n# Revision History\n');
    expect(planOf(after).phases.map(({ part }) => part.tasks.length)).toEqual([1, 1]);
  });
});

test('expand_phase takes the stages with it where there are more than three; of an expanded phase, the stages alone', () => {
  const stages = (count: number): string =>
    Array.from(
      { length: count },
      (_, n) => `#### Stage ${n + 1}: S${n + 1}\n- [ ] s${n + 1}\n\n`,
    ).join('');
  const staged = (count: number): PlanTree =>
    planOf(PLAN.replace("A person's words behind the tasks.\n", stages(count)));
  const names = (tree: PlanTree): readonly string[] => [...tree.files.keys()].sort();
  const three = treeOf(changed(staged(3), { action: 'expand_phase' }));
  expect(names(three)).toEqual(['010_demo/010_demo.md', '010_demo/phase_2_second.md']);
  const whole = changed(staged(4), { action: 'expand_phase' });
  const files = [
    'phase_2_second/phase_2_overview.md',
    ...[1, 2, 3, 4].map((n) => `phase_2_second/stage_${n}_s${n}.md`),
  ];
  expect(names(treeOf(whole))).toEqual(['010_demo.md', ...files].map((file) => `010_demo/${file}`));
  expect(
    measureReplan([staged(4), treeOf(whole)], 2, 'expand_phase', DEFAULT_THRESHOLDS),
  ).toMatchObject({
    oldStructure: 'inline',
    newStructure: 'expanded stages',
  });
  const expanded = expandPhase(staged(4), 2, DEFAULT_THRESHOLDS);
  if (!expanded.ok) throw new Error('expected an expanded phase');
  expect(names(treeOf(changed(treeOf(expanded), { action: 'expand_phase' })))).toEqual(
    names(treeOf(whole)),
  );
  // Nothing of it is left to expand.
  expect(
    applyReplan(
      treeOf(whole),
      replanSchema.parse({ action: 'expand_phase', phase: 2, why: 'w' }),
      DEFAULT_THRESHOLDS,
    ).ok,
  ).toBe(false);
});
