/** Run by a test as some user: learns workspaces one after another, and prints which programs Emend would start. */
import {
  findPrograms,
  learnAround,
  learnHome,
  learnWorkspace,
  ownEnvironment,
  ownPath,
  programPath,
  skippedDirectories,
  workspaceHolding,
} from '../../src/system/programs.js';

/** Workspaces that become known before each look. */
export interface Look {
  readonly workspace?: string;
  readonly around?: string;
  readonly home?: { readonly checkouts: string; readonly locks: string };
}
export interface Seen {
  readonly path: string;
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
  /** The git that is started, or the problem. */
  readonly git: string;
  readonly gits: readonly string[];
  readonly holding: string | null;
  readonly gitExecPath: string | null;
}

const gitOrProblem = (): string => {
  try {
    return programPath('git');
  } catch (error) {
    const { message, next } = (error as { problem: { message: string; next?: string } }).problem;
    return `${message}\n${next ?? ''}`;
  }
};

const looks = JSON.parse(process.argv[2] ?? '[]') as readonly Look[];
const seen = looks.map(({ workspace, around, home }): Seen => {
  if (workspace !== undefined) learnWorkspace(workspace);
  if (around !== undefined) learnAround(around);
  if (home !== undefined) learnHome(home.checkouts, home.locks);
  return {
    path: ownPath(),
    skipped: skippedDirectories(),
    git: gitOrProblem(),
    gits: findPrograms('git').paths,
    holding: workspaceHolding(`${workspace ?? '/'}/file`),
    gitExecPath: ownEnvironment(process.env, ['git']).GIT_EXEC_PATH ?? null,
  };
});
process.stdout.write(JSON.stringify(seen));
