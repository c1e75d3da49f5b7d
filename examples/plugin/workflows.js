// @ts-check
/** Workflows of your own. A bundle has all workflows of a worker, so those of Emend are exported with them. */
import { executeChild } from '@temporalio/workflow';
import { editStep } from 'emend/workflows';

export * from 'emend/workflows';

/** @param {string} workspace */
export async function greet(workspace) {
  const { outcome } = await executeChild(editStep, {
    args: [
      {
        workspace,
        task: '# Greet politely\n\nSay "Good morning".\n',
        targetFiles: ['greet.js'],
        approval: 'auto',
        test: 'node --check greet.js',
        commit: true,
      },
    ],
    parentClosePolicy: 'ABANDON',
  });
  return outcome;
}
