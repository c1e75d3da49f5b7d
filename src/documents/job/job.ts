/**
 * Reads a job file, which has YAML front matter and Markdown instructions. The result is a `Job`, or all problems at once. docs/jobs.md
 * describes the keys.
 */
import { posix } from 'node:path';
import { SHAPE } from './job-keys.js';
import type { Checked, Job, JobMode } from './types.js';
import {
  MARKDOWN,
  isMarkdownPath,
  lineIn,
  readMap,
  type Findings,
  type checkKeys,
} from '../source/check.js';
import { firstHeading } from '../source/first-heading.js';
import { splitFrontMatter } from '../source/front-matter.js';
import { checkFilePath } from '../source/checked-paths.js';
import * as schema from '../source/schemas.js';
import type { LimitName } from '../../shared/limits.js';
import { problem } from '../../shared/problems.js';
import { cut } from '../../shared/text.js';

type Front = ReturnType<typeof checkKeys<typeof SHAPE>>;

const TITLE_CHARS = 72; // bound: Characters of the title that is the first line of a job without a file and without a heading.

const EMPTY = 'expected instructions in Markdown below the front matter, received nothing';

/**
 * Reads the text of a job file. `path` is the path as the user typed it; messages and the title show it. Every problem has the code
 * `job_invalid` and begins with the place that `lineIn` returns.
 */
export function parseJob(source: string, path: string): Checked<Job> {
  const binaryFault = notMarkdown(source, path);
  if (binaryFault !== null) return { ok: false, problems: [problem('job_invalid', binaryFault)] };
  const parts = splitFrontMatter(source);
  if (!parts.ok)
    return {
      ok: false,
      problems: [problem('job_invalid', `${lineIn(path, parts.line)}: ${parts.message}`)],
    };
  const empty =
    parts.body.trim() === ''
      ? [problem('job_invalid', `${lineIn(path, parts.bodyLine)}: ${EMPTY}`)]
      : [];

  const place = {
    file: path,
    code: 'job_invalid',
    lineOffset: 1,
    what: 'front matter that is a map of keys',
  } as const;
  const read = readMap(parts.yaml ?? '', SHAPE, place);
  if (!read.ok) return { ok: false, problems: [...read.problems, ...empty] };
  const { keys: front, map, findings } = read;
  const outputFiles = joinedOutputs(front, findings);
  checkTogether(front, map ?? {}, findings);
  checkDeleted(front, outputFiles, findings);
  const limits = bothLimits(front, findings);
  const problems = [...findings.problems, ...empty];
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    value: {
      ...jobOf(path, parts.body, front),
      outputFiles,
      limits,
      lines: linesOf(map ?? {}, read.lineOf),
    },
  };
}

function notMarkdown(source: string, path: string): string | null {
  const nul = source.indexOf('\0');
  if (nul === -1) return null;
  return `${lineIn(path, source.slice(0, nul).split('\n').length)}: expected Markdown text in UTF-8, received a binary file (it contains a NUL)`;
}

/** Checks the rules between keys. A key with a bad value counts as present, because it already has a problem of its own. */
function checkTogether(
  front: Front,
  map: Readonly<Record<string, unknown>>,
  findings: Findings,
): void {
  const isPresent = (key: string): boolean => Object.hasOwn(map, key);
  const hasFiles =
    isPresent('output_file') || (isPresent('output_files') && front.output_files?.length !== 0);
  const hasOutput = hasFiles || isPresent('output_dir');
  if (isPresent('output_file') && isPresent('output_files'))
    findings.say(
      ['output_files'],
      'expected either `output_file` or `output_files`, received both',
    );
  if (front.mode === 'standard' && !hasOutput)
    findings.say(
      ['mode'],
      '`standard` requires `output_dir`, `output_file` or `output_files`, received none of them',
    );
  if (front.mode === 'sequential' && !hasFiles)
    findings.say(
      ['mode'],
      '`sequential` requires `output_file` or `output_files`, received neither',
    );
  checkFormat(front, hasOutput, findings);
}

/** Reports a format in a mode that always writes whole files. */
function checkFormat({ mode, format }: Front, hasOutput: boolean, findings: Findings): void {
  if (format === undefined) return;
  if (mode === undefined && hasOutput)
    findings.say(
      ['format'],
      `expected no \`format\` with output keys, which imply \`mode: standard\` (whole files), received ${format}; write \`mode: edit\`, or omit \`format\``,
    );
  if (mode === 'standard' || mode === 'sequential')
    findings.say(
      ['format'],
      `expected no \`format\` with \`mode: ${mode}\`, which always writes whole files, received ${format}`,
    );
}

