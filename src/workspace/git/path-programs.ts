/** Finds out whether git would run a program that is not the user's to store certain files. */
import type { Problem } from '../../shared/problems.js';
import { fieldsOf, git, gitSettings, valueOf } from './git.js';
import { untrustedProblem, untrustedPrograms } from './program-guard.js';

/** Returns the problem with the filters of files below a directory; null: none of them has a filter that Emend does not run. */
export async function filterProblem(
  directory: string,
  paths: readonly string[],
): Promise<Problem | null> {
  const settings = valueOf(await gitSettings({ cwd: directory }));
  const filters = untrustedPrograms(settings).filter(({ setting }) =>
    setting.key.startsWith('filter.'),
  );
  if (filters.length === 0 || paths.length === 0) return null;
  const input = paths.map((path) => `${path}\0`).join('');
  const listed = await git(['check-attr', '-z', '--stdin', 'filter'], {
    cwd: directory,
    input,
    reading: true,
  });
  // Three fields for each path: the path, the attribute, its value.
  const values = new Set(fieldsOf(valueOf(listed)).filter((_, index) => index % 3 === 2));
  const used = filters.find(({ setting }) =>
    values.has(/^filter\.(.*)\.\w+$/s.exec(setting.key)?.[1] ?? ''),
  );
  return used === undefined ? null : untrustedProblem(used, directory, 'commit');
}
