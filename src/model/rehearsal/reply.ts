/** Rule and request -> what to send: an error status, or an answer with its stop reason and usage. */
import { z } from 'zod';
import type { ReadyRule, ReadyScript, Fault } from './script.js';

// Placeholders of a scripted answer, filled from the request:
// `{{nonce}}`      the last run of 8 to 20 hex digits in the last user message
// `{{line:1200}}`  `1200kef`, as the listing of the user's messages shows line 1200
// `{{secret:1}}`   the first placeholder of a secret in the user's messages

const SECRET = /EMEND_SECRET_[0-9a-f]{8}_\d+/g;
const NONCE = /\b[0-9a-f]{8,20}\b/g;

/** A nonce that is certainly not the request's. */
const wrong = (nonce: string): string => `${nonce.startsWith('0') ? 'f' : '0'}${nonce.slice(1)}`;

type Filled = { readonly text: string } | { readonly failure: string };

/** A placeholder that the request gives nothing (or not one thing) for is a mistake of the script, told as such. */
const fillAnswer = (
  answer: string,
  request: AskedRequest,
  nonceFault: 'wrong' | 'missing' | null,
): Filled => {
  const users = request.texts.filter((t) => t.role === 'user').map((t) => t.text);
  const failures: string[] = [];
  const secrets = [...new Set(users.join('\n').match(SECRET) ?? [])];
  const form = /\{\{(?:nonce|line:(\d+)|secret:(\d+))\}\}/g;
  const text = answer.replaceAll(
    form,
    (whole, line: string | undefined, secret: string | undefined) => {
      if (secret !== undefined) {
        const placeholder = secrets[Number(secret) - 1];
        if (placeholder === undefined) failures.push(`the request hides no secret ${secret}`);
        return placeholder ?? whole;
      }
      if (line !== undefined) {
        const checks = new Set(
          users.flatMap((user) =>
            [...user.matchAll(new RegExp(`^${line}([a-z]{3})\\|`, 'gm'))].map((m) => m[1]),
          ),
        );
        const [check] = checks;
        if (checks.size === 1) return `${line}${String(check)}`;
        failures.push(
          checks.size === 0
            ? `line ${line} is in no listing of the request`
            : `line ${line} is listed more than once`,
        );
        return whole;
      }
      if (nonceFault === 'missing') return '';
      const nonce = users.at(-1)?.match(NONCE)?.at(-1);
      if (nonce === undefined) failures.push('the last message contains no nonce');
      return nonce === undefined ? whole : nonceFault === 'wrong' ? wrong(nonce) : nonce;
    },
  );
  const [failure] = failures;
  return failure === undefined ? { text } : { failure };
};

// A request of the Messages API as the rehearsal sees it: its texts by role.

const content = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
]);
const bodySchema = z.looseObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  stream: z.boolean().optional(),
  system: content.optional(),
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content })).min(1),
  temperature: z.number().optional(),
  thinking: z
    .looseObject({ type: z.string(), budget_tokens: z.int().min(1024).optional() })
    .optional(),
  output_config: z
    .looseObject({ effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional() })
    .optional(),
});

export interface AskedRequest {
  readonly model: string;
  readonly maxTokens: number;
  readonly stream: boolean;
  readonly texts: readonly {
    readonly role: 'system' | 'user' | 'assistant';
    readonly text: string;
  }[];
}

/** A sentence where the body is no request. */
export const readRequest = (body: string): AskedRequest | string => {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return 'the body is not JSON';
  }
  const checked = bodySchema.safeParse(value);
  if (!checked.success) {
    const issue = checked.error.issues[0];
    return `${issue?.path.map(String).join('.') ?? 'body'}: ${issue?.message ?? 'not as expected'}`;
  }
  const { model, max_tokens, stream, system, messages, temperature = 1, thinking } = checked.data;
  const { type = 'disabled', budget_tokens = Infinity } = thinking ?? {};
  if (type === 'enabled' && budget_tokens >= max_tokens)
    return 'thinking.budget_tokens: must be less than max_tokens';
  if (type !== 'disabled' && temperature !== 1)
    return 'temperature: may only be 1 where thinking is on';
  if (messages.at(-1)?.role !== 'user') return "messages: the last one must be the user's";
  const texts = messages.map(({ role, content: said }) => ({ role, text: textOf(said) }));
  return {
    model,
    maxTokens: max_tokens,
    stream: stream ?? false,
    texts:
      system === undefined ? texts : [{ role: 'system' as const, text: textOf(system) }, ...texts],
  };
};

const textOf = (said: z.infer<typeof content>): string =>
  typeof said === 'string' ? said : said.map((block) => block.text ?? '').join('\n');

/** About four bytes a token. */
const bytesPerToken = 4;
const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** The end of the prompt that a context of so many tokens holds; the beginning is lost, as with servers that say nothing of it. */
export const cutPrompt = (request: AskedRequest, context_tokens: number): AskedRequest => {
  let left_bytes = context_tokens * bytesPerToken;
  const kept = [...request.texts].reverse().flatMap(({ role, text }) => {
    const bytes = Buffer.from(text, 'utf8');
    const from = Math.max(0, bytes.length - left_bytes);
    left_bytes -= bytes.length - from;
    if (from >= bytes.length) return [];
    // A character that is cut in two is lost whole.
    const end = bytes.toString('utf8', from).replace(/^\uFFFD+/, '');
    return [{ role, text: end }];
  });
  return { ...request, texts: kept.reverse() };
};

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

export const statusReply = (
  status: number,
  type: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): StatusReply => ({ kind: 'status', status, type, message, headers });

export const badRequest = (message: string): StatusReply =>
  statusReply(400, 'invalid_request_error', message);

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
    if (fault.kind === 'truncate')
      most = Math.min(most, fault.bytes ?? (fault.tokens ?? 0) * bytesPerToken);
    if (fault.kind === 'truncate')
      stopReason = rule.stopReason === 'end_turn' ? 'max_tokens' : rule.stopReason;
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
        ...(fault.retry_after_s === undefined
          ? {}
          : { 'retry-after': String(fault.retry_after_s) }),
        ...(fault.retry_after_ms === undefined
          ? {}
          : { 'retry-after-ms': String(fault.retry_after_ms) }),
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
const cut = (text: string, most_bytes: number): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, most_bytes), {
    stream: true,
  });

// Which rule answers a request: the first in the script's order that matches and is neither used up nor waiting for its turn.

/** Keeps count over the life of a server. */
export const createChooser = (
  script: ReadyScript,
): ((request: AskedRequest) => ReadyRule | null) => {
  const seen = new Map<ReadyRule, number>();
  const used = new Map<ReadyRule, number>();
  const up = (counts: Map<ReadyRule, number>, rule: ReadyRule): number => {
    const next = (counts.get(rule) ?? 0) + 1;
    counts.set(rule, next);
    return next;
  };
  return (request) => {
    for (const rule of script.rules) {
      if (!fits(rule, request)) continue;
      const { nth, times } = rule.match;
      if (nth !== undefined && up(seen, rule) !== nth) continue;
      if (times !== undefined && (used.get(rule) ?? 0) >= times) continue;
      up(used, rule);
      return rule;
    }
    return script.fallback;
  };
};

const fits = ({ match: { contains, regex, role } }: ReadyRule, request: AskedRequest): boolean => {
  const text = request.texts
    .filter((t) => role === undefined || t.role === role)
    .map((t) => t.text)
    .join('\n');
  const wanted = contains === undefined ? [] : [contains].flat();
  return (
    wanted.every((part) => text.includes(part)) &&
    (regex === undefined || new RegExp(regex, 'mu').test(text))
  );
};
