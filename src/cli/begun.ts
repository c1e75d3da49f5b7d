/** The beginning of a run in a terminal, a step's and a plan's alike: what it is called, and how it is followed from here on. */
import { resolveRun, type ResolvedRun } from '../client/resolve-run.js';
import { linkOf } from '../client/show-run.js';
import type { StartedStep } from '../client/start-step.js';
import type { Emend } from '../client/types.js';
import { shownKey } from '../shared/refs.js';
import type { FollowOptions, Shows } from './follow-run.js';
import type { Io } from './io.js';
import type { QuietFlag } from './quiet.js';
import { line } from './render/text.js';

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
