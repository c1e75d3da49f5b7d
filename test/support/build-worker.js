/**
 * A worker of this build. In its environment:
 * PARTS=workflows|activities: it serves only these task queues; without PARTS it is the build's own worker and serves all of them.
 * LATER=<activity>, LATER_MARK=<file>: the first result of the activity says `v: 3`, and the file is written then.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Runtime, Worker } from '@temporalio/worker';
import { pino } from 'pino';

const { env } = process;
const built = (path) => join(process.cwd(), 'dist', path);
const from = (path) => import(built(path));
const logger = pino({ level: env.LOG ?? 'warn' }, pino.destination({ fd: 2, sync: true }));

const later = (context) => ({
  inbound: {
    execute: async (input, next) => {
      const result = await next(input);
      if (context.info.activityType !== env.LATER || existsSync(env.LATER_MARK)) return result;
      writeFileSync(env.LATER_MARK, String(process.pid));
      return { ...result, v: 3 };
    },
  },
});
const interceptors = env.LATER === undefined ? [] : [later];

/** As the build's own worker does it, for some of its queues. */
const startParts = async (home) => {
  Runtime.install({ shutdownSignals: [] });
  const { commandQueueOf, queueNames } = await from('src/shared/names.js');
  const { hostId } = await from('src/stores/home.js');
  const { createPorts } = await from('src/worker/adapters.js');
  const { archiveSink, createActivities } = await from('src/activities/index.js');
  const { connectWorker } = await from('src/worker/run-workers.js');
  const { boundFailures } = await from('src/temporal/failures.js');
  const { resolveStore } = await from('src/stores/location.js');
  const store = await resolveStore(env, home);
  const stateOfHolder = () => Promise.resolve({ state: 'unknown', why: 'no_answer' });
  const { askEndedRuns } = await from('src/client/ended/runs.js');
  const { group } = askEndedRuns({ env: { ...env, EMEND_HOME: home } });
  const ports = await createPorts({ env, home, logger }, store, { stateOfHolder, group });
  const { blobs } = ports;
  const queues = queueNames(env.EMEND_QUEUE ?? 'emend', await hostId(home));
  const { BlobPayloadCodec, asFailure } = await from('src/temporal/payloads.js');
  const { connection, namespace } = await connectWorker({ env, home, connect_ms: 10_000, blobs });
  const dataConverter = { payloadCodecs: [new BlobPayloadCodec(blobs, asFailure)] };
  const common = { connection, namespace, dataConverter };
  const { host, command, model, workflow } = createActivities(ports);
  const activities = { activity: [...interceptors, boundFailures] };
  const workers =
    env.PARTS === 'workflows'
      ? [
          await Worker.create({
            ...common,
            taskQueue: queues.workflow,
            workflowBundle: { codePath: built('workflow-bundle.js') },
            activities: { ...workflow },
            interceptors: activities,
            sinks: archiveSink(ports),
          }),
        ]
      : [
          await Worker.create({
            ...common,
            taskQueue: queues.model,
            activities: { ...model },
            interceptors: activities,
          }),
          await Worker.create({
            ...common,
            taskQueue: queues.host,
            activities: { ...host },
            interceptors: activities,
          }),
          await Worker.create({
            ...common,
            taskQueue: commandQueueOf(queues.host),
            activities: { ...command },
            interceptors: activities,
          }),
        ];
  return {
    stop: () => workers.forEach((worker) => worker.shutdown()),
    done: Promise.all(workers.map((worker) => worker.run())),
  };
};

const { createWorker } = await from('src/worker/index.js');
const { resolveHome } = await from('src/stores/home.js');
const home = await resolveHome(env);
const worker =
  env.PARTS === undefined
    ? await createWorker({ env, home, logger, interceptors: { activity: interceptors } })
    : await startParts(home);
process.on('SIGTERM', () => void worker.stop());
process.stdout.write('ready\n');
await worker.done;
