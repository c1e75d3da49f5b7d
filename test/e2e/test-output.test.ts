/** The output of tests can be read: `emend show RUN --tests`, the report and the page show the failed tests first, and all lines on request. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { main } from '../../src/cli/main.js';
import { shownKey } from '../../src/shared/ids.js';
import { fakeIo } from '../cli/io.js';
import { inBrowser, onPage, picture, violations } from './page-support.js';
import { requestsOf, scene, whole, type Scene } from './support.js';

jest.setTimeout(120_000);

/** Prints more than is shown, in colour and with a secret in it; a test that fails is in the middle of it. */
const CHECK = `
const noise = (n) => n + ' ' + '.'.repeat(100) + (n === 249 ? ' ghp_${'Zk3vQ9xR2mT7bW1n'.repeat(2)}Ab12' : '');
const failed = require('node:fs').readFileSync('a.js', 'utf8').includes('2');
for (let n = 1; n <= 250; n += 1) {
  console.log('\\x1b[32mnoise ' + noise(n) + '\\x1b[0m');
  if (n === 125) console.log((failed ? 'not ok' : 'ok') + ' 1 - <b>says one</b>');
}
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
      'target_files: [a.js]\ncommit: true\ntest: node check.js\nlimits: { maxFailedVerifications: 1 }';
    run = await s.start('job.md', `---\n${front}\n---\n# Two\n\nTwo, please.\n`);
    shown = shownKey(run.stepKey);
    expect((await s.settle(run)).status.decision).toMatchObject({
      reason: 'tests_failed',
      message: 'node check.js: exit 1; test_failure: <b>says one</b>',
    });
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
      'shows the tests that failed first, and the whole output on request: %s, %i pixels',
      async (...at) => {
        const [colorScheme, width, place] = at;
        await onPage(
          s.emend,
          { at: `#/run/${run.stepKey}${place}`, colorScheme, width },
          async (page) => {
            const tests = page.getByRole('region', { name: 'Tests', exact: true });
            await tests.getByText(/^tests before the change: pass/).waitFor();
            await tests.getByText(/^tests of the proposal: fail_soft in \d/).waitFor();
            const output = tests.getByLabel('Output of the tests').last();
            expect(await output.innerText()).toMatch(
              /^Failed tests \(1\):\n- <b>says one<\/b>\n\nnot ok 1 - <b>says one<\/b>\n\nThe rest of the output:\n[^]*noise 250 \.+$/,
            );
            await picture(page, `tests-${colorScheme}-${width}`);
            expect(await violations(page)).toEqual([]);
            expect(
              await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
            ).toBe(true);
            await tests
              .getByRole('button', { name: /^Show the \d+ lines that are omitted$/ })
              .last()
              .click();
            await tests.getByText('$ node check.js').last().waitFor();
            expect(await output.innerText()).toMatch(/\n\$ node check\.js\nnoise 1 \.+\nnoise 2 /);
          },
        );
      },
    );
  });

  test('the terminal and the report show the failed tests first, and everything with --whole, also of the failed decision', async () => {
    const last = await typed('show', run.stepKey, '--tests');
    expect(last).toMatch(/^\S+Z {2}tests before the change: pass: node check\.js: passed$/m);
    expect(last).toMatch(
      /^\S+Z {2}tests of the proposal: fail_soft in \S+ s: node check\.js: exit 1; test_failure/m,
    );
    expect(last).toMatch(
      /\nFailed tests \(1\):\n- <b>says one<\/b>\n\nnot ok 1 - <b>says one<\/b>\n\nThe rest of the output:\n/,
    );
    expect(last).toMatch(
      new RegExp(`  \\d+ lines of the output omitted: emend show ${shown} --tests --whole\n$`),
    );
    expect(await typed('show', run.stepKey, '--whole')).toMatch(/\$ node check\.js\nnoise 1 /);
    const told = JSON.parse(await typed('show', run.stepKey, '--tests', '--json')) as unknown;
    expect(told).toMatchObject([
      { on: 'base', outcome: 'pass', failed: [] },
      { on: 'proposal', outcome: 'fail_soft', failed: ['<b>says one</b>'] },
    ]);

    expect(await typed('show', run.stepKey)).toContain(`  emend show ${shown} --tests\n`);
    const report = await typed('report', run.stepKey);
    expect(report).toMatch(
      /```\nFailed tests \(1\):\n- <b>says one<\/b>\n\nnot ok 1[^]*\nnoise 250 \.+\n```/,
    );
    expect(report).toMatch(/\nnoise 249 \.+ \(secret\)\nnoise 250 /);
    expect(report).not.toMatch(/"kind":|x1b/);
    expect(await typed('report', run.stepKey, '--whole', '--html')).toMatch(
      /&lt;b&gt;says one[^]*noise 1 /,
    );
    await s.answer(run, 'skip');
    expect((await s.end(run)).outcome).toBe('skipped');
  });
});

