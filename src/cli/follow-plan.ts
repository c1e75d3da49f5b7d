/** Shows what a plan does: its own events, and the run of the phase that is under way, until it ends or waits for somebody. */
import { SERVER_BOUNDS } from '../shared/bounds.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { refreshRun, resolveRun, type ResolvedRun } from '../client/resolve-run.js';
import type { ClosedRun, Emend } from '../client/types.js';
import { watchRun } from '../client/watch-run.js';
import { ProblemError } from '../shared/problems.js';
import type { StepStatus } from '../shared/protocol.js';
import { answerHere, followRun, ProgressLog, watchOptions, type FollowOptions, type Followed } from './follow-run.js';
import { foldOf, type Io } from './io.js';
import { decisionLines } from './render/decision.js';
import { shownKey } from '../shared/refs.js';

export type FollowedPlan = Followed | { readonly kind: 'paused'; readonly status: StepStatus };

/** What made the watching of the plan's own run stop. */
type Stop =
  | { readonly kind: 'child'; readonly stepKey: string }
  | { readonly kind: 'decision'; readonly status: StepStatus }
  | { readonly kind: 'paused'; readonly status: StepStatus }
  | { readonly kind: 'no_worker'; readonly note: string };

export const followPlan = async (
  io: Io,
  emend: Emend,
  started: ResolvedRun,
  options: FollowOptions,
): Promise<FollowedPlan> => {
  const progress = new ProgressLog(io, emend, options.shows);
  const handled = new Set<string>();
  const seen = new Set<string>();
  for (let run = started; ; run = await refreshRun(emend, run)) {
    const watched = await watchPlan(io, emend, run, options, { progress, handled, seen });
    progress.clear();
    if (watched === null) return { kind: 'interrupted' };
    if (!('kind' in watched)) return { kind: 'closed', closed: watched };
    const stop = watched;
    if (stop.kind === 'no_worker' || stop.kind === 'paused') return stop;
    if (stop.kind === 'child') {
      const child = await childOf(emend, stop.stepKey, options.signal);
      if (child === null) return { kind: 'interrupted' };
      const followed = await followRun(io, emend, child, options);
      if (followed.kind !== 'closed') return followed;
      seen.add(stop.stepKey);
      continue;
    }
    const { decision } = stop.status;
    if (decision === null) continue;
    const answered = await answerHere(io, emend, run, decision, options);
    if (options.signal.aborted) return { kind: 'interrupted' };
    if (answered === 'left') return { kind: 'waiting', status: stop.status, why: [] };
    if (answered === 'answered') handled.add(decision.id);
  }
};

interface Watching {
  readonly progress: ProgressLog;
  /** Decisions that need nothing more from us. */
  readonly handled: Set<string>;
  /** Phases' runs that were followed to their end. */
  readonly seen: Set<string>;
}

const watchPlan = async (
  io: Io,
  emend: Emend,
  run: ResolvedRun,
  options: FollowOptions,
  { progress, handled, seen }: Watching,
): Promise<Stop | ClosedRun | null> => {
  const found: { stop: Stop | null } = { stop: null };
  const closed = await watchRun(
    emend,
    run,
    async (view) => {
      await progress.tell(run, view);
      const { status } = view;
      if (view.source === 'archive') {
        if (options.needWorker && view.note !== null) found.stop = { kind: 'no_worker', note: view.note };
        return found.stop === null ? undefined : 'stop';
      }
      const child = status.plan?.phases.find((phase) => phase.status === 'running' && !seen.has(phase.run ?? ''));
      if (status.decision !== null && !handled.has(status.decision.id)) {
        if (options.wait && !options.interactive) {
          progress.sayWaiting(
            decisionLines(shownKey(run.stepKey), status.decision, { width: io.columns, fold: foldOf(io) }),
          );
          handled.add(status.decision.id);
          return undefined;
        }
        found.stop = { kind: 'decision', status };
      } else if (child?.run != null) found.stop = { kind: 'child', stepKey: child.run };
      else if (status.decision === null && status.state === 'waiting' && !options.wait)
        found.stop = { kind: 'paused', status };
      return found.stop === null ? undefined : 'stop';
    },
    watchOptions(options),
  );
  return closed ?? found.stop;
};

/** The plan says that a phase runs a moment before its run is there. Null: the person went away. */
const childOf = async (emend: Emend, stepKey: string, signal: AbortSignal): Promise<ResolvedRun | null> => {
  while (!signal.aborted) {
    const child = await resolveRun(emend, stepKey).catch((error: unknown) => {
      if (error instanceof ProblemError && error.problem.code === 'run_unknown') return null;
      throw error;
    });
    if (child?.live != null || child?.archived.closed != null) return child;
    await sleep(SERVER_BOUNDS.phaseAppears_ms, undefined, { signal }).catch(() => undefined);
  }
  return null;
};
