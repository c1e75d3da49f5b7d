/**
 * The SDK's errors -> ModelError. Statuses 408, 409, 429 and >= 500 (529 among them) may be retried; `x-should-retry` overrides the
 * status; `retry-after-ms` beats `retry-after` (seconds or an HTTP date). Error events inside a stream carry a type, no status.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk';
import { BOUNDS } from '../../shared/limits.js';
import { cut, isRecord } from '../../shared/text.js';
import { KnownValues } from '../../system/known-values.js';
import { ModelError, type ModelErrorKind } from '../errors.js';

/** The SDK's class has type parameters that `instanceof` cannot tell. */
type ApiError = Pick<
  InstanceType<typeof APIError>,
  'status' | 'type' | 'headers' | 'apiMessage' | 'message'
>;

const KEY_CHARS = 4; // bound: A shorter key occurs in ordinary text by chance.
/** Longer wishes are cut to this, so that a strange header cannot park a run for days. */
const maxRetryAfter_ms = 3_600_000;

const KIND_OF_TYPE: Record<string, ModelErrorKind> = {
  overloaded_error: 'overloaded',
  rate_limit_error: 'rate_limit',
  api_error: 'server',
  timeout_error: 'timeout',
  authentication_error: 'auth',
  permission_error: 'auth',
  billing_error: 'auth',
  not_found_error: 'not_found',
  request_too_large: 'too_large',
  invalid_request_error: 'bad_request',
};

const KIND_OF_STATUS: Record<number, ModelErrorKind> = {
  401: 'auth',
  402: 'auth',
  403: 'auth',
  404: 'not_found',
  408: 'timeout',
  413: 'too_large',
  429: 'rate_limit',
  529: 'overloaded',
};

const TOO_LONG =
  /prompt is too long|context (window|length|size)|(exceed|larger than|longer than).{0,40}context|too many (input )?tokens/i;

/** Anthropic says it with status 400, others with 403 or 429: no wait helps, and no other request. */
const NO_CREDIT = /credit balance|insufficient[_ ](quota|credits?|funds|balance)|out of credits?/i;

interface MapOptions {
  /** Taken out of messages wherever they stand: servers sometimes quote what they were sent. */
  readonly secrets?: readonly string[];
  /** The request may have reached the server before the failure. */
  readonly mayBePaid?: boolean;
}

/** Whatever a model call threw, as a ModelError. Bugs (anything that no call throws) come out as kind `server`, not retryable. */
export const toModelError = (
  error: unknown,
  { secrets = [], mayBePaid = false }: MapOptions = {},
): ModelError => {
  if (error instanceof ModelError) return error;
  // Thrown inside the SDK's fetch, it comes back wrapped.
  if (error instanceof APIConnectionError && error.cause instanceof ModelError) return error.cause;
  const say = (text: string): string => clean(text, secrets);
  if (error instanceof APIConnectionTimeoutError)
    return new ModelError('timeout', 'The model server did not answer in time.', { mayBePaid });
  const text = rootCause(error);
  const lost = (after: string, before: string): ModelError =>
    mayBePaid
      ? new ModelError('dropped', say(`${after}: ${text}.`), { mayBePaid })
      : new ModelError('network', say(`${before}: ${text}.`));
  if (error instanceof APIConnectionError)
    return lost(
      'The model server disconnected before it answered',
      'The model server could not be reached',
    );
  if (error instanceof APIError) return fromApi(error as ApiError, say, mayBePaid);
  if (causes(error)[0]?.name === 'SyntaxError')
    return new ModelError('malformed', 'The model server sent a stream event that is not JSON.', {
      mayBePaid,
    });
  if (isConnectionLoss(error))
    return lost("The model's answer was interrupted", 'The connection to the model server failed');
  return new ModelError('server', say(`The model call failed: ${text}.`), {
    retryable: false,
    mayBePaid,
  });
};

