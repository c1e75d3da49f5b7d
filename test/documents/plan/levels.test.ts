import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { treeOf as treeOfChange } from '../../../src/documents/plan/change.js';
import { collapsePhase, collapseStage } from '../../../src/documents/plan/collapse.js';
import { expandPhase, expandStage } from '../../../src/documents/plan/expand.js';
import { down, up } from '../../../src/documents/plan/links.js';
import { folderOf, resolveLink } from '../../../src/documents/plan/plan-paths.js';
import { type PlanTree, levelOf } from '../../../src/documents/plan/plan-tree.js';
import { readMarkdown } from '../../../src/documents/plan/markdown.js';
import { DEFAULT_THRESHOLDS } from '../../../src/documents/plan/thresholds.js';
import { fuzz } from '../../support/fuzz.js';
import { drawn, sampled } from '../../support/seeded.js';
import { collapse, done, EVERYTHING, expand, filesOf, inOneFile } from './support.js';

const MAIN = '010_demo/010_demo.md';
const PHASE = '010_demo/phase_2_core_logic_api.md';

describe('a phase', () => {
  const tree = expand(inOneFile(EVERYTHING), 2);

  test('goes to a file of its own, in the formats of docs/plans.md', () => {
    expect(Object.keys(filesOf(tree)).sort()).toEqual([MAIN, PHASE]);
    expect(levelOf(tree)).toBe(1);
    const main = filesOf(tree)[MAIN]!;
    expect(main).toContain(
      '### Phase 2: Core Logic (API) [INCOMPLETE] [EXPANDED]\n' +
        '**See**: [phase_2_core_logic_api.md](phase_2_core_logic_api.md)\n' +
        '**Summary**: Database schema, see [the list](../lists/all.md#x) and ![p](.././pic.png "a (b)").\n' +
        '**Complexity**: 19.4 (High)\n' +
        '**Tasks**: 4 tasks across 3 files\n\n### Phase 3: Testing\n',
    );
    expect(main).toContain('- **Expanded Phases**: 1\n');
    expect(main).toContain('[the report](../../reports/first.md)');
    expect(main).toContain('[notes]: ../notes.md');
    expect(filesOf(tree)[PHASE]).toMatch(
      /^# Phase 2: Core Logic \(API\)\n\n\*\*Part of\*\*: \[010_demo\.md\]\(010_demo\.md\)\n\*\*Complexity\*\*: 19\.4 \(High\)\n\n<!-- emend:body -->\n\*\*Objective\*\*: Database schema, see \[the list\]\(\.\.\/lists/,
    );
  });

  test('comes back byte for byte', () => {
    expect(filesOf(collapse(tree, 2))).toEqual({ '010_demo.md': EVERYTHING });
  });

  test('all of them, in any order, and each order back', () => {
    const all = [1, 2, 3].reduce(expand, inOneFile(EVERYTHING));
    expect(Object.keys(filesOf(all))).toHaveLength(4);
    for (const order of [
      [1, 2, 3],
      [3, 2, 1],
      [2, 3, 1],
    ])
      expect(filesOf(order.reduce(collapse, all))).toEqual({ '010_demo.md': EVERYTHING });
  });

  test('collapsed and expanded again: the same files', () => {
    const all = [1, 2, 3].reduce(expand, inOneFile(EVERYTHING));
    expect(filesOf(expand(collapse(all, 2), 2))).toEqual(filesOf(all));
    expect(filesOf(expand(collapse(tree, 2), 2))).toEqual(filesOf(tree));
  });

  test.each([
    [expandPhase(tree, 2, DEFAULT_THRESHOLDS), 'Phase 2 is already expanded'],
    [expandPhase(tree, 9, DEFAULT_THRESHOLDS), 'Phase 9 does not exist'],
    [
      expandPhase(inOneFile('### Phase 1: A\n\n'), 1, DEFAULT_THRESHOLDS),
      'Phase 1 has no text to move',
    ],
    [collapsePhase(tree, 1), 'Phase 1 is not expanded'],
    [expandStage(tree, 1, 1), 'expected Phase 1 to be expanded before its stages'],
    [expandStage(tree, 2, 7), 'Stage 7 in Phase 2 does not exist'],
  ])('refused %#', (change, message) => {
    expect(change).toMatchObject({ ok: false, faults: [{ message }] });
  });

  const changed = (path: string, from: string, to: string): PlanTree =>
    treeOfChange({
      place: tree.place,
      files: new Map(tree.files).set(path, tree.files.get(path)!.replace(from, to)),
    });

  test('what a person wrote into header and summary is kept', () => {
    const both = changed(PHASE, '\n<!-- emend', '\nMind the gap.\n\n<!-- emend');
    const main = both.files.get(MAIN)!.replace('**Tasks**: 4', 'Ask Ann.\n**Tasks**: 4');
    const back = collapse(
      treeOfChange({ place: both.place, files: new Map(both.files).set(MAIN, main) }),
      2,
    );
    expect(back.main.source).toBe(
      EVERYTHING.replace('- [ ] three\n', '- [ ] three\n\nMind the gap.\nAsk Ann.\n').replace(
        '\n\nMind',
        '\n\nMind',
      ),
    );
  });

  test.each([
    [
      'a heading that would end the phase',
      '#### Stage 2',
      '### Stage 2',
      /expected headings deeper than ###/,
    ],
    ['an open fence', '- [ ] three', '```\n- [ ] three', /the phases would change/],
  ])('%s is refused', (_, from, to, message) => {
    const back = collapsePhase(changed(PHASE, from, to), 2);
    expect(back.ok ? '' : back.faults[0]?.message).toMatch(message);
  });

  test('a file that a person wrote without the body line: headings are made deeper', () => {
    const place = { stem: '025_f', inFolder: true };
    const hand = new Map([
      [
        '025_f/025_f.md',
        '### Phase 2: Core [EXPANDED]\n**See**: [p](phase_2_core.md)\n**Tasks**: 1 task\n',
      ],
      [
        '025_f/phase_2_core.md',
        '# Phase 2: Core Logic\n\n**Part of**: [025_f.md](025_f.md)\n**Complexity**: 9.5 (High)\n\n## Objective\n\nDo it.\n\n## Tasks\n\n### Database\n- [ ] x\n',
      ],
    ]);
    const back = collapse(treeOfChange({ place, files: hand }), 2);
    expect(filesOf(back)).toEqual({
      '025_f.md':
        '### Phase 2: Core\n\n#### Objective\n\nDo it.\n\n#### Tasks\n\n##### Database\n- [ ] x\n',
    });
    expect(back.phases[0]?.part.objective).toBe('Do it.');
  });
});

