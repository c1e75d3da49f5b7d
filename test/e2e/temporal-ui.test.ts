/**
 * The Temporal UI as `emend dev` serves it, in a real browser: its page for who is not signed in, a run that its form *Start Workflow*
 * starts, and that run's decision, answered by its forms *Send a Signal* and *Send an Update* with the body that the details show.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { longOnly } from '../support/skipped.js';
import { eventually } from './ends.js';
import { inBrowser, launch } from './page-support.js';
import { scene, whole, type Scene } from './support.js';

const long = longOnly('it drives the Temporal UI, which takes its time to draw');

const FILES = Array.from({ length: 20 }, (_, index) => `src/a-file-with-a-long-name-${index}.js`);
const BRIEF = {
  name: 'brief',
  match: { contains: 'Now write the brief' },
  answer: 'Names stay.\nEMEND-COMPLETE {{nonce}} 0 0\n',
};
const answerFor = (path: string) => ({
  name: path,
  match: { regex: `^# Files you may edit\n\n- ${path}$` },
  answer: whole({ [path]: 'const a = 2;\n' }),
});
const INPUT = {
  task: '# Raise the number\n\nSet a to 2.',
  targetFiles: FILES,
  test: 'node --version',
  commit: true,
  approval: 'ask',
};
/** The longest address that the review page's server takes: the details must be longer to show that the UI has more room. */
const PAGE_URL_CHARS = 4_096;
const DEV_READY = /review page {2}(?<page>http\S+)\nTemporal UI {2}(?<ui>http\S+)/;

let s: Scene;
let dev: ChildProcess;
let browser: Browser;
let context: BrowserContext;
let ui: string;
let base: string;

