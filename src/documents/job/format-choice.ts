/** Which format a file is edited in, how hard a step is, and whether it is split by file. */

import { FORMATS, type Bucket, type Format } from '../../shared/formats.js';
import type { Limits } from '../../shared/limits.js';
import { effectiveMode } from './job.js';
import type { Complexity, Job, JobMode, ProjectConfig } from './types.js';
import type { Target } from '../../shared/step-activities.js';

// bound: A token of a whole file has at least so many bytes (3.3 to 4.4 in source code), so an answer of N tokens holds a file of N times as many.
const ANSWER_TOKEN_BYTES = 3;

// bound: A file of at most so many bytes for each token of the input budget (half of it or less, at 3.3 to 4.4 bytes) is shown whole.
const SHOWN_WHOLE_BYTES_PER_TOKEN = 2;

export type FileSize = Pick<Target, 'lines' | 'bytes' | 'isNew'>;
export interface FormatChoiceInput extends FileSize {
  readonly job: Pick<Job, 'mode' | 'format' | 'outputFiles' | 'outputDir'>;
  readonly config: Pick<ProjectConfig, 'formats'>;
  readonly limits: Limits;
}

/** What the job itself says about formats: `forced` null means that size decides. */
export interface FormatPolicy {
  readonly mode: JobMode | null;
  readonly forced: Format | null;
}

/** `format:` wins; `standard` and `sequential` write whole files; `edit` alone is search-replace. */
export function jobFormatPolicy(job: FormatChoiceInput['job']): FormatPolicy {
  const mode = effectiveMode(job);
  const byMode: Record<JobMode, Format> = {
    edit: 'search-replace',
    standard: 'whole-file',
    sequential: 'whole-file',
  };
  return { mode, forced: job.format ?? (mode === null ? null : byMode[mode]) };
}

/**
 * 1. The bucket goes by size alone: A up to `maxLinesFullFile` and `maxBytesFullFile`, where the largest answer (`maxOutputBudget_tokens`)
 *    can hold the file; every new file, too. B up to `maxLinesDiff` and `maxBytesDiff`, else C.
 * 2. A format forced by the job is taken as it is, switched off or not: the job is the later word. Only a new file cannot be
 *    answered by search-replace (there is nothing to find) and is answered whole.
 * 3. Else the bucket's format; switched off in `emend.yaml`, the next that is on, in the order of `FORMATS` and round again. A file of bucket C
 *    that is shown whole is edited by search-replace: its listing without numbers has 0.6 times the tokens (decision 0060). A response that
 *    is cut off is requested again as a structured edit (`nextFallback`). If only windows of the file fit, operations name the listed lines.
 */
export function chooseFormat(input: FormatChoiceInput): {
  readonly format: Format;
  readonly bucket: Bucket;
} {
  const bucket = bucketOf(input, input.limits);
  const { forced } = jobFormatPolicy(input.job);
  if (forced !== null)
    return { format: input.isNew && forced === 'search-replace' ? 'whole-file' : forced, bucket };
  if (bucket === 'C' && input.config.formats['search-replace'] && isShownWhole(input))
    return { format: 'search-replace', bucket };
  const byBucket: Record<Bucket, Format> = {
    A: 'whole-file',
    B: 'unified-diff',
    C: 'structured-edit',
  };
  return { format: nextOn(byBucket[bucket], input), bucket };
}

const isShownWhole = ({ bytes, limits }: FormatChoiceInput): boolean =>
  bytes <= (limits.inputBudget_tokens ?? Infinity) * SHOWN_WHOLE_BYTES_PER_TOKEN;

function bucketOf({ lines, bytes, isNew }: FileSize, limits: Limits): Bucket {
  const fits = (maxLines: number | null, maxBytes: number | null): boolean =>
    lines <= (maxLines ?? Infinity) && bytes <= (maxBytes ?? Infinity);
  const answerHolds_bytes = (limits.maxOutputBudget_tokens ?? Infinity) * ANSWER_TOKEN_BYTES;
  if (
    isNew ||
    (bytes <= answerHolds_bytes && fits(limits.maxLinesFullFile, limits.maxBytesFullFile))
  )
    return 'A';
  return fits(limits.maxLinesDiff, limits.maxBytesDiff) ? 'B' : 'C';
}

function nextOn(first: Format, { config, isNew }: FormatChoiceInput): Format {
  const start = FORMATS.indexOf(first);
  const order = [...FORMATS.slice(start), ...FORMATS.slice(0, start)].filter(
    (format) => !(isNew && format === 'search-replace'),
  );
  return order.find((format) => config.formats[format]) ?? first;
}

/** High over 3 files or any file over 500 lines; medium over 1 file or 200 lines; else low. The numbers are the rule's, not limits. */
export function complexity(files: readonly Pick<FileSize, 'lines'>[]): Complexity {
  const longest = Math.max(0, ...files.map((file) => file.lines));
  if (files.length > 3 || longest > 500) return 'high';
  return files.length > 1 || longest > 200 ? 'medium' : 'low';
}

const LEVELS: readonly Complexity[] = ['low', 'medium', 'high'];
/** What routes go by: the files' level, or the job's own where that is higher. */
export const harderOf = (files: Complexity, said: Complexity | null): Complexity =>
  said !== null && LEVELS.indexOf(said) > LEVELS.indexOf(files) ? said : files;

export interface SplitInput {
  readonly mode: JobMode | null;
  readonly complexity: Complexity;
  /** The format of each target file. */
  readonly formats: readonly Format[];
  readonly limits: Limits;
}

/** One model call for the whole step, or one a file? A single file is never split by file. */
export function splitDecision({ mode, complexity: level, formats, limits }: SplitInput): {
  readonly shouldSplit: boolean;
  readonly reason: string;
} {
  const files = formats.length;
  const limit = limits.maxFilesBeforeSplit ?? Infinity;
  if (files <= 1)
    return { shouldSplit: false, reason: files === 0 ? 'no call is made' : 'one file' };
  if (mode === 'sequential')
    return { shouldSplit: true, reason: 'mode is sequential: one call a file' };
  if (files > limit)
    return { shouldSplit: true, reason: `more than maxFilesBeforeSplit (${limit})` };
  if (level === 'high') return { shouldSplit: true, reason: 'complexity is high' };
  if (new Set(formats).size > 1)
    return { shouldSplit: true, reason: 'the files need different formats' };
  return {
    shouldSplit: false,
    reason: `${files} files of ${level} complexity, at most maxFilesBeforeSplit (${limit})`,
  };
}
