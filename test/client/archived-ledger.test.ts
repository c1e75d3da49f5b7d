/** The archive's ledger, told from events alone, knows the files that a decision left out. */
import { expect, test } from '@jest/globals';
import { ledgerOfEvents } from '../../src/client/archive/ledger.js';
import type { LedgerRow } from '../../src/shared/run.js';
import { ledgerOf } from '../../src/workflows/step/views.js';
import { play, type Saying, type Words } from '../workflows/step/step-driver.js';

const TWO = ['a.ts', 'b.ts'];
const statuses = (rows: readonly LedgerRow[]) =>
  rows
    .map(({ path, status, attempts }) => ({ path, status, attempts }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));

const CASES: readonly {
  name: string;
  words: Words;
  decisions: readonly Saying[];
  left: readonly string[];
}[] = [
  {
    name: 'take_theirs at apply',
    words: { apply: ['base_changed:a.ts'] },
    decisions: ['approve', 'take_theirs'],
    left: ['a.ts'],
  },
  {
    name: 'take_theirs in apply',
    words: { apply: ['conflict:b.ts'] },
    decisions: ['approve', 'take_theirs'],
    left: ['b.ts'],
  },
  {
    name: 'one regenerated, one left',
    words: { apply: ['base_changed:a.ts,b.ts'] },
    decisions: [
      'approve',
      ['regenerate', { files: ['a.ts'] }],
      ['take_theirs', { files: ['b.ts'] }],
      'approve',
    ],
    left: ['b.ts'],
  },
  {
    name: 'skip for one at the approval',
    words: {},
    decisions: [['skip', { files: ['a.ts'] }], 'approve'],
    left: ['a.ts'],
  },
  { name: 'skip for all', words: {}, decisions: ['skip'], left: TWO },
  {
    name: 'a file whose answer failed, skipped',
    words: { propose: { 'b.ts': ['declined'] } },
    decisions: ['skip', 'approve'],
    left: ['b.ts'],
  },
  {
    name: 'asked for again and again',
    words: { propose: { 'a.ts': ['invalid', 'down', 'truncated>format'], 'b.ts': ['call_lost'] } },
    decisions: ['retry', 'approve'],
    left: [],
  },
  { name: 'everything approved', words: {}, decisions: ['approve'], left: [] },
];

test('one call for all files is one about each, before and after the split', () => {
  const combined = { format: 'whole-file', outputBudget_tokens: 16_384 } as const;
  for (const [words, attempts] of [
    [['invalid'], 2],
    [['invalid', 'truncated>split'], 3],
  ] as const) {
    const { state } = play({
      files: TWO,
      ready: { shouldSplit: false, combined },
      words: { propose: { '*': words } },
    });
    const rows = ledgerOfEvents(state.events);
    expect(statuses(rows)).toEqual(statuses(ledgerOf(state)));
    expect(rows).toMatchObject(TWO.map((path) => ({ path, status: 'done', attempts })));
  }
});

test('a file that the model left as it is has its reason in both, cut to a bound', () => {
  const words = { propose: { 'b.ts': [`unchanged=${'so '.repeat(1_000)}`] } };
  const { state } = play({ files: TWO, words, decisions: ['approve'] });
  const rows = ledgerOfEvents(state.events).map(({ path, reason }) => ({ path, reason }));
  expect(rows).toEqual(ledgerOf(state).map(({ path, reason }) => ({ path, reason })));
  expect(rows).toEqual([
    { path: 'a.ts', reason: null },
    { path: 'b.ts', reason: expect.stringMatching(/^unchanged: (so ){100}/) },
  ]);
  expect(rows[1]?.reason).toHaveLength('unchanged: '.length + 1_000);
});

test.each(CASES)('$name', ({ words, decisions, left }) => {
  const { state } = play({ files: TWO, words, decisions });
  expect(state.stage.at).toBe('closed');
  const rows = ledgerOfEvents(state.events);
  expect(statuses(rows)).toEqual(statuses(ledgerOf(state)));
  expect(rows.filter(({ status }) => status === 'skipped').map(({ path }) => path)).toEqual(left);
  const told = state.events.flatMap((event) => (event.type === 'decided' ? event.skipped : []));
  expect(told).toEqual(left);
});
