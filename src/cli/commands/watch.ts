/** `emend watch`: a line for each change of a run, or of all open runs, until it ends, waits for an answer or is interrupted. Changes nothing. */
import type { RunList } from '../../client/runs/list.js';
import { needRuns } from '../../client/types.js';
import { refreshRun, resolveRun, type ResolvedRun } from '../../client/runs/resolve.js';
import type { RunView } from '../../client/runs/show.js';
import { watchList } from '../../client/runs/watch-list.js';
import { watchRun } from '../../client/runs/watch.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { shownKey, type StepKey } from '../../shared/ids.js';
import { exitOfFollowed } from '../errors.js';
import { childOf, type FollowedPlan } from '../follow-run.js';
import { notify, notifyCommand } from '../headless/approve.js';
import { type Io, type JsonFlag, asides, type QuietFlag } from '../io.js';
import { printJson } from '../json.js';
import { decisionLines } from '../render/decision.js';
import { line } from '../render/text.js';
import { interruptible, type Session, withEmend } from '../session.js';

export interface WatchFlags extends JsonFlag, QuietFlag {
  readonly wait?: true;
}

export const watch = (io: Io, run: string | undefined, flags: WatchFlags): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    needRuns(emend);
    const tell = teller(io, flags.json === true, await notifyCommand(io));
    return interruptible(io, async (signal) => {
      if (run === undefined) return watchAll({ io, emend, flags }, tell, signal);
      // Whoever reads a terminal sees the decision and answers it elsewhere; a script has to be given the turn.
      const waits = flags.wait === true || (io.isTty && flags.json !== true);
      const watching = { io, emend, flags, tell, signal, waits };
      return exitOfFollowed(await watchOne(watching, await resolveRun(emend, run)));
    });
  });

type Tell = (view: RunView) => Promise<undefined>;

interface Watching extends Session<WatchFlags> {
  readonly tell: Tell;
  readonly signal: AbortSignal;
  /** Continues at decisions until they are answered elsewhere. */
  readonly waits: boolean;
}
/** What made the watching of a run stop. */
type Stop = Extract<FollowedPlan, { kind: 'waiting' | 'paused' }> | ChildStop;
interface ChildStop {
  readonly kind: 'child';
  readonly stepKey: StepKey;
}

/** Watches a run until it ends, or waits for an answer. Of a plan it also watches the run of the phase that is under way. */
const watchOne = async (watching: Watching, run: ResolvedRun): Promise<FollowedPlan> => {
  const { emend, signal } = watching;
  const shown = new Set<string>();
  /** Runs of phases that were watched to their end. */
  const seen = new Set<string>();
  for (let current = run; ; current = await refreshRun(emend, current)) {
    const found: { stop: Stop | null } = { stop: null };
    const onChange = async (view: RunView) => {
      await watching.tell(view);
      showDecision(watching, view, shown);
      found.stop = stopAt(view, seen, watching.waits);
      return found.stop === null ? undefined : 'stop';
    };
    const closed = await watchRun(emend, current, onChange, { signal });
    if (closed !== null) return { kind: 'closed', closed };
    const { stop } = found;
    if (signal.aborted || stop === null) return { kind: 'interrupted' };
    if (stop.kind !== 'child') return stop;
    const child = await childOf(emend, stop.stepKey, signal);
    if (child === null) return { kind: 'interrupted' };
    const ofChild = await watchOne(watching, child);
    if (ofChild.kind !== 'closed') return ofChild;
    seen.add(stop.stepKey);
  }
};

/** The archive may be out of date: without a worker nothing is known to wait. */
const stopAt = (
  { source, status }: RunView,
  seen: ReadonlySet<string>,
  waits: boolean,
): Stop | null => {
  if (source === 'archive') return null;
  const { decision, plan, state } = status;
  if (decision !== null) return waits ? null : { kind: 'waiting', status, why: [] };
  const child = plan?.phases.find(
    (phase) => phase.status === 'running' && !seen.has(phase.run ?? ''),
  );
  if (child?.run != null) return { kind: 'child', stepKey: child.run };
  return state === 'waiting' && !waits ? { kind: 'paused', status } : null;
};

/** Prints an open decision once, with the commands that answer it. */
const showDecision = (
  { io, flags }: Watching,
  { source, status: { decision, stepKey } }: RunView,
  shown: Set<string>,
): void => {
  if (decision === null || source === 'archive' || flags.json === true || shown.has(decision.id))
    return;
  shown.add(decision.id);
  for (const text of decisionLines(shownKey(stepKey), decision, { width: io.columns }))
    io.out(text);
};

const watchAll = async (
  { io, emend, flags }: Session<QuietFlag>,
  tell: Tell,
  signal: AbortSignal,
): Promise<ExitCode> => {
  let first = true;
  const onList = ({ runs }: RunList): void => {
    if (first && runs.every((run) => !run.open))
      asides(io, flags).err('No run is open; waiting for new runs.');
    first = false;
  };
  await watchList(emend, onList, {
    signal,
    onView: tell,
    onServer: true,
    // One run that cannot be followed says so; the others go on.
    onFailed: (stepKey, { message }) => io.err(`${shownKey(stepKey)}  ${message}`),
  });
  return EXIT.interrupted;
};

const teller = (io: Io, json: boolean, command: string | null): Tell => {
  const last = new Map<string, string>();
  const told = new Set<string>();
  return async ({ stepKey, status, note }) => {
    const { state, doing, decision, jobPath: job } = status;
    const now = JSON.stringify([state, doing, decision?.id, note]);
    if (last.get(stepKey) === now) return undefined;
    last.set(stepKey, now);
    const run = shownKey(stepKey);
    const at = new Date();
    const open = decision === null ? null : { id: decision.id, reason: decision.reason };
    const what = decision === null ? (note ?? doing) : `${decision.reason}: emend review ${run}`;
    if (json)
      printJson(io, 'watch', {
        v: 1,
        at: at.toISOString(),
        stepKey,
        state,
        doing,
        job,
        decision: open,
        note,
      });
    else
      io.out(
        line(`${at.toTimeString().slice(0, 8)}  ${run}  ${state}  ${job}  ${what}`, io.columns),
      );
    if (decision !== null && command !== null && !told.has(decision.id)) {
      told.add(decision.id);
      await notify(io, command, status, decision);
    }
    return undefined;
  };
};
