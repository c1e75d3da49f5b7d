/** The table of models: what each costs, takes and does well. `emend.yaml` adds to it and overrides it (`models:`). */
import { FORMATS, type Format } from '../../shared/formats.js';
import { type Limits, LIMITS, type LimitName } from '../../shared/limits.js';
import type { Complexity, Effort, ModelEntry, ProjectConfig } from './types.js';

/** The model that the pinned SDK's own examples use. */
export const DEFAULT_MODEL = 'claude-sonnet-5-5';

/** Where the prices below are from, and the day it was published. It names https://www.anthropic.com/pricing#api as theirs. */
export const PRICES = { source: 'genai-prices 0.2.3 (PyPI)', date: '2026-11-10' } as const;

/** By Anthropic's price list, writing a prompt to the cache (5 minutes) costs so many times what reading it as new does. */
const CACHE_WRITE = 1.25;
/** What the cache costs at most, by the price of input. */
export const cacheAtMost = (input_usd: number | null = null) => ({
  cacheRead_usd: input_usd,
  cacheWrite_usd: input_usd === null ? null : input_usd * CACHE_WRITE,
});

/** US dollars per million tokens. */
const priced = (
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
 * For models that nobody described: no price (costs are shown as unknown), and sizes that most servers take. A model that takes less
 * wants an entry of its own.
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
 * What is not in the source, or whose price depends on a prompt's size (claude-haiku-5-5), is left to `emend.yaml`: a price that is not
 * known must not be made up. `thinking` by @anthropic-ai/sdk 1.12.0 and litellm 1.110.2 (PyPI, `supports_adaptive_thinking`).
 */
export const DEFAULT_MODELS: Readonly<Record<string, ModelEntry>> = {
  'claude-sonnet-5-5': priced([2, 10, 0.1], 'effort'),
  'claude-opus-5-5': priced([4, 20, 0.2], 'effort'),
  'claude-fable-5-1': priced([10, 50, 0.25], 'effort'),
  'claude-sonnet-5': priced([2, 10, 0.2], 'effort'),
  'claude-opus-5': priced([5, 25, 0.5], 'effort'),
  'claude-fable-5': priced([10, 50, 1], 'effort'),
  'claude-opus-4-8': priced([5, 25, 0.5], 'effort'),
  'claude-opus-4-7': priced([5, 25, 0.5], 'effort'),
  'claude-sonnet-4-6': priced([3, 15, 0.3], 'budget'),
  'claude-opus-4-6': priced([5, 25, 0.5], 'budget'),
  'claude-sonnet-4-5': priced([3, 15, 0.3], 'budget'),
  'claude-haiku-4-5': priced([1, 5, 0.1], 'budget'),
  'claude-opus-4-5': priced([5, 25, 0.5], 'budget'),
  'claude-opus-4-1': priced([15, 75, 1.5], 'budget', 32_000),
};

/** A model's entry; a dated name (`claude-sonnet-4-5-20250929`) or `-latest` is found by the name without its end. */
export function modelEntry(config: Pick<ProjectConfig, 'models'>, model: string): ModelEntry {
  for (const name of [model, model.replace(/-(\d{8}|latest)$/, '')]) {
    const entry = Object.hasOwn(config.models, name) ? config.models[name] : undefined;
    if (entry !== undefined) return entry;
  }
  return UNKNOWN_MODEL;
}

/** An answer may fill half of the context; the prompt has the rest. */
const ANSWER_SHARE = 0.5;
/** Tokens are estimated from bytes, and low for source code: a prompt may weigh a third more than its estimate. */
const ESTIMATE_SHARE = 0.75;

export const mostOutput_tokens = ({ context_tokens, maxOutput_tokens }: ModelEntry): number =>
  Math.min(maxOutput_tokens, Math.floor(context_tokens * ANSWER_SHARE));

// Thinking, as the Messages API takes it: a budget of at least 1,024 tokens that is below `max_tokens`, or a level.
const THINKING_tokens: Readonly<Record<Effort, number>> = {
  high: 4_096,
  xhigh: 16_384,
  max: 32_000,
};
const LEAST_THINKING_tokens = 1_024; // bound: The API takes no smaller budget.

/**
 * `keys` of the request, and what counts in its `max_tokens` in addition to the answer. Null: nothing is asked for, the model takes nothing, or the
 * answer's budget leaves no room for it (`room_tokens`).
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

/** What a call's `max_tokens` may have in addition to its answer, by limits that fit the model. */
export const roomFor = (
  { maxOutputBudget_tokens }: Limits,
  outputBudget_tokens: number | null,
): number => (maxOutputBudget_tokens ?? 0) - (outputBudget_tokens ?? 0);

export function fitLimits(limits: Limits, entry: ModelEntry): Limits {
  const most = mostOutput_tokens(entry);
  const fit = (limit: number | null): number => Math.min(limit ?? most, most);
  return {
    ...limits,
    outputBudget_tokens: fit(limits.outputBudget_tokens),
    maxOutputBudget_tokens: fit(limits.maxOutputBudget_tokens),
  };
}

/** Estimated tokens that a prompt may weigh, so that it and an answer of `outputBudget_tokens` fit the model's context together. */
export const inputBudget = (
  limits: Limits,
  entry: ModelEntry,
  outputBudget_tokens: number,
): number =>
  Math.min(
    limits.inputBudget_tokens ?? Infinity,
    Math.max(1, Math.floor((entry.context_tokens - outputBudget_tokens) * ESTIMATE_SHARE)),
  );

/** Formats that the configuration leaves on and the model answers well in; where there is none, those that are on. */
export function formatsOf(
  config: Pick<ProjectConfig, 'formats' | 'models'>,
  model: string,
): Readonly<Record<Format, boolean>> {
  const { formats: well } = modelEntry(config, model);
  if (well?.some((format) => config.formats[format]) !== true) return config.formats;
  return Object.fromEntries(
    FORMATS.map((format) => [format, config.formats[format] && well.includes(format)]),
  ) as Record<Format, boolean>;
}

// Which model answers, with what output budget: the job's word first, else the first route that fits, else the project's model.

/** The part of the project's configuration that decides. */
interface RoutingConfig extends Pick<ProjectConfig, 'model' | 'routes'> {
  readonly models: Readonly<Record<string, Pick<ModelEntry, 'maxOutput_tokens'>>>;
  readonly limits: Partial<Record<LimitName, number | null>>;
}

interface RouteQuestion {
  readonly category: string | null;
  readonly complexity: Complexity;
  /** `model:` of the job; null: not said. */
  readonly jobModel: string | null;
}

/** The budget is the route's (where its model is used), else the limit's, and never over what the model can give. */
export const route = (config: RoutingConfig, { category, complexity, jobModel }: RouteQuestion) => {
  const fits = config.routes.find(
    (r) =>
      (r.category === undefined || r.category === category) &&
      (r.complexity === undefined || r.complexity === complexity),
  );
  const model = jobModel ?? fits?.model ?? config.model;
  const ofRoute = fits?.model === model ? fits.outputBudget_tokens : undefined;
  const wanted =
    ofRoute ??
    config.limits.outputBudget_tokens ??
    LIMITS.outputBudget_tokens.default ??
    LIMITS.outputBudget_tokens.max;
  const most = Object.hasOwn(config.models, model)
    ? config.models[model]?.maxOutput_tokens
    : undefined;
  return { model, outputBudget_tokens: Math.min(wanted, most ?? wanted) };
};
