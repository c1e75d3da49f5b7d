/** Shows what a plan does: its own events, and the run of the phase that is under way, until it ends or waits for somebody. */
import { setTimeout as sleep } from 'node:timers/promises';
import { resolveRun, type ResolvedRun, refreshRun } from '../client/runs/resolve.js';
import { linkOf } from '../client/runs/show.js';
import type { StartedStep } from '../client/runs/start.js';
import type { Emend, ClosedRun } from '../client/types.js';
import { shownKey } from '../shared/ids.js';
import {
  type FollowOptions,
  type Shows,
  answerHere,
  followRun,
  ProgressLog,
  watchOptions,
  type Followed,
} from './follow-run.js';
import { type Io, type QuietFlag, foldOf } from './io.js';
import { line } from './render/text.js';
import { watchRun } from '../client/runs/watch.js';
import { ProblemError } from '../shared/problems.js';
import type { StepStatus } from '../shared/run.js';
import { decisionLines } from './render/decision.js';

const PHASE_APPEARS_MS = 200; // bound: and one that was announced and is not there yet this often.

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
    await sleep(PHASE_APPEARS_MS, undefined, { signal }).catch(() => undefined);
  }
  return null;
};

// The beginning of a run in a terminal, a step's and a plan's alike: what it is called, and how it is followed from here on.

interface BeginFlags extends QuietFlag {
  readonly json?: true;
  readonly wait?: true;
  readonly yes?: true;
}

export interface Begun {
  readonly resolved: ResolvedRun;
  readonly shown: string;
  readonly link: string | null;
  readonly options: Omit<FollowOptions, 'live' | 'signal'>;
}

/** Says the title, and `runsAlready` where it does not begin now; nothing where the flags ask for data or for quiet. */
export const begun = async (
  io: Io,
  emend: Emend,
  step: StartedStep,
  flags: BeginFlags,
  { title, runsAlready }: { readonly title: string; readonly runsAlready: string },
): Promise<Begun> => {
  const json = flags.json === true;
  const shown = shownKey(step.stepKey);
  const resolved = await resolveRun(emend, step.stepKey);
  const link = linkOf(emend, resolved);
  const shows: Shows = json ? 'nothing' : flags.quiet === true ? 'waits' : 'progress';
  if (shows === 'progress') {
    io.out(`${shown}  ${line(title, io.columns - 10)}`);
    if (step.started === 'already_running') io.out(`  ${runsAlready}`);
    if (link !== null) io.out(`  ${link}`);
  }
  const interactive = io.isTty && !json;
  const wait = flags.wait === true;
  return {
    ...{ resolved, shown, link },
    options: { interactive, wait, yes: flags.yes === true, shows, needWorker: !interactive && !wait },
  };
};
