/** The page's list over many ended runs, in a real browser: search, filters and pages, by mouse and by keyboard alone. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { fakeEmend, FakeServer } from '../client/fake.js';
import { endOf, keyOf, planStarted, startOf } from '../client/run-index/runs.js';
import type { Emend } from '../../src/client/types.js';
import {
  inBrowser,
  launch,
  openPage,
  servePage,
  violations,
  type ServedPage,
} from './page-support.js';

/** A browser starts slowly beside others' work. */
jest.setTimeout(120_000);
const RUNS = 130;
const OPEN = 'b'.repeat(32);
const FIRST = () => 0;

/** 130 ended runs in three repositories, the newest with the highest number; the oldest is of a plan. And one that is open. */
const manyRuns = async (): Promise<Emend> => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  for (let n = 0; n < RUNS; n += 1) {
    const workspace = `/w/${['one', 'two', 'three'][n % 3] ?? ''}`;
    const time = new Date(1e12 + n * 60_000).toISOString();
    const title = n % 10 === 7 ? `Job ${n} Needle` : `Job ${n}`;
    const jobPath = n === 0 ? 'plans/010_demo' : `jobs/${n}.md`;
    const entries = [startOf(FIRST, n, { title, workspace, jobPath }), endOf(FIRST, n)];
    if (n === 0) entries.splice(1, 0, planStarted(jobPath));
    await emend.archive.append(
      keyOf(n),
      entries.map((entry) => ({ ...entry, at: time })),
    );
  }
  server.add(OPEN, 'emend-open', { waits: { reason: 'approval', decision: '1-x' } });
  server.follow = (_ref, _after, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve());
    });
  return emend;
};

inBrowser()('the list of many runs', () => {
  let served: ServedPage;
  let browser: Browser;
  beforeAll(async () => {
    served = await servePage(await manyRuns());
    browser = await launch();
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await served.close();
    expect(served.errors).toEqual([]);
  });
  const visit = async (look: (page: Page) => Promise<void>): Promise<void> => {
    const { page, faults } = await openPage(await browser.newContext(), served);
    await look(page);
    expect(faults).toEqual([]);
    await page.context().close();
  };
  const shown = async (page: Page, status: string): Promise<readonly string[]> => {
    await page.getByRole('status').filter({ hasText: status }).waitFor();
    return page.locator('.run-title').allInnerTexts();
  };

  test('goes through all runs, older and newer', () =>
    visit(async (page) => {
      const first = await shown(page, 'Page 1: 51 runs; 80 older runs.');
      expect([first.length, first[1]]).toEqual([51, 'Job 129']);
      expect(await page.getByRole('button', { name: 'Newer' }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Older' }).click();
      expect((await shown(page, 'Page 2: 50 runs; 30 older runs.'))[0]).toBe('Job 79');
      await page.getByRole('button', { name: 'Older' }).click();
      const last = await shown(page, 'Page 3: 30 runs; 0 older runs.');
      expect([last[0], last.at(-1)]).toEqual(['Job 29', 'Job 0']);
      expect(await page.getByRole('button', { name: 'Older' }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Newer' }).click();
      await shown(page, 'Page 2: 50 runs; 30 older runs.');
      await page.getByRole('button', { name: 'Older' }).click();
      await page.getByRole('button', { name: 'Newest' }).click();
      expect((await shown(page, 'Page 1: 51 runs'))[1]).toBe('Job 129');
    }));

  test('searches all runs, and filters by repository, plan and state', () =>
    visit(async (page) => {
      await shown(page, 'Page 1');
      await page.getByRole('searchbox', { name: 'Search' }).fill('NEEDLE w/two');
      expect(await shown(page, 'Page 1: 5 runs; 0 older runs.')).toEqual(
        [127, 97, 67, 37, 7].map((n) => `Job ${n} Needle`),
      );
      await page.getByRole('searchbox', { name: 'Search' }).fill('');
      await page.getByLabel('Repository').selectOption('/w/three');
      await shown(page, 'Page 1: 43 runs; 0 older runs.');
      await page.getByLabel('Repository').selectOption('all');
      await page.getByLabel('Plan').selectOption('plans/010_demo');
      expect(await shown(page, 'Page 1: 1 run; 0 older runs.')).toEqual(['Job 0']);
      await page.getByLabel('State').selectOption('failed');
      await page.getByText('No run matches.').waitFor();
      await page.getByLabel('Plan').selectOption('all');
      await page.getByLabel('State').selectOption('waiting');
      expect(await shown(page, 'Page 1: 1 run;')).toEqual(['A job']);
      expect(await violations(page)).toEqual([]);
    }));

  test('with the keyboard alone', () =>
    visit(async (page) => {
      await shown(page, 'Page 1');
      await page.keyboard.press('/');
      await page.keyboard.type('demo');
      expect(await shown(page, 'Page 1: 1 run;')).toEqual(['Job 0']);
      await page.keyboard.press('Control+a');
      await page.keyboard.press('Delete');
      await page.keyboard.press('Escape');
      await shown(page, 'Page 1: 51 runs');
      await page.keyboard.press(']');
      await shown(page, 'Page 2');
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForURL(new RegExp(`#/run/${keyOf(79)}$`));
      // The address changes before the page does.
      await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor({ state: 'detached' });
      await page.keyboard.press('g');
      await shown(page, 'Page 1');
      await page.keyboard.press(']');
      await shown(page, 'Page 2');
      await page.keyboard.press('[');
      await shown(page, 'Page 1');
    }));

  test('says what is wrong with a place that is none', async () => {
    await visit(async (page) => {
      const answer = (query: string) =>
        page.evaluate(
          `fetch('/api/runs?${query}', { headers: { 'x-emend-key': localStorage.getItem('emend-key') } }).then(async (r) => [r.status, await r.text()])`,
        );
      expect(await answer('before=never')).toEqual([
        400,
        expect.stringContaining('is no day or time'),
      ]);
      expect(await answer('limit=0')).toEqual([400, expect.stringContaining('from 1 to 1000')]);
      expect(await answer('limit=2')).toEqual([200, expect.stringContaining('"left_off":128')]);
    }).catch((error: unknown) => {
      // A browser reports each answer of 400 as an error of the page.
      if (!String(error).includes('the server responded with a status of 400')) throw error;
    });
  });
});
