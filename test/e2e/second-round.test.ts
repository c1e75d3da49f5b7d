/**
 * A second round shows what changed since the version that a person last saw: after `revise`, and after a rebase onto files that changed in
 * between; on the page in a real browser and with `emend diff RUN --since N`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { clipped } from './page-narrow.js';
import {
  inBrowser,
  openPage,
  picture,
  violations,
  type ServedPage,
  inPages,
} from './page-support.js';
import { numbered, scene, whole, type Scene } from './support.js';

jest.setTimeout(180_000);

const BASE = numbered(40);
const first = BASE.replace('line 20\n', 'twenty\n').replace('line 35\n', 'fifty\n');
const second = first.replace('fifty\n', 'FIFTY\n');
const onDisk = BASE.replace('line 2\n', 'two, by a person\n');

inBrowser()('a second round', () => {
  const looking =
    (browser: Browser, served: ServedPage, address: string) =>
    async (
      options: BrowserContextOptions,
      look: (page: Page) => Promise<void>,
      name: string,
    ): Promise<void> => {
      const context = await browser.newContext({
        viewport: { width: 1024, height: 900 },
        ...options,
      });
      const { page, faults } = await openPage(context, served);
      await page.goto(address);
      try {
        await page.getByRole('region', { name: 'Changes' }).waitFor({ timeout: 10_000 });
        await look(page);
      } catch (error) {
        await picture(page, 'failed');
        throw new Error(`${await page.locator('body').innerText()}\n${faults.join('\n')}`, {
          cause: error,
        });
      }
      await picture(page, `second-round-${name}`);
      expect(await violations(page)).toEqual([]);
      expect(await clipped(page)).toEqual([]);
      expect(faults).toEqual([]);
      await context.close();
    };
  const typed = async (
    s: Scene,
    exit: number,
    ...args: string[]
  ): Promise<{ out: string; err: string }> => {
    const io = fakeIo({ env: s.env, cwd: s.repo });
    expect({ args, exit: await main(args, io), err: io.printed.err }).toMatchObject({ exit });
    return io.printed;
  };

  test('after revise, then after a rebase: changed, as you saw it, the note, folded, versions by number', async () => {
    const files = { 'a.txt': 'a\n', 'b.txt': BASE, 'c.txt': 'c\n' };
    const s = await scene(files, [
      {
        name: 'again',
        match: { contains: 'please write it in capitals' },
        answer: whole({ 'b.txt': second }),
      },
      { name: 'a', match: { contains: '- a.txt' }, answer: whole({ 'a.txt': 'A\n' }) },
      { name: 'b', match: { contains: '- b.txt' }, answer: whole({ 'b.txt': first }) },
      { name: 'c', match: { contains: '- c.txt' }, answer: whole({ 'c.txt': 'C\n' }) },
    ]);
    await inPages(s, async (browser, served) => {
      await s.worker();
      const front =
        'target_files: [a.txt, b.txt, c.txt]\ncommit: true\ntest: node -e 0\nbaseline: off';
      const run = await s.start('job.md', `---\n${front}\n---\n# Three\n\nChange them.\n`);
      await s.settle(run);
      const look = looking(browser, served, `${served.url}/#/run/${run.stepKey}/review`);
      const { err: none } = await typed(s, 2, 'diff', run.stepKey, '--since', '1');
      expect(none).toContain(
        '--since 1: expected the number of an earlier version, but there is none.',
      );
      // The first round is the whole change, and there is no choice of versions.
      await look(
        {},
        async (page) => {
          await page.getByText('twenty', { exact: true }).first().waitFor();
          expect(await page.getByRole('region', { name: 'Versions' }).count()).toBe(0);
        },
        'first',
      );
      await s.answer(run, 'approve', { files: ['a.txt', 'c.txt'] });
      await s.answer(run, 'revise', { files: ['b.txt'], note: 'please write it in capitals' });
      expect((await s.settle(run)).status.decision).toMatchObject({
        n: 2,
        files: [{ path: 'b.txt' }],
      });

      const said = async (page: Page): Promise<string[]> =>
        (await page.locator('.file-head .path + .tag').allInnerTexts()).map((text) => text.trim());
      const twice = async (page: Page): Promise<void> => {
        await page.getByText('Note that led to version 2: please write it in capitals').waitFor();
        // What was seen and what was decided are folded heads; the rest is what changed since.
        expect(await said(page)).toEqual(['as you saw it', 'changed', 'as you saw it']);
        const changes = await page.getByRole('region', { name: 'Changes' }).innerText();
        expect(changes).toMatch(/fifty[^]*FIFTY/);
        expect(changes).not.toMatch(/twenty\n[^]*line 20\n|\bC\b/);
        await page
          .getByText('what changed since version 1, which you saw')
          .first()
          .waitFor({ state: 'attached' });
      };
      await look({ colorScheme: 'light' }, twice, 'light-1024');
      await look({ colorScheme: 'dark', viewport: { width: 400, height: 800 } }, twice, 'dark-400');
      await look(
        { colorScheme: 'light', viewport: { width: 1920, height: 1000 } },
        async (page) => {
          await twice(page);
          await page.getByRole('button', { name: 'a.txt', exact: true }).click();
          await page.getByText('A', { exact: true }).first().waitFor();
          await page.getByRole('combobox').selectOption({ label: 'the whole change' });
          await page.getByText('twenty', { exact: true }).first().waitFor();
          // What was decided in the first round is said, and has no buttons.
          expect(await page.locator('.file-head .tag').allInnerTexts()).toEqual([
            'approve recorded',
            'approve recorded',
          ]);
          expect(await page.getByRole('group', { name: /^Verdict on [abc]/ }).count()).toBe(1);
          // An earlier version can be looked at, not answered.
          await page.getByRole('combobox').selectOption({ label: 'version 1, as it was' });
          await page.getByText('fifty', { exact: true }).first().waitFor();
          expect(await page.getByText('FIFTY', { exact: true }).count()).toBe(0);
          expect(await page.getByRole('group', { name: /^Verdict/ }).count()).toBe(0);
        },
        'light-1920',
      );

      const hint = await typed(s, 0, 'diff', run.stepKey);
      expect(hint.err).toMatch(/^version 2; since version 1: emend diff [0-9a-f]{8} --since 1$/m);
      const since = await typed(s, 0, 'diff', run.stepKey, '--since', '1');
      expect(since.err).toBe(
        'version 2, changes since version 1\n  note: please write it in capitals\n' +
          '  a.txt: as you saw it\n  b.txt: changed\n  c.txt: as you saw it\n',
      );
      expect(since.out).toContain('-fifty\n+FIFTY\n');
      expect(since.out).not.toMatch(/twenty\n.*|[ac]\.txt/);
      expect((await typed(s, 2, 'diff', run.stepKey, '--since', '2')).err).toContain(
        'earlier version, 1 to 1.',
      );

      // The file changes on disk: the proposal is carried over, and the base is another one.
      writeFileSync(join(s.repo, 'b.txt'), onDisk);
      await s.answer(run, 'approve');
      expect((await s.settle(run)).status.decision?.reason).toBe('conflict');
      await s.answer(run, 'rebase');
      expect((await s.settle(run)).status.decision?.reason).toBe('approval');
      await look(
        {},
        async (page) => {
          await page.getByText('the file itself changed in the meantime').waitFor();
          expect(await page.getByRole('region', { name: 'Changes' }).innerText()).toMatch(
            /line 2[^]*two, by a person/,
          );
        },
        'rebased',
      );
      expect((await typed(s, 0, 'diff', run.stepKey, '--since', '2')).err).toContain(
        '  b.txt: changed; the file itself changed in the meantime\n',
      );
      const both = JSON.parse(
        (await typed(s, 0, 'diff', run.stepKey, '--since', '1', '--json')).out,
      ) as unknown;
      expect(both).toMatchObject({ since: { version: 1 } });
      await s.answer(run, 'approve');
      expect((await s.end(run)).outcome).toBe('committed');
      // The person's own line stays theirs: on disk, in no commit of ours.
      expect(s.git('show', 'HEAD:b.txt')).toBe(second);
      expect(s.read('b.txt')).toBe(second.replace('line 2\n', 'two, by a person\n'));
    });
  });
});
