/** `emend plan pause|resume|stop|status`: a person's wishes to the open run of a plan, and what it does. */
import { loginName } from '../../client/decide.js';
import { resolveRun } from '../../client/resolve-run.js';
import { showRun } from '../../client/show-run.js';
import { planOfPath, tellPlan } from '../../client/start-plan.js';
import { EXIT, fail } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import { shownKey } from '../../shared/refs.js';
import type { Io } from '../io.js';
import { printJson } from '../json.js';
import { viewLines } from '../render/view.js';
import { withEmend } from '../with-emend.js';

interface Flags {
  readonly json?: true;
}

const wish =
  (name: 'pause' | 'resume' | 'stop' | 'drift', said: string, text?: string) =>
  (io: Io, path: string, flags: Flags): Promise<ExitCode> =>
    withEmend(io, async (emend) => {
      const plan = await planOfPath(io.cwd, path);
      if (!(await tellPlan(emend, plan, name, loginName(), text)))
        return fail(
          'run_unknown',
          `No run of ${plan.planPath} is open.`,
          `Start one with: emend plan run ${plan.planPath}`,
        );
      if (flags.json === true) printJson(io, 'plan pause', { v: 1, workflowId: plan.workflowId, wish: name });
      else io.out(`${plan.planPath}: ${said}`);
      return EXIT.done;
    });

export const pause = wish('pause', 'pauses before the next phase; emend plan resume goes on');
export const resume = wish('resume', 'goes on');
export const stop = wish('stop', 'ends when the phase that is under way is done; emend plan resume takes it back');

export const drift = (io: Io, path: string, text: string, flags: Flags): Promise<ExitCode> =>
  text.trim() === ''
    ? fail('usage', 'drift: expected what the plan does not hold, received nothing.')
    : wish('drift', 'is taken up before the next phase', text)(io, path, flags);

export const status = (io: Io, path: string, flags: Flags): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    const plan = await planOfPath(io.cwd, path);
    const view = await showRun(emend, await resolveRun(emend, plan.workflowId));
    if (flags.json === true) printJson(io, 'plan status', view);
    else io.out(viewLines(view, shownKey(view.stepKey), io.columns).join('\n'));
    return EXIT.done;
  });
