/** Links by anchor, in HTML and through labels: valid wherever a part's text is, and as they were when it is back. */
import { describe, expect, test } from '@jest/globals';
import { treeOf } from '../../../src/documents/plan/change.js';
import { collapseStage } from '../../../src/documents/plan/collapse.js';
import { expandStage } from '../../../src/documents/plan/expand.js';
import { readMarkdown } from '../../../src/documents/plan/markdown.js';
import { folderOf, resolveLink } from '../../../src/documents/plan/plan-paths.js';
import type { PlanTree } from '../../../src/documents/plan/plan-tree.js';
import { collapse, done, expand, filesOf, inOneFile } from './support.js';

const MAIN = '010_demo/010_demo.md';
const ONE = '010_demo/phase_1_data.md';
const TWO = '010_demo/phase_2_api.md';

const PLAN = `# Plan

Begin at [the tables](#tables), then [tests](#tests-1), [API](#phase-2-api), [last](010_demo.md#tests-2), [s][] and [gone](#gone).

[spec]: docs/spec.md "The spec"
[Start here]: #notes

## Notes

### Phase 1: Data [INCOMPLETE]
**Objective**: As [specified][Spec], see [tests](#tests).

Then [the API](#phase-2-api), [its tests](010_demo.md#tests-1) and [notes][start  here].

#### Tables
<a id="rows"></a>
#### Tests
- [ ] a <a href="docs/a.md">a</a> <img alt='x' src='pic.png'>

[s]: docs/s.md
[data]: #tables

### Phase 2: API
See [rows](#rows), [my tests](#tests-1), [me](#phase-2-api), ![data][] and
<p>
<a name="in" HREF = docs/b.md#x>b</a> <!-- <a href="no.md"> --> <a href="#notes">n</a>
</p>

#### Tests
- [ ] b, as in [s]
#### Stage 1: One
[t](#tests-1) [u](#tests) [start here]
- [ ] c
#### Stage 2: Two
[o](#stage-1-one)
- [ ] d

### Phase 3: Last
[x](#tests-1) [y](#stage-1-one)
#### Tests
`;

describe('a link leads where it led', () => {
  const tree = inOneFile(PLAN);
  const both = [1, 2].reduce(expand, tree);

  test('by anchor: the file of the heading, and its name among those of that file', () => {
    const main = filesOf(both)[MAIN]!;
    expect(main).toContain(
      '[the tables](phase_1_data.md#tables), then [tests](phase_2_api.md#tests)',
    );
    expect(main).toContain(
      '[API](phase_2_api.md#phase-2-api), [last](010_demo.md#tests), [s][] and [gone](#gone)',
    );
    expect(main).toContain('[x](phase_2_api.md#tests) [y](phase_2_api.md#stage-1-one)');
    expect(main).toContain(
      '**Summary**: As [specified][Spec], see [tests](phase_1_data.md#tests).',
    );
    expect(filesOf(both)[ONE]).toContain(
      'see [tests](#tests).\n\nThen [the API](phase_2_api.md#phase-2-api)',
    );
    expect(filesOf(both)[ONE]).toContain('[its tests](./phase_2_api.md#tests)');
    expect(filesOf(both)[TWO]).toContain(
      'See [rows](phase_1_data.md#rows), [my tests](#tests), [me](#phase-2-api)',
    );
  });

  test('in HTML, and not what is in a comment', () => {
    expect(filesOf(both)[ONE]).toContain(
      `<a href="../docs/a.md">a</a> <img alt='x' src='../pic.png'>`,
    );
    expect(filesOf(both)[TWO]).toContain(
      '<a name="in" HREF = ../docs/b.md#x>b</a> <!-- <a href="no.md"> --> <a href="010_demo.md#notes">n</a>',
    );
  });

  test('through a label: its definition goes along, and stays where it is needed', () => {
    expect(filesOf(both)[ONE]).toContain(
      '(Medium)\n\n[spec]: ../docs/spec.md "The spec"\n[Start here]: 010_demo.md#notes\n\n<!-- emend:body -->\n',
    );
    expect(filesOf(both)[MAIN]).toContain(
      '**Tasks**: 1 task across 3 files\n\n[s]: ../docs/s.md\n[data]: phase_1_data.md#tables\n\n### Phase 2',
    );
    expect(filesOf(both)[TWO]).toContain(
      '[s]: ../docs/s.md\n[data]: phase_1_data.md#tables\n\n<!-- emend:body -->\n',
    );
  });

  test('stages too', () => {
    const three = done(expandStage(both, 2, 1));
    const overview = '010_demo/phase_2_api/phase_2_overview.md';
    const stage = '010_demo/phase_2_api/stage_1_one.md';
    expect(filesOf(three)[MAIN]).toContain('[y](phase_2_api/stage_1_one.md#stage-1-one)');
    expect(filesOf(three)[overview]).toContain('[o](stage_1_one.md#stage-1-one)');
    expect(filesOf(three)[overview]).toMatch(
      /\n\*\*Structure\*\*: 2 stages\n\n\[Start here\]: \.\.\/010_demo\.md#notes\n/,
    );
    expect(filesOf(three)[stage]).toContain(
      '\n\n[Start here]: ../010_demo.md#notes\n\n<!-- emend:body -->\n',
    );
    expect(filesOf(three)[stage]).toContain(
      '[t](phase_2_overview.md#tests) [u](../phase_1_data.md#tests) [start here]',
    );
    expect(filesOf(done(collapseStage(three, 2, 1)))).toEqual(filesOf(both));
  });

  test('in whatever order: the same files, and the same bytes back', () => {
    const all = [1, 2, 3].reduce(expand, tree);
    expect(filesOf([3, 2, 1].reduce(expand, tree))).toEqual(filesOf(all));
    for (const order of [
      [1, 2, 3],
      [3, 1, 2],
      [2, 3, 1],
    ])
      expect(filesOf(order.reduce(collapse, all))).toEqual({ '010_demo.md': PLAN });
    for (const number of [1, 2, 3])
      expect(filesOf(expand(collapse(all, number), number))).toEqual(filesOf(all));
  });

  test('no anchor and no label is without its place in any state', () => {
    const dead = (state: PlanTree): readonly string[] =>
      [...state.files].flatMap(([path, text]) => {
        const { links, uses, definitions } = readMarkdown(text);
        const defined = new Set(definitions.map(({ label }) => label));
        const anchors = links.flatMap(({ target }) => {
          const [file = '', anchor] = target.split('#');
          const to = file === '' ? path : resolveLink(folderOf(path), file);
          const held = state.files.get(to ?? '');
          return anchor === undefined || held === undefined || slugs(held).has(anchor)
            ? []
            : [`${path}: ${target}`];
        });
        const labels = uses
          .filter(({ label }) => !defined.has(label))
          .map(({ label }) => `${path}: [${label}]`);
        return [...anchors, ...labels.filter((each) => !/\[(?:expanded|incomplete)\]$/.test(each))];
      });
    expect(dead(tree)).toEqual(['010_demo.md: #gone']);
    for (const state of [
      expand(tree, 1),
      expand(tree, 2),
      both,
      done(expandStage(both, 2, 2)),
      expand(both, 3),
    ])
      expect(dead(state)).toEqual([`${MAIN}: #gone`]);
  });
});

