/**
 * Any host may end: three of them, each with a worker for workflows, one for model calls and one for all roles, as the profile `fleet` of
 * docker-compose.yml has them, and nothing shared but Temporal on PostgreSQL, SeaweedFS and a bare repository. EMEND_TEST_RUNS and
 * EMEND_TEST_KILLS: other counts, for whoever looks for something.
 */
import { afterAll, beforeAll, expect } from '@jest/globals';
import { loseHosts } from '../e2e/lost-hosts.js';
import { checkLeft } from '../e2e/lost-hosts-left.js';
import { findSeaweed, startSeaweed, type Seaweed } from '../support/seaweed.js';
import { testIf } from '../support/skipped.js';

const found = await findSeaweed();
const LIMIT_MS = 40 * 60_000;
const counted = (name: string, usual: number): number => Number(process.env[name] ?? usual);

let seaweed: Seaweed | undefined;
beforeAll(async () => {
  if ('path' in found) seaweed = await startSeaweed(found.path);
}, 300_000);
afterAll(() => seaweed?.close());

testIf('path' in found, 'why' in found ? found.why : '')(
  '20 jobs and a plan on a repository while hosts are killed 100 times and their disks deleted: one commit each, nothing paid twice, nothing left',
  async () => {
    const [runs, kills] = [counted('EMEND_TEST_RUNS', 21), counted('EMEND_TEST_KILLS', 100)];
    const services = ['workflow-worker', 'model-worker', 'worker'];
    const again = `EMEND_TEST_RUNS=${runs} EMEND_TEST_KILLS=${kills} npm run test:cluster -- cluster/lost-hosts`;
    const lost = await loseHosts({
      runs,
      kills,
      hosts: 3,
      services,
      seaweed: seaweed!,
      again,
      limit_ms: LIMIT_MS,
    });
    try {
      expect(lost.ended).toHaveLength(runs);
      // Of so many kills some meet each of them; what is at once over is met by chance.
      if (kills >= 100)
        expect([...lost.struck.keys()]).toEqual(
          expect.arrayContaining(['proposeEdit', 'runTests', 'applyProposal', 'commit', 'push']),
        );
      await checkLeft(lost);
    } finally {
      await lost.close();
    }
  },
  LIMIT_MS + 10 * 60_000,
);
