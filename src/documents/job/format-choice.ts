/** Chooses the format in which a file is edited, rates the complexity of a step, and decides whether it is split by file. */

import { FORMATS, type Bucket, type Format } from '../../shared/formats.js';
import type { Limits } from '../../shared/limits.js';
import { effectiveMode } from './job.js';
import type { Complexity, Job, JobMode, ProjectConfig } from './types.js';
import type { Target } from '../../shared/step-activities.js';

// bound: Bytes of one token of a whole file, at least (3.3 to 4.4 in source code). A response of N tokens holds a file of N times as many bytes.
const RESPONSE_TOKEN_BYTES = 3;

// bound: Bytes of a file for each token of the input budget, up to which the file is shown whole. It then takes half of the budget or less, at 3.3 to 4.4 bytes per token.
const SHOWN_WHOLE_BYTES_PER_TOKEN = 2;

export type FileSize = Pick<Target, 'lines' | 'bytes' | 'isNew'>;
export interface FormatChoiceInput extends FileSize {
  readonly job: Pick<Job, 'mode' | 'format' | 'outputFiles' | 'outputDir'>;
  readonly config: Pick<ProjectConfig, 'formats'>;
  readonly limits: Limits;
}

/** The mode of a job and the format that it forces. `forced` is null if the size of each file decides. */
interface FormatPolicy {
  readonly mode: JobMode | null;
  readonly forced: Format | null;
}

/** Returns the format that a job forces: its own `format:`, else that of its mode. `standard` and `sequential` write whole files. */
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
 * Chooses the format of one file:
 *
 * 1. The size alone gives the bucket. Bucket A has new files, and files up to `maxLinesFullFile` and `maxBytesFullFile` that fit in the largest
 *    response (`maxOutputBudget_tokens`). Bucket B has files up to `maxLinesDiff` and `maxBytesDiff`. Bucket C has all larger files.
 * 2. A format that the job forces is used even if `emend.yaml` switches it off, because the job is more specific. There is one exception:
 *    a new file contains nothing that search-replace could find, so it is written whole.
 * 3. Otherwise the bucket gives the format. If `emend.yaml` switches it off, the next format in the order of `FORMATS` that is on is used. The
 *    order continues at the beginning of the list. A file of bucket C that is shown whole is edited by search-replace, because its listing
 *    without numbers has 0.6 times the tokens (decision 0060). If that response is cut off, the next request asks for a structured edit
 *    (`nextFallback`). If only windows of the file fit in the prompt, the operations name the listed lines.
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

/** Returns the bucket of a file by its size. */
export function bucketOf({ lines, bytes, isNew }: FileSize, limits: Limits): Bucket {
  const fits = (maxLines: number | null, maxBytes: number | null): boolean =>
    lines <= (maxLines ?? Infinity) && bytes <= (maxBytes ?? Infinity);
  const largestResponse_bytes = (limits.maxOutputBudget_tokens ?? Infinity) * RESPONSE_TOKEN_BYTES;
  if (
    isNew ||
    (bytes <= largestResponse_bytes && fits(limits.maxLinesFullFile, limits.maxBytesFullFile))
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

/**
 * Rates a step by its files. More than 3 files or a file with more than 500 lines are high; more than 1 file or 200 lines are medium. The
 * numbers are part of this rule and cannot be configured.
 */
export function complexity(files: readonly Pick<FileSize, 'lines'>[]): Complexity {
  const longest = Math.max(0, ...files.map((file) => file.lines));
  if (files.length > 3 || longest > 500) return 'high';
  return files.length > 1 || longest > 200 ? 'medium' : 'low';
}

const LEVELS: readonly Complexity[] = ['low', 'medium', 'high'];
/** Returns the higher complexity of two: that of the files, and that which the job names (null if it names none). */
export const harderOf = (files: Complexity, job: Complexity | null): Complexity =>
  job !== null && LEVELS.indexOf(job) > LEVELS.indexOf(files) ? job : files;

export interface SplitInput {
  readonly mode: JobMode | null;
  readonly complexity: Complexity;
  /** The format of each target file. */
  readonly formats: readonly Format[];
  readonly limits: Limits;
}

/** Decides whether the step makes one model call for all files or one call for each file, and gives the reason. */
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
