/** What the worker bundles: every workflow, by the name that the protocol gives it. */
export { editStep } from './edit-step.js';
export { plan } from './plan.js';
