// @ts-check
/**
 * Creates a Temporal Schedule that runs a job file each night. Each night is a run of its own, with a key of its own. A worker must serve
 * the task queue (`emend worker`).
 *
 *     TEMPORAL_ADDRESS=127.0.0.1:7233 node main.js nightly /repo jobs/update-changelog.md
 */
import { Client, Connection, ScheduleOverlapPolicy } from '@temporalio/client';

const [scheduleId = 'nightly', workspace = '', jobFile = ''] = process.argv.slice(2);
const { TEMPORAL_ADDRESS: address, EMEND_QUEUE: taskQueue = 'emend' } = process.env;
if (address === undefined) throw new Error('Set TEMPORAL_ADDRESS: there is no default server.');
const connection = await Connection.connect({ address });
const client = new Client({ connection });

await client.schedule.create({
  scheduleId,
  spec: { calendars: [{ hour: 3 }] },
  // A run that waits for a reviewer must not be joined by another one.
  policies: { overlap: ScheduleOverlapPolicy.SKIP },
  action: {
    type: 'startWorkflow',
    workflowType: 'editStep',
    workflowId: scheduleId,
    taskQueue,
    args: [{ workspace, jobFile, approval: 'auto' }],
  },
});
console.log(`schedule ${scheduleId}: ${jobFile} in ${workspace}, each night at 3`);
await connection.close();
