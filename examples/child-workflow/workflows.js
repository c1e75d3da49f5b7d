// @ts-check
/** Workflows of your own that use Emend's as children. */
import { executeChild } from '@temporalio/workflow';
import { editStep } from 'emend/workflows';

// Emend's workflows are in the same bundle.
export * from 'emend/workflows';

/**
 * @param {string} workspace
 * @param {string} version
 */
export async function release(workspace, version) {
  const { outcome, commit } = await executeChild(editStep, {
    args: [
      {
        workspace,
        task: `# Release ${version}\n\nSet the version to ${version}.\n`,
        targetFiles: ['version.js'],
        approval: 'auto',
        test: false,
        commit: true,
      },
    ],
    // It may hold the workspace, so it outlives this workflow and ends by itself.
    parentClosePolicy: 'ABANDON',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  });
  return commit === null ? `not released: ${outcome}` : `released ${version} at ${commit}`;
}
