/**
 * `npm run pictures`: the pictures of README and docs, made from the running program, into docs/pictures: a job in a terminal from its
 * start to the commit, another on the review page, and its approval from the Temporal UI. Both jobs are the demo's, on the demo's stage.
 * Needs python3 (a pseudo-terminal) and Chromium. Exit codes: 0 made, 1 not; `-- --dir DIR` puts them elsewhere.
 */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build } from './build.js';
import { ensureInstalled, root } from './install.js';

/** The address of a run is the longest line. */
const COLUMNS = 122;
const RUN_MS = 90_000;

const terminal = async (repo) => {
  const line = 'emend run jobs/small-files.md';
  const words = [process.execPath, join(root, 'dist', 'client.js'), ...line.split(' ').slice(1)];
  const steps = JSON.stringify([
    // The change is in the pager until it is left; then one key answers.
    [':\u001b[K', 'q'],
    ['\n> ', 'a'],
    // Several files: the key asks again.
    ['or paths] ', 'y\r'],
  ]);
  const driver = join(root, 'test', 'support', 'terminal.py');
  const { stdout } = await promisify(execFile)(
    'python3',
    [driver, String(COLUMNS), steps, ...words],
    {
      cwd: repo,
      timeout: RUN_MS,
    },
  );
  const { out, exit, missing } = JSON.parse(stdout);
  if (exit !== 0 || missing !== null)
    throw new Error(`${line}: exit ${exit}, did not show ${missing}:\n${out}`);
  const { terminalSvg } = await import('./pictures/terminal-svg.js');
  return terminalSvg({
    output: `\u001b[1m$ ${line}\u001b[22m\r\n${out}`,
    columns: COLUMNS,
    title: line,
  });
};

/** Another job, up to its approval. */
const startJob = async (stage) => {
  const { readJobFile, resolveRun, startStep, waitForRun } =
    await import('../dist/src/client/index.js');
  const job = await readJobFile({
    jobPath: join(stage.repo, 'jobs', 'large-files.md'),
    workspace: stage.repo,
    cwd: stage.repo,
  });
  const { stepKey } = await startStep(stage.emend, { job });
  const run = await resolveRun(stage.emend, stepKey);
  await waitForRun(stage.emend, run, {});
  return run;
};

const reviewPage = async (browser, stage, pathOf) => {
  const { drawn, visit } = await import('./pictures/browser.js');
  const { openPage } = await import('./pictures/page.js');
  const web = await openPage(stage.emend, 'ada');
  try {
    for (const colorScheme of ['light', 'dark'])
      await visit(browser, { colorScheme, pathOf }, async (page, picture) => {
        await page.goto(web.address());
        const run = page.getByRole('link', { name: /baseConvert|Lodash|large/i }).first();
        await run.waitFor();
        if (colorScheme === 'light') await picture('runs');
        await run.click();
        await page.locator('.k-string').first().waitFor();
        // To the first change, below the head of its file.
        await page.keyboard.press('n');
        await drawn(page);
        await picture(`review-${colorScheme}`);
      });
  } finally {
    await web.close();
  }
};

const SIZE = { width: 1280, height: 760 };
/** As docs/temporal-ui.md says it, step by step. */
const temporalUi = async (browser, stage, run, pathOf) => {
  const { showRun, waitForRun } = await import('../dist/src/client/index.js');
  const { drawn, visit } = await import('./pictures/browser.js');
  const { decision } = (await showRun(stage.emend, run)).status;
  await visit(browser, { pathOf, size: SIZE }, async (page, picture) => {
    const query = encodeURIComponent('`EmendState`="waiting"');
    await page.goto(`${stage.server.hiddenUi}/namespaces/default/workflows?query=${query}`);
    await page.getByRole('link', { name: run.live.workflowId }).first().waitFor();
    await drawn(page);
    await picture('temporal-1-list');
    await page.getByRole('link', { name: run.live.workflowId }).first().click();
    await page.getByRole('tab', { name: /User Metadata/ }).click();
    // The whole of the details is to be seen.
    await page.setViewportSize({ width: 1280, height: 2_100 });
    await drawn(page);
    const details = page.locator('iframe').last();
    await details.contentFrame().getByText(decision.id).first().waitFor();
    await drawn(page);
    await picture('temporal-2-details', details);
    await page.setViewportSize(SIZE);
    await page.getByRole('button', { name: 'More Actions' }).first().click();
    await page.getByRole('menuitem', { name: /Send a Signal/ }).click();
    const dialog = page.locator('[role=dialog]:visible, dialog[open]');
    await dialog.getByTestId('signal-select-button').click();
    await dialog.getByRole('option', { name: /^approve/ }).click();
    await dialog.locator('.cm-content').click();
    await page.keyboard.type(JSON.stringify({ decision: decision.id }));
    await drawn(page);
    await picture('temporal-3-signal', dialog);
    await dialog.getByRole('button', { name: 'Submit' }).click();
    const { result } = await waitForRun(stage.emend, run, { throughPauses: true });
    if (result?.outcome !== 'committed')
      throw new Error(`the signal did not lead to a commit: ${result?.outcome}`);
    // What was fetched before the signal stays in the heading otherwise.
    await page.reload();
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.getByText('"committed"').first().waitFor();
    await drawn(page);
    await picture('temporal-4-done');
  });
};

const makePictures = async (dir) => {
  const { openFolder, useOwnSettings } = await import('../demo/folder.js');
  const { openStage } = await import('../demo/stage.js');
  const { processIo } = await import('../dist/src/cli/io.js');
  const { findTemporalCli } = await import('../dist/src/temporal/cli-binary.js');
  const { openBrowser } = await import('./pictures/browser.js');
  const io = processIo();
  const cli = await findTemporalCli({ env: process.env, log: io.err });
  const browser = await openBrowser();
  const folder = await openFolder();
  useOwnSettings(folder);
  try {
    const repository = { beside: { jobs: 'jobs' }, script: 'rehearsal.yaml' };
    const stage = await openStage({
      io,
      cli,
      folder,
      repository,
      signal: new globalThis.AbortController().signal,
    });
    try {
      const pathOf = (name) => join(dir, name);
      await mkdir(dir, { recursive: true });
      await writeFile(pathOf('terminal.svg'), await terminal(stage.repo));
      console.log(`  ${pathOf('terminal.svg')}`);
      const run = await startJob(stage);
      await reviewPage(browser, stage, pathOf);
      await temporalUi(browser, stage, run, pathOf);
    } finally {
      await stage.close();
    }
  } finally {
    await browser.close();
    await rm(folder.dir, { recursive: true, force: true, maxRetries: 3 });
  }
};

const { dir } = parseArgs({ options: { dir: { type: 'string' } } }).values;
await ensureInstalled();
await build();
await makePictures(resolve(dir ?? join(root, 'docs', 'pictures'))).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
// Temporal's native library may hold the process for a moment after all is closed.
process.exit(process.exitCode ?? 0);
