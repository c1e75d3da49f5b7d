/** The beginning and the end of a run in a terminal, a step's and a plan's alike: what it is called, how it is followed, what came of it. */
import { resolveRun } from '../client/runs/resolve.js';
import { linkOf, runProposal } from '../client/runs/show.js';
import type { StartedStep } from '../client/runs/start.js';
import type { Emend } from '../client/types.js';
import type { DecisionPoint } from '../shared/decisions.js';
import { shownKey, type StepKey } from '../shared/ids.js';
import type { ProposalSummary } from '../shared/proposal-activities.js';
import type { FollowedPlan, Shows } from './follow-run.js';
import { asides, type JsonFlag, type QuietFlag } from './io.js';
import { resultLines, resumeText } from './render/run.js';
import { line, plain } from './render/text.js';
import type { Session } from './session.js';
import { decisionLines } from './render/decision.js';

/** What `emend run` and `emend plan run` have in common. */
export interface BeginFlags extends JsonFlag, QuietFlag {
  readonly dev?: true;
  readonly wait?: true;
  readonly yes?: true;
}

/** Flags that count where a run is started, and change nothing of one that is open. */
const AT_START = new Set(
  'pick set hint phase sequential waves auto restart forceReplan reportScopeDrift'.split(' '),
);

/** Says the title, and `runsAlready` where it does not begin now; only what has no effect then where the flags ask for data or for quiet. */
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
  const given = Object.entries(flags).filter(
    ([name, value]) => AT_START.has(name) && [value].flat().length > 0,
  );
  if (step.started === 'already_running' && given.length > 0) {
    const names = given.map(([name]) => `--${name.replace(/[A-Z]/g, '-$&').toLowerCase()}`);
    io.err(`${shown} was started before: ${names.join(', ')} of this command had no effect.`);
  }
  const interactive = io.isTty && !json;
  const wait = flags.wait === true;
  return {
    resolved,
    shown,
    link,
    options: {
      interactive,
      wait,
      yes: flags.yes === true,
      shows,
      needWorker: !interactive && !wait,
    },
  };
};

export const tellEnd = async (
  { io, emend, flags }: Session<BeginFlags>,
  { shown, workspace }: Readonly<Record<'shown' | 'workspace', string>>,
  followed: FollowedPlan,
): Promise<void> => {
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
      if (decision !== null) {
        const proposal = await proposalOf(emend, stepKey, decision);
        const view = { width: io.columns, proposal };
        for (const text of decisionLines(shownKey(stepKey), decision, view)) io.out(text);
      }
      if (dev)
        asides(io, flags).err(
          'The server of this command stops with it. Start one first: emend dev',
        );
      return;
    }
    case 'paused':
      io.out(
        `${shown} is paused before the next phase. Continue with: ${resumeText(followed.status)}`,
      );
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

/** Returns the proposal that a decision is about: its findings and tolerances are read before the answer. */
const proposalOf = async (
  emend: Emend,
  stepKey: StepKey,
  { proposalId }: DecisionPoint,
): Promise<ProposalSummary | null> => {
  if (proposalId === null) return null;
  const proposal = await runProposal(emend, await resolveRun(emend, stepKey));
  return proposal?.id === proposalId ? proposal : null;
};
