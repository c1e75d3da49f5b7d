/** Workspaces that ended runs held or still hold. Pure. */
import { shownKey } from '../../shared/refs.js';
import type { HoldEnded, ReleasedHold, StaleHold } from '../../client/leases.js';
import type { EndedWorktree } from '../../client/ended-worktrees.js';
import { count, plain } from './text.js';
import { SHOWN_BOUNDS } from '../../shared/bounds.js';

const BECAUSE: Record<ReleasedHold['because'], string> = {
  nothing_applied: 'nothing of it is applied',
  committed: 'its commit is there',
  finished: 'it came to its own end',
  put_back: 'it was aborted while this host took no work',
};

export const releasedLines = ({ stepKey, workspace, ended, because, undone }: ReleasedHold): readonly string[] => [
  `${shownKey(stepKey)}  has ended (${ended}) and held ${plain(workspace)}, which is free now: ${BECAUSE[because]}.`,
  ...(undone === undefined ? [] : undoneLines(undone)),
];

const undoneLines = ({ files, kept }: HoldEnded): readonly string[] => [
  `  ${count(files.length, 'file')} put back`,
  ...kept.map(({ path, why }) => `  left alone: ${plain(path)}: ${plain(why)}`),
];

export const heldLines = ({ stepKey, workspace, ended, elsewhere, files }: StaleHold): readonly string[] => {
  const run = shownKey(stepKey);
  const more = files.length > SHOWN_BOUNDS.heldFiles ? ` and ${files.length - SHOWN_BOUNDS.heldFiles} more` : '';
  if (elsewhere)
    return [
      `${run}  has ended (${ended}) and still holds ${plain(workspace)}.`,
      '  It worked from another EMEND_HOME: run `emend recover` with that one, which knows what it applied.',
      `  emend recover --keep ${run}   frees the workspace where that home is lost`,
    ];
  return [
    `${run}  has ended (${ended}) and still holds ${plain(workspace)}.`,
    `  applied: ${files.length === 0 ? 'nothing' : `${count(files.length, 'file')}: ${plain(files.slice(0, SHOWN_BOUNDS.heldFiles).join(', '))}${more}`}`,
    `  emend recover --undo ${run}   puts its files back`,
    `  emend recover --keep ${run}   keeps them as they are`,
  ];
};

export const worktreeLine = ({ plan, name, path, dropped, kept, why }: EndedWorktree): string =>
  why === null
    ? `${shownKey(`${plan}-${name}`)}  its plan has ended; its worktree is removed${dropped === null ? '' : `, its last commit was ${dropped.slice(0, 12)}${kept === null ? '' : `, kept as ${kept}`}`}.`
    : `${shownKey(`${plan}-${name}`)}  its plan has ended; its worktree ${plain(path)} is still there: ${plain(why)}`;
