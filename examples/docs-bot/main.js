// @ts-check
/**
 * Approves proposals that change nothing but documentation, and leaves all others to people. Runs until it is stopped.
 *
 *     node main.js
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Emend, ProblemError } from 'emend';

const LOOK_EVERY_MS = 2_000;
let stopped = false;
const stop = () => (stopped = true);
process.once('SIGINT', stop);
process.once('SIGTERM', stop);

/** @param {{ path: string, change: string }} file */
const isDocumentation = ({ path, change }) =>
  change === 'edit' && /^docs\/.*\.(md|rst|txt)$/.test(path);

/** @param {Emend} emend @param {string} run */
const look = async (emend, run) => {
  const { status, proposal } = await emend.show(run);
  const { decision } = status;
  // The decision's id names the proposal: what is approved is what was looked at.
  if (decision?.reason !== 'approval' || proposal === null || decision.proposalId !== proposal.id)
    return;
  const documentationOnly = proposal.files.every(isDocumentation);
  if (!documentationOnly || proposal.findings.length > 0 || proposal.mustAsk.length > 0) return;
  const by = { name: 'docs-bot', from: 'policy' };
  const { outcome } = await emend.decide(run, { decision: decision.id, answer: 'approve', by });
  console.log(`${run.slice(0, 8)} ${status.title}: ${outcome}`);
};

const emend = await Emend.open();
while (!stopped) {
  try {
    const { runs } = await emend.list();
    for (const { stepKey, decision } of runs)
      if (decision?.reason === 'approval') await look(emend, stepKey);
  } catch (error) {
    // A person may have answered first, or the server may be away for a moment.
    if (!(error instanceof ProblemError)) throw error;
    console.error(`${error.problem.code}: ${error.problem.message}`);
  }
  await sleep(LOOK_EVERY_MS);
}
await emend.close();
