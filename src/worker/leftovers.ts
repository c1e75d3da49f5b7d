/** Removes or reports what earlier processes and runs left in a home. */
import type { Logger } from 'pino';
import type { EndedRuns } from '../client/ended/runs.js';
import { clearLayers } from '../workspace/layers/index.js';

export async function reportLeftovers(
  endedRuns: EndedRuns,
  home: string,
  logger: Logger,
): Promise<void> {
  await removeDeadLayers(home, logger);
  await reportStaleLocks(endedRuns, logger);
}

/** Removes what commands of dead processes wrote on layers, which may be large. */
async function removeDeadLayers(home: string, logger: Logger): Promise<void> {
  const removed = await clearLayers(home);
  if (removed.length > 0)
    logger.info({ layers: removed.length }, 'removed layers of commands that were killed');
}

/** Looks once for workspaces that ended runs still hold, and logs what it finds and what fails. */
async function reportStaleLocks(endedRuns: EndedRuns, logger: Logger): Promise<void> {
  const holds = await endedRuns.sweep().catch((error: unknown) => {
    logger.error({ err: error }, 'could not check ended runs');
    return null;
  });
  if (holds === null) return;
  if (holds.note !== null) logger.warn(`Not every locked workspace was checked: ${holds.note}`);
  for (const { stepKey, workspace, ended, because } of holds.released)
    logger.warn({ stepKey, workspace, ended, because }, 'unlocked the workspace of an ended run');
  for (const worktree of holds.worktrees)
    logger.warn(worktree, 'checked a worktree of an ended plan');
  for (const { stepKey, workspace, ended, files } of holds.held)
    logger.warn(
      { stepKey, workspace, ended, files },
      'an ended run still locks a workspace: see `emend recover`',
    );
}
