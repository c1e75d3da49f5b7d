/**
 * The built worker with one fault: `CRASH=<activity>:<before|after>:<n>` kills this process with SIGKILL at the n-th execution of that
 * activity and writes the file CRASH_MARK first, so that a test fails when its fault never fired.
 */
import { writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { startWorker } from '../../dist/worker.js';
import { resolveHome } from '../../dist/src/workspace/home.js';

const [name, when, nth] = (process.env.CRASH ?? '').split(':');
let seen = 0;
const die = () => {
  writeFileSync(process.env.CRASH_MARK ?? '', String(process.pid));
  process.kill(process.pid, 'SIGKILL');
};
const crash = (context) => ({
  inbound: {
    execute: async (input, next) => {
      if (context.info.activityType !== name || ++seen !== Number(nth)) return next(input);
      if (when === 'before') die();
      const result = await next(input);
      die();
      return result;
    },
  },
});

const worker = await startWorker({
  env: process.env,
  home: await resolveHome(process.env),
  logger: pino({ level: process.env.LOG ?? 'warn' }, pino.destination({ fd: 2, sync: true })),
  interceptors: name ? [crash] : [],
});
process.on('SIGTERM', () => void worker.stop());
process.stdout.write('ready\n');
await worker.done;
