/** A worker of one activity queue, in a process of its own: `beating-worker.js ADDRESS QUEUE BEAT`. It ends in good order at SIGTERM. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

const [address, taskQueue, workerHeartbeatInterval] = process.argv.slice(2);
Runtime.install({
  shutdownSignals: [],
  logger: new DefaultLogger('ERROR'),
  workerHeartbeatInterval,
});
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  taskQueue,
  identity: taskQueue,
  activities: { nothing: () => undefined },
});
process.on('SIGTERM', () => worker.shutdown());
// Busy for as long as its test runs, as a workflow that does not come to its end makes it.
const parent = process.ppid;
process.on('SIGUSR2', () => {
  while (process.ppid === parent);
  process.exit();
});
process.stdout.write('ready\n');
await worker.run();
await connection.close();
