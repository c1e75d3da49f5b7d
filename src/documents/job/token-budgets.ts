/** Computes the budgets of tokens of a call: for its prompt, its response and its thinking. */
import type { Effort, ModelEntry } from './types.js';
import type { Limits } from '../../shared/limits.js';

/** Share of the context that a response may fill. The prompt has the rest. */
const RESPONSE_SHARE = 0.5;

/**
 * Share of the context that the estimate of a prompt may fill. Emend estimates tokens from bytes, and the estimate is low for source code: the
 * prompt may have a third more tokens.
 */
const ESTIMATE_SHARE = 0.75;

export const mostOutput_tokens = ({ context_tokens, maxOutput_tokens }: ModelEntry): number =>
  Math.min(maxOutput_tokens, Math.floor(context_tokens * RESPONSE_SHARE));

// The Messages API takes thinking as a level, or as a budget of at least 1,024 tokens that is below `max_tokens`.
const THINKING_tokens: Readonly<Record<Effort, number>> = {
  high: 4_096,
  xhigh: 16_384,
  max: 32_000,
};

const LEAST_THINKING_tokens = 1_024; // bound: Smallest budget of tokens for thinking that the API accepts.

/**
 * Returns the keys that ask for thinking in a request, and the tokens that its `max_tokens` needs in addition to the response. Returns null if
 * the job sets no effort, if the model does not think, or if `room_tokens` is too small for the smallest budget.
 */
export const thinkingOf = (
  { thinking }: ModelEntry,
  effort: Effort | null,
  room_tokens: number,
) => {
  const tokens = effort === null ? 0 : Math.min(THINKING_tokens[effort], room_tokens);
  if (effort === null || tokens < LEAST_THINKING_tokens || !['budget', 'effort'].includes(thinking))
    return null;
  const budget = { thinking: { type: 'enabled', budget_tokens: tokens } } as const;
  return {
    tokens,
    keys: thinking === 'budget' ? budget : { ...ADAPTIVE, output_config: { effort } },
  };
};

export type Thinking = NonNullable<ReturnType<typeof thinkingOf>>;

const ADAPTIVE = { thinking: { type: 'adaptive' } } as const;

/** Returns the tokens that `max_tokens` of a call may have in addition to its response, for limits that already fit the model. */
export const roomFor = (
  { maxOutputBudget_tokens }: Limits,
  outputBudget_tokens: number | null,
): number => (maxOutputBudget_tokens ?? 0) - (outputBudget_tokens ?? 0);

/** Returns the limits with output budgets that the model can produce. */
export function fitLimits(limits: Limits, entry: ModelEntry): Limits {
  const most = mostOutput_tokens(entry);
  const fit = (limit: number | null): number => Math.min(limit ?? most, most);
  return {
    ...limits,
    outputBudget_tokens: fit(limits.outputBudget_tokens),
    maxOutputBudget_tokens: fit(limits.maxOutputBudget_tokens),
  };
}

/** Returns the maximum of estimated tokens of a prompt. It leaves room for a response of `outputBudget_tokens` in the model's context. */
export const inputBudget = (
  limits: Limits,
  entry: ModelEntry,
  outputBudget_tokens: number,
): number =>
  Math.min(
    limits.inputBudget_tokens ?? Infinity,
    Math.max(1, Math.floor((entry.context_tokens - outputBudget_tokens) * ESTIMATE_SHARE)),
  );