const fromApi = (
  error: ApiError,
  say: (text: string) => string,
  mayBePaid: boolean,
): ModelError => {
  const status = typeof error.status === 'number' ? error.status : null;
  const said = apiMessage(error);
  const kind = kindOf(status, error.type, said);
  const type = error.type === null ? '' : ` ${error.type}`;
  const where =
    status === null
      ? 'The model server disconnected during its answer'
      : `The model server answered ${status}`;
  const retryAfter_ms = retryAfter(error.headers);
  const byStatus = status === null ? undefined : [408, 409, 429].includes(status) || status >= 500;
  const hopeless = kind === 'context' || NO_CREDIT.test(said);
  const retryable = hopeless ? false : (shouldRetry(error.headers) ?? byStatus);
  return new ModelError(kind, say(`${where}${type}${said === '' ? '' : `: ${said}`}`), {
    mayBePaid,
    ...(retryable === undefined ? {} : { retryable }),
    ...(retryAfter_ms === null ? {} : { retryAfter_ms }),
  });
};

const kindOf = (status: number | null, type: string | null, message: string): ModelErrorKind => {
  if (NO_CREDIT.test(message)) return 'auth';
  const kind =
    (status === null
      ? undefined
      : (KIND_OF_STATUS[status] ??
        (status >= 500 || status === 409 ? 'server' : status < 400 ? 'not_found' : undefined))) ??
    (type === null ? undefined : KIND_OF_TYPE[type]) ??
    (status === null ? 'server' : 'bad_request');
  return kind === 'bad_request' && TOO_LONG.test(message) ? 'context' : kind;
};

const apiMessage = ({ status, headers, apiMessage: said, message }: ApiError): string => {
  const elsewhere = headers?.get('location');
  if ((status ?? 0) < 400 && elsewhere != null)
    return `a redirect to ${elsewhere}, which is not followed`;
  return typeof said === 'string' ? said : message;
};

const shouldRetry = (headers: Headers | undefined): boolean | undefined => {
  const said = headers?.get('x-should-retry');
  return said === 'true' ? true : said === 'false' ? false : undefined;
};

/** Milliseconds, by the clock of the server where it gives a date; null where no (usable) header says. */
const retryAfter = (headers: Headers | undefined): number | null => {
  const inMs = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (Number.isFinite(inMs)) return bounded(inMs);
  const text = headers?.get('retry-after') ?? '';
  const seconds = Number.parseFloat(text);
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return bounded(seconds * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date)
    ? null
    : bounded(date - (Date.parse(headers?.get('date') ?? '') || Date.now()));
};
const bounded = (ms: number): number => Math.min(Math.max(0, Math.ceil(ms)), maxRetryAfter_ms);

type Failure = Readonly<Record<'name' | 'message' | 'code', string>>;

/** The error and its causes, outermost first. By shape: errors of Node's own fetch may come from another realm than ours. */
const causes = (error: unknown): readonly Failure[] => {
  const found: Failure[] = [];
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  for (let inner = error; isRecord(inner) && found.length < maxCauses; inner = inner.cause)
    found.push({ name: text(inner.name), message: text(inner.message), code: text(inner.code) });
  return found;
};
const maxCauses = 5;

/** `fetch failed` says nothing; the innermost cause does. */
const rootCause = (error: unknown): string => {
  const inner = causes(error).at(-1);
  if (inner === undefined) return String(error);
  return inner.message === '' ? inner.code || inner.name : inner.message;
};

/** undici: a stream that ends early throws `TypeError: terminated` with a SocketError as its cause. */
const isConnectionLoss = (error: unknown): boolean =>
  causes(error).some(
    ({ name, message, code }) =>
      /^(UND_ERR|E[A-Z]+$)/.test(code) ||
      (name === 'TypeError' && /^(terminated|fetch failed)$/.test(message)),
  );

const clean = (text: string, secrets: readonly string[]): string => {
  const keys = secrets.filter(({ length }) => length >= KEY_CHARS);
  const out = new KnownValues(keys)
    .hide(text, '[redacted]')
    .replaceAll(/sk-[A-Za-z0-9_-]{8,}/g, '[redacted]')
    .replaceAll(/\bBearer\s+\S+/gi, 'Bearer [redacted]')
    .replaceAll(/:\/\/[^\s/@]+@/g, '://[redacted]@')
    // eslint-disable-next-line no-control-regex -- a server's text goes to terminals: control characters are what is taken out
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return cut(out, BOUNDS.reason_chars);
};
