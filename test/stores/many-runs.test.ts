/** Counts the requests and the time of `emend list` of 10,000 runs in a bucket of a real SeaweedFS. */
import * as fs from 'node:fs';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { listRuns } from '../../src/client/runs/list.js';
import { ANNOUNCEMENTS } from '../../src/stores/announcements.js';
import { createS3Archive, objectsAt, type Objects } from '../../src/stores/s3/index.js';
import { fakeEmend, FakeServer, startedData } from '../client/fake.js';
import { startFaultyProxy, type FaultyProxy } from '../support/faulty-proxy.js';
import { findSeaweed, startSeaweed, type Seaweed } from '../support/seaweed.js';
import { describeIf, longOnly } from '../support/skipped.js';

/** Returns the processor time of a process so far, in ms. The kernel counts hundredths of a second. */
const cpuOf = (pid: number): number => {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
};
const RUNS = Number(process.env.EMEND_TEST_RUNS ?? 10_000);
const AT_ONCE = 32;
const found = await findSeaweed();
const many = longOnly(`${RUNS} runs in a bucket`);

describeIf('path' in found, 'path' in found ? '' : found.why)('a bucket with many runs', () => {
  let seaweed: Seaweed;
  let proxy: FaultyProxy;
  let objects: Objects;
  const earlier = { ...process.env };
  beforeAll(async () => {
    seaweed = await startSeaweed('path' in found ? found.path : '');
    proxy = await startFaultyProxy(seaweed.port);
    Object.assign(process.env, seaweed.env, {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${proxy.port}`,
    });
    objects = objectsAt(`s3://${seaweed.bucket}/many`, { EMEND_STORE_PATH_STYLE: '1' });
  }, 300_000);
  afterAll(async () => {
    process.env = earlier;
    await proxy.close();
    await seaweed.close();
  });

  const keyOf = (n: number): string =>
    ((n * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0').padEnd(32, '5');
  const workspace = fs.realpathSync('.');
  const startedAt = (n: number) => ({
    id: 'started',
    at: new Date(n).toISOString(),
    kind: 'started' as const,
    data: startedData({ workflowId: `emend-${n}`, title: `Job ${n}`, workspace }),
  });
  const closed = { status: 'CANCELLED', result: null, message: 'cancelled' };

  many(
    'each archive is read once; then a list asks for what is new and for the stamps of what it shows',
    async () => {
      const archive = createS3Archive(objects, 'home-');
      for (let first = 1; first <= RUNS; first += AT_ONCE) {
        const next = Array.from(
          { length: Math.min(AT_ONCE, RUNS + 1 - first) },
          (_, n) => first + n,
        );
        await Promise.all(
          next.map((n) =>
            archive.append(keyOf(n), [
              startedAt(n),
              { id: 'closed', at: startedAt(n).at, kind: 'closed', data: closed },
            ]),
          ),
        );
      }
      const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
        proxy.seen.length = 0;
        const [before, cpu, theirs] = [performance.now(), process.cpuUsage(), cpuOf(seaweed.pid)];
        const done = await work();
        const { user, system } = process.cpuUsage(cpu);
        const used = `CPU ${Math.round((user + system) / 1000)} ms here (with the proxy), ${cpuOf(seaweed.pid) - theirs} ms in the store`;
        process.stdout.write(
          `${what}: ${Math.round(performance.now() - before)} ms, ${proxy.seen.length} requests, ${used}\n`,
        );
        return done;
      };
      const keys = await timed('the list of runs', () => archive.names());
      expect(keys).toHaveLength(RUNS);
      const emend = { ...(await fakeEmend(new FakeServer())), archive };
      await timed('50 archives, one after the other', async () => {
        for (const key of keys.slice(0, 50)) await archive.read(key);
      });
      const requestsOf = async (what: string) => {
        const list = await timed(what, () => listRuns(emend));
        expect(list).toMatchObject({ left_off: RUNS - 50, runs: { length: 50 } });
        // A further try after a time-out is not another request.
        const seen = [...new Set(proxy.seen)];
        const lists = seen.filter((request) => request.includes('list-type=2')).length;
        return { lists, others: seen.length - lists };
      };
      // Each archive is read once: its stamp, the list of its pieces, one piece. Names and announcements come in pages. The stamps of the 50
      // runs that it shows are requested again, which is the same request and so counted once.
      const pages = 2 * Math.ceil(RUNS / 1_000);
      const first = await requestsOf('the first emend list, which builds the index');
      expect(first).toEqual({ lists: 2 * RUNS + pages, others: RUNS });
      // After 20 minutes no list requests these announcements again.
      for (const { key } of await objects.list(ANNOUNCEMENTS)) await objects.remove(key);
      const second = await requestsOf('emend list');
      expect(second).toEqual({ lists: 1 + 50, others: 0 });
      const fitting = await timed('a search', () =>
        listRuns(emend, { filter: { text: 'job 777' } }),
      );
      expect(fitting.runs.some(({ title }) => title === 'Job 777')).toBe(true);
    },
    3_600_000,
  );
});
