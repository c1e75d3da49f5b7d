/**
 * `npm run bench:page`: the review page before a proposal of 1,000 files and 100,000 changed lines, one of them 50,000 characters long, in
 * a real Chromium: weight, time to the first line, frames, and tasks of the page's thread over 50 ms (by the clock, and by the processor
 * time that they took, to which other load of the machine adds nothing) while a wheel turns and while the scroll bar is dragged from end to
 * end. Exit codes: 0 measured (whatever the numbers say), 1 not measured.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { brotliCompressSync } from 'node:zlib';
import { openEmend } from '../dist/src/client/index.js';
import { combinedDiff } from '../dist/src/edits/proposal/write-diff.js';
import { openBrowser } from '../scripts/pictures/browser.js';
import { openPage } from '../scripts/pictures/page.js';

const FILES = 1_000;
const CHANGED = 50; // lines of each file that go, and as many that come: 100,000 changed lines
const LONG_chars = 50_000;
const ROUNDS = 5;
const STEPS = 120; // jumps from end to end
const WHEEL = { turns: 100, turn_px: 600 };
const LONG_ms = 50;
const READS_ms = 5_000; // from the first line to the first turn of the wheel
const GOAL_calm = 3; // of ROUNDS without a longer task
const GOAL_KB = 300;
const KEY = 'b'.repeat(32);

const bytes = (text) => Buffer.from(text);
const fileOf = (i, word) =>
  Array.from({ length: 4 * CHANGED }, (_, n) =>
    n % 4 === 0
      ? `  const value${n} = ${word}(${i}, "a line of some length"); // ${n}\n`
      : `  keep(${n}, ${i});\n`,
  ).join('') + (i === 7 ? `// ${word} ${'x'.repeat(LONG_chars)}\n` : '');

/** An archived run with such a proposal, in a store of its own: what the server reads is what a real run leaves. */
const makeRun = async (emend) => {
  const files = Array.from({ length: FILES }, (_, i) => ({
    path: `src/part${i % 40}/file${i}.js`,
    base: bytes(fileOf(i, 'before')),
    result: bytes(fileOf(i, 'after')),
  }));
  const diff = combinedDiff(files);
  const id = createHash('sha256').update(diff).digest('hex');
  const proposal = {
    id,
    ref: await emend.blobs.put(
      bytes(JSON.stringify({ v: 2, id, stepKey: KEY, files: [], renames: [] })),
    ),
    diff: await emend.blobs.put(bytes(diff)),
    files: files.map(({ path }) => ({
      path,
      change: 'edit',
      by: 'model',
      added: CHANGED,
      removed: CHANGED,
      key: path,
    })),
    findings: [],
    tolerances: [],
    mustAsk: [],
  };
  const entry = (kind, data) => ({ v: 2, id: kind, at: new Date().toISOString(), kind, data });
  const started = {
    v: 2,
    workflowId: 'emend-bench',
    runId: 'r',
    title: 'A large change',
    jobPath: 'job.md',
    workspace: '/w',
  };
  await emend.archive.append(KEY, [
    entry('started', started),
    entry('activity', {
      name: 'buildProposal',
      attempt: 1,
      result: { v: 2, outcome: 'built', proposal },
    }),
  ]);
  return diff.length;
};

const weigh = async () => {
  const dir = join(import.meta.dirname, '..', 'dist', 'web');
  const names = (await readdir(dir, { recursive: true })).filter((name) =>
    /\.(js|css|html|svg)$/.test(name),
  );
  const sizes = await Promise.all(
    names.map(async (name) => [name, brotliCompressSync(await readFile(join(dir, name))).length]),
  );
  const sum = (rows) => rows.reduce((total, [, size]) => total + size, 0) / 1000;
  return { all: sum(sizes), first: sum(sizes.filter(([name]) => /index|icon/.test(name))) };
};

const SCROLL = `(async (steps) => {
  const frames = [];
  const height = document.documentElement.scrollHeight - innerHeight;
  let last = performance.now();
  let blank = 0;
  for (let i = 0; i <= steps; i++) {
    scrollTo(0, (height * i) / steps);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    const now = performance.now();
    frames.push(now - last);
    last = now;
    const middle = document.elementFromPoint(innerWidth * 0.6, innerHeight / 2);
    if (middle === null || middle.closest('[data-row]') === null) blank += 1;
  }
  return { frames, blank, rows: document.querySelectorAll('[data-row]').length, height };
})`;

/** As a person does it who looks for something; each turn waits until the browser has taken it. */
const wheel = async (page) => {
  await page.mouse.move(800, 500);
  for (let turn = 0; turn < WHEEL.turns; turn++) await page.mouse.wheel(0, WHEEL.turn_px);
};

