/** What really happened: libraries wrap errors in errors, and the reason is in the last cause. */
import { SERVER_BOUNDS } from '../shared/bounds.js';
export interface Innermost {
  /** errno name, gRPC status number, or undefined. */
  readonly code: unknown;
  /** One line, no stack, at most 300 characters. */
  readonly why: string;
}

export const innermost = (error: unknown): Innermost => {
  let last = error;
  // By shape, not by class: errors of Node's own fetch can come from another realm.
  for (let depth = 0; depth < SERVER_BOUNDS.causeDepth; depth++) last = causeOf(last) ?? last;
  const message = hasMessage(last) ? last.message : String(last);
  return {
    code: (last as { code?: unknown } | null | undefined)?.code,
    why: (message.split('\n')[0] ?? '').slice(0, 300),
  };
};

const hasMessage = (value: unknown): value is { message: string; cause?: unknown } =>
  typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';

const causeOf = (value: unknown): unknown => (hasMessage(value) && hasMessage(value.cause) ? value.cause : null);
