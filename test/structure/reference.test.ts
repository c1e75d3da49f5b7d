/** docs/reference.md is what the sources say; `npm run reference` writes it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { reference } from './reference.js';

const PATH = 'docs/reference.md';

test('docs/reference.md is what `npm run reference` makes of the sources', () => {
  const wanted = reference();
  expect(wanted).toContain('| `emend run <job>` |');
  expect(wanted).toContain('| `truncation_detected` | `file: string`, `reason: string`');
  if (process.env.EMEND_WRITE_REFERENCE === '1') writeFileSync(PATH, wanted);
  expect(readFileSync(PATH, 'utf8')).toBe(wanted);
});
