/** Entry of the thread that frame/edit-worker.ts starts: does one piece of work, sends its result, ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { doWork, type EditWork, type EditWorkKind } from './edit-work.js';

const { kind, input } = workerData as {
  kind: EditWorkKind;
  input: EditWork[EditWorkKind]['input'];
};
parentPort?.postMessage(await doWork(kind, input));
