/** A part of `npm run exam:secrets`: each secret once in each kind of file, and 150 files of packages. */
import { expect, test } from '@jest/globals';
import { seed } from '../../support/seeded.js';
import { hidden, LEAST_HIDDEN, untouched } from './exam.js';

test('secrets are hidden, and none in part', async () => {
  const shown = await hidden(seed, 1);
  expect(shown).toHaveLength(40 * 8);
  expect(shown.filter(({ seen }) => seen === 'part')).toEqual([]);
  expect(shown.filter(({ seen }) => seen === 'no').length).toBeGreaterThanOrEqual(
    LEAST_HIDDEN * shown.length,
  );
});

test('files without secrets are shown as they are', async () => {
  const { files, touched } = await untouched('node_modules', 150);
  expect(files).toBe(150);
  // Of 150 one may be.
  expect(touched.length).toBeLessThan(2);
});
