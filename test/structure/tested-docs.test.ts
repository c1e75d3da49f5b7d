/** docs/recovery.md, SECURITY.md, docs/adversary.md and docs/coverage.md promise a test for each row; each state that is tested has its row. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { ANSWERS_BY_REASON } from '../../src/shared/decisions.js';

const DOC = readFileSync('docs/recovery.md', 'utf8');

/** Rows of all tables, as cells; heads and rules left out. */
const rowsOf = (text: string): string[][] =>
  text
    .split('\n')
    .filter(
      (line, at, all) =>
        line.startsWith('|') && !line.startsWith('|---') && !(all[at + 1] ?? '').startsWith('|---'),
    )
    .map((line) =>
      line
        .slice(1, line.lastIndexOf('|'))
        .split('|')
        .map((cell) => cell.trim()),
    );

const testsOf = (cell: string): string[] =>
  [...cell.matchAll(/test\/[\w/.-]+\.ts/g)].map(([path]) => path);
const missing = (text: string): string[] => [
  ...rowsOf(text)
    .filter((row) => testsOf(row.at(-1) ?? '').length === 0)
    .map(([what]) => `no test: ${what}`),
  ...testsOf(text).filter((path) => !existsSync(path)),
];

describe.each([
  ['SECURITY.md', 10],
  ['docs/adversary.md', 40],
])('%s', (path, least) => {
  test('each row of a table names a test, and each test that is named is there', () => {
    const text = readFileSync(path, 'utf8');
    expect(rowsOf(text).length).toBeGreaterThan(least);
    expect(missing(text)).toEqual([]);
    expect(text).not.toMatch(/not yet shown|planned/i);
  });
});

describe('docs/recovery.md', () => {
  test('each row names a test, and each test that is named is there', () => {
    expect(rowsOf(DOC).length).toBeGreaterThan(40);
    expect(missing(DOC)).toEqual([]);
    expect(DOC).not.toMatch(/not yet shown|\btried\b(?! again)/);
    // The check can fail.
    expect(
      missing('| a | b |\n|---|---|\n| x | tried |\n| y | test/none/such.test.ts |\n'),
    ).toEqual(['no test: x', 'test/none/such.test.ts']);
  });

  test('each state that is cancelled and terminated has its row', () => {
    const states = [
      ...readFileSync('test/e2e/states.ts', 'utf8').matchAll(/\bname: '([^']+)',/g),
    ].map(([, name]) => name!);
    const tested = states.filter((name) => !['a', 'over', 'held', 'pick', 'brief'].includes(name));
    expect(tested.length).toBeGreaterThan(15);
    const rows = rowsOf(DOC).map(([what]) => what);
    expect(tested.filter((name) => !rows.includes(name))).toEqual([]);
  });
});

describe('docs/coverage.md', () => {
  const STATES = ['done', 'differently', 'open'];
  /** What is wrong with the rows of one document: section | asks | state | why | test. */
  const faults = (rows: readonly (readonly string[])[]): string[] =>
    rows.flatMap((row) => {
      const [section, asks, state = '', why = '', test = ''] = row;
      const isFile = /^(?:docs|test)\/[\w/.-]+\.(?:md|test\.ts)$/.test(test);
      const decisions = [...why.matchAll(/\]\((decisions\/[^)]+)\)/g)].map(
        ([, path]) => `docs/${path}`,
      );
      const wrong = [
        ...(row.length === 5 && STATES.includes(state)
          ? []
          : ['not a row of five cells with a state']),
        ...(state === 'done' && test === '' ? ['no test'] : []),
        ...(state !== 'done' && why === '' ? ['no reason'] : []),
        ...(test === '' || isFile ? [] : ['not a test or a page']),
        ...[test, ...decisions].filter((path) => path !== '' && !existsSync(path)),
      ];
      return wrong.map((what) => `${section}: ${asks}: ${what}`);
    });
  const [head = '', ...documents] = readFileSync('docs/coverage.md', 'utf8').split(/^## /m);
  const sections = documents.map((text) => ({ name: text.split('\n')[0], rows: rowsOf(text) }));

  test('each row has a state, a reason where it is not done, and a test or page that is there', () => {
    expect(sections.flatMap(({ rows }) => faults(rows))).toEqual([]);
    // The check can fail.
    expect(
      faults([
        ['1', 'a', 'done', '', ''],
        ['2', 'b', 'differently', '', 'test/none.test.ts'],
        ['3', 'c', 'differently', '([0099](decisions/0099-none.md))', ''],
        ['4', 'd', 'partly', 'e', 'by hand'],
      ]),
    ).toEqual([
      '1: a: no test',
      '2: b: no reason',
      '2: b: test/none.test.ts',
      '3: c: docs/decisions/0099-none.md',
      '4: d: not a row of five cells with a state',
      '4: d: not a test or a page',
      '4: d: by hand',
    ]);
  });

  test('the counts at the top are those of the rows', () => {
    const counted = [...sections, { name: 'all', rows: sections.flatMap(({ rows }) => rows) }].map(
      ({ name, rows }) => [
        name,
        ...STATES.map((wanted) => String(rows.filter(([, , state]) => state === wanted).length)),
        String(rows.length),
      ],
    );
    expect(rowsOf(head)).toEqual(counted);
  });
});

test('each reason to pause is met by an end-to-end test that answers it', () => {
  const tests = readdirSync('test/e2e').filter((name) => name.endsWith('.test.ts'));
  const texts = tests
    .map((name) => readFileSync(`test/e2e/${name}`, 'utf8'))
    .filter((text) => text.includes('.answer('));
  expect(
    Object.keys(ANSWERS_BY_REASON).filter(
      (reason) => !texts.some((text) => text.includes(`'${reason}'`)),
    ),
  ).toEqual([]);
});
