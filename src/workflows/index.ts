/** Workflows that the worker bundles, by their names in the protocol, and the typed messages and queries of each run. */
export { editStep } from './step/workflow.js';
export { plan } from './plan/workflow.js';
export {
  abort,
  abortSignal,
  answer,
  answerSignal,
  approve,
  approveSignal,
  events,
  ledger,
  proposal,
  retry,
  retrySignal,
  revise,
  reviseSignal,
  skip,
  skipSignal,
  status,
} from './frame/messages.js';
