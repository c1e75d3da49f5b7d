import { shownKey } from '../../client/ids.js';
import { listRuns } from '../../client/list-runs.js';
import type { ListedRun } from '../../client/list-runs.js';
import { EXIT } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { line, table } from '../render/text.js';
import { withEmend } from '../with-emend.js';

export const list = (io: Io, options: { readonly json?: true }): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    const found = await listRuns(emend);
    if (options.json === true) {
      io.out(JSON.stringify(found, null, 2));
      return EXIT.done;
    }
    if (found.note !== null)
      io.err(`${found.note} Open runs may show as unknown; \`emend dev\` starts a server and a worker.`);
    if (found.runs.length === 0) io.out('No runs yet. Start one with: emend run JOB.md');
    else
      for (const text of table([['run', 'state', 'started', 'job', ''], ...found.runs.map(rowOf)]))
        io.out(text.slice(0, Math.max(io.columns, 80)));
    if (found.left_off > 0) io.out(`and ${found.left_off} older runs in the archive`);
    return EXIT.done;
  });

const rowOf = (run: ListedRun): readonly string[] => [
  shownKey(run.stepKey),
  run.state,
  (run.startedAt ?? '').slice(0, 16).replace('T', ' '),
  line(run.jobPath, 40),
  line(run.decision === null ? run.doing : `${run.decision.reason}: emend show ${shownKey(run.stepKey)}`, 60),
];
