// @ts-check
/**
 * Your own worker: your workflows and activities, with Emend's beside them. Runs until Ctrl-C. It wants the address of a server in
 * TEMPORAL_ADDRESS and what a model needs (ANTHROPIC_API_KEY); then start a release with `start.js`.
 *
 *     node worker.js
 */
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { Emend } from 'emend';
import { createActivities } from 'emend/worker';

// Task queues of your own: `release`, `release-model`, and one for the workspaces of this machine.
const env = { ...process.env, EMEND_QUEUE: 'release' };
const address = process.env.TEMPORAL_ADDRESS;
if (address === undefined) throw new Error('Set TEMPORAL_ADDRESS: there is no default server.');
const connection = await NativeConnection.connect({ address });
const emend = await Emend.open({ env, connection });
const { workflows, model, host, close } = await createActivities({ env, connection });

/** @typedef {typeof activities} Activities */
const activities = {
  /**
   * @param {string} workspace
   * @param {string} version
   */
  prepareBump: (workspace, version) =>
    emend.prepare({
      workspace,
      instructions: `# Release ${version}\n\nSet the version to ${version}.\n`,
      target_files: ['version.js'],
      approval: 'auto',
      test: false,
      commit: true,
    }),
};

const workflowsPath = fileURLToPath(new URL('workflows.js', import.meta.url));
const workers = await Promise.all([
  Worker.create({ connection, ...workflows, workflowsPath, activities }),
  Worker.create({ connection, ...model }),
  Worker.create({ connection, ...host }),
]);
console.log('ready');
await Promise.all(workers.map((worker) => worker.run()));
await close();
await emend.close();
await connection.close();