/** Reports files that the job removes and also edits, writes or reads. */
function checkDeleted(front: Front, outputFiles: readonly string[], findings: Findings): void {
  const filesByKey = {
    target_files: front.target_files ?? [],
    new_files: front.new_files ?? [],
    context_files: front.context_files ?? [],
    output_files: outputFiles,
  };
  for (const [index, path] of (front.delete_files ?? []).entries())
    for (const [key, paths] of Object.entries(filesByKey))
      if (paths.includes(path))
        findings.say(
          ['delete_files', index],
          `expected a file that the job does not use elsewhere, received ${path}, also named by \`${key}\``,
        );
}

/** Joins `output_dir` with each output file. A file that would be outside the directory is reported. */
function joinedOutputs(front: Front, findings: Findings): readonly string[] {
  const directory = front.output_dir ?? '';
  const entries = [
    ...(front.output_file === undefined
      ? []
      : [{ path: front.output_file, key: ['output_file'] as PropertyKey[] }]),
    ...(front.output_files ?? []).map((path, index) => ({
      path,
      key: ['output_files', index] as PropertyKey[],
    })),
  ];
  const joined: string[] = [];
  for (const { path, key } of entries) {
    const checked = checkFilePath(directory === '' ? path : `${directory}/${path}`);
    if (checked.ok) joined.push(checked.path);
    else findings.add(key, checked.expected, path);
  }
  return [...new Set(joined)];
}

/** Collects the limits, which a job sets under `limits:` or as keys of its own. A limit that is in both places is reported. */
function bothLimits(front: Front, findings: Findings): Partial<Record<LimitName, number>> {
  const limits: Partial<Record<LimitName, number>> = {};
  for (const name of schema.LIMIT_NAMES) {
    const below = front.limits?.[name];
    const flat = front[name];
    if (below !== undefined && flat !== undefined)
      findings.say(
        [name],
        `expected the limit once, received it here (${flat}) and under \`limits\` (${below})`,
      );
    const value = below ?? flat;
    if (value !== undefined) limits[name] = value;
  }
  return limits;
}

function jobOf(
  path: string,
  instructions: string,
  front: Front,
): Omit<Job, 'outputFiles' | 'limits' | 'lines'> {
  return {
    v: 1,
    path,
    title: firstHeading(instructions) ?? nameOf(path, instructions),
    instructions,
    ...valuesOrNull(front, PLAIN_KEYS),
    targetFiles: front.target_files ?? [],
    newFiles: front.new_files ?? [],
    deleteFiles: front.delete_files ?? [],
    contextFiles: front.context_files ?? [],
    outputDir: front.output_dir ?? null,
    finalNewline: front.final_newline ?? null,
  };
}

/** Returns the title of a job without a heading: the name of its file, or its first line if it is in no file. */
const nameOf = (path: string, instructions: string): string =>
  isMarkdownPath(path)
    ? posix.basename(path).replace(MARKDOWN, '')
    : cut(instructions.trim().split('\n')[0]?.trim() ?? '', TITLE_CHARS);

/** Keys whose values go into the job without a change and under the same name. */
const PLAIN_KEYS = [
  ...([
    'mode',
    'format',
    'category',
    'complexity',
    'effort',
    'test',
    'commit',
    'approval',
    'model',
    'repository',
    'base',
  ] as const),
  ...(Object.keys(schema.SHARED) as (keyof typeof schema.SHARED)[]),
];

const valuesOrNull = <K extends keyof Front>(front: Front, keys: readonly K[]) =>
  Object.fromEntries(keys.map((key) => [key, front[key] ?? null])) as {
    readonly [N in K]: NonNullable<Front[N]> | null;
  };

/** Returns the line of every key and of every item of a list. */
function linesOf(
  map: Readonly<Record<string, unknown>>,
  lineOf: (path: readonly PropertyKey[]) => number,
): Readonly<Record<string, number>> {
  const lines: Record<string, number> = {};
  for (const [key, value] of Object.entries(map)) {
    lines[key] = lineOf([key]);
    if (Array.isArray(value))
      value.forEach((_, index) => (lines[`${key}.${index}`] = lineOf([key, index])));
  }
  return lines;
}

/** Returns the mode of a job. Without the key, output keys imply `standard`; else it is null, and sizes decide the formats. */
export function effectiveMode(
  job: Pick<Job, 'mode' | 'outputFiles' | 'outputDir'>,
): JobMode | null {
  return job.mode ?? (job.outputFiles.length > 0 || job.outputDir !== null ? 'standard' : null);
}
