/** Where a limit's value comes from: its default, `emend.yaml`, the job, the command line; the later wins. */
import { PART_NAMES, TEXT_SETTINGS } from '../../shared/decisions.js';
import { LIMITS, type LimitName, type Limits, type Overrides } from '../../shared/limits.js';
import { problem } from '../../shared/problems.js';
import { inPlaceOf } from '../../shared/text.js';
import { expectedOfLimit, isLimitValue, LIMIT_NAMES } from '../source/schemas.js';
import type { Checked, Job, ProjectConfig } from './types.js';
import { described } from '../source/check.js';

/** `maxTotalChunks` stays null until the files are known (`totalChunks`), unless somebody sets it. */
export function resolveLimits(
  config: Pick<ProjectConfig, 'limits'>,
  job: Pick<Job, 'limits'>,
  overrides: Overrides,
): Limits {
  const given: Partial<Limits> = { ...config.limits, ...job.limits, ...overrides };
  return Object.fromEntries(
    LIMIT_NAMES.map((name) => [name, given[name] ?? LIMITS[name].default]),
  ) as Limits;
}

/** Edit calls of a step over `files` target files: what was set, else max(10, 2 x files). */
export const totalChunks = (limits: Limits, files: number): number =>
  limits.maxTotalChunks ?? Math.max(10, 2 * files);

export type Setting =
  | { readonly kind: 'limit'; readonly name: LimitName; readonly value: number }
  /** Of a run, where its configuration may say it too. */
  | { readonly kind: 'flag'; readonly name: 'requireCompleteSentinel'; readonly value: boolean }
  /** What else a decision's answer may set. */
  | { readonly kind: 'text'; readonly name: (typeof TEXTS)[number]; readonly value: string };

const TEXTS = [...TEXT_SETTINGS, ...PART_NAMES] as const;

/**
 * One `--set NAME=VALUE`. Numbers may have `_` between digits, as in the docs (`16_384`). Problems have the code `usage`; `of` says which
 * names they offer.
 */
export function parseLimitSetting(written: string, of: 'run' | 'decision'): Checked<Setting> {
  const equals = written.indexOf('=');
  const bad = (sentence: string): Checked<Setting> => ({
    ok: false,
    problems: [problem('usage', `--set ${written}: ${sentence}`)],
  });
  if (equals < 1) return bad(`expected NAME=VALUE, received ${described(written)}`);
  const name = written.slice(0, equals).trim();
  const value = written.slice(equals + 1).trim();
  const textName = TEXTS.find((known) => known === name);
  if (textName !== undefined)
    return value === ''
      ? bad(`expected a value after "="`)
      : { ok: true, value: { kind: 'text', name: textName, value } };
  if (name === 'requireCompleteSentinel')
    return value === 'true' || value === 'false'
      ? { ok: true, value: { kind: 'flag', name, value: value === 'true' } }
      : bad(`expected true or false, received ${described(value)}`);
  const limitName = LIMIT_NAMES.find((known) => known === name);
  if (limitName === undefined) {
    const known = [...LIMIT_NAMES, ...(of === 'run' ? ['requireCompleteSentinel'] : TEXTS)];
    return bad(`unknown name; ${inPlaceOf(name, known)}`);
  }
  const number = /^-?\d+(_\d+)*(\.\d+)?$/.test(value)
    ? Number(value.replaceAll('_', ''))
    : Number.NaN;
  if (!isLimitValue(limitName, number))
    return bad(`expected ${expectedOfLimit(limitName)}, received ${described(value)}`);
  return { ok: true, value: { kind: 'limit', name: limitName, value: number } };
}
