/** `emend list` with its filters and pages, and the function behind it that the review page's list filters by, too. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { main } from '../../../src/cli/main.js';
import { listRuns, type RunList } from '../../../src/client/runs/list.js';
import type { Emend } from '../../../src/client/types.js';
import { createArchive } from '../../../src/stores/directory/archive.js';
import { problem, ProblemError } from '../../../src/shared/problems.js';
import { hostId, resolveHome } from '../../../src/stores/home.js';
import { storePaths } from '../../../src/stores/location.js';
import { fakeIo } from '../../cli/io.js';
import type { ArchiveEntry } from '../../../src/stores/ports.js';
import { fakeEmend, FakeServer, startedData } from '../fake.js';

const keyOf = (n: number): string => n.toString(16).padStart(32, 'c');
/** An archived run, the newest last; `done`: it ended well. */
const archived = async (
  archive: Emend['archive'],
  n: number,
  { done, ...data }: { title: string; workspace: string; done?: boolean },
): Promise<void> => {
  const at = new Date(n * 60_000).toISOString();
  await archive.append(keyOf(n), [{ id: 'started', at, kind: 'started', data: startedData(data) }]);
  if (done !== true) return;
  const closed = { status: 'CANCELLED', result: null, message: 'cancelled' };
  await archive.append(keyOf(n), [{ id: 'closed', at, kind: 'closed', data: closed }]);
};

test('filters open and archived runs alike, all that is given at once, and looks past the newest 50 for what matches', async () => {
  const server = new FakeServer();
  server.add('11110000', 'emend-1', { waits: { reason: 'approval', decision: '1-x' } });
  server.add('22220000', 'emend-2');
  const emend = await fakeEmend(server);
  await archived(emend.archive, 1, { title: 'The oldest', workspace: '/other', done: true });
  for (let n = 2; n < 60; n++)
    await archived(emend.archive, n, { title: `Job ${n}`, workspace: '/w', done: true });
  const keys = async (filter: Parameters<typeof listRuns>[1]) =>
    (await listRuns(emend, filter)).runs.map(({ stepKey }) => stepKey);
  expect((await listRuns(emend)).left_off).toBe(9);
  expect(await keys({ filter: { state: 'waiting' } })).toEqual(['11110000']);
  expect(await keys({ filter: { text: ' APPROVAL ' } })).toEqual(['11110000']);
  expect(await keys({ filter: { state: 'running', text: 'approval' } })).toEqual([]);
  expect(await keys({ filter: { text: 'the oldest' } })).toEqual([keyOf(1)]);
  expect(await keys({ filter: { workspace: '/other' } })).toEqual([keyOf(1)]);
  expect(await keys({ filter: { text: keyOf(7).slice(-6) } })).toEqual([keyOf(7)]);
  expect(await listRuns(emend, { filter: { state: 'aborted' } })).toMatchObject({
    left_off: 9,
    runs: { length: 50 },
  });
  expect(await listRuns(emend, { filter: { text: 'the oldest' } })).toMatchObject({ left_off: 0 });
});

test('a run of a pause that another Emend has, and archives that are as none writes them, hide no others', async () => {
  const emend = await fakeEmend(new FakeServer());
  await archived(emend.archive, 1, { title: 'One', workspace: '/w' });
  const at = new Date(0).toISOString();
  const paused = {
    seq: 1,
    at: 1,
    type: 'edit_step_paused',
    reason: 'of_next_year',
    decision: '1-x',
    progress: { done: 0, failed: 0, skipped: 0, total: 0 },
  };
  const wrong: readonly (readonly [kind: ArchiveEntry['kind'], data: object])[] = [
    ['event', paused],
    ['event', { seq: 1, at: 1, type: 'decided' }],
    ['event', { ...paused, at: 8.65e15 }],
    ['started', startedData({ title: 5 })],
    ['decision', { request: null, result: { outcome: 'resolved' } }],
  ];
  for (const [index, [kind, data]] of wrong.entries())
    await emend.archive.append(keyOf(10 + index), [{ id: 'x', at, kind, data }]);
  const { runs } = await listRuns(emend);
  expect(runs.map(({ title, state, doing }) => [title, state, doing]).sort()).toEqual(
    [
      ['', 'unknown', 'nothing known yet'],
      ...wrong
        .slice(1)
        .map(() => ['', 'unknown', expect.stringContaining('Damaged entries of its archive')]),
      ['One', 'unknown', 'nothing known yet'],
    ].sort(),
  );
});

