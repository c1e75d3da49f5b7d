/** What recovery did to transactions that were left open. Pure. */
import { shownKey } from '../../shared/refs.js';
import type { RecoveredTransaction } from '../../workspace/types.js';
import { plain } from './text.js';

const DID: Record<RecoveredTransaction['did'], string> = {
  finished: 'finished: the change is there in full',
  reverted: 'reverted: the files are as they were',
  left_to_live_process: 'left alone: a live process is at work on it',
  workspace_missing: 'left alone: the workspace is not there',
  failed: 'could not be recovered',
};

export const transactionLines = (transactions: readonly RecoveredTransaction[]): readonly string[] =>
  transactions.flatMap(({ stepKey, workspace, did, pids = [], conflicts }) => [
    `${shownKey(stepKey)}  ${plain(workspace)}: ${DID[did]}${pids.length === 0 ? '' : ` (pid ${pids.join(', ')})`}`,
    ...conflicts.map(({ path, why }) => `  ${plain(path)}: ${plain(why)}`),
  ]);
