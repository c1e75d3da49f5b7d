// @ts-check
/**
 * Your own worker: your workflows, next to those of Emend. Runs until Ctrl-C. It wants the address of a server in TEMPORAL_ADDRESS and
 * what a model needs (ANTHROPIC_API_KEY); then start a release with `start.js`.
 *
 *     node worker.js
 */
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from 'emend/worker';

// Task queues of your own: `release`, `release-model`, and two for the workspaces of this machine: one for files, one for commands.
const env = { ...process.env, EMEND_QUEUE: 'release' };
const address = process.env.TEMPORAL_ADDRESS;
if (address === undefined) throw new Error('Set TEMPORAL_ADDRESS: there is no default server.');
const connection = await NativeConnection.connect({ address });
const { workflows, model, host, commands, close } = await createActivities({ env, connection });

const workflowsPath = fileURLToPath(new URL('workflows.js', import.meta.url));
const workers = await Promise.all([
  // Activities of your own go next to those of `workflows`: `activities: { ...workflows.activities, ...yours }`.
  Worker.create({ connection, ...workflows, workflowsPath }),
  Worker.create({ connection, ...model }),
  Worker.create({ connection, ...host }),
  Worker.create({ connection, ...commands }),
]);
console.log('ready');
await Promise.all(workers.map((worker) => worker.run()));
await close();
await connection.close();
