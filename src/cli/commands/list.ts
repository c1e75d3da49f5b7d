import { shownKey } from '../../shared/refs.js';
import { ARCHIVES, settleHolds } from '../../client/leases.js';
import { listRuns, type ListedRun } from '../../client/list-runs.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { createApplyEngine } from '../../workspace/apply.js';
import type { Io } from '../io.js';
import { printJson } from '../json.js';
import { asides, type QuietFlag } from '../quiet.js';
import { heldLines, releasedLines } from '../render/holds.js';
import { transactionLines } from '../render/transactions.js';
import { line, table } from '../render/text.js';
import { withEmend } from '../with-emend.js';

export const list = (io: Io, options: { readonly json?: true } & QuietFlag): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    // Whoever looks at the runs sees them as they are after recovery, as the start of a worker would leave them.
    const kept = await emend.archive.list();
    const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
    const transactions = await engine.recover(kept.slice(0, ARCHIVES.recover));
    const holds = await settleHolds(emend, ARCHIVES.list, kept);
    const found = await listRuns(emend, kept);
    if (options.json === true) {
      printJson(io, 'list', { ...found, transactions, holds: holds.held, released: holds.released });
      return EXIT.done;
    }
    for (const text of transactionLines(transactions)) io.err(text);
    for (const text of holds.released.flatMap(releasedLines)) io.err(text);
    const aside = asides(io, options);
    // That open runs are missing or unknown is no hint: the list is less than it seems.
    if (found.note !== null)
      io.err(
        `${found.note} Open runs may show as unknown${aside.after('; `emend dev` starts a server and a worker')}.`,
      );
    if (found.runs.length === 0) io.out(`No runs yet.${aside.after(' Start one with: emend run JOB.md')}`);
    else
      for (const text of table([['run', 'state', 'started', 'job', ''], ...found.runs.map(rowOf)]))
        io.out(text.slice(0, Math.max(io.columns, 80)));
    for (const text of holds.held.flatMap(heldLines)) io.out(text);
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
