/** `npm run demo:plan`: a plan over real files comes out as the committed texts say, and a difference is told. */
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { git, runDemo } from './demo-support.js';

let scratch = '';
beforeEach(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'emend demo ')));
});
afterEach(() => {
  rmSync(scratch, { recursive: true, force: true });
});

interface Comparing {
  readonly compare: (
    result: ReadonlyMap<string, string>,
  ) => Promise<{ readonly same: readonly string[]; readonly differences: readonly string[] }>;
}

test('six phases in two waves: cut off, expanded, failed twice in the same way, replanned; as expected to the byte', async () => {
  const { code, output } = await runDemo(scratch, ['plan.js']);
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toContain('waves: 1, 2, 3 | 4, 5, 6');
  expect(output.match(/truncated: all files/g)).toHaveLength(1);
  expect(output).toContain(
    'As expected: git-log.txt, left-over.txt, plans/010_received/010_received.md, ' +
      'plans/010_received/phase_5_documentation.md, summaries/010_partial.md, told.txt',
  );
  const repo = join(scratch, readdirSync(scratch)[0] ?? '', 'lodash');
  expect(git(repo, 'log', '--format=%s', '-1')).toContain(
    'Mark Phase 4 of plans/010_received as completed (6/6)',
  );
}, 300_000);

test('what comes out otherwise is told line by line', async () => {
  const { compare } = (await import(join(process.cwd(), 'demo', 'expected.js'))) as Comparing;
  const { same, differences } = await compare(new Map([['git-log.txt', 'Phase 1: After\n']]));
  expect(same).toEqual([]);
  expect(differences).toHaveLength(6);
  expect(differences[0]).toContain('-Merge Phase 1: After\n');
  expect(differences[0]).toContain('+Phase 1: After\n');
});
