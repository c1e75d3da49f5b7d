/**
 * Turns the SDK's errors into a ModelError. Statuses 408, 409, 429 and from 500 on may be retried. The header `x-should-retry` overrides the
 * status. The header `retry-after-ms` takes precedence over `retry-after` (seconds or an HTTP date). Error events in a stream have a type
 * and no status.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk';
import { BOUNDS } from '../../shared/limits.js';
import { cut, isRecord } from '../../shared/text.js';
import { KnownValues } from '../../system/known-values.js';
import { ModelError, type ModelErrorKind } from '../errors.js';

/** The fields of the SDK's error that are used here. `instanceof` cannot infer the type parameters of its class. */
type ApiError = Pick<
  InstanceType<typeof APIError>,
  'status' | 'type' | 'headers' | 'apiMessage' | 'message'
>;

const KEY_CHARS = 4; // bound: A shorter key occurs in ordinary text by chance.
// bound: A longer wait is cut to one hour, so that a strange header cannot stop a run for days.
const MAX_RETRY_AFTER_MS = 3_600_000;
// bound: Causes of an error that are read. A cycle of causes would have no end.
const MAX_CAUSES = 5;
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 409, 429]);

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

/** An account without credit. Anthropic reports it with status 400, others with 403 or 429. Neither a wait nor another request helps. */
const NO_CREDIT = /credit balance|insufficient[_ ](quota|credits?|funds|balance)|out of credits?/i;

interface MapOptions {
  /** Values that are removed from messages, because servers sometimes quote what they received. */
  readonly secrets?: readonly string[];
  /** True if the request may have reached the server before the failure. */
  readonly mayBePaid?: boolean;
}

/** Returns the error of a model call as a ModelError. An error that no call should throw is a bug: kind `server`, not retryable. */
export const toModelError = (
  error: unknown,
  { secrets = [], mayBePaid = false }: MapOptions = {},
): ModelError => {
  if (error instanceof ModelError) return error;
  // The SDK wraps what our `fetch` throws.
  if (error instanceof APIConnectionError && error.cause instanceof ModelError) return error.cause;
  const withoutSecrets = (text: string): string => clean(text, secrets);
  if (error instanceof APIConnectionTimeoutError)
    return new ModelError('timeout', 'The model server did not answer in time.', { mayBePaid });
  const text = rootCause(error);
  const connectionError = (afterSending: string, beforeSending: string): ModelError =>
    mayBePaid
      ? new ModelError('dropped', withoutSecrets(`${afterSending}: ${text}.`), { mayBePaid })
      : new ModelError('network', withoutSecrets(`${beforeSending}: ${text}.`));
  if (error instanceof APIConnectionError)
    return connectionError(
      'The model server disconnected before it answered',
      'The model server could not be reached',
    );
  if (error instanceof APIError) return fromApi(error as ApiError, withoutSecrets, mayBePaid);
  if (causes(error)[0]?.name === 'SyntaxError')
    return new ModelError('malformed', 'The model server sent a stream event that is not JSON.', {
      mayBePaid,
    });
  if (isConnectionLoss(error))
    return connectionError(
      "The model's answer was interrupted",
      'The connection to the model server failed',
    );
  return new ModelError('server', withoutSecrets(`The model call failed: ${text}.`), {
    retryable: false,
    mayBePaid,
  });
};

const fromApi = (
  error: ApiError,
  withoutSecrets: (text: string) => string,
  mayBePaid: boolean,
): ModelError => {
  const status = typeof error.status === 'number' ? error.status : null;
  const message = messageOf(error);
  const kind = kindOf(status, error.type, message);
  const event =
    status === null
      ? 'The model server disconnected during its answer'
      : `The model server answered ${status}`;
  const type = error.type === null ? '' : ` ${error.type}`;
  const details = message === '' ? '' : `: ${message}`;
  const canRetryHelp = kind !== 'context' && !NO_CREDIT.test(message);
  return new ModelError(kind, withoutSecrets(`${event}${type}${details}`), {
    mayBePaid,
    retryable: canRetryHelp ? (shouldRetry(error.headers) ?? isRetryableStatus(status)) : false,
    retryAfter_ms: retryAfter(error.headers),
  });
};

