/** Which files a step is about: those named; else those hinted at in the instructions; else a model picks. */
import { join } from 'node:path';
import { effectiveMode, lineIn, type Job } from '../../documents/job/index.js';
import type { Limits } from '../../shared/limits.js';
import { ProblemError, fail } from '../../shared/problems.js';
import {
  dirtyPaths,
  filterProblem,
  foreignPaths,
  hintedPaths,
  inspectTarget,
  listWorkspaceFiles,
  newFileCheck,
  type TargetFacts,
} from '../../workspace/files/index.js';
import { looksSecret } from '../../workspace/secret-files.js';
import type { JobFile } from '../../workspace/documents/index.js';
import { lastSegment, shellWord } from '../../shared/text.js';
import { tokensIn } from '../../shared/tokens.js';
import type { AnswerOutcome, ApplyAnswerInput, Edited } from '../../edits/index.js';
import type { BlobStore } from '../../stores/ports.js';
import type { ActivityPorts } from '../frame/ports.js';
import { getText, type Snapshot } from './snapshot.js';

const TARGETS = 10; // bound: Targets named where preflight refuses them.

export type Chosen =
  /** `deleted`: those of `paths` that go; they stand first, so that whoever is asked for the others knows. */
  | {
      readonly outcome: 'targets';
      readonly paths: readonly string[];
      readonly deleted: readonly string[];
    }
  | { readonly outcome: 'pick'; readonly files: readonly string[] };

interface Question extends Pick<JobFile, 'workspace' | 'job' | 'jobPath'> {
  readonly picked: readonly string[] | null;
  /** A model picks, whatever paths the instructions hold. */
  readonly mustPick: boolean;
  /** Files with a token in their names may be targets that nobody named: `secrets: send`. */
  readonly showsTokens: boolean;
  /** New files that a model named and may make. */
  readonly made: readonly string[];
  readonly mayCreate: boolean;
  readonly limits: Limits;
  /** A commit is asked for: targets that it cannot hold are refused. */
  readonly commits: boolean;
  /** Targets with uncommitted changes are refused too. */
  readonly mustBeClean: boolean;
}

export async function chooseTargets(question: Question): Promise<Chosen> {
  const { workspace, job, jobPath, made, limits, commits, mustBeClean } = question;
  const mode = effectiveMode(job);
  if (mode === 'standard' && job.outputFiles.length === 0)
    fail(
      'nothing_to_edit',
      `${jobPath}: mode standard requires the names of the files to write into ${job.outputDir ?? '.'}`,
      'Name them in `output_files`.',
    );
  // Jobs written for other runners give output keys beside `mode: edit`: they are accepted and say nothing more there.
  const written = mode === 'standard' || mode === 'sequential' ? job.outputFiles : [];
  const mayBeNew = [
    ...written,
    ...(mode === 'standard' || mode === 'sequential' ? [] : job.newFiles),
  ];
  const named = [...new Set([...written, ...job.targetFiles, ...mayBeNew])];
  await checkNamed(workspace, job, jobPath, mayBeNew);
  const chosen = named.length > 0 ? targets(named, job.deleteFiles) : await unnamed(question);
  if (chosen.outcome === 'pick') return chosen;
  const paths = [...new Set([...chosen.paths, ...made])];
  if (paths.length === 0 && question.picked !== null)
    fail('nothing_to_edit', 'no file that was picked may be made');
  const most = limits.maxFilesPerStep ?? Infinity;
  if (paths.length > most)
    fail(
      'too_many_files',
      `${jobPath}: ${paths.length} target files; a step takes at most ${most} (maxFilesPerStep)`,
    );
  if (commits) {
    await checkOwn(workspace, paths, jobPath);
    const filter = await filterProblem(workspace, paths);
    if (filter !== null) fail(filter.code, `${jobPath}: ${filter.message}`, filter.next);
  }
  if (mustBeClean) {
    const dirty = (await dirtyPaths(workspace, paths)).map(
      (file) => `${file.path} (${file.state})`,
    );
    if (dirty.length > 0)
      fail(
        'target_dirty',
        `${jobPath}: commit is set, but these targets have uncommitted changes: ${dirty.slice(0, TARGETS).join(', ')}`,
      );
  }
  return { ...chosen, paths };
}

