/** Files as preflight keeps them: bytes in the blob store, facts in the snapshot. */
import { join } from 'node:path';
import { encodingOf } from '../job/encodings.js';
import type { ProjectConfig } from '../job/types.js';
import type { Limits } from '../shared/limits.js';
import { ProblemError, fail } from '../shared/problems.js';
import { eolForNewFile, inspectTarget } from '../workspace/files.js';
import type { ActivityDependencies } from './dependencies.js';
import type { SnapshotTarget, TextRef } from './snapshot.js';
import { readGiven, readGivenText } from '../workspace/given-file.js';

export type SizedTarget = Omit<SnapshotTarget, 'format' | 'bucket' | 'outputBudget_tokens'>;

/** A text file of the workspace, or null where there is none. */
export const readTextFile = (workspace: string, path: string): Promise<string | null> =>
  readGivenText(join(workspace, path));

export async function snapshotTarget(options: {
  readonly dependencies: ActivityDependencies;
  readonly workspace: string;
  readonly path: string;
  readonly config: ProjectConfig;
  readonly limits: Limits;
  /** The change removes the file: what it holds is kept, and need not be text. */
  readonly deletes: boolean;
  /** Existing files of the workspace, asked for only where a file is new: it ends its lines as those beside it do. */
  readonly siblings: () => Promise<readonly string[]>;
  readonly signal: AbortSignal;
}): Promise<SizedTarget> {
  const { dependencies, workspace, path, config, limits, deletes, signal } = options;
  const found = await inspectTarget(workspace, path, limits.maxFile_bytes);
  if (!found.ok) {
    if (found.problem.code !== 'target_missing') throw new ProblemError(found.problem);
    const newFileEol = await eolForNewFile(workspace, path, await options.siblings());
    return { path, base: null, sha: 'absent', bytes: 0, lines: 0, encoding: null, newFileEol };
  }
  const target = found.value;
  const bytes = await readGiven(target.realPath);
  const encoding = encodingOf(config, path);
  const facts = await dependencies.edits.run('describe', { path, bytes, encoding: encoding ?? null }, signal);
  if (facts.binary && !deletes)
    fail('target_binary', `${path} is a binary file (it holds a NUL): it cannot be edited as text`);
  const ref = await dependencies.blobs.put(bytes);
  return {
    // A symbolic link stays one: the file that it leads to is what is edited.
    path: target.target,
    base: { ref, mode: target.mode },
    sha: ref.slice('sha256:'.length),
    bytes: bytes.length,
    lines: facts.lines,
    encoding: encoding ?? null,
    newFileEol: '\n',
    ...(deletes ? { deletes } : {}),
  };
}

/** Context and rules files. `jobPath` null: a missing file is left out; else it is a fault of the job. */
export async function textRefs(options: {
  readonly dependencies: ActivityDependencies;
  readonly workspace: string;
  readonly paths: readonly string[];
  readonly limits: Limits;
  readonly jobPath: string | null;
  readonly signal: AbortSignal;
}): Promise<readonly TextRef[]> {
  const { dependencies, workspace, paths, limits, jobPath, signal } = options;
  const refs: TextRef[] = [];
  for (const path of new Set(paths)) {
    const found = await inspectTarget(workspace, path, null);
    if (!found.ok) {
      if (jobPath === null && found.problem.code === 'target_missing') continue;
      throw new ProblemError(
        jobPath === null
          ? found.problem
          : { ...found.problem, message: `${jobPath}: context_files: ${found.problem.message}` },
      );
    }
    const most = limits.maxContextFile_bytes ?? Infinity;
    if (found.value.bytes > most)
      fail('target_too_large', `${path} has ${found.value.bytes} bytes; maxContextFile_bytes is ${most}`);
    const bytes = await readGiven(found.value.realPath);
    const { binary } = await dependencies.edits.run('describe', { path, bytes, encoding: null }, signal);
    if (binary) fail('target_binary', `${path} is a binary file: it cannot be shown to a model`);
    refs.push({ path, ref: await dependencies.blobs.put(bytes) });
  }
  return refs;
}
