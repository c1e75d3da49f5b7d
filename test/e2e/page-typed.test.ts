/** What a person types and what a long line says, in a real browser: nothing typed is lost, nothing of a change stays out of reach. */
import { expect, jest, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { longOnly } from '../support/skipped.js';
import { inBrowser, openPage, inPages, type ServedPage } from './page-support.js';
import { numbered, scene, whole, type Scene } from './support.js';

jest.setTimeout(120_000);

const BASE = numbered(400);
const CHANGED = BASE.replaceAll('0\n', '0!\n');
/** 150,000 characters in one line, of which the middle changes. */
const long = (word: string): string => `// ${'x'.repeat(100_000)} ${word} ${'y'.repeat(50_000)}\n`;

const FRONT = 'test: node -e 0\nbaseline: off';

/** Starts a run that waits for its review, and opens an empty page of the server. */
async function startReview(s: Scene, browser: Browser, served: ServedPage, front: string) {
  await s.worker();
  const run = await s.start(
    'jobs/loud.md',
    `---\n${front}\n${FRONT}\n---\n# Write loud\n\nChange them.\n`,
  );
  await s.settle(run);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const { page, faults } = await openPage(context, served);
  return { page, faults, address: `${served.url}/#/run/${run.stepKey}/review` };
}

inBrowser()('a review', () => {
  test('keeps what is being typed through a reload, and as a comment if another box is opened', async () => {
    const s = await scene({ 'a.txt': BASE }, [
      { name: 'a', match: { contains: '- a.txt' }, answer: whole({ 'a.txt': CHANGED }) },
    ]);
    await inPages(s, async (browser, served) => {
      const { page, faults, address } = await startReview(
        s,
        browser,
        served,
        'target_files: [a.txt]',
      );
      await page.goto(address);
      await page.getByRole('button', { name: 'Comment on line 10 after' }).first().click();
      await page.keyboard.type('not so loud');
      await page.reload();
      const box = page.getByLabel('What to change at line 10');
      await box.waitFor();
      expect(await box.inputValue()).toBe('not so loud');
      await page.getByRole('button', { name: 'Comment on line 20 after' }).first().click();
      await page.getByText('Your comment on line 10: not so loud').waitFor();
      expect(faults).toEqual([]);
    });
  });

  longOnly('the test above shows what is kept')(
    'keeps what is being typed through scrolling, other boxes and a reload, and sends it; shows a change in the middle of a long line',
    async () => {
      const s = await scene(
        { 'a.txt': BASE, 'long.js': long('before'), constructor: 'let a = 1;\n' },
        [
          {
            name: 'again',
            match: { contains: 'not so loud' },
            answer: whole({ 'a.txt': CHANGED.replaceAll('!', '.') }),
          },
          { name: 'a', match: { contains: '- a.txt' }, answer: whole({ 'a.txt': CHANGED }) },
          {
            name: 'long',
            match: { contains: '- long.js' },
            answer: whole({ 'long.js': long('after') }),
          },
          {
            name: 'constructor',
            match: { contains: '- constructor' },
            answer: whole({ constructor: `let a = "${'z'.repeat(210_000)}END";\n` }),
          },
        ],
      );
      await inPages(s, async (browser, served) => {
        const front =
          'target_files: [a.txt, long.js, constructor]\nlimits: { maxBytesFullFile: 1000000 }';
        const { page, faults, address } = await startReview(s, browser, served, front);
        // Marks of a hundred runs that nobody took away.
        const filled = await page.evaluate(() => {
          for (let n = 0, chars = 1_000_000; chars > 0; n++)
            try {
              localStorage.setItem(`emend-viewed-${n}`, 'x'.repeat(chars));
            } catch {
              chars = Math.floor(chars / 2);
            }
          return Object.keys(localStorage).length;
        });
        expect(filled).toBeGreaterThan(3);
        await page.goto(address);
        await page.getByText('line 10!', { exact: true }).first().waitFor();

        // Nothing was said of it, whatever an object has of that name.
        expect(await page.getByRole('treeitem', { name: 'constructor' }).innerText()).not.toContain(
          'sent',
        );
        const box = page.getByLabel('What to change at line 10');
        await page.getByRole('button', { name: 'Comment on line 10 after' }).first().click();
        await page.keyboard.type('not so loud');
        // Out of sight and back: only what is in sight is drawn.
        await page.getByRole('treeitem', { name: 'constructor' }).click();
        await box.waitFor({ state: 'detached' });
        await page.getByRole('treeitem', { name: 'a.txt' }).click();
        await box.waitFor();
        expect(await box.inputValue()).toBe('not so loud');
        await page.reload();
        await box.waitFor();
        expect(await box.inputValue()).toBe('not so loud');
        // Another box: the first is kept as a comment.
        await page.getByRole('button', { name: 'Comment on line 20 after' }).first().click();
        await page.getByText('Your comment on line 10: not so loud').waitFor();
        await page.keyboard.type('nor here');

        // The change in the middle of a long line is in sight, and all of it can be reached.
        await page.getByRole('treeitem', { name: 'long.js' }).click();
        await page.locator('.changed', { hasText: 'after' }).first().waitFor();
        await page.getByRole('treeitem', { name: 'constructor' }).click();
        const more = page
          .locator('.add', { hasText: 'zzz' })
          .getByRole('button', { name: 'more characters' });
        await more.waitFor();
        while ((await more.count()) > 0) await more.first().click();
        await page.getByText('END";').waitFor();

        // What is open when the review is sent goes along; the words of the dialog outlive it.
        for (const name of ['long.js', 'constructor']) {
          await page.getByRole('treeitem', { name }).click();
          await page.keyboard.press('s');
        }
        await page.getByRole('button', { name: 'Send …' }).click();
        await page.getByText('2 comments sent with the revised files.').waitFor();
        await page.getByLabel('A note').fill('quieter in all');
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.reload();
        await page.getByRole('button', { name: 'Send …' }).click();
        expect(await page.getByLabel('A note').inputValue()).toBe('quieter in all');
        await page.getByRole('button', { name: 'Send', exact: true }).click();
        await page
          .getByText('Note that led to version 2: quieter in all', { exact: true })
          .waitFor({ timeout: 60_000 });
        await page.getByText('nor here').first().waitFor();
        expect(faults).toEqual([]);
      });
    },
  );
});
