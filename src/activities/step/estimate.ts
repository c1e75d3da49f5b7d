/** What edits are expected to take: said before anything is paid for, and so on the high side. */
import { usageOfEnded } from '../../model/journal/calls.js';
import { usdOf } from '../../model/prices.js';
import * as jobs from '../../documents/job/index.js';
import { NO_USAGE, sumEstimates, type StepEstimate } from '../../shared/usage.js';
import {
  CHARS_PER_TOKEN,
  CHECKED_LINE_HEAD_CHARS,
  PICK_LIST_TOKENS,
} from '../../model/prompts/index.js';
import { fail } from '../../shared/problems.js';
import type { Limits } from '../../shared/limits.js';
import type { Activity } from '../frame/activity.js';
import type { Target } from '../../shared/step-activities.js';

const PROMPT_tokens = 1_500;
/** What an answer costs per file where only the change is said, or where the file is made. */
const CHANGE_tokens = 1_500;
/** What an audit says. */
const AUDIT_tokens = 500;
const BYTES_PER_TOKEN = 3.5;
/** The number and the check of a line in a listing; a line of a file whose lines nobody has counted. */
const LISTED_tokens = CHECKED_LINE_HEAD_CHARS / CHARS_PER_TOKEN;
const LINE_bytes = 40;
/** A call that says little, like one that scores a phase: prompt and answer. */
export const SMALL_CALL = { input_tokens: PROMPT_tokens, output_tokens: 500 } as const;
/** Where no file is named: one of this size is edited. */
export const UNNAMED_bytes = 8_192;

export type EstimatedFile = Pick<Target, 'bytes' | 'lines' | 'isNew' | 'format'>;
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

export const priceOf = (
  config: Pick<jobs.ProjectConfig, 'models'>,
  model: string,
  { input_tokens, output_tokens }: Pick<StepEstimate, 'input_tokens' | 'output_tokens'>,
): number | null =>
  usdOf(jobs.modelEntry(config, model), { ...NO_USAGE, input_tokens, output_tokens });

interface Expected {
  /** One call a file; else one for all of them. */
  readonly split: boolean;
  /** What each call is told beside its files. */
  readonly text_bytes: number;
  readonly effort: jobs.Effort | null;
  readonly limits: Limits;
  /** Calls before the edits: to pick files, to agree on names, to score a phase. */
  readonly before: readonly ('pick' | 'brief' | 'score')[];
}

const chunksOf = ({ length }: { readonly length: number }, split: boolean): number =>
  split ? length : Math.min(length, 1);

/** A large file that is edited by search-replace is shown in a listing with line numbers if its response was cut off (`nextFallback`). */
const mayBeListed = (file: EstimatedFile, limits: Limits): boolean =>
  file.format === 'structured-edit' ||
  (file.format === 'search-replace' && jobs.bucketOf(file, limits) === 'C');

export function estimateEdits(
  config: Pick<jobs.ProjectConfig, 'models'> & Partial<Pick<jobs.ProjectConfig, 'audit'>>,
  model: string,
  files: readonly EstimatedFile[],
  { split, text_bytes, before, effort, limits }: Expected,
): StepEstimate {
  const entry = jobs.modelEntry(config, model);
  const fitted = jobs.fitLimits(limits, entry);
  const thinking = jobs.thinkingOf(entry, effort, jobs.roomFor(fitted, fitted.outputBudget_tokens));
  const chunks = chunksOf(files, split);
  const read = tokensOfBytes(files.reduce((sum, file) => sum + file.bytes, 0));
  const whole = files.filter(({ format, isNew }) => format === 'whole-file' && !isNew);
  const rewritten = whole.reduce((sum, file) => sum + file.bytes, 0);
  const heads = files
    .filter((file) => mayBeListed(file, limits))
    .reduce(
      (sum, file) => sum + LISTED_tokens * (file.lines || Math.ceil(file.bytes / LINE_bytes)),
      0,
    );
  const told = PROMPT_tokens + tokensOfBytes(text_bytes);
  // What is over the budget of a call is shown in windows.
  const most = limits.inputBudget_tokens ?? Infinity;
  const first = { pick: told + PICK_LIST_TOKENS, brief: told + Math.min(read, most), score: told };
  const input_tokens =
    before.reduce((sum, call) => sum + first[call], chunks * told) +
    Math.min(read + heads, Math.max(chunks, 1) * most);
  const said =
    tokensOfBytes(rewritten) +
    (files.length - whole.length) * CHANGE_tokens +
    chunks * (thinking?.tokens ?? 0);
  const tokens = { input_tokens, output_tokens: said + before.length * SMALL_CALL.output_tokens };
  const { priced } = entry;
  const edits = { calls: chunks + before.length, ...tokens, usd: priceOf(config, model, tokens) };
  const { audit = false } = config;
  if (audit === false) return { ...edits, model, priced };
  // It reads the changed files whole, and the diff.
  const asked = { input_tokens: PROMPT_tokens + read + said, output_tokens: AUDIT_tokens };
  return {
    ...sumEstimates([edits, { calls: 1, ...asked, usd: priceOf(config, audit.model, asked) }]),
    model,
    priced,
  };
}

