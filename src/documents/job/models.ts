/** The table of models with their prices, sizes and formats. `models:` of `emend.yaml` adds entries and replaces values. */
import { FORMATS, type Format } from '../../shared/formats.js';
import { type Limits, LIMITS, type LimitName } from '../../shared/limits.js';
import type { Complexity, Effort, ModelEntry, ProjectConfig } from './types.js';

/** The model that the pinned SDK's own examples use. */
export const DEFAULT_MODEL = 'claude-sonnet-5-5';

/** The source of the prices below and the day of its publication. The source names https://www.anthropic.com/pricing#api as its origin. */
export const PRICES = { source: 'genai-prices 0.2.3 (PyPI)', date: '2026-11-10' } as const;

/** Price of writing a prompt to the cache for 5 minutes, as a multiple of the price of input. The number is from Anthropic's price list. */
const CACHE_WRITE = 1.25;
/** Returns the highest prices that the cache can have for a price of input. They apply until a table or `emend.yaml` has the real ones. */
export const cacheAtMost = (input_usd: number | null = null) => ({
  cacheRead_usd: input_usd,
  cacheWrite_usd: input_usd === null ? null : input_usd * CACHE_WRITE,
});

/** Returns the entry of a model. The prices are those of input, output and reads from the cache, in US dollars per million tokens. */
const pricedEntry = (
  [input_usd, output_usd, cacheRead_usd]: readonly [number, number, number],
  thinking: ModelEntry['thinking'],
  maxOutput_tokens = 64_000,
): ModelEntry => ({
  input_usd,
  output_usd,
  ...cacheAtMost(input_usd),
  cacheRead_usd,
  priced: PRICES,
  context_tokens: 200_000,
  maxOutput_tokens,
  thinking,
});

/**
 * The entry of a model that no table describes. It has no price, so costs are shown as unknown. Its sizes are those that most servers accept;
 * a smaller model needs an entry in `emend.yaml`.
 */
export const UNKNOWN_MODEL: ModelEntry = {
  input_usd: null,
  output_usd: null,
  cacheRead_usd: null,
  cacheWrite_usd: null,
  priced: null,
  context_tokens: 200_000,
  maxOutput_tokens: 65_536,
  thinking: 'none',
};

/**
 * The built-in models. A model that the source does not list is missing here, and so is one whose price depends on the size of the prompt
 * (claude-haiku-5-5), because Emend must not invent a price. `emend.yaml` can add it. The values of `thinking` are from @anthropic-ai/sdk
 * 1.12.0 and litellm 1.110.2 (PyPI, `supports_adaptive_thinking`).
 */
export const DEFAULT_MODELS: Readonly<Record<string, ModelEntry>> = {
  'claude-sonnet-5-5': pricedEntry([2, 10, 0.1], 'effort'),
  'claude-opus-5-5': pricedEntry([4, 20, 0.2], 'effort'),
  'claude-fable-5-1': pricedEntry([10, 50, 0.25], 'effort'),
  'claude-sonnet-5': pricedEntry([2, 10, 0.2], 'effort'),
  'claude-opus-5': pricedEntry([5, 25, 0.5], 'effort'),
  'claude-fable-5': pricedEntry([10, 50, 1], 'effort'),
  'claude-opus-4-8': pricedEntry([5, 25, 0.5], 'effort'),
  'claude-opus-4-7': pricedEntry([5, 25, 0.5], 'effort'),
  'claude-sonnet-4-6': pricedEntry([3, 15, 0.3], 'budget'),
  'claude-opus-4-6': pricedEntry([5, 25, 0.5], 'budget'),
  'claude-sonnet-4-5': pricedEntry([3, 15, 0.3], 'budget'),
  'claude-haiku-4-5': pricedEntry([1, 5, 0.1], 'budget'),
  'claude-opus-4-5': pricedEntry([5, 25, 0.5], 'budget'),
  'claude-opus-4-1': pricedEntry([15, 75, 1.5], 'budget', 32_000),
};

/** Returns the entry of a model. A name with a date (`claude-sonnet-4-5-20250929`) or `-latest` also finds the entry of the bare name. */
export function modelEntry(config: Pick<ProjectConfig, 'models'>, model: string): ModelEntry {
  for (const name of [model, model.replace(/-(\d{8}|latest)$/, '')]) {
    const entry = Object.hasOwn(config.models, name) ? config.models[name] : undefined;
    if (entry !== undefined) return entry;
  }
  return UNKNOWN_MODEL;
}

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

/** Returns the formats that the configuration switches on and the model writes well. If there is none, it returns all that are on. */
export function formatsOf(
  config: Pick<ProjectConfig, 'formats' | 'models'>,
  model: string,
): Readonly<Record<Format, boolean>> {
  const { formats: preferred } = modelEntry(config, model);
  if (preferred?.some((format) => config.formats[format]) !== true) return config.formats;
  return Object.fromEntries(
    FORMATS.map((format) => [format, config.formats[format] && preferred.includes(format)]),
  ) as Record<Format, boolean>;
}

/** The part of the project's configuration that decides about the model. */
interface RoutingConfig extends Pick<ProjectConfig, 'model' | 'routes'> {
  readonly models: Readonly<Record<string, Pick<ModelEntry, 'maxOutput_tokens'>>>;
  readonly limits: Partial<Record<LimitName, number | null>>;
}

interface RouteQuestion {
  readonly category: string | null;
  readonly complexity: Complexity;
  /** `model:` of the job, or null if the job does not name one. */
  readonly jobModel: string | null;
}

/**
 * Returns the model of a step and its output budget. The model is that of the job, else that of the first route that matches, else that of the
 * project. The budget is that of the route if the route's model is used, else that of the limits. It never exceeds the model's maximum.
 */
export const route = (config: RoutingConfig, { category, complexity, jobModel }: RouteQuestion) => {
  const match = config.routes.find(
    (entry) =>
      (entry.category === undefined || entry.category === category) &&
      (entry.complexity === undefined || entry.complexity === complexity),
  );
  const model = jobModel ?? match?.model ?? config.model;
  const routeBudget = match?.model === model ? match.outputBudget_tokens : undefined;
  const requested =
    routeBudget ??
    config.limits.outputBudget_tokens ??
    LIMITS.outputBudget_tokens.default ??
    LIMITS.outputBudget_tokens.max;
  const most = Object.hasOwn(config.models, model)
    ? config.models[model]?.maxOutput_tokens
    : undefined;
  return { model, outputBudget_tokens: Math.min(requested, most ?? requested) };
};
