/** docs/reference.md, the table of activities and the bounds are what the sources say; `npm run reference` writes them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { activityTable, boundsPage, reference } from './reference.js';

const PATH = 'docs/reference.md';

test('docs/reference.md is what `npm run reference` makes of the sources', () => {
  const wanted = reference();
  expect(wanted).toContain('| `emend run [files...]` |');
  expect(wanted).toContain('| `truncation_detected` | `file: string`, `reason: string`');
  if (process.env.EMEND_WRITE_REFERENCE === '1') writeFileSync(PATH, wanted);
  expect(readFileSync(PATH, 'utf8')).toBe(wanted);
});

test('docs/operations.md has the table of activities that `npm run reference` makes of src/shared/activities.ts', () => {
  const path = 'docs/operations.md';
  const [before, , after] = readFileSync(path, 'utf8').split(
    /(?<=^## Activities\n\n)((?:\|.*\n)+)/m,
  );
  const wanted = `${before}${activityTable()}\n${after}`;
  expect(wanted).toContain(
    '| `applyProposal` | writing the files | `emend-host-<id>` | 10 min | 10 min | none | 30 s | 10 |',
  );
  if (process.env.EMEND_WRITE_REFERENCE === '1') writeFileSync(path, wanted);
  expect(readFileSync(path, 'utf8')).toBe(wanted);
});

test('docs/reference/bounds.md is what `npm run reference` makes of the marks in the sources', () => {
  const path = 'docs/reference/bounds.md';
  const wanted = boundsPage();
  expect(wanted).toContain('| `PLAN_WAVE` | 3 | Phases that run at once. | plan/waves.ts |');
  expect(wanted).toContain('| `idleMoves` | 100 | A run that makes so many moves in a row');
  if (process.env.EMEND_WRITE_REFERENCE === '1') writeFileSync(path, wanted);
  expect(readFileSync(path, 'utf8')).toBe(wanted);
});
