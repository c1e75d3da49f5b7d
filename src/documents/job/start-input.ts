/**
 * Reads the input with which a user or a program starts a run (src/shared/start-input.ts): the place to edit, the work, and the settings of
 * the run. Each fault names its field. The host, the file or the repository may not exist, because nothing is looked up here.
 */
import { posix } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { withoutUndefined } from '../../shared/absence.js';
import { isBlobRef, isStepKey, type BlobRef } from '../../shared/ids.js';
import type { Overrides } from '../../shared/limits.js';
import { isCommitId, type RepositoryBase } from '../../shared/repository.js';
import type { Follows, PlanOptions } from '../../shared/run.js';
import { INPUT_EXAMPLES, type TaskKeys } from '../../shared/start-input.js';
import { isRecord, slug } from '../../shared/text.js';
import { checkKeys, findingsOfValue, isMarkdownPath, type Findings } from '../source/check.js';
import { checkFilePath } from '../source/checked-paths.js';
import * as schema from '../source/schemas.js';
import { JOB_KEYS, SHAPE, type JobKey } from './job-keys.js';
import { parseJob } from './job.js';

const MOST_PHASES = 1_000_000; // bound: Largest number of a phase that an input may name.
const NAME_WORDS = 5; // bound: Words of a task that become its name in lists, if the input has no name.

/** The place to edit. `host` is null if the input does not name one. */
export type StartPlace =
  | { readonly kind: 'workspace'; readonly path: string; readonly host: string | null }
  | { readonly kind: 'repository'; readonly repository: RepositoryBase };

/** Settings of one run. */
export interface StartSettings {
  readonly overrides: Overrides;
  readonly approval: 'ask' | 'auto' | null;
  readonly hints: readonly string[];
  readonly configurationCommit: string | null;
}

export interface JobStart {
  readonly place: StartPlace;
  readonly settings: StartSettings;
  /** The job: a file of the workspace, or the text of a job that is in no file. */
  readonly job:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'text'; readonly name: string; readonly text: string };
  readonly pick: boolean;
  readonly acceptedResult: BlobRef | null;
  readonly follows: Follows | null;
}

export interface PlanStart {
  readonly place: StartPlace;
  readonly settings: StartSettings;
  /** Path of the plan relative to the workspace. It is the same for a plan of one file and of a folder: `plans/010_demo`. */
  readonly planPath: string;
  readonly options: PlanOptions;
}

type Read<T> =
  | { readonly ok: true; readonly value: T }
  /** `message` has all faults, and an example of a valid input. */
  | { readonly ok: false; readonly message: string };

const ABSOLUTE = 'an absolute path on the host that has the workspace';
const COMMIT = 'the whole id of a commit';
const REF = 'a reference to a stored result (sha256:…)';
const RUN = 'the id of a run';
const words = schema.text('text that is not empty');

const PLACE = {
  workspace: z
    .string({ error: ABSOLUTE })
    .refine((path) => posix.isAbsolute(path) && !path.includes('\0'), { error: ABSOLUTE })
    .transform((path) => posix.normalize(path).replace(/(?<=.)\/+$/, '')),
  host: words,
  repository: schema.repository,
  base: schema.base,
  branch: schema.base,
};

const SETTINGS = {
  approval: schema.approval,
  hints: z.array(words, { error: 'a list of texts' }),
  configurationCommit: z.string({ error: COMMIT }).refine(isCommitId, { error: COMMIT }),
  requireCompleteSentinel: schema.flag,
  ...schema.limitShape,
};

const FOLLOWS = z.strictObject(
  {
    run: z.string({ error: RUN }).refine(isStepKey, { error: RUN }),
    commit: words,
    pullRequest: words,
    remote: words,
    branch: words,
    notes: z.array(z.string({ error: 'a text' }), { error: 'a list of texts' }),
  },
  { error: 'a map of run, commit, pullRequest, remote, branch and notes' },
);

/** Returns the camel case of a key: `target_files` becomes `targetFiles`. */
const camelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());

/** Keys of a job that an input has among its own settings or in its place. */
const KEYS_OF_RUN: readonly string[] = [
  'repository',
  'base',
  'approval',
  'requireCompleteSentinel',
  'limits',
];
const TASK_KEYS = new Map<string, JobKey>(
  JOB_KEYS.filter((key) => !KEYS_OF_RUN.includes(key)).map((key) => [camelCase(key), key]),
);
const TASK_SHAPE = Object.fromEntries([...TASK_KEYS].map(([key, job]) => [key, SHAPE[job]]));

