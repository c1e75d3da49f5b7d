/** Resolves the values of limits. They come from the defaults, `emend.yaml`, the job and the command line, and the last of these wins. */
import { PART_NAMES, TEXT_SETTINGS } from '../../shared/decisions.js';
import { LIMITS, type LimitName, type Limits, type Overrides } from '../../shared/limits.js';
import { problem } from '../../shared/problems.js';
import { inPlaceOf } from '../../shared/text.js';
import { expectedOfLimit, isLimitValue, LIMIT_NAMES } from '../source/schemas.js';
import type { Checked, Job, ProjectConfig } from './types.js';
import { describeValue } from '../source/check.js';

/** Returns every limit with its value. `maxTotalChunks` is null unless it is set, because its default depends on the files (`totalChunks`). */
export function resolveLimits(
  config: Pick<ProjectConfig, 'limits'>,
  job: Pick<Job, 'limits'>,
  overrides: Overrides,
): Limits {
  const values: Partial<Limits> = { ...config.limits, ...job.limits, ...overrides };
  return Object.fromEntries(
    LIMIT_NAMES.map((name) => [name, values[name] ?? LIMITS[name].default]),
  ) as Limits;
}

/** Returns the maximum number of edit calls of a step with `files` target files: the value that was set, else max(10, 2 x files). */
export const totalChunks = (limits: Limits, files: number): number =>
  limits.maxTotalChunks ?? Math.max(10, 2 * files);

type Setting =
  | { readonly kind: 'limit'; readonly name: LimitName; readonly value: number }
  /** Only for a run. A job and `emend.yaml` also have this key. */
  | { readonly kind: 'flag'; readonly name: 'requireCompleteSentinel'; readonly value: boolean }
  /** Only for the answer to a decision. */
  | { readonly kind: 'text'; readonly name: (typeof TEXTS)[number]; readonly value: string };

const TEXTS = [...TEXT_SETTINGS, ...PART_NAMES] as const;

/**
 * Parses the value of one `--set NAME=VALUE`. Numbers may have `_` between digits, as in the docs (`16_384`). Problems have the code `usage`.
 * `target` is the command that has the option; it decides which names a problem suggests.
 */
export function parseLimitSetting(
  assignment: string,
  target: 'run' | 'decision',
): Checked<Setting> {
  const equals = assignment.indexOf('=');
  const bad = (sentence: string): Checked<Setting> => ({
    ok: false,
    problems: [problem('usage', `--set ${assignment}: ${sentence}`)],
  });
  if (equals < 1) return bad(`expected NAME=VALUE, received ${describeValue(assignment)}`);
  const name = assignment.slice(0, equals).trim();
  const value = assignment.slice(equals + 1).trim();
  const textName = TEXTS.find((known) => known === name);
  if (textName !== undefined)
    return value === ''
      ? bad(`expected a value after "="`)
      : { ok: true, value: { kind: 'text', name: textName, value } };
  if (name === 'requireCompleteSentinel')
    return value === 'true' || value === 'false'
      ? { ok: true, value: { kind: 'flag', name, value: value === 'true' } }
      : bad(`expected true or false, received ${describeValue(value)}`);
  const limitName = LIMIT_NAMES.find((known) => known === name);
  if (limitName === undefined) {
    const known = [...LIMIT_NAMES, ...(target === 'run' ? ['requireCompleteSentinel'] : TEXTS)];
    return bad(`unknown name; ${inPlaceOf(name, known)}`);
  }
  const number = /^-?\d+(_\d+)*(\.\d+)?$/.test(value)
    ? Number(value.replaceAll('_', ''))
    : Number.NaN;
  if (!isLimitValue(limitName, number))
    return bad(`expected ${expectedOfLimit(limitName)}, received ${describeValue(value)}`);
  return { ok: true, value: { kind: 'limit', name: limitName, value: number } };
}
