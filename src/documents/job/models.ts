/** The table of models with their prices, sizes and formats. `models:` of `emend.yaml` adds entries and replaces values. */
import type { ModelEntry, ProjectConfig } from './types.js';
import { FORMATS, type Format } from '../../shared/formats.js';

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
 * The built-in models. Emend must not invent a price. So models that the source does not list are missing here, and so are models whose price
 * depends on the size of the prompt (claude-haiku-5-5). `emend.yaml` can add them. The values of `thinking` are from @anthropic-ai/sdk 1.12.0
 * and litellm 1.110.2 (PyPI, `supports_adaptive_thinking`).
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
