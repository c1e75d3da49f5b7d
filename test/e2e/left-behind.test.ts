/**
 * `emend dev` is killed: its server stays and its worker is gone. Everything that people look at says within 10 s that nobody serves the
 * queue, which one, and what starts a worker; `emend dev` again ends the server that was left and goes on on its database.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import { WORKER_BEAT_MS } from '../../src/temporal/live-workers.js';
import { alive } from '../support/alive.js';
import { inBrowser, listAndRun, inPages } from './page-support.js';
import { scene, whole, type Scene } from './support.js';
import { serverOf, terminals } from './terminals.js';

jest.setTimeout(180_000);

/** 10 s where the machine is idle (src/temporal/live-workers.ts: two beats of 2 s, and one more look); a busy one is given more. */
const TOLD_MS = 30_000;
const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nRaise it.\n';
const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'let a = 2;\n' }) },
];

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

test('emend dev is killed: run, doctor, list and show say so within 10 s; started again it ends its old server and goes on', async () => {
  const s = await terminals({ 'a.js': 'let a = 1;\n' }, RULES);
  open = s;
  writeFileSync(join(s.repo, 'job.md'), JOB);
  const dev = s.type('emend dev --no-web');
  await dev.says(/Ctrl-C stops/);
  const left = serverOf(s);
  const run = s.type('emend run job.md --wait');
  await run.says(/waiting for you: approval[^]*emend approve \S+ --decision \S+/);
  const approve = /emend (approve \S+ --decision \S+)/.exec(run.said())?.[1] ?? '';
  const shown = approve.split(' ')[1] ?? '';
  expect((await s.done('emend doctor')).said).toMatch(/^ok +worker/m);

  // Before its first beat a worker is known by its poll alone, which tells of its death after 90 s.
  await sleep(2 * WORKER_BEAT_MS);
  const heard = run.said().length;
  await dev.kill('SIGKILL');
  expect(alive(left.pid)).toBe(true);
  const killed = performance.now();
  const queue = s.env.EMEND_QUEUE ?? '';
  const told = new RegExp(`No worker serves the task queues? ${queue}\\b[^]*emend worker`);
  const untilTold = async (command: string, exit: number): Promise<string> => {
    for (;;) {
      const { code, said } = await s.done(command);
      if (code === exit && told.test(said)) return said;
      expect(performance.now() - killed).toBeLessThan(TOLD_MS);
    }
  };
  const [list, show] = await Promise.all([
    untilTold('emend list', 0),
    // Typed at once: it cannot know yet from the list of workers, but nobody answers it.
    s.done(`emend show ${shown}`),
    untilTold('emend doctor', 7),
    run.says(told, TOLD_MS, heard),
  ]);
  expect(performance.now() - killed).toBeLessThan(TOLD_MS);
  expect(show).toMatchObject({ code: 0, said: expect.stringMatching(told) });
  // The server knows what the run waits for, also without a worker.
  expect(list).toContain('waiting');

  const again = s.type('emend dev --no-web');
  await again.says(/Ctrl-C stops/);
  expect(again.said()).toContain(
    `Stopped the Temporal server (pid ${left.pid}) left behind by a killed \`emend dev\``,
  );
  expect([alive(left.pid), serverOf(s).address]).toEqual([false, left.address]);
  await run.says(/A worker is available again/, TOLD_MS);
  expect(await s.done(`emend ${approve}`)).toMatchObject({ code: 0 });
  await run.says(/committed 1 file/);
  // Beside one that lives there is no second.
  const second = await s.done('emend dev');
  expect(second).toMatchObject({ code: 2, said: expect.stringContaining(`kill ${again.pid}`) });
  const { pid } = serverOf(s);
  await again.kill('SIGTERM');
  expect(alive(pid)).toBe(false);
});

inBrowser()('the page', () => {
  test('says within 10 s that nobody serves the queue, in the list and on the run; and no more once somebody does', async () => {
    const s = (open = await scene({ 'a.js': 'let a = 1;\n' }, RULES));
    const worker = await s.worker();
    const run = await s.start('job.md', JOB);
    await s.settle(run);
    await inPages({ emend: s.emend }, async (browser, served) => {
      const [list, one] = await listAndRun(browser, served, /Grow/);
      const note = (page: typeof list) =>
        page.getByText(/No worker serves the task queues? t-.*emend worker/);
      expect([await note(list).count(), await note(one).count()]).toEqual([0, 0]);
      await worker.kill();
      await Promise.all([list, one].map((page) => note(page).waitFor({ timeout: TOLD_MS })));
      await s.worker();
      await Promise.all(
        [list, one].map((page) => note(page).waitFor({ state: 'detached', timeout: TOLD_MS })),
      );
    });
  });
});
