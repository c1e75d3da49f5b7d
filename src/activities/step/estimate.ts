/** What edits are expected to take: said before anything is paid for, and so on the high side. */
import { priceBy } from '../../model/price.js';
import type { ProjectConfig } from '../../documents/job/index.js';
import type { Format } from '../../shared/formats.js';

const PROMPT_tokens = 1_500;
/** What an answer costs per file where only the change is said, or where the file is made. */
const CHANGE_tokens = 1_500;
const BYTES_PER_TOKEN = 3.5;

export interface EstimatedFile {
  readonly bytes: number;
  readonly isNew: boolean;
  readonly format: Format;
}
export interface Estimate {
  readonly chunks: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null: the price of the model is not known. */
  readonly usd: number | null;
}

export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

export const priceOf = (
  { models }: Pick<ProjectConfig, 'models'>,
  model: string,
  { input_tokens, output_tokens }: Pick<Estimate, 'input_tokens' | 'output_tokens'>,
): number | null => priceBy(models)(model, { input: input_tokens, output: output_tokens, cacheRead: 0, cacheWrite: 0 });

/** `split`: one call a file; else one for all of them. */
export function estimateEdits(
  config: Pick<ProjectConfig, 'models'>,
  model: string,
  files: readonly EstimatedFile[],
  split: boolean,
): Estimate {
  const chunks = split ? files.length : Math.min(files.length, 1);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const whole = files.filter(({ format, isNew }) => format === 'whole-file' && !isNew);
  const rewritten = whole.reduce((sum, file) => sum + file.bytes, 0);
  const input_tokens = chunks * PROMPT_tokens + tokensOfBytes(bytes);
  const output_tokens = tokensOfBytes(rewritten) + (files.length - whole.length) * CHANGE_tokens;
  return { chunks, input_tokens, output_tokens, usd: priceOf(config, model, { input_tokens, output_tokens }) };
}