test('a log that is no file, or cannot be read, is waited for by nobody and hides no other run', async () => {
  const emend = await fakeEmend(new FakeServer());
  await archived(emend.archive, 1, { title: 'One', workspace: '/w' });
  const logOf = async (n: number): Promise<string> => {
    const place = join(storePaths(emend.store).archive, keyOf(n));
    await mkdir(place, { recursive: true });
    return join(place, 'log.jsonl');
  };
  execFileSync('mkfifo', [await logOf(2)]);
  await symlink('/dev/zero', await logOf(3));
  await symlink('log.jsonl', await logOf(4));
  await mkdir(await logOf(5));
  await writeFile(await logOf(6), '');
  await writeFile(await logOf(7), '{"v":2,"id":"started","at":"2026');
  // Evidence is written after the log.
  await writeFile((await logOf(8)).replace('log.jsonl', 'evidence.json'), '{}\n');
  const { runs } = await listRuns(emend);
  const doing = Object.fromEntries(runs.map((run) => [run.stepKey, run.doing]));
  expect([1, 2, 3, 4, 5, 6, 7, 8].map((n) => doing[keyOf(n)])).toEqual([
    'nothing known yet',
    expect.stringContaining('log.jsonl is a named pipe, expected a file'),
    expect.stringContaining('log.jsonl is a device, expected a file'),
    expect.stringContaining('log.jsonl is a loop of links, expected a file'),
    expect.stringContaining('log.jsonl is a directory, expected a file'),
    expect.stringContaining(`Damaged entries of its archive`),
    expect.stringContaining(`restore archive/${keyOf(7)} in the store`),
    expect.stringContaining(`Damaged entries of its archive`),
  ]);
}, 10_000);

test('an end that cannot be kept, as the disk is full, hides no other run', async () => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  await archived(emend.archive, 1, { title: 'One', workspace: '/w' });
  await archived(emend.archive, 2, { title: 'Two', workspace: '/w' });
  server.close(server.add(keyOf(2), 'emend-1'), {
    status: 'TERMINATED',
    result: null,
    message: null,
  });
  const append = () => Promise.reject(new ProblemError(problem('disk', 'ENOSPC')));
  const { runs } = await listRuns({ ...emend, archive: { ...emend.archive, append } });
  expect(runs.map(({ title, state }) => [title, state]).sort()).toEqual([
    ['One', 'unknown'],
    ['Two', 'aborted'],
  ]);
});

test('a run that ended while the list was made is not open, though the server listed it as such', async () => {
  const server = new FakeServer();
  server.add('11110000', 'emend-1', { outcome: 'refused' });
  const { runs } = await listRuns(await fakeEmend(server));
  expect(runs).toMatchObject([{ state: 'failed', doing: 'refused', open: false }]);
});

test('a list asks no run: a decision shows without a worker, and of a run at work only that nobody does it', async () => {
  const server = new FakeServer();
  server.add('11110000', 'emend-1', { waits: { reason: 'approval', decision: '1-x' } });
  server.add('22220000', 'emend-2', { waits: { reason: 'paused', decision: null } });
  server.add('33330000', 'emend-3');
  const emend = await fakeEmend(server);
  const rows = async () =>
    (await listRuns(emend)).runs.map(({ state, doing, decision }) => [state, doing, decision?.id]);
  const waiting = [
    ['waiting', 'paused: emend plan resume job.md', undefined],
    ['waiting', 'waiting for a decision: approval', '1-x'],
  ];
  expect(await rows()).toEqual([['running', 'running', undefined], ...waiting]);
  server.workers = false;
  expect(await rows()).toEqual([['unknown', 'no worker is running', undefined], ...waiting]);
  expect(server.queries).toEqual([]);
});

test('of too many open runs those that wait are listed, and the rest is counted; workers are looked for once', async () => {
  const server = new FakeServer();
  const memo = { jobPath: 'job.md', title: 'A job', workspace: '/w' };
  for (let n = 0; n < 12; n++)
    server.add(keyOf(n), `emend-${n}`, {
      memo: { ...memo, stepKey: keyOf(n), host: keyOf(100 + n) },
      waits: n < 2 ? { reason: 'approval', decision: '1-x' } : null,
    });
  server.seen = { emend: [] };
  const { runs, open_left_off, note } = await listRuns(await fakeEmend(server), { most: 4 });
  expect(runs.map(({ stepKey }) => stepKey)).toEqual([11, 10, 1, 0].map(keyOf));
  expect(open_left_off).toBe(8);
  // Four runs were newest, two of the older ones wait: one look for their queues and that of the workflows.
  expect([server.lists.length, server.looks.map(({ length }) => length)]).toEqual([2, [7]]);
  expect(note).toMatch(/^No worker serves the task queues .* and 2 more \(see `emend hosts`\)/);
  // Filtered, all that match are counted, and no others.
  const found = await listRuns(await fakeEmend(server), { most: 4, filter: { state: 'waiting' } });
  expect([found.runs.length, found.open_left_off]).toEqual([2, 0]);
});

