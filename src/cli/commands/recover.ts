/** `emend recover`: finishes or reverts what a crash left open; with a server it also finds workspaces that ended runs still hold. */
import { shownKey } from '../../client/ids.js';
import { endHold, staleHolds } from '../../client/leases.js';
import type { StaleHold } from '../../client/leases.js';
import type { Emend } from '../../client/types.js';
import { EXIT, fail } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import { createApplyEngine } from '../../workspace/apply.js';
import type { RecoveredTransaction } from '../../workspace/types.js';
import type { Io } from '../io.js';
import { count, plain } from '../render/text.js';
import { withEmend } from '../with-emend.js';

interface RecoverFlags {
  readonly undo?: string;
  readonly keep?: string;
  readonly json?: true;
}

/** Exit code 5 where a file was changed meanwhile and is left for the person. */
export const recover = (io: Io, flags: RecoverFlags): Promise<ExitCode> => {
  if (flags.undo !== undefined && flags.keep !== undefined)
    return fail('usage', '--undo and --keep exclude each other.');
  return withEmend(io, async (emend) => {
    const transactions = await createApplyEngine({ home: emend.home, blobs: emend.blobs }).recover();
    const holds = await staleHolds(emend);
    const asked = flags.undo ?? flags.keep;
    if (asked !== undefined)
      return settle(io, emend, holds, asked, flags.undo === undefined ? 'keep' : 'undo', flags.json === true);
    if (flags.json === true) io.out(JSON.stringify({ v: 1, transactions, holds }, null, 2));
    else tell(io, emend, transactions, holds);
    return exitOf(transactions);
  });
};

const exitOf = (transactions: readonly RecoveredTransaction[]): ExitCode => {
  if (transactions.some(({ did }) => did === 'failed')) return EXIT.failed;
  return transactions.some(({ conflicts }) => conflicts.length > 0) ? EXIT.conflict : EXIT.done;
};

const DID: Record<RecoveredTransaction['did'], string> = {
  finished: 'finished: the change is there in full',
  reverted: 'reverted: the files are as they were',
  left_to_live_process: 'left alone: a live process is at work on it',
  workspace_missing: 'left alone: the workspace is not there',
  failed: 'could not be recovered',
};

const tell = (
  io: Io,
  emend: Emend,
  transactions: readonly RecoveredTransaction[],
  holds: readonly StaleHold[],
): void => {
  if (transactions.length === 0) io.out('No change was left half done.');
  for (const { stepKey, workspace, did, conflicts } of transactions) {
    io.out(`${shownKey(stepKey)}  ${plain(workspace)}: ${DID[did]}`);
    for (const { path, why } of conflicts) io.out(`  ${plain(path)}: ${plain(why)}`);
  }
  if (emend.runs === null)
    io.err('Whether ended runs still hold a workspace was not looked at: no Temporal server answers.');
  for (const { stepKey, workspace, ended, elsewhere, files } of holds) {
    const run = shownKey(stepKey);
    io.out(`${run}  has ended (${ended}) and still holds ${plain(workspace)}.`);
    if (elsewhere) {
      io.out('  It worked from another EMEND_HOME: run `emend recover` with that one, which knows what it applied.');
      io.out(`  emend recover --keep ${run}   frees the workspace where that home is lost`);
      continue;
    }
    io.out(`  applied: ${files.length === 0 ? 'nothing' : plain(files.slice(0, 20).join(', '))}`);
    io.out(`  emend recover --undo ${run}   puts its files back`);
    io.out(`  emend recover --keep ${run}   keeps them as they are`);
  }
};

const settle = async (
  io: Io,
  emend: Emend,
  holds: readonly StaleHold[],
  run: string,
  how: 'undo' | 'keep',
  json: boolean,
): Promise<ExitCode> => {
  if (emend.runs === null)
    return fail('no_server', 'Only a Temporal server can say whether that run has ended, and none answers.');
  const fitting = holds.filter(({ stepKey }) => stepKey.startsWith(run.toLowerCase()));
  const [hold] = fitting;
  if (hold === undefined || run.length < 4)
    return fail('run_unknown', `No ended run "${run.slice(0, 40)}" holds a workspace.`, 'See `emend recover`.');
  if (fitting.length > 1) return fail('run_ambiguous', `"${run}" fits ${fitting.length} runs that hold a workspace.`);
  const done = await endHold(emend, hold, how);
  if (json) io.out(JSON.stringify({ v: 1, stepKey: hold.stepKey, workspace: hold.workspace, ...done }, null, 2));
  else {
    io.out(
      how === 'undo'
        ? `${count(done.files.length, 'file')} put back in ${plain(hold.workspace)}; it is free again.`
        : `${plain(hold.workspace)} is free again; its files are as they were.`,
    );
    for (const { path, why } of done.kept) io.out(`  left alone: ${plain(path)}: ${plain(why)}`);
  }
  return done.kept.length > 0 ? EXIT.conflict : EXIT.done;
};
