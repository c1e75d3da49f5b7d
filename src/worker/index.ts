/** The door of src/worker: what others may use. */
export { connectWorker, ofOtherStores, runWorkers, workerIdentity } from './run-workers.js';
