/** What the worker bundles: every workflow, by the name that the protocol gives it. */
export { editStep } from './step/workflow.js';
export { plan } from './plan/workflow.js';