/** A limit in money that could not count, and a text (`told_bytes`) that leaves a call no room. Throws ProblemError `config_invalid`, `limit_reached`. */
export function refuseEarly(
  what: string,
  { usd, told_bytes = 0 }: Pick<StepEstimate, 'usd'> & { readonly told_bytes?: number },
  ...[limits, entry, setPrice = SET_PRICE]: [Limits, ReturnType<typeof jobs.modelEntry>, string?]
): void {
  const { budget_usd } = limits;
  if (budget_usd !== null && usd === null)
    fail(
      'config_invalid',
      `${what}: budget_usd is ${budget_usd}, and the price of its model is not known.`,
      setPrice,
    );
  const [told, most] = [
    Math.ceil(told_bytes / CHARS_PER_TOKEN),
    jobs.inputBudget(limits, entry, 0),
  ];
  const over = `${what}: task, hints and rules take about ${told} of the ${most} tokens of a call.`;
  if (told >= most) fail('limit_reached', over, SHORTEN);
}
const SET_PRICE =
  'Set input_usd and output_usd of the model under `models:` in emend.yaml, or omit budget_usd.';
const SHORTEN =
  'Shorten or divide the task, or raise inputBudget_tokens where the model reads more.';

// What a step has used so far, by its journal: every call that may have been paid for, whatever became of the activity that made it.

const COUNT_POLL_MS = 200; // bound: Calls under way are looked at this often while a step's usage is counted.
// bound: Cancelled model calls get this long to say how they ended before a step's usage is counted; the count as a whole, this long.
export const COUNT_WAIT_MS = 5_000;

export const countUsage: Activity<'countUsage'> = async ({ clock, journal }, input, { signal }) => {
  // A call that was cancelled hears of it with its next heartbeat: its last words are waited for, not for ever.
  for (let waited_ms = 0; ; waited_ms += COUNT_POLL_MS) {
    const attempts = await journal.attempts(input.stepKey);
    const open = attempts.filter(({ state }) => state === 'open').length;
    if (open === 0 || waited_ms >= COUNT_WAIT_MS) return { open, usage: usageOfEnded(attempts) };
    await clock.sleep(COUNT_POLL_MS, signal);
  }
};

/** Limits that the estimate is over, each in words. */
export function overEstimate(
  estimate: StepEstimate,
  limits: Limits,
  { files, split }: { readonly files: readonly unknown[]; readonly split: boolean },
): string[] {
  const over: string[] = [];
  const [chunks, most] = [chunksOf(files, split), jobs.totalChunks(limits, files.length)];
  if (chunks > most) over.push(`${chunks} edit calls are planned; maxTotalChunks is ${most}`);
  if (limits.budget_calls !== null && estimate.calls > limits.budget_calls)
    over.push(`${estimate.calls} calls are planned; budget_calls is ${limits.budget_calls}`);
  const tokens = estimate.input_tokens + estimate.output_tokens;
  if (limits.budget_tokens !== null && tokens > limits.budget_tokens)
    over.push(`about ${tokens} tokens are expected; budget_tokens is ${limits.budget_tokens}`);
  if (limits.budget_usd !== null && estimate.usd !== null && estimate.usd > limits.budget_usd)
    over.push(
      `about ${estimate.usd.toFixed(4)} US dollars are expected; budget_usd is ${limits.budget_usd}`,
    );
  return over;
}
