import { shownKey } from '../../shared/refs.js';
import { reading } from '../../client/reading.js';
import { resolveRun, type ResolvedRun } from '../../client/resolve-run.js';
import { runDiff } from '../../client/show-run.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { printJson } from '../json.js';
import { findingText } from '../render/decision.js';
import { printDiff } from '../render/diff.js';
import { withEmend } from '../with-emend.js';

const workspaceOf = ({ live, archived }: ResolvedRun, otherwise: string): string =>
  live?.memo?.workspace ?? archived.started?.workspace ?? otherwise;

export const diff = (io: Io, run: string, options: { readonly json?: true }): Promise<ExitCode> =>
  withEmend(io, async (opened) => {
    const { resolved, found } = await reading(opened, async (emend) => {
      const it = await resolveRun(emend, run);
      return { resolved: it, found: await runDiff(emend, it) };
    });
    if (options.json === true) printJson(io, 'diff', found);
    else if (found === null)
      io.err(
        `Run ${shownKey(resolved.stepKey)} has no proposal to show; see \`emend show ${shownKey(resolved.stepKey)}\`.`,
      );
    else {
      // Beside the diff, which goes out byte for byte.
      for (const finding of found.proposal.findings) io.err(findingText(finding));
      await printDiff(io, found.diff, workspaceOf(resolved, io.cwd));
    }
    return EXIT.done;
  });
