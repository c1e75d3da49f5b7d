/** `emend run -m`: a job in words, without a file. Every key of a job is a flag, from the schemas that job files are checked by. */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { Option } from 'commander';
import * as jobs from '../documents/job/index.js';
import { fail, ProblemsError, type Problem } from '../shared/problems.js';
import { jobOfText, readConfig, type JobFile } from '../workspace/documents/index.js';
import type { Io } from './io.js';
import { localWorkspace } from './local/open.js';

const SENTENCE_BYTES = 1024 * 1024; // bound: What is read of stdin as a job in words.
/** Keys of a job in words that neither a flag nor `emend.yaml` sets. */
const DEFAULTS: jobs.JobKeys = { create: true };

const flagOf = (key: jobs.JobKey): string => `--${key.replace(/_|(?=[A-Z])/g, '-').toLowerCase()}`;

const optionOf = (key: jobs.JobKey): Option => {
  const { words, flag } = jobs.keyTakes(key);
  return new Option(`${flagOf(key)} ${flag ? '[value]' : '<value>'}`, words)
    .argParser((text, earlier: readonly string[] | undefined) => [...(earlier ?? []), text])
    .preset('true')
    .helpGroup('With -m, the keys of a job (values as in YAML; docs/jobs.md explains them):');
};
/** Those of a job in words alone. */
const FLAGS = jobs.JOB_KEYS.filter((key) => key !== 'repository' && key !== 'base');
export const jobFlags = (): readonly Option[] => FLAGS.map(optionOf);

/** As commander has read them: texts, by the flag's name. */
const given = (flags: object): readonly (readonly [jobs.JobKey, readonly string[]])[] => {
  const written = new Map<string, readonly string[]>(Object.entries(flags));
  return FLAGS.flatMap((key) => {
    const texts = written.get(new Option(flagOf(key)).attributeName());
    return texts === undefined ? [] : [[key, texts] as const];
  });
};

/** A job file says itself what its keys are. Throws ProblemError `usage`. */
export const refuseJobFlags = (flags: object): void => {
  const [key] = given(flags)[0] ?? [];
  if (key !== undefined)
    fail(
      'usage',
      `${flagOf(key)} goes with -m.`,
      `Write \`${key}\` into the front matter of the job file.`,
    );
};

/**
 * `said`: what to change; `-`: stdin says it. `files` are its targets. Paths are relative to the working directory, with a
 * repository to its top. Throws ProblemError `usage`, or ProblemsError as a job file's reader does, with the flags in place of lines.
 */
export const jobOfSentence = async (
  io: Io,
  said: string,
  files: readonly string[],
  flags: { readonly workspace?: string; readonly repository?: string; readonly base?: string },
): Promise<JobFile> => {
  const instructions = said === '-' ? await readStdin(io) : said;
  if (instructions.trim() === '')
    fail(
      'usage',
      '-m: expected what to change, received nothing.',
      'Type: emend run -m "what to change"',
    );
  const { repository, base } = flags;
  const isHere = (repository ?? base) === undefined;
  const workspace = isHere ? await localWorkspace(io, flags.workspace) : flags.workspace;
  const inside = async (typed: string): Promise<string> => {
    if (!isHere || workspace === undefined) return typed;
    const path = resolve(io.cwd, typed);
    // A link that is named stays one: only where it lies is looked up.
    const dir = await realpath(dirname(path)).catch(() => dirname(path));
    return relative(workspace, join(dir, basename(path)))
      .split(sep)
      .join('/');
  };
  const config = workspace === undefined ? jobs.parseConfig(null) : await readConfig(workspace);
  // What the repository's own says is not known here, and counts.
  const isSaid = !isHere || (config.ok && config.value.create !== null);
  const keys: Partial<Record<jobs.JobKey, unknown>> = {
    ...(isSaid ? {} : DEFAULTS),
    repository,
    base,
  };
  const texts = given(flags);
  for (const [key, written] of texts) {
    const taken = written.find((each) => each !== 'true' && existsSync(resolve(io.cwd, each)));
    if (taken !== undefined && jobs.keyTakes(key).flag)
      fail(
        'usage',
        `${flagOf(key)} took the file ${taken} as its value.`,
        `Type ${flagOf(key)}=true, or it last.`,
      );
    const value = jobs.keyValue(key, written);
    // Those are below `output_dir`.
    const isAsTyped =
      key.startsWith('output_file') && texts.some(([other]) => other === 'output_dir');
    if (!jobs.isPathKey(key) || isAsTyped) keys[key] = value;
    else
      keys[key] =
        typeof value === 'string'
          ? await inside(value)
          : await Promise.all((value as string[]).map(inside));
  }
  if (files.length > 0)
    keys.target_files = [
      ...((keys.target_files as string[] | undefined) ?? []),
      ...(await Promise.all(files.map(inside))),
    ];
  return jobOfText({ ...(keys as jobs.JobKeys), workspace, instructions }).catch(
    (error: unknown) => {
      if (!(error instanceof ProblemsError)) throw error;
      const [first, ...others] = error.problems;
      throw new ProblemsError([inFlags(first), ...others.map(inFlags)]);
    },
  );
};

const readStdin = async (io: Io): Promise<string> => {
  const bytes = await io.readAll(SENTENCE_BYTES);
  return bytes === null
    ? fail(
        'usage',
        `-m -: stdin has more than ${SENTENCE_BYTES} bytes.`,
        'Write a job file, or say less.',
      )
    : new TextDecoder().decode(bytes).trimEnd();
};

/** `make-it-polite: target_files.0: expected …` -> `FILES: expected …`. What is wrong in a file keeps its line. */
const inFlags = (found: Problem): Problem => {
  if (found.code === 'config_invalid') return found;
  const message = found.message.replace(/^[^:]*: (\w+)(?:[.]\d+)?/, (all, word: string) => {
    const key = jobs.JOB_KEYS.find((each) => each === word);
    return key === undefined ? all : key === 'target_files' ? 'FILES' : flagOf(key);
  });
  if (found.code === 'target_missing' && message.startsWith('FILES'))
    return {
      ...found,
      message,
      next: `Correct the path. A file that does not exist yet: ${flagOf('new_files')} PATH`,
    };
  return found.code === 'job_invalid'
    ? { ...found, message, next: 'See `emend help run`; docs/jobs.md describes every key.' }
    : { ...found, message };
};
