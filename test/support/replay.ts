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

/** By history: the events that it told the archive. */
export type Told = Readonly<Record<string, readonly StepEvent[]>>;

type Archive = (of: { workflowId: string }, stepKey: string, events: readonly StepEvent[]) => void;
/** One after the other on one worker, since to start one takes longer than most replays: the id of each, and what was wrong with it. */
export const replays = (
  histories: Readonly<Record<string, unknown>>,
  workflowBundle: WorkflowBundleOption = { codePath: BUNDLE },
  fn: Archive = () => undefined,
): ReturnType<typeof Worker.runReplayHistories> => {
  install();
  const sinks = { archive: { append: { fn, callDuringReplay: true } } };
  const all = Object.entries(histories).map(([workflowId, history]) => ({ workflowId, history }));
  return Worker.runReplayHistories({ workflowBundle, sinks }, all);
};

export async function replay(history: unknown, name: string): Promise<void> {
  for await (const { error } of replays({ [`replay-${name}`]: history }))
    if (error !== undefined) throw error;
}

/** All of them on one worker, by the workflow code given. */
export async function replayAll(
  histories: Readonly<Record<string, unknown>>,
  code: string,
): Promise<Told> {
  const told: Record<string, StepEvent[]> = {};
  const fn: Archive = ({ workflowId }, _stepKey, events) => {
    (told[workflowId] ??= []).push(...events);
  };
  for await (const { error } of replays(histories, { code }, fn))
    if (error !== undefined) throw error;
  return told;
}
