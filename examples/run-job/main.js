// @ts-check
/**
 * Runs a job that is a value and waits for its end. A worker must be running (`emend dev` or `emend worker`).
 *
 *     node main.js PATH_OF_A_REPOSITORY
 */
import { Emend, ProblemError } from 'emend';

const [workspace = '.'] = process.argv.slice(2);
const emend = await Emend.open();
try {
  const { stepKey } = await emend.start({
    workspace,
    instructions: '# Greet politely\n\nSay "Good morning" instead of "hi".\n',
    target_files: ['greet.js'],
    test: false,
    commit: true,
  });

  let waited = await emend.wait(stepKey);
  while (waited.outcome === 'waiting') {
    const { decision } = waited.status;
    if (decision?.reason === 'approval') console.log((await emend.diff(stepKey))?.diff);
    console.log(
      `Waiting for ${decision?.reason ?? 'a person'}. Answer with: emend review ${stepKey.slice(0, 8)}`,
    );
    waited = await emend.wait(stepKey, { after: decision?.id });
  }
  if (waited.outcome === 'closed') console.log(waited.result?.outcome, waited.result?.commit);
} catch (error) {
  if (!(error instanceof ProblemError)) throw error;
  const { code, message, next } = error.problem;
  console.error(`${code}: ${message} ${next ?? ''}`);
  process.exitCode = 1;
} finally {
  await emend.close();
}
