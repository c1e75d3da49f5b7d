/**
 * What an activity may leave in the history when it fails: a message of at most BOUNDS.reason_chars, a short stack, details that
 * fit inline. Anything larger would swell every retry, and a failure that cannot be encoded ends the worker (see payloads.ts).
 * What a failure means (its type, whether it is retried) is the activities' business and stays as they said it.
 */
import { CompleteAsyncError } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, ensureApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { BOUNDS } from '../shared/limits.js';

const FAILURE_STACK_CHARS = 2_000; // bound: Of a failure's stack this much goes into the history,
const FAILURE_CAUSES = 3; // bound: and so many causes.
const CAUSE_DEPTH = 20; // bound: Causes of an error that are followed: a chain may end in itself.

export const boundFailures: ActivityInterceptorsFactory = () => ({
  inbound: {
    execute: async (input, next) => {
      try {
        return await next(input);
      } catch (error) {
        throw boundFailure(error);
      }
    },
  },
});

/** The failure as it may be recorded. What Temporal itself reads by identity (cancellation, asynchronous completion) stays as it is. */
export const boundFailure = (error: unknown): unknown => {
  if (error instanceof CompleteAsyncError || error instanceof CancelledFailure) return error;
  if (error instanceof Error && error.name === 'AbortError') return error;
  return bounded(error, FAILURE_CAUSES);
};

const bounded = (error: unknown, causesLeft: number): ApplicationFailure => {
  const from = ensureApplicationFailure(error);
  // Its declared type comes from a package without types of its own.
  const delay = from.nextRetryDelay as string | number | null | undefined;
  const failure = ApplicationFailure.create({
    message: cut(from.message, BOUNDS.reason_chars),
    nonRetryable: from.nonRetryable ?? false,
    details: fits(from.details) ? (from.details ?? []) : ['(details omitted: too large)'],
    ...(from.type == null ? {} : { type: cut(from.type, BOUNDS.reason_chars) }),
    ...(delay == null ? {} : { nextRetryDelay: delay }),
    ...(from.category == null ? {} : { category: from.category }),
    ...(from.cause !== undefined && causesLeft > 0
      ? { cause: bounded(from.cause, causesLeft - 1) }
      : {}),
  });
  failure.stack = shortStack(from);
  return failure;
};

/** Frames only: the head of a stack repeats the message, whole. */
const shortStack = (error: Error): string => {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return cut(frames.join('\n'), FAILURE_STACK_CHARS);
};

const cut = (text: string, chars: number): string =>
  text.length <= chars ? text : `${text.slice(0, chars - 1)}…`;

const fits = (details: unknown): boolean => {
  try {
    return Buffer.byteLength(JSON.stringify(details ?? [])) <= BOUNDS.inlinePayload_bytes;
  } catch {
    return false;
  }
};

// What really happened: libraries wrap errors in errors, and the reason is in the last cause.

/** `code`: errno name, gRPC status number, or undefined; `why`: one line, no stack, at most 300 characters. */
export const innermost = (error: unknown) => {
  let last = error;
  // By shape, not by class: errors of Node's own fetch can come from another realm.
  for (let depth = 0; depth < CAUSE_DEPTH; depth++) last = causeOf(last) ?? last;
  const message = hasMessage(last) ? last.message : String(last);
  return {
    code: (last as { readonly code?: unknown } | null | undefined)?.code,
    why: (message.split('\n')[0] ?? '').slice(0, 300),
  };
};

const hasMessage = (value: unknown): value is { message: string; cause?: unknown } =>
  typeof value === 'object' &&
  value !== null &&
  'message' in value &&
  typeof value.message === 'string';

const causeOf = (value: unknown): unknown =>
  hasMessage(value) && hasMessage(value.cause) ? value.cause : null;
