/** What edits are expected to take: said before anything is paid for, and so on the high side. */
import { priceBy } from '../../model/tokens.js';
import type { ProjectConfig } from '../../documents/job/index.js';
import type { Format } from '../../shared/formats.js';
import type { JournaledAttempt } from '../../model/ports.js';
import type { CountUsageInput, CountUsageResult } from '../../shared/step-activities.js';
import { sumUsage } from '../../shared/usage.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';

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

// What a step has used so far, by its journal: every call that may have been paid for, whatever became of the activity that made it.

const COUNT_POLL_MS = 200; // bound: Calls under way are looked at this often while a step's usage is counted.
// bound: Cancelled model calls get this long to say how they ended before a step's usage is counted; the count as a whole, this long.
export const COUNT_WAIT_MS = 5_000;

export const countUsage =
  ({ clock, journal }: ActivityPorts) =>
  async (input: CountUsageInput, { signal }: ActivityScope): Promise<CountUsageResult> => {
    // A call that was cancelled hears of it with its next heartbeat: its last words are waited for, not for ever.
    for (let waited_ms = 0; ; waited_ms += COUNT_POLL_MS) {
      const attempts = await journal.attempts(input.stepKey);
      const open = attempts.filter(({ state }) => state === 'open').length;
      if (open === 0 || waited_ms >= COUNT_WAIT_MS) return { open, usage: sumUsage(attempts.map(asEnded)) };
      await clock.sleep(COUNT_POLL_MS, signal);
    }
  };

/** Nobody wants the answer of a call that is still open any more: as far as known it is cut off. */
const asEnded = ({ state, usage }: JournaledAttempt): JournaledAttempt['usage'] =>
  state === 'open' ? { ...usage, unknownCalls: 1 } : usage;
