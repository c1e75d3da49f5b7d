/** Every expected failure of a model call, in one shape: what it was, whether trying again helps, and whether it may be on the bill. */
import { problem, type Problem } from '../shared/problems.js';

/** Whether the same request may succeed later. An `x-should-retry` header overrides it. */
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

const NEXT: Partial<Record<ModelErrorKind, string>> = {
  auth: 'Check ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) and its account.',
  context: 'Lower `inputBudget_tokens` or `outputBudget_tokens`, or name fewer files.',
  not_found: 'Check the model name and ANTHROPIC_BASE_URL.',
  too_large:
    'If the answer was too large, raise the named limit; if the request was, name fewer or smaller files.',
};

interface ModelErrorDetails {
  readonly retryable?: boolean;
  readonly retryAfter_ms?: number;
  /** The request was sent, or may have been, and no refusal came back: a provider may have begun to answer and to bill it. */
  readonly mayBePaid?: boolean;
}

export class ModelError extends Error {
  readonly kind: ModelErrorKind;
  readonly retryable: boolean;
  /** The server's wish: not before this many milliseconds. */
  readonly retryAfter_ms?: number;
  readonly mayBePaid: boolean;
  /** `model_unavailable` where trying again may help, else `model_rejected`. */
  readonly problem: Problem;

  /** `message`: one sentence for a person, without secrets. */
  constructor(kind: ModelErrorKind, message: string, details: ModelErrorDetails = {}) {
    super(message);
    this.name = 'ModelError';
    this.kind = kind;
    this.retryable = details.retryable ?? RETRYABLE[kind];
    this.mayBePaid = details.mayBePaid ?? false;
    if (details.retryAfter_ms !== undefined) this.retryAfter_ms = details.retryAfter_ms;
    this.problem = problem(
      this.retryable ? 'model_unavailable' : 'model_rejected',
      message,
      NEXT[kind],
    );
  }
}