/** A commit holds a submodule by its commit alone: a file inside can only be committed there. */
async function checkOwn(
  workspace: string,
  paths: readonly string[],
  jobPath: string,
): Promise<void> {
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

const targets = (
  edited: readonly string[],
  deleted: readonly string[],
): Extract<Chosen, { outcome: 'targets' }> => ({
  outcome: 'targets',
  paths: [...deleted, ...edited.filter((path) => !deleted.includes(path))],
  deleted,
});

/** Every named target exists and is a file inside; each fault names the job's line. */
async function checkNamed(
  workspace: string,
  job: Job,
  jobPath: string,
  written: readonly string[],
): Promise<void> {
  const faults: {
    code: 'name_too_long' | 'target_missing' | 'target_not_a_file' | 'target_outside';
    message: string;
  }[] = [];
  const check = async (
    key: string,
    paths: readonly string[],
    fault: (found: TargetFacts) => string | null,
  ) => {
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
    throw new ProblemError({
      code: first.code,
      message: faults.map((fault) => fault.message).join('\n'),
    });
}

async function unnamed(question: Question): Promise<Chosen> {
  const { workspace, job, picked, mustPick, mayCreate, showsTokens } = question;
  const { deleteFiles } = job;
  if (picked !== null) return targets(picked, deleteFiles);
  const listed = (await listWorkspaceFiles(workspace)).filter((path) => !looksSecret(path));
  const files = showsTokens ? listed : withoutTokenNames(listed);
  const hinted = hintedPaths(job.instructions, files);
  // A job may be about nothing but files that go: then nobody is asked for others.
  if (!mustPick && (hinted.length > 0 || deleteFiles.length > 0))
    return targets(hinted, deleteFiles);
  if (files.length === 0 && !mayCreate)
    fail('nothing_to_edit', `${workspace} has no files that can be shown to a model`);
  return { outcome: 'pick', files };
}

/** One search of all names together: there may be some hundred thousand. */
const withoutTokenNames = (files: readonly string[]): readonly string[] => {
  const tokens = tokensIn(files.join('\n'));
  return tokens.length === 0
    ? files
    : files.filter((path) => !tokens.some((token) => path.includes(token)));
};

const namesOf = async (blobs: BlobStore, { names }: Snapshot): Promise<readonly string[]> =>
  names === undefined ? [] : (await getText(blobs, names)).split('\n');
/** Which new files a model may name: none of the workspace's, and none that the step makes by a call of its own. */
export const newFileRule = async (blobs: BlobStore, snapshot: Snapshot) =>
  newFileCheck(snapshot.config, [
    ...(await namesOf(blobs, snapshot)),
    ...snapshot.targets.map(({ path }) => path),
  ]);

const unknownIn = (outcome: AnswerOutcome): readonly string[] =>
  'reasons' in outcome
    ? outcome.reasons.flatMap(({ code, path = '' }) => (code === 'unknown_file' ? [path] : []))
    : [];
/** Returns whether it makes no file under the name of one that was offered and that it leaves alone. A file that it moves is not left alone. */
const isSound = ({ files }: Edited, offered: ReadonlyMap<string, unknown>): boolean => {
  const left = new Set([...offered.keys()].filter((path) => !files.has(path)).map(lastSegment));
  return [...files.keys()].every((path) => offered.has(path) || !left.has(lastSegment(path)));
};

/** New files of an answer are offered where `create` allows their paths, and it is read once more; else it is told which files may be meant. */
export async function judge(
  ports: ActivityPorts,
  snapshot: Snapshot,
  judged: ApplyAnswerInput,
  signal: AbortSignal,
) {
  const read = (more: Partial<ApplyAnswerInput> = {}) =>
    ports.edits.run('answer', { ...judged, ...more }, signal);
  let outcome = await read();
  if (unknownIn(outcome).length === 0) return outcome;
  const rule = await newFileRule(ports.blobs, snapshot);
  const files = new Map(judged.files);
  const inPart = [...files.values()].some(({ region }) => region !== undefined);
  const most = inPart ? 0 : files.size + (snapshot.limits.maxPickedFiles ?? Infinity);
  const asked = () => unknownIn(outcome).filter((path) => !files.has(path) && rule(path).ok);
  // Some formats tell of one file that is not there at a time.
  for (
    let paths = asked();
    paths.length > 0 && files.size + paths.length <= most;
    paths = asked()
  ) {
    for (const path of paths) files.set(path, { bytes: null });
    outcome = await read({ files });
  }
  const isUsed =
    outcome.outcome === 'edited' ? isSound(outcome, judged.files) : unknownIn(outcome).length === 0;
  const options = { ...judged.options, beside: await namesOf(ports.blobs, snapshot) };
  return isUsed ? outcome : read({ options });
}
