/**
 * A worker of any build of Emend: `node build-worker.js ROOT`, where ROOT is a checkout or an unpacked package. In its environment:
 * PARTS=workflows|activities: only these task queues; without it the build's own worker, all of them.
 * KILL=<system call>:<n>, KILL_UNDER=<folder>: SIGKILL to itself after the n-th such call that names a path in that folder (git's own
 * apart); writes the file KILL_MARK first, so that a test fails when its fault never fired.
 * LATER=<activity>: its first result says `v: 3`; writes the file KILL_MARK then.
 * EXTRA=1: every activity input and result carries a field that no release knows.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Runtime, Worker } from '@temporalio/worker';
import { pino } from 'pino';

const { env } = process;
const built = (path) => join(process.argv[2], 'dist', path);
const from = (path) => import(built(path));
const logger = pino({ level: env.LOG ?? 'warn' }, pino.destination({ fd: 2, sync: true }));

const planKill = async (call, nth) => {
  const { realSys } = await from('src/system/sys.js');
  const real = realSys[call].bind(realSys);
  let seen = 0;
  realSys[call] = async (...args) => {
    const result = await real(...args);
    const named = args.some(
      (arg) =>
        typeof arg === 'string' && arg.startsWith(`${env.KILL_UNDER}/`) && !arg.includes('/.git/'),
    );
    if (!named || ++seen !== Number(nth)) return result;
    writeFileSync(env.KILL_MARK, String(process.pid));
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => undefined);
  };
};

const LATER = { laterField: { v: 9, why: 'no release knows it' } };
const extra = () => ({
  inbound: {
    execute: async (input, next) => ({
      ...(await next({ ...input, args: input.args.map((arg) => ({ ...arg, ...LATER })) })),
      ...LATER,
    }),
  },
});
const later = (context) => ({
  inbound: {
    execute: async (input, next) => {
      const result = await next(input);
      if (context.info.activityType !== env.LATER || existsSync(env.KILL_MARK)) return result;
      writeFileSync(env.KILL_MARK, String(process.pid));
      return { ...result, v: 3 };
    },
  },
});
/** A list in 0.1.0 as packed, later one of several kinds. */
const interceptors = [
  ...(env.EXTRA === undefined ? [] : [extra]),
  ...(env.LATER === undefined ? [] : [later]),
];
const hooks = Object.assign([...interceptors], { activity: interceptors });

/** As the build's own worker does it, for some of its queues. */
const startParts = async (home) => {
  Runtime.install({ shutdownSignals: [] });
  const { queueNames } = await from('src/shared/names.js');
  const { hostId } = await from('src/stores/home.js');
  const { createPorts } = await from('src/worker/adapters.js');
  const { archiveSink, createActivities } = await from('src/activities/index.js');
  const { connectWorker } = await from('src/worker/run-workers.js');
  const { boundFailures } = await from('src/temporal/failures.js');
  const { resolveStore } = await from('src/stores/location.js');
  const store = await resolveStore(env, home);
  const stateOfHolder = () => Promise.resolve({ state: 'unknown', why: 'no_answer' });
  const ports = await createPorts({ env, home, logger }, store, { stateOfHolder });
  const { blobs } = ports;
  const queues = queueNames(env.EMEND_QUEUE ?? 'emend', await hostId(home));
  const { BlobPayloadCodec, asFailure } = await from('src/temporal/payloads.js');
  const { connection, namespace } = await connectWorker({ env, home, connect_ms: 10_000, blobs });
  const dataConverter = { payloadCodecs: [new BlobPayloadCodec(blobs, asFailure)] };
  const common = { connection, namespace, dataConverter };
  const { host, model } = createActivities(ports);
  const activities = { activity: [...interceptors, boundFailures] };
  const workers =
    env.PARTS === 'workflows'
      ? [
          await Worker.create({
            ...common,
            taskQueue: queues.workflow,
            workflowBundle: { codePath: join(process.argv[2], 'dist/workflow-bundle.js') },
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
        ];
  return {
    stop: () => workers.forEach((worker) => worker.shutdown()),
    done: Promise.all(workers.map((worker) => worker.run())),
  };
};

if (env.KILL !== undefined) await planKill(...env.KILL.split(':'));
const { createWorker } = await from('src/worker/index.js');
const { resolveHome } = await from('src/stores/home.js');
const home = await resolveHome(env);
const worker =
  env.PARTS === undefined
    ? await createWorker({ env, home, logger, interceptors: hooks })
    : await startParts(home);
process.on('SIGTERM', () => void worker.stop());
process.stdout.write('ready\n');
await worker.done;
