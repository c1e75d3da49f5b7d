/** What a phase's commit leaves undone: by what its message says, by the files that are there, and by those that were skipped. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkFilePath } from '../../job/paths.js';
import { filesToMake, readUndone, undoneTasks, type UndoneTask } from '../../plan/undone.js';
import type { MarkPhaseInput, PhaseTexts } from '../../shared/plan/activities.js';
import { git, valueOf } from '../../workspace/git.js';
import type { ActivityDependencies } from '../dependencies.js';
import { getJson } from '../snapshot.js';
import { isSource } from './phase-job.js';

/** Empty where the phase has no commit: then a person said that it is done. */
export async function undoneOf(
  { blobs }: Pick<ActivityDependencies, 'blobs'>,
  input: Pick<MarkPhaseInput, 'workspace' | 'phase' | 'commit' | 'texts' | 'skipped'>,
): Promise<readonly UndoneTask[]> {
  const { workspace, phase, commit, texts, skipped = [] } = input;
  if (commit === null || texts === undefined) return [];
  const read = await getJson<PhaseTexts>(blobs, texts, 'phase texts');
  const tasks = read.phases[phase.id]?.tasks ?? [];
  if (tasks.length === 0) return [];
  const message = valueOf(
    await git(['log', '-1', '--format=%B', commit, '--'], { cwd: workspace, reading: true }),
  ).text;
  const missing = new Set<string>();
  for (const path of new Set(tasks.flatMap(({ text }) => filesToMake(text))))
    if (await isMissing(workspace, path)) missing.add(path);
  return undoneTasks(tasks, readUndone(message), (path) => missing.has(path), skipped);
}

/** A source file's path that leads nowhere, from the top or from whichever folder. */
async function isMissing(workspace: string, path: string): Promise<boolean> {
  const checked = checkFilePath(path);
  if (!checked.ok || !isSource(path) || /[*?[\]<>{}]/.test(path)) return false;
  if ((await stat(join(workspace, checked.path)).catch(() => null)) !== null) return false;
  const args = ['ls-files', '-z', '--', `:(glob)**/${checked.path}`];
  return valueOf(await git(args, { cwd: workspace, reading: true, noLiteral: true })).text === '';
}
