import { shownKey } from '../../shared/refs.js';
import { reading } from '../../client/reading.js';
import { resolveRun } from '../../client/resolve-run.js';
import { showWithPhases } from '../../client/phases-waiting.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { foldOf, type Io } from '../io.js';
import { printJson } from '../json.js';
import { viewLines } from '../render/view.js';
import { withEmend } from '../with-emend.js';

export const show = (io: Io, run: string, options: { readonly json?: true }): Promise<ExitCode> =>
  withEmend(io, async (opened) => {
    const view = await reading(opened, async (emend) => showWithPhases(emend, await resolveRun(emend, run)));
    if (options.json === true) printJson(io, 'show', view);
    else io.out(viewLines(view, shownKey(view.stepKey), io.columns, foldOf(io)).join('\n'));
    return EXIT.done;
  });
