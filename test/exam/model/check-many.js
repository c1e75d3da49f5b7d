/**
 * Runs many checks in one process, for the test of all tasks: `[{ check, dir }]` on standard input, `[{ passed, why }]` as the last
 * line of standard output. A check reads its workspace relative to the working directory, and throws where the task is not done.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const results = [];
for (const [index, { check, dir }] of JSON.parse(readFileSync(0, 'utf8')).entries()) {
  process.chdir(dir);
  try {
    await import(`${pathToFileURL(check).href}?${index}`);
    results.push({ passed: true, why: '' });
  } catch (error) {
    results.push({ passed: false, why: String(error) });
  }
}
process.stdout.write(`\n${JSON.stringify(results)}`);
