/** What a worker knows of the others that serve the same task queues. */
import { isLoopbackHost } from '../../documents/job/index.js';
import type { WorkerGroup } from '../../shared/begin-run.js';
import { hostOfQueue, type Queues } from '../../shared/names.js';
import { pageLinks } from '../../temporal/page-record.js';
import { needRuns, type Emend } from '../types.js';
import { allHosts } from './hosts.js';
import { lastCheckpointed } from './start-plan.js';

/** `open`: called for each question; it keeps what it opened. */
export const createGroup = (open: () => Promise<Emend>): WorkerGroup => ({
  facts: async () => {
    const emend = await open();
    const searchAttributes = await needRuns(emend).searchAttributes();
    const { queues, address, home } = emend;
    return { queues, address, searchAttributes, page: await sharedPage(queues, home) };
  },
  hosts: async () => {
    const { hosts } = await allHosts(await open(), { all: true });
    return hosts.map(({ id, name, roles }) => ({ id, name, isLive: roles.includes('hosts') }));
  },
  lastCheckpoint: async ({ queues, stepKey, ...plan }) =>
    lastCheckpointed(await open(), { ...plan, host: hostOfQueue(queues.host), except: stepKey }),
});

/** Returns the address of the page of this home. A loopback address is of use only if the home is the whole group. */
async function sharedPage({ workflow, host }: Queues, home: string): Promise<string | null> {
  const { pageUrl } = await pageLinks(home);
  if (pageUrl === null) return null;
  const { origin, hostname } = new URL(pageUrl);
  return workflow !== host && isLoopbackHost(hostname.replace(/^\[|\]$/g, '')) ? null : origin;
}