const STEP_SHAPE = {
  ...PLACE,
  ...SETTINGS,
  ...TASK_SHAPE,
  task: words,
  name: words,
  jobFile: z
    .string({ error: 'the path of a Markdown file' })
    .refine(isMarkdownPath, { error: 'the path of a Markdown file (.md or .markdown)' }),
  pick: z.literal(true, { error: 'true' }),
  acceptedResult: z.string({ error: REF }).refine(isBlobRef, { error: REF }),
  follows: FOLLOWS,
};

const PLAN_SHAPE = {
  ...PLACE,
  ...SETTINGS,
  planFile: words,
  phase: schema.wholeNumber(1, MOST_PHASES),
  mode: schema.oneOf(['auto', 'sequential', 'waves']),
  forceReplan: schema.flag,
  drift: words,
  estimate: schema.oneOf(['ask', 'approved']),
  restart: schema.flag,
};

/** Reads the input of `editStep`. Returns the start of a job, or a message with all faults. */
export const readStepInput = (input: unknown): Read<JobStart> =>
  readWith(input, INPUT_EXAMPLES.job, (keys, findings) => {
    const parsed = checkKeys(keys, STEP_SHAPE, findings);
    const place = placeOf(parsed, findings);
    const job = jobOf(keys, parsed, findings);
    if (place === null || job === null) return null;
    return {
      place,
      settings: settingsOf(parsed),
      job,
      pick: parsed.pick === true,
      acceptedResult: parsed.acceptedResult ?? null,
      follows: (parsed.follows as Follows | undefined) ?? null,
    };
  });

/** Reads the input of `plan`. Returns the start of a plan, or a message with all faults. */
export const readPlanInput = (input: unknown): Read<PlanStart> =>
  readWith(input, INPUT_EXAMPLES.plan, (keys, findings) => {
    const parsed = checkKeys(keys, PLAN_SHAPE, findings);
    const place = placeOf(parsed, findings);
    const planPath = planPathOf(keys, parsed.planFile, findings);
    if (place === null || planPath === null) return null;
    return {
      place,
      settings: settingsOf(parsed),
      planPath,
      options: {
        phase: parsed.phase ?? null,
        mode: parsed.mode ?? 'auto',
        forceReplan: parsed.forceReplan ?? false,
        drift: parsed.drift ?? null,
        estimate: parsed.estimate ?? 'ask',
        restart: parsed.restart ?? false,
      },
    };
  });

type Keys = Readonly<Record<string, unknown>>;

const readWith = <T>(
  input: unknown,
  example: string,
  read: (keys: Keys, findings: Findings) => T | null,
): Read<T> => {
  const findings = findingsOfValue();
  if (!isRecord(input)) findings.add([], 'an object', input);
  const value = isRecord(input) ? read(input, findings) : null;
  if (findings.problems.length === 0 && value !== null) return { ok: true, value };
  const faults = findings.problems.map(({ message }) => message).join('; ');
  return {
    ok: false,
    message: `The input of the run does not fit. ${faults}${faults.endsWith('?') ? '' : '.'} Example: ${example}`,
  };
};

type PlaceKeys = { readonly [K in keyof typeof PLACE]?: string | undefined };

function placeOf(parsed: PlaceKeys, findings: Findings): StartPlace | null {
  const { workspace, host, repository, base, branch } = parsed;
  if (workspace !== undefined && repository !== undefined)
    findings.say(['repository'], 'expected either `workspace` or `repository`, received both');
  for (const [name, value] of Object.entries({ base, branch }))
    if (value !== undefined && repository === undefined)
      findings.say([name], 'expected `repository` with it, received none');
  if (host !== undefined && workspace === undefined)
    findings.say(['host'], 'expected `workspace` with it, received none');
  if (workspace !== undefined) return { kind: 'workspace', path: workspace, host: host ?? null };
  if (repository === undefined) {
    if (findings.problems.length === 0) findings.add(['workspace'], ABSOLUTE, undefined);
    return null;
  }
  if (base === undefined) {
    findings.add(['base'], 'a branch or a commit of the repository', undefined);
    return null;
  }
  return {
    kind: 'repository',
    repository: { url: repository, base, ...withoutUndefined({ branch }) },
  };
}

