/** Replays histories (as JSON) against today's workflow code. Throws DeterminismViolationError and the like. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import type { StepEvent } from '../../src/shared/events.js';

export const BUNDLE = join(process.cwd(), 'dist/workflow-bundle.js');
let installed = false;
const install = (): void => {
  if (!existsSync(BUNDLE)) throw new Error('build first: node scripts/build.js');
  if (!installed) Runtime.install({ logger: new DefaultLogger('ERROR') });
  installed = true;
};
/** What the workflow tells its worker is told again at a replay's end; nobody listens. */
const SINKS = { archive: { append: { fn: () => undefined, callDuringReplay: false } } };

export async function replay(history: unknown, name: string): Promise<void> {
  install();
  const workflowBundle: WorkflowBundleOption = { codePath: BUNDLE };
  await Worker.runReplayHistory({ workflowBundle, sinks: SINKS }, history, `replay-${name}`);
}

/** By history: the events that it told the archive. */
export type Told = Readonly<Record<string, readonly StepEvent[]>>;

/** All of them on one worker, by the workflow code given. */
export async function replayAll(histories: Readonly<Record<string, unknown>>, code: string): Promise<Told> {
  install();
  const told: Record<string, StepEvent[]> = {};
  const fn = ({ workflowId }: { workflowId: string }, _stepKey: string, events: readonly StepEvent[]): void => {
    (told[workflowId] ??= []).push(...events);
  };
  const sinks = { archive: { append: { fn, callDuringReplay: true } } };
  const all = Object.entries(histories).map(([workflowId, history]) => ({ workflowId, history }));
  for await (const { error } of Worker.runReplayHistories({ workflowBundle: { code }, sinks }, all))
    if (error !== undefined) throw error;
  return told;
}
