/** Starts a worker's activities, without a server, and ends when their start has removed what killed processes left. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { pino } from 'pino';
import { createActivities } from '../../../src/worker/index.js';
import { listLayers } from '../../../src/workspace/layers/index.js';

const WAIT_MS = 15_000;
const connection = Connection.lazy({ address: '127.0.0.1:1' });
const logger = pino({ level: 'silent' });
await createActivities({ env: process.env, logger, connection });
const home = process.env.EMEND_HOME ?? '';
// The start does not wait for the removal.
const limit = performance.now() + WAIT_MS;
while (performance.now() < limit && (await listLayers(home)).some(({ dead }) => dead.length > 0))
  await sleep(20);
process.exit();
