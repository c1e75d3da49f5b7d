/** Failing outputs of real projects (outputs/README.md): the names that are found, and what a bounded reader sees of them. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { arrangeTestOutput, parseTestOutput } from '../../../src/workspace/test-output/index.js';

const dir = join(import.meta.dirname, 'outputs');
test.each(readdirSync(dir).filter((f) => f.endsWith('.txt')))('%s', (file) => {
  const output = readFileSync(join(dir, file), 'utf8');
  const r = parseTestOutput(output);
  console.log(file + '\n' + r.failures.map((f) => `${f.name} @@ ${f.place} @@ ${f.block.split('\n').length}`).join('\n'));
  console.log(arrangeTestOutput(output, 16 * 1024).text.slice(0, 6000));
  expect(r.failures.length).toBeGreaterThan(0);
});
