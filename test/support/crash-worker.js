/**
 * The built worker with one fault: `CRASH=<activity>:<before|after>:<n>` kills this process with SIGKILL at the n-th execution of that
 * activity and writes the file CRASH_MARK first, so that a test fails when its fault never fired. Instead of dying, `hold-before` and
 * `hold-after` keep that execution (heartbeating) until the file `<CRASH_MARK>-go` is there, `mute-before` and `mute-after` do the same
 * without a heartbeat, `watch-before` lets it go on at once; `<CRASH_MARK>-cancelled` says that the execution was told of its cancellation. What follows is then really done,
 * however the run ended meanwhile. Points inside an activity: fault-points.js.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createWorker } from '../../dist/src/worker/index.js';
import { resolveHome } from '../../dist/src/stores/home.js';
import { realSys } from '../../dist/src/system/sys.js';
import { faultAt, isFaultPoint } from './fault-points.js';
import { withPowerCut } from './power-cut.js';

/**
 * `FAULT=<errno>:<part of a path>[:<call>,...]`: while the file FAULT_ON is there, writes to such paths fail with the errno; each that
 * did adds a line to FAULT_ON.fired.
 */
const [errno, where = '', only] = (process.env.FAULT ?? '').split(':');
const WRITES = [
  'writeExclusive',
  'copyExclusive',
  'append',
  'rename',
  'link',
  'unlink',
  'mkdir',
  'fsyncDir',
  'chmod',
];
const failing = only === undefined ? WRITES : only.split(',');
const faulty = (call, real) =>
  failing.includes(call)
    ? async (...args) => {
        const path = args.find((arg) => typeof arg === 'string' && arg.includes(where));
        if (path === undefined || !existsSync(process.env.FAULT_ON)) return real(...args);
        appendFileSync(`${process.env.FAULT_ON}.fired`, `${call} ${path}\n`);
        throw Object.assign(new Error(`${errno}: injected, ${call} '${path}'`), {
          code: errno,
          syscall: call,
          path,
        });
      }
    : real;
/** The system calls that the worker gets. With CUT the signal SIGUSR2 is a power cut (power-cut.js). */
const chosenSys = () => {
  if (errno)
    return Object.fromEntries(
      Object.entries(realSys).map(([call, real]) => [call, faulty(call, real)]),
    );
  if (process.env.CUT === undefined) return realSys;
  const { sys, cut } = withPowerCut(realSys, process.env.CRASH_MARK);
  process.on('SIGUSR2', cut);
  return sys;
};
const sys = chosenSys();

const [name, when, nth] = (process.env.CRASH ?? '').split(':');
let seen = 0;
const mark = process.env.CRASH_MARK ?? '';
const die = () => {
  writeFileSync(mark, String(process.pid));
  process.kill(process.pid, 'SIGKILL');
};
const watch = (context) => {
  context.cancelled.catch(() => writeFileSync(`${mark}-cancelled`, ''));
  writeFileSync(mark, String(process.pid));
};
const stay = async (context, beats) => {
  watch(context);
  while (!existsSync(`${mark}-go`)) {
    if (beats) context.heartbeat();
    await sleep(50);
  }
};
const signal = process.env.CRASH_SIGNAL ?? 'SIGKILL';
const inside = isFaultPoint(when)
  ? faultAt({ realSys, name, when, which: nth, mark, signal })
  : null;
const crash = (context) => ({
  inbound: {
    execute: async (input, next) => {
      if (inside !== null) return inside(context.info.activityType, input, next);
      if (context.info.activityType !== name || ++seen !== Number(nth)) return next(input);
      const [how, at = how] = when.split('-');
      const fault = () =>
        how === at ? die() : how === 'watch' ? watch(context) : stay(context, how === 'hold');
      if (at === 'before') await fault();
      const result = await next(input);
      if (at === 'after') await fault();
      return result;
    },
  },
});

// Which machine the worker believes to be on: `NAME BOOT ID`.
const [machineName, boot, id] = (process.env.EMEND_TEST_MACHINE ?? '').split(' ');
const machine = id ? { machine: { name: machineName, boot, id } } : {};

const start = async (env) =>
  createWorker({
    ...machine,
    env,
    home: await resolveHome(env),
    logger: pino({ level: process.env.LOG ?? 'warn' }, pino.destination({ fd: 2, sync: true })),
    interceptors: { activity: name ? [crash] : [] },
    sys,
  });

// On a cluster (test/e2e/homes.ts) a worker of a second home shares this process, so that a planned fault strikes both.
const second = process.env.EMEND_TEST_SECOND_HOME ?? '';
const environments =
  second === '' ? [process.env] : [process.env, { ...process.env, EMEND_HOME: second }];
const workers = await Promise.all(environments.map(start));
process.on('SIGTERM', () => {
  for (const worker of workers) worker.stop().catch(() => undefined);
});
process.stdout.write('ready\n');
try {
  await Promise.all(workers.map((worker) => worker.done));
} catch (error) {
  // As worker.ts ends, and the command line: what does not listen holds on to the process.
  if (error.problem?.code !== 'worker_stuck') throw error;
  process.stdout.write(`worker_stuck: ${error.message}\n`);
  process.exit(1);
}
