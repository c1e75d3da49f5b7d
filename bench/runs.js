/** One baseline, one step: from the call that starts it to its result in the client's hands. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import {
  decide,
  readJobFile,
  resolveRun,
  startStep,
  waitForRun,
} from '../dist/src/client/index.js';
import { refreshRun } from '../dist/src/client/runs/resolve.js';

export const since = (from) => performance.now() - from;

/** Milliseconds of a workflow with five empty activities and an update between the third and the fourth. */
export const timeBaseline = async (stage) => {
  const from = performance.now();
  const handle = await startBaseline(stage, { before: 3, after: 2, update: true });
  await handle.executeUpdate('go');
  await handle.result();
  return since(from);
};

export const startBaseline = ({ client, baselineQueue }, shape) =>
  client.workflow.start('baseline', {
    taskQueue: baselineQueue,
    workflowId: `baseline-${randomUUID()}`,
    args: [shape],
  });

/** Front matter and a heading; every value as YAML takes it. */
export const jobText = (settings, words = 'Add a line at the end') =>
  `---\n${Object.entries(settings)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('')}---\n\n# ${words}\n`;

/** The job as the client reads it: no part of a step's time. `path` is relative to the workspace. */
export const writeJob = async (repo, path, text) => {
  await writeFile(join(repo, path), text);
  return readJobFile({ jobPath: join(repo, path), workspace: repo, cwd: repo });
};

/** Starts a step, approves it where it asks, waits for its end. Throws where it does not end as `expected`. */
export const runStep = async ({ emend }, job, expected, options = {}) => {
  const { stepKey } = await startStep(emend, { job, ...options });
  let run = await resolveRun(emend, stepKey);
  let waited = await waitForRun(emend, run);
  if (waited.outcome === 'waiting') {
    const { id, reason } = waited.status.decision;
    if (reason !== 'approval')
      throw new Error(`the step asks for ${reason}: ${JSON.stringify(waited.status.decision)}`);
    // As `Emend.decide` does it: no key of this machine signs.
    await decide(emend, run, {
      answer: 'approve',
      decision: id,
      by: { name: 'bench', from: 'api' },
      sign: false,
    });
    run = await refreshRun(emend, run);
    waited = await waitForRun(emend, run, { throughPauses: true });
  }
  const outcome = waited.result?.outcome ?? waited.outcome;
  if (outcome !== expected)
    throw new Error(`the step ended ${outcome}, not ${expected}: ${JSON.stringify(waited)}`);
  return { stepKey, workflowId: run.live.workflowId, runId: run.live.runId, result: waited.result };
};

/** An answer that adds a line to the file, whatever it holds. */
export const appendAnswer = (path, content = 'one more line\n') =>
  JSON.stringify({
    summary: 'one line',
    operations: [{ type: 'append', file_path: path, content }],
    complete: true,
    nonce: '{{nonce}}',
  });

/** A rule of the rehearsal: calls that may edit just this file get this answer. */
export const ruleFor = (path, answer, more = {}) => ({
  name: path,
  match: { regex: `Files you may edit\\s+- ${path.replaceAll('.', '\\.')}$` },
  answer,
  ...more,
});