/** Starts `emend dev` in a home of its own. Returns the addresses that it prints. */
const startDev = async (): Promise<{ readonly page: string; readonly ui: string }> => {
  dev = spawn(process.execPath, [join(process.cwd(), 'dist/client.js'), 'dev', '--port', '0'], {
    cwd: s.repo,
    env: {
      ...s.env,
      NODE_OPTIONS: '',
      EMEND_HOME: join(s.home, '..', 'dev home'),
      EMEND_QUEUE: undefined,
      TEMPORAL_ADDRESS: undefined,
      EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  dev.stdout!.on('data', (part: Buffer) => (output += part.toString()));
  const { page = '', ui: address = '' } = await eventually('emend dev is ready', () =>
    Promise.resolve(DEV_READY.exec(output)?.groups ?? null),
  );
  return { page, ui: address };
};

const type = async (editor: Locator, page: Page, value: unknown): Promise<void> => {
  await editor.click();
  await page.keyboard.insertText(JSON.stringify(value));
};

const startByForm = async (page: Page, workflowId: string): Promise<void> => {
  await page.goto(`${ui}/namespaces/default/workflows/start-workflow`);
  await page.locator('#workflowId').fill(workflowId);
  await page.locator('#taskQueue').fill('emend');
  await page.locator('#workflowType').fill('editStep');
  await type(page.locator('main .cm-content').first(), page, { workspace: s.repo, ...INPUT });
  // The editor puts the input on many lines when it loses the focus, which moves the button.
  await page.locator('#workflowId').click();
  await page.locator('main .cm-line', { hasText: '"approval": "ask"' }).waitFor();
  await page.getByRole('button', { name: 'Start Workflow' }).click();
  await page.getByRole('link', { name: 'Workflow started successfully' }).waitFor();
};

const atRun = async (page: Page, workflowId: string, tab: RegExp): Promise<void> => {
  await page.goto(`${ui}/namespaces/default/workflows/${workflowId}`);
  await page.getByRole('tab', { name: tab }).click();
};

/** Returns what the UI shows as current details once the run asks, and the address by which it shows them. */
const detailsOf = (page: Page, workflowId: string): Promise<{ text: string; address: string }> =>
  eventually('the details of the decision', async () => {
    await atRun(page, workflowId, /User Metadata/);
    const frame = page.locator('iframe').last();
    const answers = frame.contentFrame().getByText('Send one of these');
    const shown = await answers.waitFor({ timeout: 3_000 }).then(
      () => true,
      () => false,
    );
    if (!shown) return null;
    return {
      text: await frame.contentFrame().locator('body').innerText(),
      address: (await frame.getAttribute('src')) ?? '',
    };
  });

const answerByForm = async (page: Page, form: 'signal' | 'update', body: string): Promise<void> => {
  await page.getByRole('button', { name: 'More Actions' }).first().click();
  const item = form === 'signal' ? /Send a Signal/ : /Send an Update/;
  await page.getByRole('menuitem', { name: item }).click();
  const dialog = page.locator('[role=dialog]:visible, dialog[open]');
  await dialog.getByTestId(`${form}-select-button`).click();
  await dialog.getByRole('option', { name: /^approve/ }).click();
  await type(dialog.locator('.cm-content').last(), page, JSON.parse(body));
  await dialog.getByRole('button', { name: 'Submit' }).click();
};

inBrowser()('the Temporal UI of emend dev', () => {
  beforeAll(async () => {
    if (process.env.EMEND_LONG !== '1') return;
    s = await scene(
      {
        ...Object.fromEntries(FILES.map((path) => [path, 'const a = 1;\n'])),
        'emend.yaml': 'baseline: off\n',
      },
      [BRIEF, ...FILES.map(answerFor)],
    );
    base = s.git('rev-parse', 'HEAD').trim();
    const addresses = await startDev();
    ui = addresses.ui;
    browser = await launch();
    context = await browser.newContext({ viewport: { width: 1280, height: 1_000 } });
    const page = await context.newPage();
    await page.goto(`${ui}/namespaces/default/workflows`);
    await page.getByRole('heading', { name: 'Sign in to see the Temporal UI' }).waitFor();
    await page.goto(addresses.page);
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.close();
  }, 60_000);
  afterAll(async () => {
    if (process.env.EMEND_LONG !== '1') return;
    await browser.close();
    const exit = once(dev, 'exit');
    dev.kill('SIGTERM');
    await exit;
    await s.close();
  }, 60_000);

  long.each(['signal', 'update'] as const)(
    'a run that *Start Workflow* starts shows its task and its decision, and ends by *Send* of a %s with the body that its details show',
    async (form) => {
      const page = await context.newPage();
      s.git('reset', '-q', '--hard', base);
      const workflowId = `from-the-ui-${form}`;
      await startByForm(page, workflowId);

      const { text, address } = await detailsOf(page, workflowId);
      const [title, ...rest] = text.trim().split(/\n+/);
      expect(title).toMatch(/^Raise the number · Review page · emend review \w{8} · emend show/);
      expect(rest[0]).toBe('waiting for a decision: approval');
      expect(address.length).toBeGreaterThan(PAGE_URL_CHARS);
      expect(text).toContain(`${FILES.at(-1)} done, whole-file`);
      const [, body = '', decision = ''] = /^approve (\{"decision": "(\S+)"\})/m.exec(text) ?? [];

      await atRun(page, workflowId, /Search Attributes/);
      await page.getByText(`"${decision}"`).waitFor();
      await answerByForm(page, form, body);
      await eventually('the outcome among the search attributes', async () => {
        await atRun(page, workflowId, /Search Attributes/);
        await page.getByText('"EmendStepKey"').waitFor();
        const shown = await page.locator('main').innerText();
        return shown.includes('"committed"') ? shown : null;
      });

      await page.getByRole('tab', { name: /Timeline/ }).click();
      const input = page.locator('.cm-content', { hasText: '"targetFiles"' });
      expect(await input.innerText()).toMatch(
        /^\{\s*"workspace": .*\s*"task": "# Raise the number/,
      );
      expect(s.git('log', '-1', '--format=%s').trim()).toBe('Raise the number');
      await page.close();
    },
    90_000,
  );
});
