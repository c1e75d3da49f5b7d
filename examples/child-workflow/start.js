// @ts-check
/**
 * Starts the workflow `release` of workflows.js and waits for it.
 *
 *     node start.js PATH_OF_A_REPOSITORY 1.2.0
 */
import { Client, Connection } from '@temporalio/client';

const [workspace = '.', version = '1.0.0'] = process.argv.slice(2);
const address = process.env.TEMPORAL_ADDRESS;
if (address === undefined) throw new Error('Set TEMPORAL_ADDRESS: there is no default server.');
const connection = await Connection.connect({ address });
const client = new Client({ connection });
const options = {
  taskQueue: 'release',
  workflowId: `release-${version}`,
  args: [workspace, version],
};
console.log(await client.workflow.execute('release', options));
await connection.close();
