/** Estimates the size of a request in tokens before a server has counted it. */
import { tokensIn } from '../shared/usage.js';
import type { ModelAnswer, ModelRequest } from './ports.js';

const BYTES_PER_TOKEN = 4;
/** Number of characters that count in a row of the same character, such as indentation. Tokenizers read a long row as one token. */
const COUNTED_REPEATS = 4;
/** Servers use context sizes that are multiples of this number of tokens. */
const CONTEXT_STEP = 1024;
/** Maximum number of tokens by which an estimate is too large because the size of each text is rounded up. */
const ROUNDED_TOKENS = 32;

/**
 * Estimates the tokens of a text as its UTF-8 bytes divided by 4. A long row of one character counts as 4 bytes. The estimate is low for
 * source code, which has 3 to 4 bytes per token. So `isPromptCut` raises no false alarm, and a token budget should leave a third unused.
 */
export function estimateTokens(text: string): number {
  let bytes = 0;
  let repeats = 0;
  let previous = -1;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    repeats = unit === previous ? repeats + 1 : 1;
    previous = unit;
    if (repeats <= COUNTED_REPEATS) bytes += utf8Bytes(unit);
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Returns the UTF-8 bytes of one UTF-16 code unit. Each half of a surrogate pair counts 2 of its 4 bytes. */
const utf8Bytes = (unit: number): number => {
  if (unit < 0x80) return 1;
  const isSurrogate = unit >= 0xd800 && unit < 0xe000;
  return unit < 0x800 || isSurrogate ? 2 : 3;
};

/** Estimates the input tokens of a whole request. */
export const estimateRequestTokens = (request: Pick<ModelRequest, 'system' | 'messages'>): number =>
  [...request.system, ...request.messages.flatMap((message) => message.content)].reduce(
    (sum, block) => sum + estimateTokens(block.text),
    0,
  );

/**
 * Returns true if the server seems to have cut the prompt without an error. One sign is that it read less than half of the estimate. The
 * other is that it read fewer tokens and their number is a multiple of 1,024: Ollama reads exactly `num_ctx` tokens of a longer prompt.
 * A server that reports no input tokens gives no sign.
 */
export function isPromptCut(estimate_tokens: number, usage: ModelAnswer['usage'] | null): boolean {
  const read_tokens = usage === null ? 0 : tokensIn(usage);
  if (read_tokens === 0) return false;
  const isBelowHalf = read_tokens * 2 < estimate_tokens;
  const isContextSize = read_tokens % CONTEXT_STEP === 0;
  return isBelowHalf || (isContextSize && read_tokens + ROUNDED_TOKENS < estimate_tokens);
}
