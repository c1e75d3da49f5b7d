/** The worker's entry: signals, log, `createWorker`. */
import { pino } from 'pino';
import { ProblemError } from './src/shared/problems.js';
import { createWorker } from './src/worker/index.js';

const logger = pino({ name: 'emend-worker' }, pino.destination({ fd: 2, sync: true }));
try {
  // Heard before it starts: whoever reads that it is ready may end it at once.
  const signalled = new Promise<void>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const)
      process.once(name, (signal) => {
        logger.info({ signal }, 'stopping: running model calls may finish');
        resolve();
      });
  });
  const worker = await createWorker({ logger });
  await Promise.race([signalled, worker.done]);
  await worker.stop();
  logger.info('worker stopped');
} catch (error) {
  if (!(error instanceof ProblemError)) throw error;
  logger.fatal(error.problem, error.problem.message);
  // What does not end by itself holds on to the process.
  process.exit(1);
}
