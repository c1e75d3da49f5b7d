/** What was asked for is seen where it is answered for: review, page, report, and the commit's body where that is wanted; and what models were sent. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { inBrowser, onPage, violations } from './page-support.js';
import { scene, whole, type Scene } from './support.js';

const TOKEN = `ghp_${'aB3'.repeat(12)}`;
const ASKED = `Make it two,\nfor <b>Ann</b> and the token ${TOKEN}.`;
let s: Scene;
let run: ResolvedRun;
beforeAll(async () => {
  const answer = whole({ 'a.js': 'const a = 2;\n' });
  s = await scene({ 'a.js': 'const a = 1;\n', 'emend.yaml': 'commitBody: request\n' }, [
    { name: 'a', match: { contains: '- a.js' }, answer },
  ]);
  await s.worker();
  run = await s.start(
    'job.md',
    `---\ntarget_files: [a.js]\ncommit: true\n---\n# Two\n\n${ASKED}\n`,
  );
  await s.settle(run);
}, 120_000);
afterAll(() => s.close());

const typed = async (exit: number, ...args: string[]) => {
  const io = fakeIo({ env: s.env, cwd: s.repo });
  expect(await main(args, io)).toBe(exit);
  return io.printed;
};

test('the review says it first', async () => {
  const { err } = await typed(3, 'review', run.stepKey);
  expect(err).toMatch(
    /^asked for:\n[^]* {2}Make it two,\n {2}for <b>Ann<\/b> and the token \(secret\)\.\n/,
  );
});

inBrowser()('on the page', () => {
  test.each([
    ['/review', 'light', 1024],
    ['', 'dark', 400],
  ] as const)(
    'instructions and calls: %s, %s, %i pixels',
    async (place, colorScheme, width) => {
      await onPage(
        s.emend,
        { at: `#/run/${run.stepKey}${place}`, colorScheme, width },
        async (page) => {
          await page
            .getByLabel('Instructions')
            .getByText('for <b>Ann</b> and the token (secret).')
            .waitFor();
          if (place === '') {
            await page.getByText('Model calls').click();
            await page
              .getByText(/^1\. edit a\.js, attempt 1, .*: 1 model call, .*answered \(end_turn\)$/)
              .click();
            await page.getByLabel('answer', { exact: true }).getByText('const a = 2;').waitFor();
            expect(await page.getByLabel('user', { exact: true }).innerText()).toContain(
              'for <b>Ann</b>',
            );
          }
          const loaded = await page.evaluate<readonly string[]>(
            "performance.getEntriesByType('resource').map((e) => e.name)",
          );
          expect(loaded.filter((url) => url.includes('/instructions'))).toHaveLength(1);
          expect(await page.content()).not.toContain(TOKEN);
          expect(await violations(page)).toEqual([]);
          expect(
            await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
          ).toBe(true);
        },
      );
    },
    60_000,
  );
});

test('the commit and the report hold it, and no secret', async () => {
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  const message = execFileSync('git', ['log', '-1', '--format=%B'], {
    cwd: s.repo,
    encoding: 'utf8',
  });
  expect(message).toMatch(
    /^Two\n\n[^]*Make it two,\nfor <b>Ann<\/b> and the token EMEND_SECRET_\w+\.\n/,
  );
  for (const flag of ['--markdown', '--html', '--json']) {
    const { out } = await typed(0, 'report', run.stepKey, flag);
    expect(out).toContain('Make it two,');
    expect(out).toContain('and the token (secret).');
    expect(out).not.toContain(TOKEN);
  }
});
