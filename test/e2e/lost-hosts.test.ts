/** A sample of what `npm run test:cluster` does with 100 kills (test/cluster/lost-hosts.test.ts), on the dev server. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import { findSeaweed, startSeaweed, type Seaweed } from '../support/seaweed.js';
import { longOnly, testIf } from '../support/skipped.js';
import { loseHosts } from './lost-hosts.js';
import { checkLeft } from './lost-hosts-left.js';

const found = await findSeaweed();
const lost =
  'path' in found
    ? longOnly('hosts that are killed, and an object store')
    : testIf(false, found.why);
const LIMIT_MS = 600_000;

let seaweed: Seaweed | undefined;
beforeAll(async () => {
  if ('path' in found && process.env.EMEND_LONG === '1') seaweed = await startSeaweed(found.path);
}, 300_000);
afterAll(() => seaweed?.close());

lost(
  '3 jobs and a plan on a repository, 3 hosts, 8 kills with all that was on their disks: one commit each, nothing paid twice, nothing left',
  async () => {
    const again =
      'EMEND_LONG=1 NODE_OPTIONS=--experimental-vm-modules npx jest test/e2e/lost-hosts --selectProjects e2e';
    const counts = { runs: 4, kills: 8, hosts: 3, services: ['worker'] };
    const came = await loseHosts({ ...counts, seaweed: seaweed!, again, limit_ms: LIMIT_MS });
    try {
      expect(came.ended).toHaveLength(counts.runs);
      await checkLeft(came);
    } finally {
      await came.close();
    }
  },
  LIMIT_MS + 120_000,
);
