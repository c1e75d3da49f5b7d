/** Settings of the machinery from the environment: `EMEND_<NAME>` in upper case for every name of TIMINGS. */
import { TIMINGS, type LimitSpec, type TimingName, type Timings } from '../shared/limits.js';
import { fail } from '../shared/problems.js';
import type { Environment } from '../workspace/runner-env.js';

export const timingVariable = (name: TimingName): string => `EMEND_${name.toUpperCase()}`;

/**
 * Every timing as a number, defaults included.
 * Throws ProblemError `config_invalid` for a value that is not a whole number within the name's bounds: a time-out that was
 * mistyped must not silently become the default.
 */
export const resolveTimings = (env: Environment): Timings => {
  const resolve = (name: TimingName): number => {
    const spec: LimitSpec = TIMINGS[name];
    const text = env[timingVariable(name)]?.trim();
    if (text === undefined || text === '') return spec.default ?? spec.max;
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isNaN(value) || value < spec.min || value > spec.max) {
      fail(
        'config_invalid',
        `${timingVariable(name)} (${spec.what}): expected a whole number from ${spec.min} to ${spec.max} (${spec.unit}), found "${text.slice(0, 40)}".`,
        `Correct ${timingVariable(name)} in the environment, or unset it to use ${String(spec.default)}.`,
      );
    }
    return value;
  };
  const names = Object.keys(TIMINGS) as TimingName[];
  return Object.fromEntries(names.map((name) => [name, resolve(name)])) as Timings;
};
