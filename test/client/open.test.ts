import { expect, test } from '@jest/globals';
import { reading } from '../../src/client/open.js';
import { resolveRun } from '../../src/client/runs/resolve.js';
import { showRun } from '../../src/client/runs/show.js';
import { problem, ProblemError } from '../../src/shared/problems.js';
import type { Emend } from '../../src/client/types.js';
import { fakeEmend, FakeServer, startedData, problemOf } from './fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const GONE = 'The Temporal server at localhost:7233 did not answer in time.';
const gone = (): Promise<never> => Promise.reject(new ProblemError(problem('no_server', GONE)));

const noted = async (emend: Emend): Promise<Emend> => {
  await emend.archive.append(KEY, [
    { id: 'started', at: '2026-01-01T00:00:00.000Z', kind: 'started', data: startedData({}) },
  ]);
  return emend;
};
const seen = (emend: Emend, text: string) =>
  reading(emend, async (told) => showRun(told, await resolveRun(told, text)));

/** Connected to, and then the call that a prefix, a whole key or a query needs is not answered. */
const SILENT = {
  list: 'abcd',
  describe: KEY,
  polled: KEY,
} as const;

test.each(Object.entries(SILENT))(
  'a server that does not answer `%s`: the archive is told, and why',
  async (call, text) => {
    const server = new FakeServer();
    server.add(KEY, 'emend-1');
    const emend = await noted(await fakeEmend(server));
    expect(await seen(emend, text)).toMatchObject({ source: 'run', note: null });
    Object.assign(server, { [call]: gone });
    expect(await seen(emend, text)).toMatchObject({ stepKey: KEY, source: 'archive', note: GONE });
  },
);

test('what is in no archive is the missing server’s, not an unknown run', async () => {
  const server = Object.assign(new FakeServer(), { list: gone });
  const { code, message } = await problemOf(async () => seen(await fakeEmend(server), 'abcd'));
  expect(code).toBe('no_server');
  expect(message).toContain(GONE);
});

test('other problems, and those of a server that was never there, are thrown at once', async () => {
  let acts = 0;
  const act = (code: 'no_server' | 'blob_lost') => () => {
    acts++;
    return Promise.reject(new ProblemError(problem(code, 'so')));
  };
  const [there, none] = [await fakeEmend(new FakeServer()), await fakeEmend(null)];
  expect(await problemOf(() => reading(there, act('blob_lost')))).toMatchObject({
    code: 'blob_lost',
  });
  expect(await problemOf(() => reading(none, act('no_server')))).toMatchObject({
    code: 'no_server',
  });
  expect(acts).toBe(2);
});
