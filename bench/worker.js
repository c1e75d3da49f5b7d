/**
 * The worker that is measured, in a process of its own: the product's, as built, and beside it one for the baseline workflow (not under BENCH_ALONE, where memory is measured). Sends
 * `ready` to its parent, then answers every message with what it cost since the last one (probe.js) and, after `parts`, with what each activity cost.
 */
import { partOf, takeCosts } from './probe.js';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { pino } from 'pino';
import { resolveHome } from '../dist/src/stores/home.js';
import { createWorker } from '../dist/src/worker/index.js';

const { env } = process;
const home = await resolveHome(env);
const logger = pino({ level: env.LOG ?? 'warn' }, pino.destination({ fd: 2, sync: true }));
let activities = [];
let parts = false;
/** Names an execution of an activity; tests also by what they run on, which decides what they cost. */
const nameOf = ({ activityType }, { args: [{ on }] }) =>
  on === undefined ? activityType : `${activityType} (${on.kind})`;
/** What each activity cost, by name, in the order in which they ended; with the hrtime at which it began and ended for profile.js. */
const watch = ({ info }) => ({
  inbound: {
    execute: (input, next) => {
      const from = process.hrtime();
      const name = nameOf(info, input);
      const tell = (costs) => activities.push({ name, from, to: process.hrtime(), ...costs });
      // A look at what it costs costs something, too.
      return parts ? partOf(() => next(input), tell) : next(input);
    },
  },
});
const product = await createWorker({ env, home, logger, interceptors: { activity: [watch] } });
const alone = env.BENCH_ALONE !== undefined;
const connection = alone ? null : await NativeConnection.connect({ address: env.BENCH_ADDRESS });
const quiet = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, log() {} };
const startBaseline = async () => {
  const workflowsPath = fileURLToPath(new URL('./baseline/workflows.js', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: quiet });
  return Worker.create({
    connection,
    taskQueue: 'baseline',
    workflowBundle,
    activities: { empty: async () => {} },
  });
};
const baseline = alone ? null : await startBaseline();
const running = baseline?.run();

process.on('message', (asked) => {
  parts = asked === 'parts';
  process.send({ costs: { ...takeCosts(), activities } });
  if (env.BENCH_CPU_PROF !== undefined)
    appendFileSync(
      join(env.BENCH_CPU_PROF, 'activities.jsonl'),
      activities.map((each) => `${JSON.stringify(each)}\n`).join(''),
    );
  activities = [];
});
let stopping = false;
/** A worker of the SDK that does not come to its end must not hold the measure, which is printed by then, for ever. */
const STOP_MS = 30_000;
const stop = async () => {
  if (stopping) return;
  stopping = true;
  setTimeout(() => process.exit(1), STOP_MS);
  baseline?.shutdown();
  await Promise.all([running, product.stop()]);
  await connection?.close();
  process.exit();
};
process.once('SIGTERM', stop);
process.once('disconnect', stop);
process.send('ready');
