/** The price table: what each model costs and takes. `emend.yaml` adds to it and overrides it (`models:`). */
import type { ModelEntry, ProjectConfig } from './types.js';

/** The model that the pinned SDK's own examples use; its price is not known here, so costs say `unknown` until `emend.yaml` names it. */
export const DEFAULT_MODEL = 'claude-sonnet-5-5';

/** By Anthropic's list: reading a cached prompt costs a tenth of the input price, writing it (5 minutes) a quarter more than it. */
const priced = (input_usd: number, output_usd: number, maxOutput_tokens: number): ModelEntry => ({
  input_usd,
  output_usd,
  cacheRead_usd: rounded(input_usd * 0.1),
  cacheWrite_usd: rounded(input_usd * 1.25),
  context_tokens: 200_000,
  maxOutput_tokens,
});
const rounded = (usd: number): number => Math.round(usd * 1e6) / 1e6;

/**
 * For models that nobody described: no price (costs are shown as unknown), and sizes that most servers take. A model that takes less
 * wants an entry of its own.
 */
export const UNKNOWN_MODEL: ModelEntry = {
  input_usd: null,
  output_usd: null,
  cacheRead_usd: null,
  cacheWrite_usd: null,
  context_tokens: 200_000,
  maxOutput_tokens: 65_536,
};

/** US dollars per million tokens. Later models are left to `emend.yaml`: a price that is not known must not be made up. */
export const DEFAULT_MODELS: Readonly<Record<string, ModelEntry>> = {
  'claude-sonnet-5-5': { ...UNKNOWN_MODEL, maxOutput_tokens: 64_000 },
  'claude-sonnet-4-5': priced(3, 15, 64_000),
  'claude-haiku-4-5': priced(1, 5, 64_000),
  'claude-opus-4-5': priced(5, 25, 64_000),
  'claude-opus-4-1': priced(15, 75, 32_000),
  'claude-sonnet-4-6': { ...UNKNOWN_MODEL, maxOutput_tokens: 64_000 },
  'claude-opus-4-6': { ...UNKNOWN_MODEL, maxOutput_tokens: 64_000 },
};

/** A model's entry; a dated name (`claude-sonnet-4-5-20250929`) or `-latest` is found by the name without its end. */
export function modelEntry(config: Pick<ProjectConfig, 'models'>, model: string): ModelEntry {
  for (const name of [model, model.replace(/-(\d{8}|latest)$/, '')]) {
    const entry = Object.hasOwn(config.models, name) ? config.models[name] : undefined;
    if (entry !== undefined) return entry;
  }
  return UNKNOWN_MODEL;
}
