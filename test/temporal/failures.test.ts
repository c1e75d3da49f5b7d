import { describe, expect, test } from '@jest/globals';
import { CompleteAsyncError } from '@temporalio/activity';
import {
  ApplicationFailure,
  ApplicationFailureCategory,
  CancelledFailure,
} from '@temporalio/common';
import { BOUNDS } from '../../src/shared/limits.js';
import { boundFailure } from '../../src/temporal/failures.js';

const bounded = (error: unknown): ApplicationFailure => {
  const failure = boundFailure(error);
  if (!(failure instanceof ApplicationFailure)) throw new Error('expected an ApplicationFailure');
  return failure;
};

describe('boundFailure', () => {
  test('what Temporal reads by identity is passed on as it is', () => {
    const abort = new Error('aborted');
    abort.name = 'AbortError';
    for (const error of [new CancelledFailure('cancelled'), new CompleteAsyncError(), abort])
      expect(boundFailure(error)).toBe(error);
  });

  test('message, stack and details are cut; the message is not smuggled in by the stack', () => {
    const long = 'm'.repeat(100_000);
    const failure = bounded(
      ApplicationFailure.create({ message: long, type: 'x', details: [long] }),
    );
    expect(failure.message).toHaveLength(BOUNDS.reason_chars);
    expect(failure.stack).not.toContain('mmm');
    expect(failure.details).toEqual(['(details omitted: too large)']);
  });

  test('details that cannot be written as JSON are left out', () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(bounded(ApplicationFailure.create({ message: 'x', details: [loop] })).details).toEqual([
      '(details omitted: too large)',
    ]);
  });

  test('what fits is kept: type, retry, category, delay, details, cause', () => {
    const cause = new TypeError('inner');
    const failure = bounded(
      ApplicationFailure.create({
        message: 'outer',
        type: 'rate_limited',
        nonRetryable: true,
        category: ApplicationFailureCategory.BENIGN,
        nextRetryDelay: 1234,
        details: [{ a: 1 }],
        cause,
      }),
    );
    expect(failure).toMatchObject({
      message: 'outer',
      type: 'rate_limited',
      nonRetryable: true,
      category: ApplicationFailureCategory.BENIGN,
      nextRetryDelay: 1234,
      details: [{ a: 1 }],
      cause: { message: 'inner', type: 'TypeError' },
    });
  });

  test('a chain of causes ends', () => {
    let error = new Error('0');
    for (let n = 1; n < 50; n++) error = new Error(String(n), { cause: error });
    let depth = 0;
    for (let at: unknown = bounded(error); at instanceof Error; at = at.cause) depth++;
    expect(depth).toBe(4);
  });

  test('what was thrown without being an error becomes one', () => {
    expect(bounded('just text').message).toBe('just text');
    expect(bounded(undefined)).toBeInstanceOf(ApplicationFailure);
  });
});