/** As github.com makes them, written anew: by lines, and for the letters of this plan only. */
function slugs(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, words = '']) => {
    const base = words
      .toLowerCase()
      .replace(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-');
    const count = seen.get(base) ?? 0;
    seen.set(base, count + 1);
    return count === 0 ? base : `${base}-${count}`;
  });
  return new Set([
    ...headings,
    ...[...text.matchAll(/<a (?:id|name)="(.*?)"/g)].map(([, id = '']) => id),
  ]);
}

test('what a person changed in a copied definition is kept when the part comes back', () => {
  const tree = expand(inOneFile(PLAN), 1);
  const text = tree.files.get(ONE)!.replace('[spec]: ../docs/spec.md', '[spec]: ../docs/new.md');
  const back = collapse(
    treeOf({ place: tree.place, files: new Map(tree.files).set(ONE, text) }),
    1,
  );
  expect(back.main.source).toContain(
    '[data]: #tables\n\n[spec]: docs/new.md "The spec"\n\n### Phase 2',
  );
});

test('the first of two definitions counts, and a footnote is none', () => {
  const plan =
    '### Phase 1: A\n[l] [^1]\n\n[^1]: one\n[l]: inner.md\n\n### Phase 2: B\n[l]\n\n[l]: last.md\n';
  const one = expand(inOneFile(plan), 1);
  expect(one.main.source).toContain(
    '\n\n[l]: ../inner.md\n\n### Phase 2: B\n[l]\n\n[l]: ../last.md\n',
  );
  expect(filesOf(one)['010_demo/phase_1_a.md']).toContain('[^1]: one\n[l]: ../inner.md\n');
  const two = expand(inOneFile(plan), 2);
  expect(filesOf(two)['010_demo/phase_2_b.md']).toContain(
    '\n\n[l]: ../inner.md\n\n<!-- emend:body -->\n[l]\n',
  );
  for (const tree of [one, two, expand(one, 2)])
    expect(
      filesOf(
        tree.phases.reduce(
          (now, { part, file }) => (file === null ? now : collapse(now, part.heading.number)),
          tree,
        ),
      ),
    ).toEqual({
      '010_demo.md': plan,
    });
});

test('a folder whose name would end a link or an attribute', () => {
  const plan = `### Phase 1: A\n[a](b.md) <a href='c.md'>c</a>\n`;
  const place = { stem: "010_it's #1", inFolder: false };
  const tree = treeOf({ place, files: new Map([[`${place.stem}.md`, plan]]) });
  const open = expand(tree, 1);
  const within = treeOf({
    place: open.place,
    files: new Map(
      [...open.files].map(([path, text]) => [path, text.replace("href='../c.md'", "href='c.md'")]),
    ),
  });
  expect(filesOf(collapse(within, 1))[`${place.stem}.md`]).toContain(
    `[a](b.md) <a href='010_it%27s%20%231/c.md'>c</a>`,
  );
});
