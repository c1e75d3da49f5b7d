/** Real pollers of host queues, all in this process: `pollers.js ADDRESS QUEUE=IDENTITY…`. It prints `ready` and polls until it is ended. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { WORKER_BEAT_MS } from '../dist/src/temporal/live-workers.js';

const [address, ...pairs] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR'), workerHeartbeatInterval: WORKER_BEAT_MS });
const connection = await NativeConnection.connect({ address });
const activities = { nothing: () => undefined };
const workers = await Promise.all(
  pairs.map((pair) => {
    const [taskQueue, identity] = pair.split('=');
    return Worker.create({ connection, taskQueue, identity, activities });
  }),
);
const running = Promise.all(workers.map((worker) => worker.run()));
process.stdout.write('ready\n');
await running;
await connection.close();
