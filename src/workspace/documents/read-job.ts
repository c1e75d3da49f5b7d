/** Reads a job and all that can be checked of it before a run starts: nothing is written, every problem is told at once. */
import { realpath, stat } from 'node:fs/promises';
import { basename, join, resolve, dirname, isAbsolute, relative, sep } from 'node:path';
import { stringify } from 'yaml';
import {
  isMarkdownPath,
  lineIn,
  parseConfig,
  parseJob,
  type Job,
  type JobKeys,
} from '../../documents/job/index.js';
import {
  fail,
  failAll,
  problem,
  ProblemError,
  type Problem,
  type ProblemCode,
} from '../../shared/problems.js';
import { isBase, urlFault, type RepositoryBase } from '../../shared/repository.js';
import { slug } from '../../shared/text.js';
import { refusalOfName } from '../../shared/run-name.js';
import { errnoOf, realSys } from '../../system/sys.js';
import { resolveInWorkspace } from '../apply/resolve-path.js';
import { ABSENT, readGiven, readSettings, whyUnread } from '../../system/given-file.js';
import { fileAtCommit, placeInRepository } from '../git/file-at-commit.js';
import { outsideGit, topOf } from '../git/git.js';

const JOB_FILE_BYTES = 4 * 1024 * 1024; // bound: A job is a few pages of text; anything near this bound is a mistake.

// Where a job works: the nearest git top level above the job file, or the directory that the caller names.

/**
 * Real path of the workspace. A worktree is a top level of its own, so its path stays as it is.
 * Without `explicit`: the top level of the git repository that holds the job file, else the job file's directory.
 * Throws ProblemError `usage` where `explicit` is not a directory or the workspace is git's own, `git_failed` where git cannot tell.
 */
export const workspaceOf = async (
  jobFile: string,
  explicit: string | null,
  cwd: string,
): Promise<string> => {
  if (explicit !== null) {
    const path = resolve(cwd, explicit);
    if ((await stat(path).catch(() => null))?.isDirectory() !== true)
      fail(
        'usage',
        `The workspace ${path} is not a directory.`,
        'Give an existing directory with --workspace.',
      );
    return outsideGit(await realpath(path));
  }
  return topOf(dirname(await realpath(jobFile)));
};

/**
 * Checks the workspace that the input of a run names. Throws ProblemError `usage` if it is no directory, or not its real path:
 * records and locks name a workspace by one path.
 */
export const checkWorkspace = async (workspace: string): Promise<void> => {
  const found = await stat(workspace).catch(() => null);
  if (found?.isDirectory() !== true)
    fail(
      'usage',
      `The workspace ${workspace} is not a directory on this host.`,
      'Start the run with an existing directory, or with the host that has it (`emend hosts`).',
    );
  const real = await realpath(workspace);
  if (real !== workspace)
    fail(
      'usage',
      `The workspace ${workspace} leads through a symbolic link to ${real}.`,
      'Start the run with that path.',
    );
};

/** `path` relative to the workspace with `/` where it lies inside, else absolute. Both are real paths. */
const pathInWorkspace = (workspace: string, path: string): string => {
  const inside = relative(workspace, path);
  const outside =
    inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return outside ? path : inside.split(sep).join('/');
};

/** A job that was read and checked. */
export interface JobFile {
  readonly job: Job;
  readonly bytes: Uint8Array;
  /** Real path; of a repository its URL. */
  readonly workspace: string;
  readonly repository?: RepositoryBase;
  /** Directory that `jobPath` is relative to; absent: the workspace. */
  readonly folder?: string;
  /** Relative to the workspace (of a repository: to where the job file itself lies) where it lies inside, else absolute; of a job without a file the slug of its first five words. */
  readonly jobPath: string;
  /** Of a job without a file: all of it, by which its workflow id goes instead of a path. */
  readonly text?: string;
}

export interface JobFileRequest {
  readonly jobPath: string;
  /** Null: the nearest git top level above the job file, else its directory. */
  readonly workspace: string | null;
  readonly cwd: string;
  /** Over what the job says. */
  readonly repository?: string | undefined;
  readonly base?: string | undefined;
}

/** Throws ProblemError (`job_not_found`, `usage`) or ProblemsError (all of `job_invalid`, `config_invalid`, `target_*`). */
export const readJobFile = async (request: JobFileRequest): Promise<JobFile> => {
  const typed = request.jobPath;
  const path = resolve(request.cwd, typed);
  const bytes = await readJob(path, typed);
  const source = decodeJob(bytes, typed);
  const workspace = await workspaceOf(path, request.workspace, request.cwd);
  if (!isMarkdownPath(typed))
    return fail(
      'job_invalid',
      `${typed}:1: expected a Markdown file (.md or .markdown), received ${JSON.stringify(basename(typed))}`,
    );
  const parsed = parseJob(source, typed);
  const repository = repositoryFor(request, parsed.ok ? parsed.value : null);
  const job = await checked(parsed, typed, repository === null ? workspace : null);
  const jobPath = pathInWorkspace(workspace, await realpath(path));
  const read = { job: { ...job, path: jobPath }, bytes, workspace, jobPath };
  return repository === null
    ? read
    : { ...read, workspace: repository.url, repository, folder: workspace };
};