describe('a stage', () => {
  const one = expand(inOneFile(EVERYTHING), 2);
  const overview = '010_demo/phase_2_core_logic_api/phase_2_overview.md';
  const stage = (tree: PlanTree, number: number): PlanTree => done(expandStage(tree, 2, number));
  const unstage = (tree: PlanTree, number: number): PlanTree =>
    done(collapseStage(tree, 2, number));

  test('goes beside the overview, in the formats of docs/plans.md', () => {
    const two = stage(one, 2);
    expect(levelOf(two)).toBe(2);
    expect(Object.keys(filesOf(two)).sort()).toEqual([
      MAIN,
      overview,
      '010_demo/phase_2_core_logic_api/stage_2_endpoints.md',
    ]);
    expect(two.main.source).toContain(
      '**See**: [phase_2_core_logic_api.md](phase_2_core_logic_api/phase_2_overview.md)',
    );
    expect(filesOf(two)[overview]).toContain(
      '**Part of**: [010_demo.md](../010_demo.md)\n**Complexity**: 19.4 (High)\n**Structure**: 3 stages\n\n<!-- emend:body -->\n',
    );
    expect(filesOf(two)[overview]).toContain(
      '#### Stage 2: Endpoints [EXPANDED]\n**See**: [stage_2_endpoints.md](stage_2_endpoints.md)\n**Summary**: The API.\n**Tasks**: 2 tasks\n\n#### Stage 3',
    );
    expect(filesOf(two)['010_demo/phase_2_core_logic_api/stage_2_endpoints.md']).toBe(
      '# Stage 2: Endpoints\n\n**Part of**: [phase_2_overview.md](phase_2_overview.md)\n\n<!-- emend:body -->\n**Objective**: The API.\n**Dependencies**: []\n- [ ] one\n- [ ] two\n',
    );
  });

  test('round trips: each order back, and on to one file', () => {
    const all = [1, 2, 3].reduce(stage, one);
    for (const order of [
      [1, 2, 3],
      [3, 1, 2],
    ]) {
      const back = order.reduce(unstage, all);
      expect(filesOf(back)).toEqual(filesOf(one));
      expect(filesOf(collapse(back, 2))).toEqual({ '010_demo.md': EVERYTHING });
    }
    expect(filesOf(stage(unstage(all, 2), 2))).toEqual(filesOf(all));
    expect(collapsePhase(all, 2)).toMatchObject({ ok: false });
  });
});

