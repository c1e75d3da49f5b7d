/** Which files a step is about: those named; else those hinted at in the instructions; else a model picks. */
import { join } from 'node:path';
import { effectiveMode, lineIn, type Job } from '../../documents/job/index.js';
import type { Limits } from '../../shared/limits.js';
import { ProblemError, fail } from '../../shared/problems.js';
import {
  dirtyPaths,
  foreignPaths,
  hintedPaths,
  inspectTarget,
  listWorkspaceFiles,
  looksSecret,
  type TargetFacts,
} from '../../workspace/files/index.js';
import { shellWord } from '../../system/environment.js';

const TARGETS = 10; // bound: Targets named where preflight refuses them.

export type Chosen =
  /** `deleted`: those of `paths` that go; they stand first, so that whoever is asked for the others knows. */
  | { readonly outcome: 'targets'; readonly paths: readonly string[]; readonly deleted: readonly string[] }
  | { readonly outcome: 'pick'; readonly files: readonly string[] };

interface Question {
  readonly workspace: string;
  readonly job: Job;
  readonly jobPath: string;
  readonly picked: readonly string[] | null;
  /** A model picks, whatever paths the instructions hold. */
  readonly mustPick: boolean;
  readonly limits: Limits;
  /** A commit is asked for: targets that it cannot hold are refused. */
  readonly commits: boolean;
  /** Targets with uncommitted changes are refused too. */
  readonly mustBeClean: boolean;
}

export async function chooseTargets(question: Question): Promise<Chosen> {
  const { workspace, job, jobPath, limits, commits, mustBeClean } = question;
  const mode = effectiveMode(job);
  if (mode === 'standard' && job.outputFiles.length === 0)
    fail(
      'nothing_to_edit',
      `${jobPath}: mode standard requires the names of the files to write into ${job.outputDir ?? '.'}`,
      'Name them in `output_files`.',
    );
  // Jobs written for other runners give output keys beside `mode: edit`: they are accepted and say nothing more there.
  const written = mode === 'standard' || mode === 'sequential' ? job.outputFiles : [];
  const mayBeNew = [...written, ...(mode === 'standard' || mode === 'sequential' ? [] : job.newFiles)];
  const named = [...new Set([...written, ...job.targetFiles, ...mayBeNew])];
  await checkNamed(workspace, job, jobPath, mayBeNew);
  const chosen = named.length > 0 ? targets(named, job.deleteFiles) : await unnamed(question);
  if (chosen.outcome === 'pick') return chosen;
  const { paths } = chosen;
  const most = limits.maxFilesPerStep ?? Infinity;
  if (paths.length > most)
    fail('too_many_files', `${jobPath}: ${paths.length} target files; a step takes at most ${most} (maxFilesPerStep)`);
  if (commits) await checkOwn(workspace, paths, jobPath);
  if (mustBeClean) {
    const dirty = (await dirtyPaths(workspace, paths)).map((file) => `${file.path} (${file.state})`);
    if (dirty.length > 0)
      fail(
        'target_dirty',
        `${jobPath}: commit is set, but these targets have uncommitted changes: ${dirty.slice(0, TARGETS).join(', ')}`,
      );
  }
  return chosen;
}

/** A commit holds a submodule by its commit alone: a file inside can only be committed there. */
async function checkOwn(workspace: string, paths: readonly string[], jobPath: string): Promise<void> {
  const real: string[] = [];
  for (const path of paths) {
    const found = await inspectTarget(workspace, path, null);
    real.push(found.ok ? found.value.target : path);
  }
  const foreign = await foreignPaths(workspace, real);
  const [first] = foreign;
  if (first === undefined) return;
  const named = foreign.slice(0, TARGETS).map(({ path, tree }) => `${path} (of ${tree})`);
  fail(
    'target_submodule',
    `${jobPath}: commit is set, but these targets belong to another repository: ${named.join(', ')}`,
    `Run the job there (\`--workspace ${shellWord(join(workspace, first.tree))}\`), or set \`commit: false\` and commit there yourself.`,
  );
}

const targets = (edited: readonly string[], deleted: readonly string[]): Extract<Chosen, { outcome: 'targets' }> => ({
  outcome: 'targets',
  paths: [...deleted, ...edited.filter((path) => !deleted.includes(path))],
  deleted,
});

/** Every named target exists and is a file inside; each fault names the job's line. */
async function checkNamed(workspace: string, job: Job, jobPath: string, written: readonly string[]): Promise<void> {
  const faults: { code: 'target_missing' | 'target_not_a_file' | 'target_outside'; message: string }[] = [];
  const check = async (key: string, paths: readonly string[], fault: (found: TargetFacts) => string | null) => {
    for (const [index, path] of paths.entries()) {
      const found = await inspectTarget(workspace, path, null);
      const why = found.ok ? fault(found.value) : found.problem.message;
      if (why === null || (!found.ok && written.includes(path))) continue;
      const code = found.ok ? 'target_not_a_file' : (found.problem.code as 'target_missing');
      const line = job.lines[`${key}.${index}`] ?? job.lines[key] ?? 1;
      faults.push({ code, message: `${lineIn(jobPath, line)}: ${key}: ${why}` });
    }
  };
  await check('target_files', job.targetFiles, () => null);
  // What goes must be the file itself: taking a link away leaves its file, taking the file away leaves a link that leads nowhere.
  await check('delete_files', job.deleteFiles, ({ path, target, symlink }) =>
    symlink ? `${path}: a symbolic link points to ${target}; name the file itself` : null,
  );
  for (const path of written) {
    const found = await inspectTarget(workspace, path, null);
    if (found.ok || found.problem.code === 'target_missing') continue;
    faults.push({
      code: found.problem.code as 'target_outside',
      message: `${jobPath}: output: ${found.problem.message}`,
    });
  }
  const [first] = faults;
  if (first !== undefined)
    throw new ProblemError({ code: first.code, message: faults.map((fault) => fault.message).join('\n') });
}

async function unnamed({ workspace, job, picked, mustPick }: Question): Promise<Chosen> {
  const { deleteFiles } = job;
  if (picked !== null) return targets(picked, deleteFiles);
  const files = (await listWorkspaceFiles(workspace)).files.filter((path) => !looksSecret(path));
  const hinted = hintedPaths(job.instructions, files);
  // A job may be about nothing but files that go: then nobody is asked for others.
  if (!mustPick && (hinted.length > 0 || deleteFiles.length > 0)) return targets(hinted, deleteFiles);
  if (files.length === 0) fail('nothing_to_edit', `${workspace} has no files that can be shown to a model`);
  return { outcome: 'pick', files };
}
