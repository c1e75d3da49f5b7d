/** `emend recover`: finishes or reverts what a crash left open; with a server it also finds workspaces that ended runs still hold. */
import { removeEndedWorktrees, type EndedWorktree } from '../../client/ended/worktrees.js';
import { lockAgain, releaseLock, type StaleLock } from '../../client/ended/release-lock.js';
import { releaseStaleLocks, type LocksOfEnded } from '../../client/ended/stale-locks.js';
import { resolveRun } from '../../client/runs/resolve.js';
import type { Emend } from '../../client/types.js';
import { BOUNDS } from '../../shared/limits.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { createApplyEngine, releaseAllDead } from '../../workspace/apply/index.js';
import { hostId } from '../../stores/home.js';
import { clearScratch } from '../../system/scratch.js';
import { clearLayers } from '../../workspace/layers/index.js';
import type { RecoveredTransaction } from '../../workspace/ports.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound, printJson } from '../json.js';
import { staleLockLines, releasedLines, worktreeLine, transactionLines } from '../render/run.js';
import { count, plain } from '../render/text.js';
import { type Session, withEmend } from '../session.js';

interface RecoverFlags extends JsonFlag {
  readonly undo?: string;
  readonly keep?: string;
}

/** Exit code 5 where a file was changed meanwhile and is left for the person. */
export const recover = (io: Io, flags: RecoverFlags): Promise<ExitCode> => {
  if (flags.undo !== undefined && flags.keep !== undefined)
    return fail('usage', '--undo and --keep are mutually exclusive.');
  return withEmend(io, async (emend) => {
    const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
    const recovered = await engine.recover();
    await clearScratch();
    const layers = await clearLayers(emend.home);
    const failed = await releaseAllDead(engine, emend.home, await hostId(emend.home));
    const told = new Set(recovered.map(({ record }) => record));
    const transactions = [...recovered, ...failed.filter(({ record }) => !told.has(record))];
    const holds = await releaseStaleLocks(emend);
    const worktrees = await removeEndedWorktrees(emend);
    const asked = flags.undo ?? flags.keep;
    if (asked !== undefined) return release({ io, emend, flags }, holds.held, asked);
    if (flags.json === true)
      printJson(io, 'recover', {
        v: 1,
        transactions,
        locks: holds.held,
        released: holds.released,
        worktrees,
        layers,
      });
    else tell(io, transactions, holds, { worktrees, layers });
    return worktrees.some(({ outcome }) => outcome === 'failed')
      ? EXIT.failed
      : exitOf(transactions, holds);
  });
};

const exitOf = (
  transactions: readonly RecoveredTransaction[],
  { released }: LocksOfEnded,
): ExitCode => {
  if (transactions.some(({ did }) => did === 'failed')) return EXIT.failed;
  const leftAlone = [
    ...transactions.map(({ conflicts }) => conflicts),
    ...released.map(({ undone }) => undone?.leftAlone ?? []),
  ];
  return leftAlone.some((files) => files.length > 0) ? EXIT.conflict : EXIT.done;
};

const tell = (
  io: Io,
  transactions: readonly RecoveredTransaction[],
  { held, released, note }: LocksOfEnded,
  { worktrees, layers }: { worktrees: readonly EndedWorktree[]; layers: readonly string[] },
): void => {
  if (transactions.length === 0) io.out('No interrupted change found.');
  for (const text of transactionLines(transactions)) io.out(text);
  if (note !== null) io.err(`Could not check every workspace for locks of ended runs: ${note}`);
  for (const text of released.flatMap(releasedLines)) io.out(text);
  for (const worktree of worktrees) io.out(worktreeLine(worktree));
  if (layers.length > 0)
    io.out(`Removed ${count(layers.length, 'layer')} that killed commands left.`);
  for (const text of held.flatMap(staleLockLines)) io.out(text);
};

const release = async (
  { io, emend, flags }: Session<RecoverFlags>,
  holds: readonly StaleLock[],
  run: string,
): Promise<ExitCode> => {
  const how = flags.undo === undefined ? 'keep' : 'undo';
  if (emend.runs === null)
    return fail(
      'no_server',
      'Cannot tell whether that run has ended: no Temporal server is reachable.',
    );
  const fitting = holds.filter(({ stepKey }) => stepKey.startsWith(run.toLowerCase()));
  if (fitting.length > 1)
    return fail('run_ambiguous', `"${run}" matches ${fitting.length} runs that lock a workspace.`);
  const none = `No ended run "${run.slice(0, 40)}" locks a workspace or left files in one.`;
  if (run.length < BOUNDS.runPrefix_chars) return fail('run_unknown', none, 'See `emend recover`.');
  const hold = fitting[0] ?? (await lockOfEnded(emend, run));
  if (hold === null) return fail('run_unknown', none, 'See `emend recover`.');
  const done = await releaseLock(emend, hold, how);
  const { stepKey, workspace } = hold;
  printFound({ io, flags }, 'recover --undo', { v: 1, stepKey, workspace, ...done }, [
    how === 'undo'
      ? `${count(done.files.length, 'file')} restored in ${plain(workspace)}; it is unlocked.`
      : `${plain(workspace)} is unlocked; its files were not changed.`,
    ...done.leftAlone.map(({ path, why }) => `  skipped: ${plain(path)}: ${plain(why)}`),
  ]);
  return done.leftAlone.length > 0 ? EXIT.conflict : EXIT.done;
};

/** What a run wrote that ended and holds nothing any more. Null: nothing. */
const lockOfEnded = async (emend: Emend, run: string): Promise<StaleLock | null> => {
  const resolved = await resolveRun(emend, run);
  if (resolved.live?.open !== true) return lockAgain(emend, resolved);
  const shown = shownKey(resolved.stepKey);
  return fail(
    'usage',
    `Run ${shown} has not ended: it may still finish or revert what it wrote.`,
    `End it first: \`emend abort ${shown}\` where it waits for a decision, else cancel ${resolved.live.workflowId} in Temporal.`,
  );
};
