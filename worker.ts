/** The worker's entry: signals, log, `createWorker`. */
import { ProblemError } from './src/shared/problems.js';
import { createWorker, workerLog } from './src/worker/index.js';

const logger = workerLog('info');
try {
  // Heard before it starts: whoever reads that it is ready may end it at once.
  const signalled = new Promise<void>((resolve) => {
    const hear = (signal: NodeJS.Signals): void => {
      logger.info({ signal }, 'stopping: running model calls may finish');
      resolve();
    };
    // A closed terminal says it more than once, and hurries nothing.
    process.once('SIGINT', hear).once('SIGTERM', hear).on('SIGHUP', hear);
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
