/** The person's own commit hooks, run as `git commit` runs them, against our index and our message file. */
import { lstat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { problem, type Problem } from '../shared/problems.js';
import { gitGroup, gitLine, valueOf, type Repository } from './git.js';
import { redact } from './runner-env.js';
import { errnoOf } from './sys.js';
import { STORE_BOUNDS } from '../shared/bounds.js';
import { readGiven } from './given-file.js';

export interface HookSettings {
  readonly root: string;
  /** The index that the hooks see and may change. */
  readonly index: string;
  readonly timeout_s: number;
  readonly signal?: AbortSignal;
}

/**
 * Might `pre-commit` or `commit-msg` run here? False only where neither file exists and the configuration names no hook (newer gits
 * read `hook.*`): that spares a shell and a git for each.
 */
export async function mayHaveHooks(
  { root, gitDir }: Pick<Repository, 'root' | 'gitDir'>,
  settings: ReadonlyMap<string, string>,
): Promise<boolean> {
  if ([...settings.keys()].some((key) => key.startsWith('hook.'))) return true;
  // A linked worktree has the hooks of its repository, and a configured place may begin with `~`: git knows.
  const isUsual = gitDir === join(root, '.git') && !settings.has('core.hookspath');
  const dir = isUsual
    ? join(gitDir, 'hooks')
    : valueOf(await gitLine(['rev-parse', '--git-path', 'hooks'], { cwd: root, reading: true }));
  for (const hook of ['pre-commit', 'commit-msg']) {
    const found = await lstat(resolve(root, dir, hook)).then(
      () => true,
      (error: unknown) => errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR',
    );
    if (found) return true;
  }
  return false;
}

/** Null: the hook passed or there is none. */
export async function runHook(
  settings: HookSettings,
  hook: string,
  args: readonly string[] = [],
): Promise<Problem | null> {
  const ran = await gitGroup(['hook', 'run', '--ignore-missing', hook, ...(args.length > 0 ? ['--', ...args] : [])], {
    cwd: settings.root,
    env: { GIT_INDEX_FILE: settings.index },
    timeout_s: settings.timeout_s,
    maxOutput_bytes: STORE_BOUNDS.hookOutput_bytes,
    ...(settings.signal === undefined ? {} : { signal: settings.signal }),
  });
  if (ran.exit === 0) return null;
  if (ran.output.includes("'hook' is not a git command")) {
    return problem(
      'git_failed',
      'commit hooks are run by `git hook`, which this git does not have',
      'Upgrade to git 2.36, or set `hooks: false`.',
    );
  }
  if (ran.aborted) return problem('aborted', `the ${hook} hook was stopped`);
  const how = ran.timedOut
    ? `took longer than ${settings.timeout_s} s`
    : `ended with ${ran.exit ?? ran.signal ?? 'no exit code'}`;
  const said = redact(ran.output, process.env).trim();
  return problem('hook_failed', `the ${hook} hook ${how}${said === '' ? '' : `: ${said}`}`);
}

/** The message after the commit-msg hook, which may have changed it. */
export async function runMessageHook(
  settings: HookSettings,
  dir: string,
  message: string,
): Promise<{ readonly message: string } | { readonly problem: Problem }> {
  const file = join(dir, 'COMMIT_EDITMSG');
  await writeFile(file, message);
  const refused = await runHook(settings, 'commit-msg', [file]);
  return refused === null ? { message: (await readGiven(file)).toString('utf8') } : { problem: refused };
}
