/** Rule and request -> what to send: an error status, or an answer with its stop reason and usage. */
import { fillAnswer } from './fill.js';
import { bytesPerToken, tokensIn, type AskedRequest } from './request.js';
import type { Fault } from './schema.js';
import type { ReadyRule } from './script.js';

export interface StatusReply {
  readonly kind: 'status';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  readonly message: string;
}
export interface AnswerReply {
  readonly kind: 'answer';
  readonly text: string;
  readonly stopReason: string;
  readonly usage: Readonly<Record<string, number>> & { readonly output_tokens: number };
}

const statusReply = (
  status: number,
  type: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): StatusReply => ({
  kind: 'status',
  status,
  type,
  message,
  headers,
});

export const badRequest = (message: string): StatusReply => statusReply(400, 'invalid_request_error', message);

export const replyTo = (
  request: AskedRequest,
  rule: ReadyRule,
  enforceMaxTokens: boolean,
): StatusReply | AnswerReply => {
  const refused = rule.faults.map(statusOf).find((status) => status !== null);
  if (refused !== undefined) return refused;
  const has = (kind: Fault['kind']): boolean => rule.faults.some((fault) => fault.kind === kind);
  const filled = fillAnswer(
    rule.answer,
    request,
    has('wrong_nonce') ? 'wrong' : has('missing_nonce') ? 'missing' : null,
  );
  if ('failure' in filled) return badRequest(`rehearsal: rule "${rule.name}": ${filled.failure}`);
  let { text } = filled;
  let stopReason = rule.stopReason;
  let most = enforceMaxTokens ? request.maxTokens * bytesPerToken : Infinity;
  for (const fault of rule.faults) {
    if (fault.kind === 'prose')
      text = `${fault.before ?? 'Here is the change you asked for:\n\n'}${text}${fault.after ?? '\n\nLet me know if anything is missing.\n'}`;
    if (fault.kind === 'refusal') {
      text = fault.text ?? '';
      stopReason = 'refusal';
    }
    if (fault.kind === 'truncate') most = Math.min(most, fault.bytes ?? (fault.tokens ?? 0) * bytesPerToken);
    if (fault.kind === 'truncate') stopReason = rule.stopReason === 'end_turn' ? 'max_tokens' : rule.stopReason;
  }
  if (Buffer.byteLength(text) > most) {
    text = cut(text, most);
    stopReason = stopReason === 'end_turn' ? 'max_tokens' : stopReason;
  }
  const said = rule.usage;
  const usage = {
    input_tokens: said.input_tokens ?? request.texts.reduce((sum, t) => sum + tokensIn(t.text), 0),
    cache_creation_input_tokens: said.cache_creation_input_tokens ?? 0,
    cache_read_input_tokens: said.cache_read_input_tokens ?? 0,
    output_tokens: said.output_tokens ?? tokensIn(text),
  };
  return { kind: 'answer', text, stopReason, usage };
};

const statusOf = (fault: Fault): StatusReply | null => {
  switch (fault.kind) {
    case 'overload':
      return statusReply(529, 'overloaded_error', 'Overloaded');
    case 'rate_limit':
      return statusReply(429, 'rate_limit_error', 'Rate limited', {
        ...(fault.retry_after_s === undefined ? {} : { 'retry-after': String(fault.retry_after_s) }),
        ...(fault.retry_after_ms === undefined ? {} : { 'retry-after-ms': String(fault.retry_after_ms) }),
      });
    case 'server_error':
      return statusReply(fault.status ?? 500, 'api_error', 'Internal server error');
    case 'status':
      return statusReply(
        fault.status,
        fault.type ?? 'invalid_request_error',
        fault.message ?? 'As the script says',
        fault.headers,
      );
    default:
      return null;
  }
};

/** At most so many bytes, ending between two characters. */
const cut = (text: string, most_bytes: number): string => {
  const bytes = Buffer.from(text, 'utf8');
  let end = Math.min(most_bytes, bytes.length);
  while (end > 0 && end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString('utf8');
};
