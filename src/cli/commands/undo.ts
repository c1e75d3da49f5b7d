/** `emend undo`: puts back the last change of a workspace, as long as nobody touched its files since. */
import { noteRecovery } from '../../client/ended/release-lock.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { lastChange, type LastChange, isLocal } from '../../workspace/apply/index.js';
import { realSys } from '../../system/sys.js';
import type { ConflictFile } from '../../workspace/ports.js';
import type { Io } from '../io.js';
import type { PatchFlags } from './patch.js';
import { printFound } from '../json.js';
import type { UndoReport } from '../json-types.js';
import { failBusy, localWorkspace, openLocal, type Local } from '../local/open.js';
import { count, plain } from '../render/text.js';

export const undo = async (
  io: Io,
  flags: Omit<PatchFlags, 'format' | 'quiet'>,
): Promise<ExitCode> => {
  const workspace = await localWorkspace(io, flags.workspace);
  const check = flags.check === true;
  const local = await openLocal(io, { existing: true, recover: !check });
  if (!check) await local.freeDead(workspace);
  const report = await undoLast(local, workspace, check);
  printFound({ io, flags }, 'undo', report, undoLines(report));
  return report.exit;
};

const undoLast = async (local: Local, workspace: string, check: boolean): Promise<UndoReport> => {
  const base = { v: 1, workspace, recovered: local.recovered } as const;
  const change = await lastChange(realSys, local.home, workspace);
  const none = { step: null, by: null, at: null, commit: null, files: [], conflicts: [] };
  if (change === null) return { ...base, ...none, outcome: 'nothing', exit: EXIT.done };
  const { stepKey, by, at, commit, files, touched } = change;
  const said = { ...base, step: stepKey, by, at, commit, files, conflicts: touched };
  // Its files belong to its commit now, and may have later ones: git is what takes that back.
  if (commit !== null) return { ...said, conflicts: [], outcome: 'committed', exit: EXIT.refused };
  const held = await local.engine.readLock(workspace);
  if (held !== null && !(check && isLocal(held))) return failBusy(workspace, held);
  if (touched.length > 0) return { ...said, outcome: 'touched', exit: EXIT.conflict };
  if (check) return { ...said, outcome: 'would_undo', exit: EXIT.done };
  const conflicts = await putBack(local, workspace, change);
  return conflicts.length === 0
    ? { ...said, outcome: 'undone', exit: EXIT.done }
    : { ...said, conflicts, outcome: 'partly_undone', exit: EXIT.conflict };
};

/** The last transaction first. What somebody saved since the look is left alone and told. */
const putBack = async (local: Local, workspace: string, { stepKey, by, records }: LastChange) => {
  const conflicts: ConflictFile[] = [];
  for (const { plan, closed } of [...records].reverse()) {
    const { proposalId, decision } = plan;
    const request = { stepKey, workspace, proposalId, decision, holder: local.holder };
    const back = await local.engine.rollbackRecorded(request);
    if (back.outcome === 'rolled_back') {
      // Of what was left alone when the change was made, nothing is to be put back.
      const before = new Set(closed.conflicts.map(({ path }) => path));
      conflicts.push(...back.leftAlone.filter(({ path }) => !before.has(path)));
      if (by === 'run')
        await noteRecovery(local, { stepKey, token: plan.lock.token }, 'undo', back.files);
    } else conflicts.push({ path: '', why: `commit ${back.commit} was made in the meantime` });
  }
  return conflicts;
};

const WILL = { restore: 'is restored', remove: 'is deleted', put_back: 'is restored' } as const;

const undoLines = (report: UndoReport): readonly string[] => {
  const { outcome, workspace, step, by, at, commit, files, conflicts } = report;
  const shown = step === null ? '' : shownKey(step);
  const what = `${by === 'run' ? 'run' : 'patch'} ${shown} of ${at ?? ''}`;
  const touched = conflicts.map(({ why }) => `  ${plain(why)}`);
  switch (outcome) {
    case 'nothing':
      return [`Nothing to undo in ${plain(workspace)}.`];
    case 'committed':
      return [
        `The last change, ${what}, is committed. Revert it with:`,
        `  git revert ${commit ?? ''}`,
      ];
    case 'touched':
      return [
        `The last change is ${what}. Its files have changed since, so nothing was written:`,
        ...touched,
        'The change can still be undone. Put the files or folders back as it left them, then type: emend undo',
      ];
    case 'would_undo':
      return [
        `Would undo ${what}. Nothing was written.`,
        ...files.map(({ path, change }) => `  ${plain(path)} ${WILL[change]}`),
      ];
    case 'undone':
      return [`Undone: ${what}, ${count(files.length, 'file')} in ${plain(workspace)}.`];
    case 'partly_undone':
      return [`Undone: ${what}, except files that someone saved in the meantime:`, ...touched];
  }
};
