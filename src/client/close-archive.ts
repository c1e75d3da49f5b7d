/** Keeps how a run ended: a server forgets closed runs (the dev server after a day), the archive does not. */
import type { ArchiveEntry } from '../workspace/types.js';
import { archivedRun, closedId } from './archived.js';
import type { ArchivedRun } from './archived.js';
import type { ResolvedRun } from './resolve-run.js';
import type { ClosedRun, Emend } from './types.js';

/** Asks the server how a closed run ended and notes it, once for each run (a reset makes another one). Returns the archive with that. */
export const noteClosed = async (emend: Emend, run: ResolvedRun): Promise<ArchivedRun> => {
  const { live, archived } = run;
  if (live === null || emend.runs === null || archived.closedRuns.includes(live.runId)) return archived;
  const closed: ClosedRun = await emend.runs.closed({ workflowId: live.workflowId, runId: live.runId });
  const entry: ArchiveEntry = {
    v: 1,
    id: closedId(live.runId),
    at: (live.closedAt ?? new Date()).toISOString(),
    kind: 'closed',
    data: closed,
  };
  await emend.archive.append(run.stepKey, [entry]);
  return archivedRun(run.stepKey, await emend.archive.read(run.stepKey));
};
