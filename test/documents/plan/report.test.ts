import { describe, expect, test } from '@jest/globals';
import { filesIn } from '../../../src/documents/plan/score.js';
import { resolveThresholds, thresholdsIn } from '../../../src/documents/plan/thresholds.js';
import { reportOf } from '../../../src/documents/plan/plan-report.js';
import { EVERYTHING, inOneFile } from './support.js';

const report = (text: string) => reportOf(inOneFile(text), resolveThresholds([]), (path) => path);
const phases = (...dependencies: readonly (string | null)[]): string =>
  dependencies
    .map(
      (on, index) => `### Phase ${index + 1}: P\n${on === null ? '' : `**Dependencies**: ${on}\n`}`,
    )
    .join('');
const waves = (text: string) => report(text).waves.map(({ subWaves }) => subWaves);

describe('waves', () => {
  test('a phase without the line waits for all before it', () => {
    expect(waves(phases(null, null, null))).toEqual([[[1]], [[2]], [[3]]]);
    expect(report(phases(null, null)).declared).toBe(false);
  });

  test('Kahn by levels, three at once', () => {
    expect(waves(phases('[]', '[1]', '[1]', '[1]', '[1]', '[2, 5]', null))).toEqual([
      [[1]],
      [[2, 3, 4], [5]],
      [[6]],
      [[7]],
    ]);
    expect(report(phases('[]')).declared).toBe(true);
    expect(waves(EVERYTHING)).toEqual([[[1]], [[2, 3]]]);
  });

  test.each([
    ['a phase that is not there', phases('[]', '[7]', '[1, 8]'), ['4', '6']],
    ['itself', phases('[1]'), ['2']],
    [
      'a circle of two, and what only waits for it is not named',
      phases('[2]', '[1]', '[2]'),
      ['2', '4'],
    ],
    ['two circles', phases('[2]', '[1]', '[4, 1]', '[3]'), ['2', '4', '6', '8']],
    ['a circle through a phase without the line', phases('[2]', null), ['2', '3']],
  ])('%s is named at its line', (_, text, lines) => {
    const { faults } = report(text);
    expect(faults.map(({ line }) => String(line))).toEqual(lines);
    expect(faults.every(({ file }) => file === '010_demo.md')).toBe(true);
    expect(faults[0]?.message).toMatch(/Dependencies/);
  });

  test('a doubled number, and who depends on it', () => {
    const { faults } = report(`${phases('[]', '[1]')}### Phase 1: again\n**Dependencies**: []\n`);
    expect(faults.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      '5: expected each number once, but line 1 is already Phase 1',
      '4: **Dependencies**: expected a unique phase number, but several have 1',
    ]);
  });

  test('stages too', () => {
    const { faults } = report(
      '### Phase 1: A\n#### Stage 1: a\n**Dependencies**: [2]\n#### Stage 2: b\n**Dependencies**: [1]\n',
    );
    expect(faults.map(({ line }) => line)).toEqual([3, 5]);
  });

  test('a thousand phases are read and one more is refused', () => {
    expect(report(phases(...Array.from({ length: 1_000 }, () => null))).waves).toHaveLength(1_000);
    expect(report(phases(...Array.from({ length: 1_001 }, () => null))).faults[0]?.message).toBe(
      'expected at most 1000 phases, received 1001',
    );
  });
});

describe('only a phase heading is required', () => {
  test('the rest is a note', () => {
    const { faults, notes, level } = report('### Phase 1: A\n');
    expect([faults, level]).toEqual([[], 0]);
    expect(notes.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      '1: Phase 1 has no **Objective**',
      '1: Phase 1 has no tasks (`- [ ] …`)',
    ]);
  });
});

describe('complexity', () => {
  const score = (text: string) => report(`### Phase 1: A\n${text}`).phases[0]!.score;

  test.each([
    ['', 0],
    ['security auth permission', 12],
    ['Database, migration; schema.', 9],
    ['integrate external api', 9],
    ['refactor redesign architecture', 6],
    ['authorization schemas integration APIs reauth auth_x', 0],
    ['```\nsecurity\n```\n<!-- auth -->\n\n    schema\n', 0],
    ['- [ ] a\n- [x] b\n  - [ ] c\n', 0.6],
    ['Edit `a.ts`, `a.ts` and src/b.ts.', 0.4],
    ['We want comprehensive integration tests.', 2],
    ['80%+ test coverage', 2],
    ['<a href="a.md">a</a> <img src=b.png>\n\n[c]: c.md\n', 0.6],
    [
      '[a](#x) [b](010_demo.md#x) [c](./phase_2_b.md#x) [d](../010_demo/phase_2_b/stage_1_c.md#x)',
      0,
    ],
    ['[a](010_demo.md) [b](phase_2_b.txt#x) [c](other.md#x)', 0.6],
    ['A test.', 0],
  ])('%j -> %d', (text, wanted) => {
    expect(score(text).score).toBe(wanted);
  });

  test('each addend is shown and they make up the score', () => {
    const { keywords, tasks, files, tests, score: sum } = report(EVERYTHING).phases[1]!.score;
    expect(
      keywords.filter(({ value }) => value > 0).map(({ hits, value }) => [hits, value]),
    ).toEqual([
      [{ database: 2, migration: 0, schema: 2 }, 12],
      [{ integrate: 0, external: 0, API: 2 }, 6],
    ]);
    expect([tasks, files.paths, tests.value]).toEqual([
      { count: 4, value: 0.8 },
      ['lists/all.md', 'pic.png', 'src/db/schema.sql'],
      0,
    ]);
    expect(sum).toBe(19.4);
  });

  test('what counts as a file', () => {
    expect(
      filesIn(
        '`a.ts` `b/c.py:12` d/e.go https://x.y/z.html e.g. 1.5 [t](./f.md#x) [u](http://a/b.md) Node.js',
      ),
    ).toEqual(['a.ts', 'b/c.py', 'd/e.go', 'f.md']);
  });

  test('above a threshold: the score or the tasks', () => {
    const tasks = (count: number) => score('- [ ] t\n'.repeat(count)).above;
    expect(tasks(10)).toEqual([]);
    expect(tasks(11)).toEqual(['11 tasks are more than 10']);
    expect(score('auth auth').above).toEqual([]);
    expect(score('auth auth `a.ts`').above).toEqual(['score 8.2 is above 8']);
  });
});

describe('thresholds', () => {
  const NOTES = [
    '# Notes',
    '## Adaptive Planning Configuration',
    '- **Expansion Threshold**: 5.0 (lower)',
    'Task Count Threshold: 7',
    '### More',
    '- **Replan Limit:** 3',
    '## Other',
    'File Reference Threshold: 99',
  ].join('\n');

  test('the section of the notes, and nothing outside of it', () => {
    expect(thresholdsIn(NOTES)).toEqual({ expansion: 5, tasks: 7, replanLimit: 3 });
    expect(thresholdsIn('Expansion Threshold: 5.0')).toBeNull();
  });

  test('config before notes before defaults', () => {
    const { values, from } = resolveThresholds([
      { from: 'emend.yaml', values: { expansion: 6 } },
      { from: 'CLAUDE.md', values: thresholdsIn(NOTES)! },
    ]);
    expect(values).toEqual({ expansion: 6, tasks: 7, fileReferences: 10, replanLimit: 3 });
    expect(from).toEqual({
      expansion: 'emend.yaml',
      tasks: 'CLAUDE.md',
      fileReferences: 'default',
      replanLimit: 'CLAUDE.md',
    });
  });
});