describe('links', () => {
  const move = { folder: '010_demo', self: '010_demo.md' };

  test.each([
    ['a.md', '../a.md'],
    ['../a.md#x', '../../a.md#x'],
    ['010_demo/b.md', 'b.md'],
    ['./010_demo/b.md', '../010_demo/b.md'],
    ['010_demo/../c.md', '../010_demo/../c.md'],
    ['010_demo.md#top', '010_demo.md#top'],
    ['#here', '#here'],
    ['http://x/y', 'http://x/y'],
    ['/abs', '/abs'],
    ['mailto:a@b', 'mailto:a@b'],
  ])('%s <-> %s', (above, below) => {
    expect(down(above, move)).toBe(below);
    expect(up(below, move)).toBe(above);
  });

  test('down and up undo each other, and lead to the same place', () => {
    const part = fc.constantFrom('..', '.', '010_demo', '010_demo.md', 'a', 'b.md', 'x y');
    const target = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(target, (written) => {
        const below = down(written, move);
        expect(up(below, move)).toBe(written);
        if (!/^(?:\.\/)*010_demo\.md$/.test(written))
          expect(resolveLink('p/010_demo', below)).toBe(resolveLink('p', written));
      }),
      fuzz('links'),
    );
  });

  test('links to files lead to the same files, wherever the text is', () => {
    const targets = (tree: PlanTree): readonly (string | null)[] =>
      [...tree.files]
        .flatMap(([path, text]) =>
          readMarkdown(text).links.map(({ target }) => resolveLink(folderOf(`p/${path}`), target)),
        )
        .filter((path) => path?.includes('010_demo') !== true);
    const plain = new Set(targets(inOneFile(EVERYTHING)));
    const all = [1, 2, 3].reduce(expand, inOneFile(EVERYTHING));
    expect(new Set(targets(all))).toEqual(plain);
    expect(new Set(targets(done(expandStage(all, 2, 1))))).toEqual(plain);
  });
});

