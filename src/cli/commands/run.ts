/** `emend run`: starts a job (or joins its open run), shows it, asks, and says how it ended. */
import { shownKey } from '../../shared/refs.js';
import { readJobFile } from '../../client/job-file.js';
import type { JobFile } from '../../client/job-file.js';
import { openEmend } from '../../client/open.js';
import { resolveRun } from '../../client/resolve-run.js';
import { linkOf } from '../../client/show-run.js';
import { startStep } from '../../client/start-step.js';
import type { StartedStep } from '../../client/start-step.js';
import type { Emend } from '../../client/types.js';
import { EXIT, fail } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import { exitOfClosed } from '../exit-codes.js';
import { followRun } from '../follow-run.js';
import type { Followed } from '../follow-run.js';
import type { Io } from '../io.js';
import { decisionLines } from '../render/decision.js';
import { line, plain } from '../render/text.js';
import { resultLines } from '../render/view.js';
import { startMissing, untilPolled } from '../start-missing.js';
import { runLimits } from '../settings.js';

export interface RunFlags {
  readonly dev?: true;
  readonly wait?: true;
  readonly yes?: true;
  readonly again?: true;
  readonly live?: true;
  readonly set: readonly string[];
  readonly hint: readonly string[];
  readonly workspace?: string;
  readonly json?: true;
}

export const run = async (io: Io, jobPath: string, flags: RunFlags): Promise<ExitCode> => {
  const overrides = runLimits(flags.set);
  const job = await readJobFile({ jobPath, workspace: flags.workspace ?? null, cwd: io.cwd });
  const stop = new AbortController();
  const off = io.onInterrupt(() => {
    stop.abort();
  });
  let emend = await openEmend({ env: io.env });
  const services = flags.dev === true ? await startMissing(io, emend) : null;
  try {
    if (services?.server === true) {
      await emend.close();
      emend = await openEmend({ env: io.env });
    }
    if (emend.runs === null)
      return fail('no_server', emend.unreachable?.message ?? 'No Temporal server answers.', emend.unreachable?.next);
    if (services?.worker === true) await untilPolled(emend.runs, emend.queues.workflow);
    const step = await startStep(emend, { job, overrides, hints: flags.hint, again: flags.again === true });
    return await follow(io, emend, job, step, flags, stop.signal);
  } finally {
    off();
    await services?.stop();
    await emend.close();
  }
};

const follow = async (
  io: Io,
  emend: Emend,
  job: JobFile,
  step: StartedStep,
  flags: RunFlags,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const json = flags.json === true;
  const shown = shownKey(step.stepKey);
  const resolved = await resolveRun(emend, step.stepKey);
  const link = linkOf(emend, resolved);
  if (!json) {
    io.out(`${shown}  ${line(job.job.title, io.columns - 10)}`);
    if (step.started === 'already_running')
      io.out('  This job is running already; here it is. (--again starts another beside it.)');
    if (link !== null) io.out(`  ${link}`);
  }
  const interactive = io.isTty && !json;
  const wait = flags.wait === true;
  const followed = await followRun(io, emend, resolved, {
    interactive,
    wait,
    yes: flags.yes === true,
    quiet: json,
    live: flags.live === true,
    needWorker: !interactive && !wait,
    signal,
  });
  const exit = exitOf(followed);
  if (json) io.out(JSON.stringify({ v: 1, ...step, link, ...outcomeOf(followed), exit }));
  else tell(io, shown, followed, flags.dev === true);
  return exit;
};

const exitOf = (followed: Followed): ExitCode => {
  switch (followed.kind) {
    case 'closed':
      return exitOfClosed(followed.closed);
    case 'waiting':
      return EXIT.waiting;
    case 'no_worker':
      return EXIT.unavailable;
    case 'interrupted':
      return EXIT.interrupted;
  }
};

const outcomeOf = (followed: Followed): object => {
  switch (followed.kind) {
    case 'closed':
      return { state: 'closed', ...followed.closed };
    case 'waiting':
      return { state: 'waiting', decision: followed.status.decision, status: followed.status };
    case 'no_worker':
      return { state: 'no_worker', message: followed.note };
    case 'interrupted':
      return { state: 'interrupted' };
  }
};

const tell = (io: Io, shown: string, followed: Followed, dev: boolean): void => {
  switch (followed.kind) {
    case 'closed': {
      const { result, status, message } = followed.closed;
      if (result !== null) for (const text of resultLines(result, shown)) io.out(text);
      else
        io.err(
          `${shown}  ${status.toLowerCase()}: ${plain(message ?? 'no reason given')}\n  See: emend show ${shown}, emend recover`,
        );
      return;
    }
    case 'waiting': {
      const { decision } = followed.status;
      if (decision !== null) for (const text of decisionLines(shown, decision, { width: io.columns })) io.out(text);
      if (dev) io.err('The server of this run ends with it. Start one first: emend dev');
      return;
    }
    case 'no_worker':
      io.err(
        `The run ${shown} is started and goes on as soon as a worker is there. --wait waits for it; emend show ${shown} tells how it is.`,
      );
      return;
    case 'interrupted':
      io.err(
        dev
          ? `\nThe server and worker of this run end now. ${shown} stays where it is until a server is started again: emend dev, then emend show ${shown}`
          : `\n${shown} goes on without this terminal. See: emend show ${shown}`,
      );
  }
};
