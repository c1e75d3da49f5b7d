/** Shows what a plan does: its own events, and the run of the phase that is under way, until it ends or waits for somebody. */
import { setTimeout as sleep } from 'node:timers/promises';
import { findRun, resolveRun, type ResolvedRun, refreshRun } from '../client/runs/resolve.js';
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
  yesTo,
  type Followed,
} from './follow-run.js';
import { asides, type JsonFlag, type QuietFlag } from './io.js';
import { resultLines, resumeText } from './render/run.js';
import { line, plain } from './render/text.js';
import type { Session } from './session.js';
import { watchRun } from '../client/runs/watch.js';
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
  session: Session,
  started: ResolvedRun,
  options: FollowOptions,
): Promise<FollowedPlan> => {
  const { io, emend } = session;
  const progress = new ProgressLog(session, options);
  /** Decisions that need nothing more from us. */
  const handled = new Set<string>();
  /** Phases' runs that were followed to their end. */
  const seen = new Set<string>();
  const watch = async (run: ResolvedRun): Promise<Stop | ClosedRun | null> => {
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
          if (options.wait && !options.interactive && (await yesTo(session, run, status.decision, options)) === null) {
            progress.sayWaiting(decisionLines(shownKey(run.stepKey), status.decision, { width: io.columns }));
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
  for (let run = started; ; run = await refreshRun(emend, run)) {
    const stop = await watch(run);
    progress.clear();
    if (stop === null) return { kind: 'interrupted' };
    if (!('kind' in stop)) {
      await progress.end(run);
      return { kind: 'closed', closed: stop };
    }
    if (stop.kind === 'no_worker' || stop.kind === 'paused') return stop;
    if (stop.kind === 'child') {
      const child = await childOf(emend, stop.stepKey, options.signal);
      if (child === null) return { kind: 'interrupted' };
      const followed = await followRun(session, child, options);
      if (followed.kind !== 'closed') return followed;
      seen.add(stop.stepKey);
      continue;
    }
    const { decision } = stop.status;
    if (decision === null) continue;
    const answered = await answerHere(session, run, decision, options);
    if (options.signal.aborted) return { kind: 'interrupted' };
    if (answered === 'left') return { kind: 'waiting', status: stop.status, why: [] };
    if (answered === 'answered') handled.add(decision.id);
  }
};

/** The plan says that a phase runs a moment before its run is there. Null: the person went away. */
const childOf = async (emend: Emend, stepKey: string, signal: AbortSignal): Promise<ResolvedRun | null> => {
  while (!signal.aborted) {
    const child = await findRun(emend, stepKey);
    if (child?.live != null || child?.archived.closed != null) return child;
    await sleep(PHASE_APPEARS_MS, undefined, { signal }).catch(() => undefined);
  }
  return null;
};

// The beginning and the end of a run in a terminal, a step's and a plan's alike: what it is called, how it is followed, what came of it.

/** What `emend run` and `emend plan run` have in common. */
export interface BeginFlags extends JsonFlag, QuietFlag {
  readonly dev?: true;
  readonly wait?: true;
  readonly yes?: true;
}

/** Says the title, and `runsAlready` where it does not begin now; nothing where the flags ask for data or for quiet. */
export const begin = async (
  { io, emend, flags }: Session<BeginFlags>,
  step: StartedStep,
  title: string,
  runsAlready: string,
) => {
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

export const tellEnd = (
  { io, flags }: Session<BeginFlags>,
  { shown, workspace }: Readonly<Record<'shown' | 'workspace', string>>,
  followed: FollowedPlan,
): void => {
  const dev = flags.dev === true;
  switch (followed.kind) {
    case 'closed': {
      const { result, status, message } = followed.closed;
      if (result !== null) for (const text of resultLines(result, shown, workspace)) io.out(text);
      else
        io.err(
          `${shown}  ${status.toLowerCase()}: ${plain(message ?? 'no reason given')}\n  See: emend show ${shown}, emend recover`,
        );
      return;
    }
    case 'waiting': {
      const { decision, stepKey } = followed.status;
      if (decision !== null)
        for (const text of decisionLines(shownKey(stepKey), decision, { width: io.columns })) io.out(text);
      if (dev) asides(io, flags).err('The server of this command stops with it. Start one first: emend dev');
      return;
    }
    case 'paused':
      io.out(`${shown} is paused before the next phase. Continue with: ${resumeText(followed.status)}`);
      return;
    case 'no_worker':
      io.err(
        `Run ${shown} is started and continues when a worker is available. --wait waits for it; emend show ${shown} shows its state.`,
      );
      return;
    case 'interrupted':
      io.err(
        dev
          ? `\nThe server and worker of this command stop now. ${shown} continues when a server is started again: emend dev, then emend show ${shown}`
          : `\n${shown} continues without this terminal. See: emend show ${shown}`,
      );
  }
};
