// @ts-check
/** Workflows of your own that use Emend's as children. */
import { executeChild, proxyActivities } from '@temporalio/workflow';
import { editStep } from 'emend/workflows';

// Emend's workflows are in the same bundle.
export * from 'emend/workflows';

/** @type {import('./worker.js').Activities} */
const { prepareBump } = proxyActivities({ startToCloseTimeout: '1 minute' });

/**
 * @param {string} workspace
 * @param {string} version
 */
export async function release(workspace, version) {
  const step = await prepareBump(workspace, version);
  const { outcome, commit } = await executeChild(editStep, step);
  return commit === null ? `not released: ${outcome}` : `released ${version} at ${commit}`;
}