test('archives of ended runs are read once, at once, and no more for a list: in a bucket each is a request or more', async () => {
  const emend = await fakeEmend(new FakeServer());
  for (let n = 1; n <= 60; n++)
    await archived(emend.archive, n, { title: `Job ${n}`, workspace: '/w', done: true });
  let [open, most, all] = [0, 0, 0];
  const read: Emend['archive']['read'] = async (stepKey) => {
    all += 1;
    most = Math.max(most, (open += 1));
    const found = await emend.archive.read(stepKey);
    open -= 1;
    return found;
  };
  const counted = { ...emend, archive: { ...emend.archive, read } };
  expect((await listRuns(counted)).runs).toHaveLength(50);
  expect([most, all]).toEqual([60, 60]);
  expect((await listRuns(counted, { filter: { text: 'job' } })).runs).toHaveLength(50);
  expect(all).toBe(60);
});

test('goes from page to page to the oldest run; a page that is not the first has no open runs', async () => {
  const server = new FakeServer();
  server.add(keyOf(500), 'emend-1');
  const emend = await fakeEmend(server);
  for (let n = 1; n <= 12; n++)
    await archived(emend.archive, n, { title: `Job ${n}`, workspace: '/w', done: true });
  const titles: string[][] = [];
  let before: string | null = null;
  do {
    const page: RunList = await listRuns(emend, { limit: 5, before });
    titles.push(page.runs.map(({ title }) => title));
    expect(page.left_off).toBe(Math.max(0, 12 - 5 * titles.length));
    before = page.older;
  } while (before !== null);
  const jobs = (...numbers: number[]): string[] => numbers.map((n) => `Job ${n}`);
  expect(titles).toEqual([['A job', ...jobs(12, 11, 10, 9, 8)], jobs(7, 6, 5, 4, 3), jobs(2, 1)]);
  expect((await listRuns(emend, { before: '1970-01-01T00:03:00Z' })).runs).toMatchObject([
    { title: 'Job 2' },
    { title: 'Job 1' },
  ]);
});

test('an open run is found by its task and files, which only its archive has', async () => {
  const server = new FakeServer();
  server.add(keyOf(1), 'emend-1');
  const emend = await fakeEmend(server);
  const job = await emend.blobs.put(new TextEncoder().encode('Rename the frobnicator'));
  const data = startedData({ title: 'A job', workspace: '/w', job });
  const time = new Date(0).toISOString();
  await emend.archive.append(keyOf(1), [{ id: 'started', at: time, kind: 'started', data }]);
  const found = async (text: string) => (await listRuns(emend, { filter: { text } })).runs;
  expect(await found('frobnicator')).toMatchObject([{ stepKey: keyOf(1), open: true }]);
  expect(await found('frobnicator nothing')).toEqual([]);
});

test('on the command line: as lines, as JSON, a repository by any path to it, and what is no state', async () => {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-list-')));
  const [EMEND_HOME, workspace, link] = ['home', 'repo', 'link'].map((name) => join(dir, name));
  const env = {
    EMEND_HOME: EMEND_HOME ?? '',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    EMEND_CONNECT_MS: '300',
  };
  await symlink(dir, link ?? '');
  const typed = async (...args: string[]) => {
    const io = fakeIo({ env, cwd: link ?? '' });
    return { exit: await main(['list', ...args], io), ...io.printed };
  };
  await hostId(await resolveHome(env));
  const archive = createArchive({ dir: storePaths(env.EMEND_HOME).archive });
  await archived(archive, 1, { title: 'Here', workspace: dir });
  await archived(archive, 2, { title: 'There', workspace: workspace ?? '' });
  const found = async (...args: string[]) =>
    (JSON.parse((await typed(...args, '--json')).out) as RunList).runs.map(({ title }) => title);
  expect((await found()).sort()).toEqual(['Here', 'There']);
  expect(await found('--search', 'THERE')).toEqual(['There']);
  expect(await found('--repository', '.')).toEqual(['Here']);
  expect(await found('--state', 'unknown', '--repository', workspace ?? '')).toEqual(['There']);
  expect((await typed('--search', 'nothing like it')).out).toBe(
    'No run matches. All runs: emend list\n',
  );
  const wrong = await typed('--state', 'dead');
  expect(wrong.exit).toBe(2);
  expect(wrong.err).toContain(
    'Allowed choices are waiting, running, done, failed, aborted, unknown.',
  );
});
