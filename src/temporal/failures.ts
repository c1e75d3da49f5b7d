/**
 * What an activity may leave in the history when it fails: a message of at most BOUNDS.reason_chars, a short stack, details that
 * fit inline. Anything larger would swell every retry, and a failure that cannot be encoded ends the worker (see payloads.ts).
 * What a failure means (its type, whether it is retried) is the activities' business and stays as they said it.
 */
import { CompleteAsyncError } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, ensureApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { BOUNDS } from '../shared/limits.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

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
  return bounded(error, SERVER_BOUNDS.failureCauses);
};

const bounded = (error: unknown, causesLeft: number): ApplicationFailure => {
  const from = ensureApplicationFailure(error);
  // Its declared type comes from a package without types of its own.
  const delay = from.nextRetryDelay as string | number | null | undefined;
  const failure = ApplicationFailure.create({
    message: cut(from.message, BOUNDS.reason_chars),
    nonRetryable: from.nonRetryable ?? false,
    details: fits(from.details) ? (from.details ?? []) : ['(details left out: too large)'],
    ...(from.type == null ? {} : { type: cut(from.type, BOUNDS.reason_chars) }),
    ...(delay == null ? {} : { nextRetryDelay: delay }),
    ...(from.category == null ? {} : { category: from.category }),
    ...(from.cause !== undefined && causesLeft > 0 ? { cause: bounded(from.cause, causesLeft - 1) } : {}),
  });
  failure.stack = shortStack(from);
  return failure;
};

/** Frames only: the head of a stack repeats the message, whole. */
const shortStack = (error: Error): string => {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return cut(frames.join('\n'), SERVER_BOUNDS.failureStack_chars);
};

const cut = (text: string, chars: number): string => (text.length <= chars ? text : `${text.slice(0, chars - 1)}…`);

const fits = (details: unknown): boolean => {
  try {
    return Buffer.byteLength(JSON.stringify(details ?? [])) <= BOUNDS.inlinePayload_bytes;
  } catch {
    return false;
  }
};
