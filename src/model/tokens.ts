/** What a request weighs, before a server has counted it. */
import { type CountedTokens, tokensIn } from '../shared/usage.js';
import type { ModelAnswer, ModelRequest, Prices } from './ports.js';

const BYTES_PER_TOKEN = 4;
/** Of a run of the same character (indentation, rules of `=`) this many count: tokenizers take long runs as one token. */
const RUN = 4;
/** Context sizes are multiples of so many tokens. */
const CONTEXT_STEP = 1024;
/** Each text of a request is rounded up: an estimate may be too large by so much. */
const ROUNDED_TOKENS = 32;

/**
 * Estimated tokens of a text: UTF-8 bytes / 4, long runs of one character counted as 4 bytes. Errs low for source code (3 to 4 bytes a
 * token are usual), so that `promptCut` does not cry wolf; a budget in tokens should leave a third for that.
 */
export function estimateTokens(text: string): number {
  let bytes = 0;
  let run = 0;
  let before = -1;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    run = unit === before ? run + 1 : 1;
    before = unit;
    if (run <= RUN)
      bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Estimated input tokens of a whole request. */
export const estimateRequestTokens = (request: Pick<ModelRequest, 'system' | 'messages'>): number =>
  [...request.system, ...request.messages.flatMap((message) => message.content)].reduce(
    (sum, block) => sum + estimateTokens(block.text),
    0,
  );

/**
 * Did the server cut the prompt silently? Where it read less than half of what was sent; and where it read less than was sent and a
 * round number: Ollama reads exactly `num_ctx` tokens of a longer prompt, and contexts are multiples of 1,024. A server that reports no
 * input tokens, or 0, says nothing about it.
 */
export function promptCut(estimate_tokens: number, usage: ModelAnswer['usage'] | null): boolean {
  const read = usage === null ? 0 : tokensIn(usage);
  return (
    read > 0 &&
    (read * 2 < estimate_tokens ||
      (read + ROUNDED_TOKENS < estimate_tokens && read % CONTEXT_STEP === 0))
  );
}

// Money of tokens by the price table of `emend.yaml` (`models:`), in US dollars per million tokens.

/** Null where a price that is needed is not known. Kinds of tokens that were not used need no price. */
export function usdOf(prices: Prices, tokens: CountedTokens): number | null {
  let usd = 0;
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
    const count = tokens[`${kind}_tokens`];
    const price = prices[`${kind}_usd`];
    if (count === 0) continue;
    if (price === null) return null;
    usd += (count * price) / 1_000_000;
  }
  return usd;
}