function jobOf(
  keys: Keys,
  {
    task,
    name,
    jobFile,
  }: { readonly task?: string; readonly name?: string; readonly jobFile?: string },
  findings: Findings,
): JobStart['job'] | null {
  if (task !== undefined && jobFile !== undefined)
    findings.say(['jobFile'], 'expected either `task` or `jobFile`, received both');
  if (jobFile !== undefined) {
    for (const key of ['name', ...TASK_KEYS.keys()])
      if (Object.hasOwn(keys, key))
        findings.say([key], 'the job file sets it; expected it with `task` alone');
    return jobFileOf(jobFile, findings);
  }
  if (task === undefined) {
    const hasJob = Object.hasOwn(keys, 'task') || Object.hasOwn(keys, 'jobFile');
    if (!hasJob) findings.add(['task'], 'instructions, or `jobFile`', undefined);
    return null;
  }
  if (findings.problems.length > 0) return null;
  return jobOfTask(keys, task, name, findings);
}

function jobFileOf(input: string, findings: Findings): JobStart['job'] | null {
  // An absolute path can name a job file outside the workspace.
  if (posix.isAbsolute(input)) return { kind: 'file', path: posix.normalize(input) };
  const checked = checkFilePath(input);
  if (checked.ok) return { kind: 'file', path: checked.path };
  findings.add(['jobFile'], checked.expected, input);
  return null;
}

/** Writes a job file with the same keys and instructions, and checks it like any other job file. */
function jobOfTask(
  keys: TaskKeys,
  task: string,
  name: string | undefined,
  findings: Findings,
): JobStart['job'] | null {
  const front = Object.fromEntries(
    Object.entries(keys).flatMap(([key, value]) => {
      const jobKey = TASK_KEYS.get(key);
      return jobKey === undefined ? [] : [[jobKey, value]];
    }),
  );
  const text = `---\n${stringify(front, { lineWidth: 0 })}---\n${task}`;
  const jobName = name ?? nameOf(task);
  const job = parseJob(text, 'task');
  if (job.ok) return { kind: 'text', name: jobName, text };
  for (const { message } of job.problems) findings.say([], asInInput(message));
  return null;
}

const INPUT_KEYS = new Map<string, string>([...TASK_KEYS].map(([key, jobKey]) => [jobKey, key]));

/** Replaces the keys of a job file in a problem of `parseJob` by the names that they have in the input. */
const asInInput = (message: string): string => {
  const [head = '', jobKey = '', item = ''] = /^task: (?:(\w+)((?:\.\w+)*): )?/.exec(message) ?? [];
  const fault = message
    .slice(head.length)
    .replace(/`(\w+)`/g, (_quoted, key: string) => `\`${INPUT_KEYS.get(key) ?? key}\``);
  return `\`${INPUT_KEYS.get(jobKey) ?? 'task'}${item}\`: ${fault}`;
};

const nameOf = (task: string): string => {
  const parts = task.split(/\s+/).filter((word) => slug(word) !== '');
  return slug(parts.slice(0, NAME_WORDS).join(' ')) || 'job';
};

function planPathOf(keys: Keys, input: string | undefined, findings: Findings): string | null {
  if (input === undefined) {
    if (!Object.hasOwn(keys, 'planFile'))
      findings.add(['planFile'], 'the path of the document of a plan', undefined);
    return null;
  }
  const checked = checkFilePath(planPathIn(input));
  if (checked.ok) return checked.path;
  findings.add(['planFile'], checked.expected, input);
  return null;
}

/** Returns the path that a plan has at every level. The inputs `x.md`, `x/` and `x/x.md` name the same plan `x`. */
export const planPathIn = (input: string): string => {
  const path = posix.normalize(input).replace(/\.md$|\/$/i, '');
  const folder = posix.dirname(path);
  return posix.basename(folder) === posix.basename(path) ? folder : path;
};

const settingsOf = (parsed: Keys): StartSettings => {
  const overrides = Object.fromEntries(
    ['requireCompleteSentinel', ...schema.LIMIT_NAMES].flatMap((name) =>
      parsed[name] === undefined ? [] : [[name, parsed[name]]],
    ),
  ) as Overrides;
  return {
    overrides,
    approval: (parsed.approval as 'ask' | 'auto' | undefined) ?? null,
    hints: (parsed.hints as readonly string[] | undefined) ?? [],
    configurationCommit: (parsed.configurationCommit as string | undefined) ?? null,
  };
};

/** Returns the keys of an input that correspond to the front matter of a job, without the settings and the place of the run. */
export const taskKeysOf = (front: Readonly<Partial<Record<JobKey, unknown>>>): TaskKeys =>
  Object.fromEntries(
    [...TASK_KEYS].flatMap(([key, jobKey]) =>
      front[jobKey] === undefined ? [] : [[key, front[jobKey]]],
    ),
  );
