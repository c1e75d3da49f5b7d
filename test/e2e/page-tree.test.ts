/**
 * A review by keys alone, in a real browser: from the list of runs, through the tree of files, with marks of what was viewed, to the commit;
 * and that the page shows all of it in light and dark, at 400, 1024 and 1920 pixels.
 */
import { expect, jest, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { clipped } from './page-narrow.js';
import { inBrowser, openPage, picture, violations, inPages } from './page-support.js';
import { numbered, scene, whole } from './support.js';

jest.setTimeout(240_000);

const BASE = numbered(200);
const changed = (word: string): string => BASE.replaceAll(/^line (\d*5)$/gm, `${word} $1`);
const FILES = ['lib/deep/only.txt', 'src/a.txt', 'src/b.txt'];

inBrowser()('the files of a review', () => {
  test('tree, marks, sticky heads and diff --stat, by keys alone to the commit; what a new version keeps', async () => {
    const answer = (file: string, word: string) => ({ answer: whole({ [file]: changed(word) }) });
    const s = await scene(Object.fromEntries(FILES.map((file) => [file, BASE])), [
      { name: 'again', match: { contains: 'in capitals' }, ...answer('src/b.txt', 'FIVE') },
      ...FILES.map((file) => ({
        name: file,
        match: { contains: `- ${file}` },
        ...answer(file, 'five'),
      })),
    ]);
    await inPages(s, async (browser, served) => {
      await s.worker();
      const front = `target_files: [${FILES.join(', ')}]\ncommit: true\ntest: node -e 0\nbaseline: off`;
      const run = await s.start(
        'jobs/five.md',
        `---\n${front}\n---\n# Write five\n\nChange them.\n`,
      );
      await s.settle(run);

      const shown: readonly (readonly ['light' | 'dark', number])[] = [
        ['light', 1920],
        ['dark', 400],
        ['light', 1024],
      ];
      for (const [colorScheme, width] of shown) {
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
        const { page, faults } = await openPage(context, served);
        await page.goto(`${served.url}/#/run/${run.stepKey}/review`);
        await page.getByRole('treeitem').first().waitFor();
        expect(
          (await page.getByRole('treeitem').allInnerTexts()).map((text) =>
            text.replace(/\s+/g, ' ').trim(),
          ),
        ).toEqual(['lib/deep/', 'only.txt +20 -20', 'src/', 'a.txt +20 -20', 'b.txt +20 -20']);
        await page.getByText('3 files changed, 60 insertions(+), 60 deletions(-)').waitFor();
        expect(await page.getByLabel('Changed lines by file').innerText()).toMatch(
          /^src\/b\.txt {9}\| 40 \+{10}-{10}$/m,
        );
        // In the middle of a file its head is there, with its buttons, and the tree says which file it is.
        await page.getByRole('treeitem', { name: 'a.txt' }).click();
        await page.mouse.move(width - 60, 600);
        await page.mouse.wheel(0, 700);
        const head = page.getByRole('group', { name: 'Verdict on src/a.txt' });
        await settled(
          async () => (await head.boundingBox())?.y ?? 0,
          (y) => y > 0 && y < 200,
        );
        await page.locator('[aria-current]', { hasText: 'a.txt' }).waitFor();
        await picture(page, `tree-${colorScheme}-${width}`);
        expect(await violations(page)).toEqual([]);
        expect(await clipped(page)).toEqual([]);
        expect(faults).toEqual([]);
        await context.close();
      }

      // From here on no mouse.
      const context: BrowserContext = await browser.newContext({
        viewport: { width: 1280, height: 900 },
      });
      const { page, faults } = await openPage(context, served);
      const press = async (...keys: readonly string[]): Promise<void> => {
        for (const key of keys) await page.keyboard.press(key);
      };
      const viewed = async (...names: readonly string[]): Promise<void> => {
        await page.getByText(`${names.length} viewed`).waitFor();
        const marked = page
          .getByRole('treeitem')
          .filter({ has: page.getByText('viewed', { exact: true }) });
        // What is scrolled out of view has no inner text.
        expect(await marked.locator('.file-name').allTextContents()).toEqual(names);
      };
      await page.getByRole('link', { name: /Write five/ }).waitFor();
      await press('/');
      await page.keyboard.type('no such run');
      await page.getByText('No run matches.').waitFor();
      await press('Control+a');
      await page.keyboard.type('WRITE');
      // Repository, then state.
      await press('Tab', 'Tab');
      await page.keyboard.type('done');
      await page.getByText('No run matches.').waitFor();
      await press('ArrowUp', 'ArrowUp');
      await page.getByRole('link', { name: /Write five/ }).waitFor();
      await press('Tab', 'Enter');
      await page.getByRole('treeitem').first().waitFor();
      await press('?');
      await page.getByText('to the tree of files').waitFor();
      await press('Escape');
      // Folds `src/`, opens it, and goes to its first file: marks it, and the one after it.
      await press('e', 'End', 'ArrowLeft', 'ArrowLeft');
      expect(await page.getByRole('treeitem', { name: 'a.txt' }).count()).toBe(0);
      await press('ArrowRight', 'ArrowRight', 'Enter', 'x');
      await viewed('a.txt');
      await atHead(page, 'src/b.txt');
      await press('k', 'k', 'x');
      await viewed('only.txt', 'a.txt');
      await page.reload();
      await viewed('only.txt', 'a.txt');
      expect(
        await page.locator('[data-row]').getByText('five 5', { exact: true }).count(),
      ).toBeLessThan(2);

      // The third is revised: of the new version the others are as they were viewed.
      await press('e', 'End', 'Enter', 'x');
      await viewed('only.txt', 'a.txt', 'b.txt');
      await press('r', 'A', 'Enter');
      await page.getByRole('heading', { name: 'Send your verdicts' }).waitFor();
      // The note has the focus: without one it cannot be sent.
      await page.keyboard.type('in capitals');
      await press('Tab', 'Enter');
      await page.getByText('Note that led to version 2: in capitals').waitFor({ timeout: 60_000 });
      // The new version is shown while its tests run; it can be approved when they have ended.
      await page.getByRole('group', { name: 'Verdict on src/b.txt' }).waitFor();
      await viewed('only.txt', 'a.txt');
      await page.getByText('FIVE 5', { exact: true }).first().waitFor();
      await press('A', 'Enter');
      await page.getByRole('heading', { name: 'Send your verdicts' }).waitFor();
      await press('Enter');
      await page.getByText(/approve by ada/).waitFor();
      expect((await s.end(run)).outcome).toBe('committed');
      expect(s.git('show', 'HEAD:src/b.txt')).toBe(changed('FIVE'));
      expect(s.git('show', 'HEAD:src/a.txt')).toBe(changed('five'));
      expect(faults).toEqual([]);
    });
  });
});

const settled = async <T>(read: () => Promise<T>, fits: (value: T) => boolean): Promise<void> => {
  const until = Date.now() + 10_000;
  for (;;) {
    const value = await read();
    if (fits(value)) return;
    if (Date.now() > until) throw new Error(`it stayed ${String(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
/** The row that keys act on. */
const atHead = (page: Page, path: string): Promise<void> =>
  settled(
    () => page.locator('.cursor .path').innerText(),
    (text) => text.includes(path),
  );
