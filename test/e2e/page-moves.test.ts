/** A moved file on the review page: one file with its old path, and one verdict for both paths. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import {
  inBrowser,
  launch,
  openPage,
  servePage,
  violations,
  type ServedPage,
} from './page-support.js';
import { numbered, scene, whole, type Scene } from './support.js';

/** A browser starts slowly beside others' work. */
jest.setTimeout(180_000);

const TIPS = numbered(20);
const MOVED = TIPS.replace('line 3\n', 'third line\n');
const JOB =
  '---\nnew_files: [docs/tips.md]\ndelete_files: [got/tips.md]\ncommit: true\n---\n# Move the tips\n';

inBrowser()('a move on the review page', () => {
  let s: Scene;
  let served: ServedPage;
  let browser: Browser;
  beforeAll(async () => {
    s = await scene({ 'got/tips.md': TIPS }, [
      { name: 'new', match: {}, answer: whole({ 'docs/tips.md': MOVED }) },
    ]);
    await s.worker();
    served = await servePage(s.emend);
    browser = await launch();
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await served.close();
    expect(served.errors).toEqual([]);
    await s.close();
  });

  test('is one file with its old path, and one approval commits it', async () => {
    const run = await s.start('job.md', JOB);
    await s.settle(run);
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const { page, faults } = await openPage(context, served);
    await page.getByRole('link', { name: /Move the tips/ }).click();
    const head = page.locator('.file-head');
    await head.getByText('docs/tips.md').waitFor();
    expect(await head.count()).toBe(1);
    const words = await head.innerText();
    expect(words).toContain('got/tips.md -> docs/tips.md');
    expect(words).toContain('moved');
    expect(words).toContain('+1 -1');
    expect(await violations(page)).toEqual([]);
    await head.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'Send …' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect(s.git('log', '-1', '--format=', '--find-renames', '--name-status')).toMatch(
      /^R\d+\tgot\/tips\.md\tdocs\/tips\.md\n$/,
    );
    expect(faults).toEqual([]);
    await context.close();
  });
});
