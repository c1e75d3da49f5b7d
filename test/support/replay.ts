/** Replays a history (as JSON) against today's workflow code. Throws DeterminismViolationError and the like. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';

let installed = false;
/** What the workflow tells its worker is told again at a replay's end; nobody listens. */
const SINKS = { archive: { append: { fn: () => undefined, callDuringReplay: false } } };

export async function replay(history: unknown, name: string): Promise<void> {
  if (!installed) Runtime.install({ logger: new DefaultLogger('ERROR') });
  installed = true;
  const codePath = join(process.cwd(), 'dist/workflow-bundle.js');
  if (!existsSync(codePath)) throw new Error('build first: node scripts/build.js');
  await Worker.runReplayHistory({ workflowBundle: { codePath }, sinks: SINKS }, history, `replay-${name}`);
}