/** The longest task of the page's thread meanwhile, by the clock and by processor time, in milliseconds; and what `use` returns. */
const traced = async (page, use) => {
  const browser = page.context().browser();
  await browser.startTracing(page, {
    categories: ['__metadata', 'disabled-by-default-devtools.timeline'],
  });
  const value = await use();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const threadOf = ({ pid, tid }) => `${pid} ${tid}`;
  const named = traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain',
  );
  const threads = new Set(named.map(threadOf));
  const tasks = traceEvents.filter(
    (event) => event.name === 'RunTask' && threads.has(threadOf(event)),
  );
  if (tasks.length === 0) throw new Error('the browser traced no task');
  // One that is still going on at the end has no length yet.
  const longest = (name) => Math.max(...tasks.map((task) => task[name] ?? 0)) / 1000;
  return { value, clock_ms: longest('dur'), processor_ms: longest('tdur') };
};

const measure = async (browser, web) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(web.address());
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  const from = performance.now();
  await page.goto(`${web.url}/#/run/${KEY}/review`);
  await page.reload();
  await page.locator('[data-row] .text').first().waitFor();
  const firstLine_ms = performance.now() - from;
  const paint = await page.evaluate(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null",
  );
  await page.locator('.k-string').first().waitFor();
  await page.waitForTimeout(READS_ms);
  const wheeled = await traced(page, () => wheel(page));
  const { value: scrolled, ...jumped } = await traced(page, () =>
    page.evaluate(`${SCROLL}(${STEPS})`),
  );
  await page.getByRole('searchbox', { name: 'Search in the changes' }).fill('x'.repeat(60));
  const searching = performance.now();
  await page.keyboard.press('Enter');
  await page.locator('mark').first().waitFor();
  const search_ms = performance.now() - searching;
  await context.close();
  return { firstLine_ms, paint, search_ms, wheeled, jumped, ...scrolled };
};

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = (value) => `${Math.round(value)} ms`;

const run = async () => {
  const browser = await openBrowser();
  const home = await mkdtemp(join(tmpdir(), 'emend-bench-page-'));
  const emend = await openEmend({ env: { ...process.env, EMEND_HOME: home }, local: true });
  const web = await openPage(emend, 'bench');
  try {
    const diff_bytes = await makeRun(emend);
    const weight = await weigh();
    const rounds = [];
    for (let i = 0; i < ROUNDS; i++) {
      rounds.push(await measure(browser, web));
      const { wheeled, jumped } = rounds[i];
      console.error(`round ${i + 1}: longest tasks ${JSON.stringify({ wheeled, jumped })}`);
    }
    const of = (name) => median(rounds.map((round) => round[name]));
    const frames = rounds.flatMap((round) => round.frames).sort((a, b) => a - b);
    const calm = (how, what) => rounds.filter((round) => round[how][what] <= LONG_ms).length;
    const longTasks = (how, words) =>
      [
        ['clock_ms', 'by the clock'],
        ['processor_ms', 'by processor time'],
      ].map(([what, unit]) => [
        `${words}: rounds without a task over ${LONG_ms} ms, ${unit} (longest task of each round)`,
        `${calm(how, what)} of ${ROUNDS} (${rounds.map((round) => Math.round(round[how][what])).join(', ')} ms)`,
        `at least ${GOAL_calm} of ${ROUNDS}`,
      ]);
    const rows = [
      ['weight, all of it, brotli', `${weight.all.toFixed(0)} KB`, `< ${GOAL_KB} KB`],
      ['weight, what every visit loads', `${weight.first.toFixed(0)} KB`, ''],
      [
        `diff (${FILES} files, ${2 * CHANGED * FILES} changed lines)`,
        `${(diff_bytes / 1e6).toFixed(1)} MB`,
        '',
      ],
      ['first paint', ms(of('paint')), ''],
      ['from the address to the first line of the diff', ms(of('firstLine_ms')), ''],
      ...longTasks('wheeled', `${WHEEL.turns} turns of the wheel, ${WHEEL.turn_px} px each`),
      ...longTasks('jumped', `${STEPS} jumps from end to end`),
      [`a jump of 1/${STEPS} of the length until drawn, median`, ms(median(frames)), ''],
      ['the same, 95 of 100', ms(frames[Math.floor(frames.length * 0.95)]), ''],
      ['the same, longest', ms(frames.at(-1)), ''],
      [
        'jumps that showed nothing',
        String(rounds.reduce((sum, round) => sum + round.blank, 0)),
        '0',
      ],
      ['rows in the document', String(of('rows')), ''],
      ['search over all lines', ms(of('search_ms')), ''],
    ];
    for (const row of [['what', `median of ${ROUNDS}`, 'goal'], ['---', '---', '---'], ...rows])
      console.log(`| ${row.join(' | ')} |`);
  } finally {
    await browser.close();
    await web.close();
    await emend.close();
    await rm(home, { recursive: true, force: true });
  }
};

await run().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