/**
 * Returns the job as a commit has it; one outside the repository of the commit stays as it is. Throws ProblemError `job_not_found` if the
 * commit has no such file, `config_untrusted` if a job on a repository differs there: the file names that repository.
 */
export const jobAtCommit = async (read: JobFile, commit: string): Promise<JobFile> => {
  const { workspace, jobPath, folder = workspace } = read;
  const place = await placeInRepository(folder, resolve(folder, jobPath));
  if (place === null) return read;
  const bytes = await committedJob(place, jobPath, commit);
  if (read.repository !== undefined)
    return bytes.equals(read.bytes)
      ? read
      : fail(
          'config_untrusted',
          `${jobPath} differs from the target branch (${commit.slice(0, 12)}). A run on a pull request follows only jobs of the target branch.`,
          'Merge the job first, or run it outside the pull request.',
        );
  const job = await checked(parseJob(decodeJob(bytes, jobPath), jobPath), jobPath, workspace);
  return { ...read, job: { ...job, path: jobPath }, bytes };
};

/**
 * Returns the bytes of a job file as a commit has them. A file outside the repository of the workspace is read from the disk. Throws
 * ProblemError `job_not_found`.
 */
export const readJobAtCommit = async (
  workspace: string,
  jobPath: string,
  commit: string,
): Promise<Uint8Array> => {
  const place = isAbsolute(jobPath)
    ? await placeInRepository(workspace, jobPath)
    : { root: workspace, path: jobPath };
  return place === null ? readJobBytes(workspace, jobPath) : committedJob(place, jobPath, commit);
};

const committedJob = async (
  { root, path }: { readonly root: string; readonly path: string },
  jobPath: string,
  commit: string,
): Promise<Buffer> => {
  const file = await fileAtCommit(root, commit, path);
  if (file !== null) return file.bytes;
  return fail(
    'job_not_found',
    `${jobPath} is not on the target branch (${commit.slice(0, 12)}). A run on a pull request follows only jobs of the target branch.`,
    'Merge the job first, or run it outside the pull request.',
  );
};

/** Null: a directory is edited. `said`: by the document; flags are over it. Throws ProblemError `usage`. */
export const repositoryFor = (
  { workspace, ...flags }: Pick<JobFileRequest, 'workspace' | 'repository' | 'base'>,
  said: Partial<Pick<Job, 'repository' | 'base' | 'commit'>> | null,
): RepositoryBase | null => {
  const url = flags.repository ?? said?.repository ?? null;
  const base = flags.base ?? said?.base ?? null;
  const next = 'Example: --repository https://example.org/group/project.git --base main';
  if (url === null)
    return base === null ? null : fail('usage', 'base: expected a repository with it.', next);
  if (base === null)
    return fail('usage', 'repository: expected base with it, a branch or a commit.', next);
  const fault = urlFault(url);
  if (fault !== null) return fail('usage', `--repository: expected ${fault}.`, next);
  if (!isBase(base))
    return fail('usage', '--base: expected a branch, or the whole id of a commit.', next);
  if (workspace !== null)
    return fail('usage', 'Expected --workspace or a repository, received both.');
  if (said?.commit === false)
    return fail(
      'usage',
      'commit: expected a commit, which is all that a run on a repository leaves.',
      'Omit `commit`.',
    );
  return { url, base };
};

/** A job that lies in no file: the keys of a job file's front matter, and what stands below it. */
export type JobText = JobKeys & {
  /** Markdown. Nothing in it is read as a key, whoever wrote it. */
  readonly instructions: string;
  /** The directory to edit: a path, relative to the working directory of the process. Absent: `repository` and `base` name a repository. */
  readonly workspace?: string | undefined;
};

const NAME_words = 5; // bound: Of a job without a file, in its name and workflow id.

/** As `readJobFile`; problems name the job by its first words, and the key. */
export const jobOfText = async ({
  instructions,
  workspace: named,
  ...keys
}: JobText): Promise<JobFile> => {
  const isHere = (keys.repository ?? keys.base) === undefined;
  if (typeof named !== 'string' && isHere)
    fail('usage', 'A job without a file needs `workspace`, the directory to edit.');
  const said = typeof instructions === 'string' ? instructions : '';
  const front = `---\n${stringify(keys, { lineWidth: 0 })}---\n`;
  const text = front + said;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > JOB_FILE_BYTES)
    return fail(
      'job_invalid',
      `The job has ${bytes.length} bytes; a job may have ${JOB_FILE_BYTES} bytes.`,
    );
  const shown = await withoutSecrets(said);
  const words = shown.split(/\s+/).filter((word) => slug(word) !== '');
  const jobPath = slug(words.slice(0, NAME_words).join(' ')) || 'job';
  const parsed = parseJob(front + shown, jobPath);
  const repository = repositoryFor({ workspace: named ?? null }, parsed.ok ? parsed.value : null);
  const workspace = repository?.url ?? (await workspaceOf('', named ?? '.', process.cwd()));
  const job = await checked(parsed, jobPath, isHere ? workspace : null);
  return { job, bytes, workspace, jobPath, text, ...(repository && { repository }) };
};

