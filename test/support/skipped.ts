/** Tests that do not run everywhere or every time. One that is skipped prints its reason: a line that nobody sees proves nothing. */
import { describe, expect, test } from '@jest/globals';

export const printSkipped = (reason: string): void => {
  const file = expect.getState().testPath?.split('/').at(-1) ?? '';
  process.stderr.write(`SKIPPED in ${file}: ${reason}\n`);
};

/** `test` where it holds, else `test.skip`, with the reason printed. */
export const testIf = (holds: boolean, reason: string): typeof test | typeof test.skip => {
  if (holds) return test;
  printSkipped(reason);
  return test.skip;
};

export const describeIf = (
  holds: boolean,
  reason: string,
): typeof describe | typeof describe.skip => {
  if (holds) return describe;
  printSkipped(reason);
  return describe.skip;
};

/** Part of `npm run test:long`, for the reason given: too long for `npm test`, mostly. */
export const longOnly = (why: string): typeof test | typeof test.skip =>
  testIf(process.env.EMEND_LONG === '1', `${why} (EMEND_LONG=1 runs it)`);
