import { describe, expect, test } from '@jest/globals';
import { markPhase, type PhaseMark } from '../../../src/documents/plan/mark-phase.js';
import { summaryFiles, withSummary } from '../../../src/documents/plan/partial-summary.js';
import { DEFAULT_THRESHOLDS } from '../../../src/documents/plan/thresholds.js';
import { findPhase, fullText, readTree } from '../../../src/documents/plan/plan-tree.js';

const tree = (files: Record<string, string>, inFolder = false) =>
  readTree(
    { stem: '010_demo', inFolder },
    (path) => (files[path] === undefined ? { reason: `no ${path}` } : { text: files[path] }),
    (path) => path,
  );
const mark = (files: Record<string, string>, more: Partial<PhaseMark> = {}, inFolder = false) => {
  const wanted: PhaseMark = { marker: 'COMPLETED', progress: [['Status', '1/2']], ...more };
  const of = tree(files, inFolder);
  return markPhase(of, findPhase(of, { name: 'One', number: 1 })!, wanted, DEFAULT_THRESHOLDS);
};
const PLAN =
  '# P\n\n### Phase 1: One\n\n- [ ] a\n  * [ ] b\n\n```\n- [ ] text\n```\n\n### Phase 2: Two\n\n- [ ] c\n';

describe('marking a phase', () => {
  test('ticks its tasks, not those in code or of other phases, and adds the section', () => {
    expect(mark({ '010_demo.md': PLAN }).files.get('010_demo.md')).toBe(
      '# P\n\n### Phase 1: One [COMPLETED]\n\n- [x] a\n  * [x] b\n\n```\n- [ ] text\n```\n\n### Phase 2: Two\n\n- [ ] c\n\n' +
        '## Implementation Progress\n\n**Status**: 1/2\n',
    );
  });

  test('left incomplete for some tasks, it ticks the others', () => {
    const left = mark({ '010_demo.md': PLAN }, { marker: 'INCOMPLETE', open: new Set(['a']) });
    expect(left.files.get('010_demo.md')).toContain(
      '### Phase 1: One [INCOMPLETE]\n\n- [ ] a\n  * [x] b\n',
    );
  });

  test('again, it changes nothing', () => {
    const once = mark({ '010_demo.md': PLAN }).files.get('010_demo.md')!;
    expect(mark({ '010_demo.md': once }).files.get('010_demo.md')).toBe(once);
  });

  test.each(['\n', '\r\n'])(
    'updates its lines of the section and leaves those of a person (%j)',
    (eol) => {
      const section = [
        '',
        '## Implementation Progress',
        '',
        'Mine.',
        '',
        '**Status**: 0/2',
        '**To Resume**: x',
        'Mine too.',
        '',
      ];
      const source = PLAN.replaceAll('\n', eol) + section.join(eol);
      const progress = [
        ['Status', '1/2'],
        ['Commit', 'abc'],
        ['To Resume', null],
      ] as const;
      const marked = mark({ '010_demo.md': source }, { progress }).files.get('010_demo.md')!;
      expect(marked.slice(marked.indexOf('## Impl'))).toBe(
        [
          '## Implementation Progress',
          '',
          'Mine.',
          '',
          '**Status**: 1/2',
          '**Commit**: abc',
          'Mine too.',
          '',
        ].join(eol),
      );
    },
  );

  test.each(['', '## Implementation Progress\n\n**Status**: 0/2\n'])(
    'whose headings are of the first level: the section is in no phase (there: %j)',
    (own) => {
      const source = `# Phase 1: One\n\n- [ ] a\n\n# Phase 2: Two\n\n- [ ] c\n\n${own}`;
      const marked = mark({ '010_demo.md': source }).files.get('010_demo.md')!;
      expect(marked).toBe(
        `${source.replace('One', 'One [COMPLETED]').replace('[ ] a', '[x] a')}${own === '' ? '' : '\n'}# Implementation Progress\n\n**Status**: 1/2\n`,
      );
      expect(mark({ '010_demo.md': marked }).files.get('010_demo.md')).toBe(marked);
    },
  );

  test.each(['```\ncode', '<!-- a comment'])('an open %j at the end takes in no section', (end) => {
    const marked = mark({ '010_demo.md': PLAN + end }).files.get('010_demo.md')!;
    expect(marked).toContain('### Phase 1: One [COMPLETED]\n\n- [x] a\n');
    expect(marked.slice(marked.indexOf('### Phase 2'))).toBe(`### Phase 2: Two\n\n- [ ] c\n${end}`);
  });

  test('skipped and incomplete leave the tasks and take the place of another outcome', () => {
    const done = mark({ '010_demo.md': PLAN }, { marker: 'INCOMPLETE' }).files.get('010_demo.md')!;
    expect(done).toContain('### Phase 1: One [INCOMPLETE]\n\n- [ ] a\n');
    expect(mark({ '010_demo.md': done }).files.get('010_demo.md')).toContain(
      '### Phase 1: One [COMPLETED]\n\n- [x] a\n',
    );
  });

  test('a phase in a file of its own: its tasks are ticked there, and small as it is it comes back', () => {
    const main =
      '# P\n\n### Phase 1: One [EXPANDED]\n**See**: [f](phase_1_one.md)\n\n### Phase 2: Two\n\n- [ ] c\n';
    const part =
      '# Phase 1: One\n\n**Part of**: [010_demo.md](010_demo.md)\n\n<!-- emend:body -->\n\n- [ ] a\n\n';
    const files = { '010_demo/010_demo.md': main, '010_demo/phase_1_one.md': part };
    const changed = mark(files, {}, true);
    expect([...changed.files.keys()]).toEqual(['010_demo.md']);
    expect(changed.files.get('010_demo.md')).toContain('### Phase 1: One [COMPLETED]\n\n- [x] a\n');
  });

  test('a renamed phase is found by its number where it asks for the same, whatever is done of it', () => {
    const text = fullText(tree({ '010_demo.md': PLAN }).phases[0]!);
    const now = (to: string) =>
      findPhase(tree({ '010_demo.md': to }), { name: 'One', number: 1, text })?.part.heading.name;
    const renamed = PLAN.replace('One', 'Uno').replace('- [ ] a', '- [x] a');
    expect([
      now(PLAN),
      now(renamed),
      now(renamed.replace('b', 'c')),
      now(renamed.replace('1: Uno', '3: Uno')),
    ]).toEqual(['One', 'Uno', undefined, undefined]);
  });
});

describe('the partial summary', () => {
  test.each([
    ['specs/plans/025_feature', 'specs/summaries/025_partial.md'],
    ['docs/roadmap', 'docs/summaries/roadmap_partial.md'],
    ['010_demo', 'summaries/010_partial.md'],
  ])('%s -> %s', (plan, file) => {
    expect(summaryFiles(plan)[0]).toBe(file);
  });

  test('a line a phase, each once; other lines stay', () => {
    const plan = { title: 'T', path: 'p', status: '1/2' };
    const one = withSummary(null, plan, { number: 1, name: 'One', text: 'completed' });
    const mine = `${one}\nA person wrote this.\n`;
    const two = withSummary(
      mine,
      { ...plan, status: '2/2' },
      { number: 2, name: 'Two', text: 'skipped' },
    );
    const again = withSummary(
      two,
      { ...plan, status: '2/2' },
      { number: 1, name: 'One', text: 'incomplete' },
    );
    expect(again).toBe(
      '# Partial summary: T\n\n**Plan**: `p`\n**Status**: 2/2\n\n## Phases\n\n- Phase 1 (One): incomplete\n- Phase 2 (Two): skipped\n\nA person wrote this.\n',
    );
  });
});
