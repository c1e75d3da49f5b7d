import { describe, expect, test } from '@jest/globals';
import { TIMINGS } from '../../src/shared/limits.js';
import { ProblemError } from '../../src/shared/problems.js';
import { resolveTimings } from '../../src/temporal/settings.js';

describe('resolveTimings', () => {
  test('an empty environment gives every default', () => {
    const defaults = Object.fromEntries(Object.entries(TIMINGS).map(([name, spec]) => [name, spec.default]));
    expect(resolveTimings({})).toEqual(defaults);
  });

  test('EMEND_<NAME> in upper case overrides one; blank counts as unset', () => {
    const timings = resolveTimings({ EMEND_CALLOWNER_MS: ' 1500 ', EMEND_CONNECT_MS: ' ' });
    expect(timings.callOwner_ms).toBe(1500);
    expect(timings.connect_ms).toBe(TIMINGS.connect_ms.default);
  });

  test.each(['99', '600001', '-1', '1.5', '1e4', 'soon', '0x10'])(
    'refuses %s and names variable, bounds and unit',
    (text) => {
      const attempt = (): unknown => resolveTimings({ EMEND_CONNECT_MS: text });
      expect(attempt).toThrow(ProblemError);
      expect(attempt).toThrow(/EMEND_CONNECT_MS .*from 100 to 600000 \(ms\)/);
    },
  );

  test('a rate may be less than one', () => {
    expect(resolveTimings({ EMEND_MODELCALLS_PERSECOND: '0.2' }).modelCalls_perSecond).toBe(0.2);
    expect(() => resolveTimings({ EMEND_MODELCALLS_PERSECOND: '0.001' })).toThrow(
      /expected a number from 0.01 to 10000/,
    );
  });

  test('the bounds themselves are allowed', () => {
    expect(resolveTimings({ EMEND_CONNECT_MS: '100' }).connect_ms).toBe(100);
    expect(resolveTimings({ EMEND_SHUTDOWNGRACE_MS: '0' }).shutdownGrace_ms).toBe(0);
  });
});