/** What names a run is in histories and logs. The rules are loaded where a job is read. */
const withoutSecrets = async (text: string): Promise<string> =>
  (await import('../../system/secrets.js')).hideSecrets(text);

/** The `emend.yaml` of a workspace. Throws why it cannot be read. */
export const readConfig = async (workspace: string) =>
  parseConfig(await readSettings(join(workspace, 'emend.yaml')));

/** `path`: as problems name it. `workspace` null: its files are not here, and preflight alone looks at them. */
const checked = async (
  parsed: ReturnType<typeof parseJob>,
  path: string,
  workspace: string | null,
): Promise<Job> => {
  const config = workspace === null ? parseConfig(null) : await readConfig(workspace);
  const refusal = refusalOfName('job file', path);
  // Alone: the other faults show the path.
  if (refusal !== null) throw new ProblemError(refusal);
  failAll([
    ...(!parsed.ok
      ? parsed.problems
      : workspace === null
        ? []
        : await targetProblems(parsed.value, workspace)),
    ...(config.ok ? [] : config.problems),
  ]);
  return parsed.ok
    ? { ...parsed.value, title: await withoutSecrets(parsed.value.title) }
    : fail('job_invalid', `${path}: the job could not be read.`);
};

const readJob = (path: string, typed: string): Promise<Uint8Array> =>
  readGiven(path, JOB_FILE_BYTES).catch((error: unknown) => {
    if (ABSENT.includes(errnoOf(error) ?? ''))
      return fail('job_not_found', `Job file ${typed} not found (looked for ${path}).`);
    if (!(error instanceof ProblemError))
      return fail('job_not_found', `${whyUnread(typed, error)}.`);
    const { code, message } = error.problem;
    return code === 'target_too_large'
      ? fail('job_invalid', `${message}; that is the limit for job files.`)
      : fail('job_not_found', `${typed} is not a file; expected a Markdown job file: ${message}.`);
  });

/** Reads the bytes of a job file; its path is relative to the workspace, or absolute. Throws ProblemError `job_not_found`, `job_invalid`. */
export const readJobBytes = (workspace: string, jobPath: string): Promise<Uint8Array> =>
  readJob(resolve(workspace, jobPath), jobPath);

/** Throws ProblemError `job_invalid`. */
export const decodeJob = (bytes: Uint8Array, typed: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return fail('job_invalid', `${typed} is not UTF-8 text; expected a Markdown job file.`);
  }
};

/** What the disk says about the paths of a job: preflight checks again, but here nothing has been started yet. */
const targetProblems = async (job: Job, workspace: string): Promise<readonly Problem[]> => {
  const groups: [key: string, paths: readonly string[], wanted: Wanted][] = [
    ['target_files', job.targetFiles, 'there'],
    ['new_files', job.newFiles, 'any'],
    ['delete_files', job.deleteFiles, 'itself'],
    ['context_files', job.contextFiles, 'there'],
    ['output_files', job.outputFiles, 'any'],
  ];
  const found = groups.flatMap(([key, paths, wanted]) =>
    paths.map(async (path, index) => {
      const fault = await pathFault(workspace, path, wanted);
      if (fault === null) return [];
      const line = job.lines[`${key}.${index}`] ?? job.lines[key] ?? job.lines.output_file ?? 1;
      return [problem(fault.code, `${lineIn(job.path, line)}: ${key}: ${fault.why}`)];
    }),
  );
  return (await Promise.all(found)).flat();
};

/** Of a path: a file that is there; the file itself, through no link; or one that need not exist yet. */
type Wanted = 'there' | 'itself' | 'any';
interface PathFault {
  readonly code: ProblemCode;
  readonly why: string;
}
const pathFault = async (
  workspace: string,
  path: string,
  wanted: Wanted,
): Promise<PathFault | null> => {
  const place = await resolveInWorkspace(realSys, workspace, path);
  if (!place.ok)
    return {
      code: 'target_outside',
      why: `expected a file inside ${workspace}, ${path} is not one: ${place.reason}`,
    };
  const found = await stat(join(workspace, place.real)).catch(() => null);
  if (found === null)
    return wanted === 'any'
      ? null
      : {
          code: 'target_missing',
          why: `expected an existing file, ${path} does not exist in ${workspace}`,
        };
  if (wanted === 'itself' && place.real !== path)
    return {
      code: 'target_not_a_file',
      why: `expected the file itself, ${path} is a symbolic link to ${place.real}`,
    };
  if (found.isFile()) return null;
  return {
    code: 'target_not_a_file',
    why: `expected a file, ${path} is ${found.isDirectory() ? 'a directory' : 'not a regular file'}`,
  };
};
