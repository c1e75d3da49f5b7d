/** The archive's ledger, told from events alone, knows the files that a decision left out. */
import { expect, test } from '@jest/globals';
import { ledgerOfEvents } from '../../src/client/archive/status.js';
import { play, type Saying, type Words } from '../shared/step-driver.js';

const TWO = ['a.ts', 'b.ts'];
const statuses = (rows: readonly { readonly path: string; readonly status: string }[]) =>
  Object.fromEntries(rows.map(({ path, status }) => [path, status]));

const CASES: readonly { name: string; words: Words; decisions: readonly Saying[]; left: readonly string[] }[] = [
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
    decisions: ['approve', ['regenerate', { files: ['a.ts'] }], ['take_theirs', { files: ['b.ts'] }], 'approve'],
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
  { name: 'everything approved', words: {}, decisions: ['approve'], left: [] },
];

test.each(CASES)('$name', ({ words, decisions, left }) => {
  const { state } = play({ files: TWO, words, decisions });
  expect(state.stage.at).toBe('closed');
  const rows = ledgerOfEvents(state.events);
  expect(statuses(rows)).toEqual(statuses(state.edits.files));
  expect(rows.filter(({ status }) => status === 'skipped').map(({ path }) => path)).toEqual(left);
  const told = state.events.flatMap((event) => (event.type === 'decided' ? event.skipped : []));
  expect(told).toEqual(left);
});
