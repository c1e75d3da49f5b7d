/** `emend watch`: a line for each change of a run, or of all open runs, until it ends or somebody goes away. Changes nothing. */
import type { RunList } from '../../client/runs/list.js';
import { needRuns, type Emend } from '../../client/types.js';
import { resolveRun } from '../../client/runs/resolve.js';
import type { RunView } from '../../client/runs/show.js';
import { watchList } from '../../client/runs/watch-list.js';
import { watchRun } from '../../client/runs/watch.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { exitOfClosed } from '../errors.js';
import { notify, notifyCommand } from '../headless/approve.js';
import { type Io, type JsonFlag, asides, type QuietFlag } from '../io.js';
import { printJson } from '../json.js';
import { line } from '../render/text.js';
import { interruptible, type Session, withEmend } from '../session.js';

export const watch = (
  io: Io,
  run: string | undefined,
  flags: JsonFlag & QuietFlag,
): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    needRuns(emend);
    const tell = teller(io, flags.json === true, await notifyCommand(io));
    return interruptible(io, (signal) =>
      run === undefined
        ? watchAll({ io, emend, flags }, tell, signal)
        : watchOne(emend, run, tell, signal),
    );
  });

type Tell = (view: RunView) => Promise<undefined>;

const watchOne = async (
  emend: Emend,
  run: string,
  tell: Tell,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const closed = await watchRun(emend, await resolveRun(emend, run), tell, { signal });
  return closed === null ? EXIT.interrupted : exitOfClosed(closed);
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
