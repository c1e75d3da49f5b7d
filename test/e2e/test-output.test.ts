/** What tests printed can be read: `emend show RUN --tests`, the report and the page, the last lines first and all of them where asked for. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { main } from '../../src/cli/main.js';
import { shownKey } from '../../src/shared/ids.js';
import { fakeIo } from '../cli/io.js';
import { inBrowser, onPage, picture, violations } from './page-support.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(120_000);

/** Prints more than is shown, in colour and with a secret in it, then the name of what fails. */
const CHECK = `
const noise = (n) => n + (n === 249 ? ' ghp_${'Zk3vQ9xR2mT7bW1n'.repeat(2)}Ab12' : '');
for (let n = 1; n <= 250; n += 1) console.log('\\x1b[32mnoise ' + noise(n) + '\\x1b[0m');
const failed = require('node:fs').readFileSync('a.js', 'utf8').includes('2');
console.log((failed ? 'not ok' : 'ok') + ' 1 - <b>says one</b>');
process.exit(failed ? 1 : 0);
`;

describe('the output of tests', () => {
  let s: Scene;
  let run: ResolvedRun;
  let shown = '';
  beforeAll(async () => {
    const answer = whole({ 'a.js': 'const a = 2;\n' });
    s = await scene({ 'a.js': 'const a = 1;\n', 'check.js': CHECK }, [
      { name: 'a', match: { contains: '- a.js' }, answer },
    ]);
    await s.worker();
    const front =
      'target_files: [a.js]\nverify: before_approval\ncommit: true\ntest: node check.js\nlimits: { maxFailedVerifications: 1 }';
    run = await s.start('job.md', `---\n${front}\n---\n# Two\n\nTwo, please.\n`);
    shown = shownKey(run.stepKey);
    expect((await s.settle(run)).status.decision?.message).toContain(
      'tests of the proposal: fail_soft',
    );
  }, 120_000);
  afterAll(() => s.close());

  const typed = async (...args: string[]): Promise<string> => {
    const io = fakeIo({ env: s.env, cwd: s.repo });
    expect(await main(args, io)).toBe(0);
    return io.printed.out;
  };

  inBrowser()('on the page', () => {
    test.each([
      ['light', 1024, '/review'],
      ['dark', 400, ''],
    ] as const)(
      'names the tests that failed, shows the end, and all of it: %s, %i pixels',
      async (...at) => {
        const [colorScheme, width, place] = at;
        await onPage(
          s.emend,
          { at: `#/run/${run.stepKey}${place}`, colorScheme, width },
          async (page) => {
            const tests = page.getByRole('region', { name: 'Tests', exact: true });
            await tests.getByText(/^tests before the change: pass/).waitFor();
            await tests.getByText(/^tests of the proposal: fail_soft in \d/).waitFor();
            expect(await tests.getByText('failed: <b>says one</b>').count()).toBe(1);
            const output = tests.getByLabel('Output of the tests').last();
            expect(await output.innerText()).toMatch(
              /^noise 52\n[^]*\nnoise 250\nnot ok 1 - <b>says one<\/b>$/,
            );
            await picture(page, `tests-${colorScheme}-${width}`);
            expect(await violations(page)).toEqual([]);
            expect(
              await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
            ).toBe(true);
            await tests.getByRole('button', { name: 'Show the 52 lines before' }).last().click();
            await tests.getByText('$ node check.js').last().waitFor();
            expect(await output.innerText()).toContain('$ node check.js\nnoise 1\nnoise 2\n');
          },
        );
      },
    );
  });

  test('in the terminal and in the report: names, the last 200 lines, and all with --whole; of the failed decision too', async () => {
    const last = await typed('show', run.stepKey, '--tests');
    expect(last).toMatch(/^\S+Z {2}tests before the change: pass: node check\.js: passed$/m);
    expect(last).toMatch(
      /^\S+Z {2}tests of the proposal: fail_soft in \S+ s: node check\.js: exit 1; test_failure/m,
    );
    expect(last).toContain(
      `\n  failed: <b>says one</b>\n  the first 52 lines are left out: emend show ${shown} --tests --whole\nnoise 52\n`,
    );
    expect(last.endsWith('noise 250\nnot ok 1 - <b>says one</b>\n')).toBe(true);
    expect(await typed('show', run.stepKey, '--whole')).toContain('$ node check.js\nnoise 1\n');
    const told = JSON.parse(await typed('show', run.stepKey, '--tests', '--json')) as unknown;
    expect(told).toMatchObject([
      { on: 'base', outcome: 'pass', failed: [], leftOut: 52 },
      { on: 'proposal', outcome: 'fail_soft', failed: ['<b>says one</b>'], leftOut: 52 },
    ]);

    await s.answer(run, 'approve');
    expect((await s.settle(run)).status.decision?.reason).toBe('tests_failed');
    expect(await typed('show', run.stepKey)).toContain(`  emend show ${shown} --tests\n`);
    expect(await typed('show', run.stepKey, '--tests')).toMatch(
      /tests of the change: fail_soft[^]*failed: <b>says one/,
    );
    const report = await typed('report', run.stepKey);
    expect(report).toMatch(/```\nnoise 52\n[^]*\nnot ok 1 - <b>says one<\/b>\n```/);
    expect(report).toContain('\nnoise 249 (secret)\nnoise 250\n');
    expect(report).toContain('failed: \\<b\\>says one');
    expect(report).not.toMatch(/"kind":|x1b/);
    expect(await typed('report', run.stepKey, '--whole', '--html')).toMatch(
      /noise 1<[^]*&lt;b&gt;says one/,
    );
    await s.answer(run, 'skip');
    expect((await s.end(run)).outcome).toBe('skipped');
  });
});
