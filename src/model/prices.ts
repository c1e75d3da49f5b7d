/** Converts counted tokens to US dollars by the price table of `emend.yaml` (key `models`). */
import type { CountedTokens } from '../shared/usage.js';
import type { Prices } from './ports.js';

const TOKENS_PER_PRICE = 1_000_000;

/** Returns US dollars, or null if a price that is needed is not known. A kind of token that was not used needs no price. */
export function usdOf(prices: Prices, tokens: CountedTokens): number | null {
  let usd = 0;
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
    const count = tokens[`${kind}_tokens`];
    const price = prices[`${kind}_usd`];
    if (count === 0) continue;
    if (price === null) return null;
    usd += (count * price) / TOKENS_PER_PRICE;
  }
  return usd;
}
