// @ts-check
/**
 * Starts a run, waits for its question, approves it, and prints the result. It needs no package but `@temporalio/client`: a run of Emend is
 * an ordinary workflow. A worker must serve the task queue (`emend worker`).
 *
 *     TEMPORAL_ADDRESS=127.0.0.1:7233 node main.js /repo "Rename greet to hello" greet.js
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';

const [workspace = '', task = '', ...targetFiles] = process.argv.slice(2);
const { TEMPORAL_ADDRESS: address, EMEND_QUEUE: taskQueue = 'emend' } = process.env;
if (address === undefined) throw new Error('Set TEMPORAL_ADDRESS: there is no default server.');
const connection = await Connection.connect({ address });
const client = new Client({ connection });

const run = await client.workflow.start('editStep', {
  taskQueue,
  workflowId: `rename-${Date.now()}`,
  args: [{ workspace, task, targetFiles, test: false, commit: true }],
});

/**
 * Returns the open decision; null: the run has ended.
 * @returns {Promise<{ id: string, reason: string, message: string } | null>}
 */
const nextDecision = async () => {
  for (;;) {
    const { decision } = await run.query('status');
    if (decision !== null) return decision;
    // Also a run whose input does not fit, or that was cancelled, has ended.
    if ((await run.describe()).status.name !== 'RUNNING') return null;
    await sleep(500);
  }
};

const decision = await nextDecision();
if (decision?.reason === 'approval') {
  const { files } = await run.query('proposal');
  for (const { path, added, removed } of files) console.log(`${path} +${added} -${removed}`);
  await run.signal('approve', { decision: decision.id });
} else if (decision !== null) {
  console.log(`${decision.reason}: ${decision.message}`);
  await run.signal('abort');
}

const { outcome, commit } = await run.result();
console.log(commit === null ? outcome : `${outcome} ${commit}`);
await connection.close();
