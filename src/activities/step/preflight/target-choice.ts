/** Chooses the files of a snapshot: the targets of the step, those that get a new base, and new files that may not be made. */
import { fail } from '../../../shared/problems.js';
import { newFilesRefused } from '../../../workspace/files/index.js';
import type { SnapshotTarget } from '../snapshot.js';
import { chooseTargets } from '../targets.js';
import type { PreflightContext } from './context.js';
import { earlierTargets } from './record.js';
import type { StepSettings } from './settings.js';

const NAMED = 10; // bound: Targets named whose names contain a secret.

export interface ChosenTargets {
  readonly outcome: 'targets';
  /** Paths that get a base in this snapshot. */
  readonly paths: readonly string[];
  /** Files that the change removes. */
  readonly deletedPaths: readonly string[];
  /** Targets of the last snapshot that keep their base. */
  readonly keptTargets: readonly SnapshotTarget[];
  /** New files that a model named and that may not be made, with the reason. */
  readonly refusedFiles: ReadonlyMap<string, string>;
}
type TargetChoice =
  | ChosenTargets
  /** A model picks the targets from these files. */
  | { readonly outcome: 'pick'; readonly files: readonly string[] };

export async function chooseStepTargets(
  context: PreflightContext,
  { job, config, limits, commit }: StepSettings,
): Promise<TargetChoice> {
  const { ports, input, root } = context;
  const { made: newFiles = [], only } = input;
  const earlier = newFiles.length > 0 || only !== null ? await earlierTargets(ports, input) : [];
  // A target of the last snapshot that was a new file then may exist now: the reviewer or this run may have made it.
  const unknownFiles = newFiles.filter((path) => !earlier.some((target) => target.path === path));
  const refusedFiles = await newFilesRefused(root, unknownFiles, config);
  const mayBeMade = (path: string): boolean => !refusedFiles.has(path);
  const choice = await chooseTargets({
    workspace: root,
    job,
    jobPath: input.jobPath,
    picked: input.picked?.filter(mayBeMade) ?? null,
    mustPick: input.pick === true,
    showsTokens: config.secrets === 'send',
    made: newFiles.filter(mayBeMade),
    mayCreate: config.create !== false,
    limits,
    commits: commit !== null,
    // Another snapshot is taken because files were saved since the first one, and the commit takes only the hunks of the proposal.
    mustBeClean: commit !== null && input.snapshotNumber === 1,
  });
  if (config.secrets !== 'send')
    await refuseSecretNames(context, choice.outcome === 'pick' ? [] : choice.paths);
  if (choice.outcome === 'pick') return choice;
  return {
    outcome: 'targets',
    paths: only === null ? choice.paths : choice.paths.filter((path) => only.includes(path)),
    deletedPaths: choice.deleted,
    keptTargets: only === null ? [] : earlier,
    refusedFiles,
  };
}

/**
 * Refuses targets whose names contain a secret. A path is the key of all that a run knows of a file, so it cannot be replaced in the history,
 * in the archive and on screens as words can.
 */
async function refuseSecretNames(
  { ports: { edits }, input: { jobPath }, signal }: PreflightContext,
  paths: readonly string[],
): Promise<void> {
  const secrets = (await edits.run('secrets', paths.join('\n'), signal)).flat();
  const secretPaths = paths.filter((path) => secrets.some((secret) => path.includes(secret)));
  const maskedPaths = secretPaths.map((path) =>
    secrets.reduce((text, secret) => text.replaceAll(secret, '(secret)'), path),
  );
  if (maskedPaths.length > 0)
    fail(
      'secret_in_name',
      `${jobPath}: the name of a target contains what looks like a secret, and names are kept in the history and shown: ${maskedPaths.slice(0, NAMED).join(', ')}`,
    );
}
