/** Money of tokens by the price table of `emend.yaml` (`models:`), in US dollars per million tokens. */
import type { JournalAsk } from './ports.js';

/** The part of the project's price table that is needed here. */
export type PriceTable = Readonly<
  Record<
    string,
    {
      readonly input_usd: number | null;
      readonly output_usd: number | null;
      readonly cacheRead_usd: number | null;
      readonly cacheWrite_usd: number | null;
    }
  >
>;

/** Null where the model, or a price that is needed, is not in the table. Kinds of tokens that were not used need no price. */
export const priceBy =
  (table: PriceTable): JournalAsk['price'] =>
  (model, tokens) => {
    const entry = Object.hasOwn(table, model) ? table[model] : undefined;
    if (entry === undefined) return null;
    const parts: [number, number | null][] = [
      [tokens.input, entry.input_usd],
      [tokens.output, entry.output_usd],
      [tokens.cacheRead, entry.cacheRead_usd],
      [tokens.cacheWrite, entry.cacheWrite_usd],
    ];
    let usd = 0;
    for (const [count, price] of parts) {
      if (count === 0) continue;
      if (price === null) return null;
      usd += (count * price) / 1_000_000;
    }
    return usd;
  };
