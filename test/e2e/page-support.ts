/** What tests of the review page share: a page over a scene, a real Chromium, axe. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import type { Emend } from '../../src/client/index.js';
import { loadAssets, startWeb, type WebServer } from '../../src/web/server.js';
import { describeIf } from '../support/skipped.js';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
];
/** The system's browser; null where there is none. */
const browserPath = (): string | null =>
  [process.env.EMEND_TEST_BROWSER ?? '', ...PLACES].find(
    (path) => path !== '' && existsSync(path),
  ) ?? null;

/** Tests in a real browser; where there is none they are skipped, with what installs one. */
export const inBrowser = (): ReturnType<typeof describeIf> =>
  describeIf(
    browserPath() !== null,
    "no Chromium for the review page's tests; apt-get install chromium (or EMEND_TEST_BROWSER=/path/to/chrome)",
  );

export const launch = (more: readonly string[] = []): Promise<Browser> =>
  chromium.launch({
    executablePath: browserPath() ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...more],
  });

export interface ServedPage extends WebServer {
  /** The address with the token that is good now. */
  address(): string;
  readonly errors: readonly unknown[];
}

export const servePage = async (
  emend: Emend,
  more: {
    port?: number;
    secret?: string;
    publicUrl?: string;
    host?: string;
    ui?: string | null;
  } = {},
): Promise<ServedPage> => {
  let address = '';
  const errors: unknown[] = [];
  const server = await startWeb({
    host: more.host ?? '127.0.0.1',
    port: more.port ?? 0,
    secret: more.secret ?? null,
    publicUrl: more.publicUrl ?? null,
    person: 'ada',
    assets: await loadAssets(join(process.cwd(), 'dist', 'web')),
    source: () => Promise.resolve(emend),
    ui: more.ui == null ? null : () => Promise.resolve(more.ui ?? null),
    onAddress: (next) => {
      address = next;
    },
    onError: (error) => errors.push(error),
  });
  return { ...server, address: () => address, errors };
};

/** Where screenshots go; kept as test output. */
export const picture = async (page: Page, name: string): Promise<void> => {
  const dir = join(process.cwd(), '.emend-test', 'pages');
  mkdirSync(dir, { recursive: true });
  await page.screenshot({ path: join(dir, `${name}.png`) });
};

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}
/** What axe-core finds wrong with what is shown, in one line each. */
export const violations = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axeSource);
  const found = await page.evaluate<readonly Violation[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations)',
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map((node) => `${id}: ${node.html} ${node.failureSummary ?? ''}`),
  );
};

/** A signed-in page whose errors (of scripts, of the policy) are kept. */
export const openPage = async (
  context: BrowserContext,
  served: ServedPage,
): Promise<{ readonly page: Page; readonly faults: readonly string[] }> => {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  await page.goto(served.address());
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  return { page, faults };
};

/** The list of runs, and the page of the run that a link to `title` leads to, which asks for approval; each signed in by itself. */
export const listAndRun = async (
  browser: Browser,
  served: ServedPage,
  title: RegExp,
): Promise<readonly [Page, Page]> => {
  const list = (await openPage(await browser.newContext(), served)).page;
  const one = (await openPage(await browser.newContext(), served)).page;
  await one.getByRole('link', { name: title }).click();
  await one.getByRole('button', { name: 'Approve all' }).waitFor();
  return [list, one];
};

/** With a browser and a page's server for it, in which nothing may fail; both end with `look`, and then what `close` closes. */
export const inPages = async (
  { emend, close }: { readonly emend: Emend; readonly close?: () => Promise<void> },
  look: (browser: Browser, served: ServedPage) => Promise<void>,
): Promise<void> => {
  const served = await servePage(emend);
  const browser = await launch();
  try {
    await look(browser, served);
  } finally {
    await browser.close();
    await served.close();
    await close?.();
  }
  expect(served.errors).toEqual([]);
};

/** A page at `at` (`#/run/…`) in a browser of its own, light or dark and so wide. Nothing may fail in it, nor in its server. */
export const onPage = async (
  emend: Emend,
  {
    at,
    colorScheme,
    width,
  }: { readonly at: string; readonly colorScheme: 'light' | 'dark'; readonly width: number },
  look: (page: Page) => Promise<void>,
): Promise<void> => {
  await inPages({ emend }, async (browser, served) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const { page, faults } = await openPage(context, served);
    await page.goto(`${served.url}/${at}`);
    await look(page);
    expect(faults).toEqual([]);
  });
};
