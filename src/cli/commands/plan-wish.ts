/** `emend plan pause|resume|stop|status`: a person's wishes to the open run of a plan, and what it does. */
import { loginName } from '../../client/decide.js';
import { lastCheckpointed, runOfPlan, type PlanFile } from '../../client/plan-runs.js';
import { showWithPhases } from '../../client/phases-waiting.js';
import { reading } from '../../client/reading.js';
import { planOfPath, tellPlan } from '../../client/start-plan.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import { shownKey } from '../../shared/refs.js';
import { refuseHalfDone } from '../half-done.js';
import { foldOf, type Io } from '../io.js';
import { printJson } from '../json.js';
import { asides, type QuietFlag } from '../quiet.js';
import { viewLines } from '../render/view.js';
import { withEmend } from '../with-emend.js';
import { runPlan } from './plan-run.js';

interface Flags extends QuietFlag {
  readonly json?: true;
}

type Wish = 'pause' | 'resume' | 'stop' | 'drift';
interface Said {
  readonly what: string;
  readonly hint?: string;
}

const wish =
  (name: Wish, said: Said, text?: string) =>
  (io: Io, path: string, flags: Flags): Promise<ExitCode> =>
    withEmend(io, async (emend) => {
      await refuseHalfDone(io, path);
      const plan = await planOfPath(io.cwd, path);
      return (await tellPlan(emend, plan, name, loginName(), text))
        ? told(io, plan, name, said, flags)
        : noneOpen(plan);
    });

const noneOpen = ({ planPath }: PlanFile, more = ''): never =>
  fail('run_unknown', `No run of ${planPath} is open${more}.`, `Start one with: emend plan run ${planPath}`);

const told = (io: Io, plan: PlanFile, name: Wish, { what, hint = '' }: Said, flags: Flags): ExitCode => {
  if (flags.json === true) printJson(io, 'plan pause', { v: 1, workflowId: plan.workflowId, wish: name });
  else io.out(`${plan.planPath}: ${what}${asides(io, flags).after(hint)}`);
  return EXIT.done;
};

export const pause = wish('pause', { what: 'pauses before the next phase', hint: '; emend plan resume goes on' });

/** Where no run is open the plan is started where the last one left it. */
export const resume = async (io: Io, path: string, flags: Flags): Promise<ExitCode> => {
  await refuseHalfDone(io, path);
  const plan = await planOfPath(io.cwd, path);
  const isLeft = await withEmend(io, async (emend) =>
    (await tellPlan(emend, plan, 'resume', loginName())) ? null : (await lastCheckpointed(emend, plan)) !== null,
  );
  if (isLeft === null) return told(io, plan, 'resume', { what: 'goes on' }, flags);
  if (!isLeft) return noneOpen(plan, ', and none has left a checkpoint');
  return runPlan(io, path, { set: [], hint: [], ...flags });
};
export const stop = wish('stop', {
  what: 'ends when the phase that is under way is done',
  hint: '; emend plan resume takes it back',
});

export const drift = (io: Io, path: string, text: string, flags: Flags): Promise<ExitCode> =>
  text.trim() === ''
    ? fail('usage', 'drift: expected what the plan does not hold, received nothing.')
    : wish('drift', { what: 'is taken up before the next phase' }, text)(io, path, flags);

export const status = (io: Io, path: string, flags: Flags): Promise<ExitCode> =>
  withEmend(io, async (opened) => {
    await refuseHalfDone(io, path);
    const plan = await planOfPath(io.cwd, path);
    const view = await reading(opened, async (emend) => showWithPhases(emend, await runOfPlan(emend, plan)));
    if (flags.json === true) printJson(io, 'plan status', view);
    else io.out(viewLines(view, shownKey(view.stepKey), io.columns, foldOf(io)).join('\n'));
    return EXIT.done;
  });