describe('expand and collapse give the same bytes', () => {
  const roundTrip = (source: string): number => {
    const tree = inOneFile(source);
    if (tree.faults.length > 0) return 0;
    const opened: number[] = [];
    let now = tree;
    for (const { part } of tree.phases) {
      const change = expandPhase(now, part.heading.number, DEFAULT_THRESHOLDS);
      if (!change.ok) continue;
      now = done(change);
      opened.push(part.heading.number);
      for (const { heading } of part.stages) {
        const more = expandStage(now, part.heading.number, heading.number);
        if (more.ok) now = done(more);
      }
    }
    // Not always in the order in which they were expanded.
    for (const number of source.length % 2 === 0 ? opened : opened.toReversed()) {
      for (const { part, file } of now.phases.find(
        ({ part: { heading } }) => heading.number === number,
      )!.stages)
        if (file !== null) now = done(collapseStage(now, number, part.heading.number));
      now = collapse(now, number);
    }
    expect(filesOf(now)).toEqual({ '010_demo.md': source });
    return opened.length;
  };

  test('where HTML is told with the objective: in it links are none, in the summary they are', () => {
    const objective =
      '**Objective**: Do [it](a.md).\n<div>\n[a](010_demo.md#sub) [b](./010_demo.md#stage-1-s-1) [c](#nowhere) [d](010_demo.md#no)\n';
    const plan = [
      '### Phase 1: Name 0\n\n',
      `### Phase 2: Name 1\n${objective}\n#### Stage 1: S\n\n#### Stage 2: S\n\n`,
      '### Phase 3: Name 2\n \n\n#### Stage 1: S\n \n\n',
      '### Phase 4: Name 3\n\n',
    ];
    expect(roundTrip(plan.join('').replaceAll('\n', '\r\n'))).toBe(2);
  });

  test('over generated plans', () => {
    const block = fc.oneof(
      fc.constantFrom(
        '**Objective**: Do [it](a.md).\n',
        '**Dependencies**: []\n',
        '- [ ] t [l](../x/y.md)\n  * [x] n\n',
        '```\n### Phase 9: no\n```\n',
        '<!-- c -->\n',
        '\n',
        '\n\n',
        '#### Sub\n',
        '**Estimated Time**: 2 h\n',
        '**Complexity**: 9.5 (High)\n',
        '\n[r]: <b c.md>\n',
        '\n[k]: #sub "t"\n[m]: ./010_demo.md#phase-2-name-1\n',
        'See [r], ![i][K] and [l][m].\n',
        '[a](#sub) [b](#sub-1) [c](#phase-1-name-0) [d](#stage-2-s)\n',
        '[a](010_demo.md#sub) [b](./010_demo.md#stage-1-s-1) [c](#nowhere) [d](010_demo.md#no)\n',
        '> [q]: q.md (t)\n\n',
        '- [ ] [q] and ![x][q]\n',
        '<a href="#sub-2">x</a> <img src=i.png> <a id="here">\n',
        '\n<p><a href=\'b.md#x\'>\n<a href="#here"></p>\n\n',
        '> quote\n',
        '***\n',
        'text\n',
        '    code\n',
        '| a | b |\n',
        '<div>\n',
        '**See**: [z](z.md)\n',
      ),
      fc
        .string({ unit: 'grapheme', maxLength: 12 })
        .map((text) => `${text.replace(/[`~<>\r\n\0\uFEFF]/g, '')}\n`),
    );
    const stages = fc.array(fc.array(block, { maxLength: 4 }), { maxLength: 3 });
    const plan = fc.record({
      head: fc.constantFrom(
        '',
        '# T\n\n- **Expanded Phases**: 0\n',
        '\uFEFF---\nexpanded_phases: 3\n---\n\n',
        '[a](010_demo/x.md)\n\n',
      ),
      phases: fc.array(fc.record({ blocks: fc.array(block, { maxLength: 6 }), stages }), {
        minLength: 1,
        maxLength: 4,
      }),
      tail: fc.constantFrom('', '## Revision History\n\n[n](n.md)', 'end'),
      eol: fc.constantFrom('\n', '\r\n'),
    });
    let opened = 0;
    fc.assert(
      fc.property(plan, ({ head, phases, tail, eol }) => {
        const text = phases.map(
          ({ blocks, stages: inside }, index) =>
            `### Phase ${index + 1}: Name ${index}\n${blocks.join('')}${inside.map((each, at) => `\n#### Stage ${at + 1}: S\n${each.join('')}`).join('')}\n`,
        );
        opened += roundTrip((head + text.join('') + tail).replaceAll('\n', eol));
      }),
      fuzz('expanded plans', drawn(12, 40)),
    );
    expect(opened).toBeGreaterThan(drawn(0, 40));
  });

  test('over READMEs of installed packages as the text of a phase', () => {
    const all = readdirSync('node_modules')
      .map((name) => join('node_modules', name, 'README.md'))
      .filter(
        (path) => existsSync(path) && statSync(path).size > 1_000 && statSync(path).size < 40_000,
      )
      .slice(0, 25);
    const readmes = sampled('READMEs', all, 8);
    const opened = readmes.map((path) => {
      const text = readFileSync(path, 'utf8')
        .replace(/^(#+)/gm, '###$1')
        .replace(/^#{7,}/gm, '######')
        .replace(/^(=+|-+)[ \t]*$/gm, '');
      return roundTrip(`# Plan\n\n### Phase 1: It\n${text}\n### Phase 2: Next\nx\n`);
    });
    expect(opened.filter((count) => count === 2).length).toBeGreaterThanOrEqual(readmes.length - 5);
  });
});
