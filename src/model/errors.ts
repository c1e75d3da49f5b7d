/** The error of a failed model call. It holds the kind of failure, whether a retry can help, and whether the call may be on the bill. */
import { problem, type Problem } from '../shared/problems.js';

/** Maps each kind to whether the same request may succeed later. The server's `x-should-retry` header overrides this. */
const RETRYABLE = {
  overloaded: true,
  rate_limit: true,
  server: true,
  timeout: true,
  network: true,
  dropped: true,
  idle: true,
  auth: false,
  bad_request: false,
  context: false,
  not_found: false,
  too_large: false,
  malformed: true,
  cancelled: true,
};
export type ModelErrorKind = keyof typeof RETRYABLE;

/** What the user can do about a kind of failure. */
const ADVICE: Partial<Record<ModelErrorKind, string>> = {
  auth: 'Check ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) and its account.',
  context: 'Lower `inputBudget_tokens` or `outputBudget_tokens`, or name fewer files.',
  not_found: 'Check the model name and ANTHROPIC_BASE_URL.',
  too_large:
    'If the response was too large, raise the named limit. If the request was too large, name fewer or smaller files.',
};

interface ModelErrorDetails {
  /** Null or absent: the kind decides. */
  readonly retryable?: boolean | null;
  readonly retryAfter_ms?: number | null;
  /** True if the request may have been sent and the server did not refuse it. The provider may then have begun to answer and to bill it. */
  readonly mayBePaid?: boolean;
}

export class ModelError extends Error {
  readonly kind: ModelErrorKind;
  readonly retryable: boolean;
  /** The server asked for no retry before this many milliseconds. */
  readonly retryAfter_ms: number | null;
  readonly mayBePaid: boolean;
  /** `model_unavailable` if a retry may help, otherwise `model_rejected`. */
  readonly problem: Problem;

  /** @param message One sentence for the user, without secrets. */
  constructor(kind: ModelErrorKind, message: string, details: ModelErrorDetails = {}) {
    super(message);
    this.name = 'ModelError';
    this.kind = kind;
    this.retryable = details.retryable ?? RETRYABLE[kind];
    this.mayBePaid = details.mayBePaid ?? false;
    this.retryAfter_ms = details.retryAfter_ms ?? null;
    this.problem = problem(
      this.retryable ? 'model_unavailable' : 'model_rejected',
      message,
      ADVICE[kind],
    );
  }
}