/** As node:test writes TAP: the failed test is far from both ends, and passing tests have the names of other errors. */
const SUITE = `
const broken = require('node:fs').readFileSync('a.js', 'utf8').includes('3');
console.log('TAP version 13');
for (let n = 1; n <= 2000; n += 1) {
  const isOk = !(broken && n === 1000);
  console.log('# Subtest: ' + (n === 1000 ? 'doubles one' : 'throws EACCES: permission denied ' + n));
  console.log((isOk ? 'ok ' : 'not ok ') + n + ' - ' + (n === 1000 ? 'doubles one' : 'throws EACCES: permission denied ' + n));
  if (!isOk) console.log("  ---\\n  error: '3 !== 2'\\n  code: 'ERR_ASSERTION'\\n  ...");
}
console.log('# tests 2000\\n# fail ' + (broken ? 1 : 0));
process.exitCode = broken ? 1 : 0;
`;

test.each([
  ['the proposal', 'on'],
  ['the change', 'off'],
])(
  'the call after failed tests of %s shows their names first, then their assertions, and no advice about the names of passing tests',
  async (subject, sandbox) => {
    const s = await scene({ 'a.js': 'const a = 1;\n', 'suite.js': SUITE }, [
      {
        name: 'again',
        match: { contains: 'The tests failed with your last edit' },
        answer: whole({ 'a.js': 'const a = 2;\n' }),
      },
      { name: 'first', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 3;\n' }) },
    ]);
    try {
      await s.worker();
      const front = `target_files: [a.js]\ncommit: true\ntest: node suite.js\napproval: auto\nsandbox: ${sandbox}`;
      const run = await s.start('job.md', `---\n${front}\n---\n# Two\n\nTwo, please.\n`);
      for (let settled = await s.settle(run); settled.status.decision?.reason === 'approval';) {
        await s.answer(run, 'approve');
        settled = await s.settle(run);
      }
      expect(s.rehearsal.requests().map(({ rule }) => rule)).toEqual(['first', 'again']);
      const title = 'What the tests said:';
      const prompt = (await requestsOf(s))
        .map((request) => JSON.stringify(request.messages))
        .find((messages) => messages.includes(title));
      const output = prompt?.slice(prompt.indexOf(title));
      expect(output).toMatch(
        /^What the tests said:\\nFailed tests \(1\):\\n- doubles one\\n\\nnot ok 1000 - doubles one\\n[^]*error: '3 !== 2'/,
      );
      expect(output).toContain('# fail 1');
      expect(output).toContain('test_failure');
      expect(output).not.toContain('owner and mode');

      const io = fakeIo({ env: s.env, cwd: s.repo });
      await main(['show', run.stepKey, '--tests'], io);
      const [beforeChange = '', ofChange = ''] = io.printed.out.split(
        new RegExp(`^\\S+Z {2}tests of ${subject}: f`, 'm'),
      );
      expect(beforeChange).toContain('tests before the change: pass');
      // The output of tests that passed is short, so that it does not hide what failed.
      expect(beforeChange.length).toBeLessThan(2_000);
      expect(ofChange).toMatch(/^ail_soft[^]*\nFailed tests \(1\):\n- doubles one\n/);
    } finally {
      await s.close();
    }
  },
);
