/** What a worker knows of the others that serve the same task queues. */
import type { WorkerGroup } from '../../shared/begin-run.js';
import { hostOfQueue } from '../../shared/names.js';
import { needRuns, type Emend } from '../types.js';
import { allHosts } from './hosts.js';
import { lastCheckpointed } from './start-plan.js';

/** `open`: called for each question; it keeps what it opened. */
export const createGroup = (open: () => Promise<Emend>): WorkerGroup => ({
  facts: async () => {
    const emend = await open();
    const searchAttributes = await needRuns(emend).searchAttributes();
    return { queues: emend.queues, address: emend.address, searchAttributes };
  },
  hosts: async () => {
    const hosts = await allHosts(await open());
    return hosts.map(({ id, name, roles }) => ({ id, name, isLive: roles.includes('hosts') }));
  },
  lastCheckpoint: async ({ queues, stepKey, ...plan }) =>
    lastCheckpointed(await open(), { ...plan, host: hostOfQueue(queues.host), except: stepKey }),
});