/** Returns null for an error without a status: the kind of the error decides then. */
const isRetryableStatus = (status: number | null): boolean | null =>
  status === null ? null : RETRYABLE_STATUSES.has(status) || status >= 500;

const kindOf = (status: number | null, type: string | null, message: string): ModelErrorKind => {
  if (NO_CREDIT.test(message)) return 'auth';
  const kind =
    kindOfStatus(status) ??
    (type === null ? null : KIND_OF_TYPE[type]) ??
    (status === null ? 'server' : 'bad_request');
  return kind === 'bad_request' && TOO_LONG.test(message) ? 'context' : kind;
};

/** Returns null if the status alone does not decide. */
const kindOfStatus = (status: number | null): ModelErrorKind | null => {
  if (status === null) return null;
  const kind = KIND_OF_STATUS[status];
  if (kind !== undefined) return kind;
  if (status >= 500 || status === 409) return 'server';
  return status < 400 ? 'not_found' : null;
};

const messageOf = ({ status, headers, apiMessage, message }: ApiError): string => {
  const location = headers?.get('location');
  if ((status ?? 0) < 400 && location != null)
    return `a redirect to ${location}, which is not followed`;
  return typeof apiMessage === 'string' ? apiMessage : message;
};

/** Returns null if the server did not set the header. */
const shouldRetry = (headers: Headers | undefined): boolean | null => {
  const value = headers?.get('x-should-retry');
  if (value === 'true') return true;
  return value === 'false' ? false : null;
};

/** Returns milliseconds, or null if no header has a usable value. A date is compared with the date of the server. */
const retryAfter = (headers: Headers | undefined): number | null => {
  const milliseconds = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (Number.isFinite(milliseconds)) return boundedWait(milliseconds);
  const text = headers?.get('retry-after') ?? '';
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return boundedWait(Number.parseFloat(text) * 1000);
  const date = Date.parse(text);
  if (Number.isNaN(date)) return null;
  const serverTime = Date.parse(headers?.get('date') ?? '') || Date.now();
  return boundedWait(date - serverTime);
};
const boundedWait = (wait_ms: number): number =>
  Math.min(Math.max(0, Math.ceil(wait_ms)), MAX_RETRY_AFTER_MS);

type Failure = Readonly<Record<'name' | 'message' | 'code', string>>;

/**
 * Returns the error and its causes, the outermost first. It looks at their fields and not at their class, because errors of Node's fetch may
 * come from another realm.
 */
const causes = (error: unknown): readonly Failure[] => {
  const failures: Failure[] = [];
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  for (let inner = error; isRecord(inner) && failures.length < MAX_CAUSES; inner = inner.cause)
    failures.push({
      name: text(inner.name),
      message: text(inner.message),
      code: text(inner.code),
    });
  return failures;
};

/** Returns the message of the innermost cause. The outermost one is often only `fetch failed`. */
const rootCause = (error: unknown): string => {
  const inner = causes(error).at(-1);
  if (inner === undefined) return String(error);
  return inner.message === '' ? inner.code || inner.name : inner.message;
};

/** Returns true if the connection was lost. If a stream ends early, undici throws `TypeError: terminated` with a SocketError as its cause. */
const isConnectionLoss = (error: unknown): boolean =>
  causes(error).some(
    ({ name, message, code }) =>
      /^(UND_ERR|E[A-Z]+$)/.test(code) ||
      (name === 'TypeError' && /^(terminated|fetch failed)$/.test(message)),
  );

/** Removes secrets and control characters, and cuts the text to the length of a reason. */
const clean = (text: string, secrets: readonly string[]): string => {
  const keys = secrets.filter(({ length }) => length >= KEY_CHARS);
  const out = new KnownValues(keys)
    .hide(text, '[redacted]')
    .replaceAll(/sk-[A-Za-z0-9_-]{8,}/g, '[redacted]')
    .replaceAll(/\bBearer\s+\S+/gi, 'Bearer [redacted]')
    .replaceAll(/:\/\/[^\s/@]+@/g, '://[redacted]@')
    // eslint-disable-next-line no-control-regex -- a server's text is printed to terminals, so control characters are removed
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return cut(out, BOUNDS.reason_chars);
};
