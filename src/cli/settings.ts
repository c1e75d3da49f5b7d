/** `--set NAME=VALUE`, as often as wanted. */
import { parseLimitSetting } from '../job/limits.js';
import type { DecisionRequest } from '../shared/decisions.js';
import type { LimitName } from '../shared/limits.js';
import { fail, ProblemError, problem } from '../shared/problems.js';

/** For a decision: limits, `model` and `command`. Throws ProblemError `usage`. */
export const decisionSettings = (written: readonly string[]): NonNullable<DecisionRequest['set']> => {
  const settings = written.map((each) => {
    const parsed = parseLimitSetting(each);
    if (!parsed.ok) throw new ProblemError(parsed.problems[0] ?? problem('usage', `--set ${each} cannot be read.`));
    return [parsed.value.name, parsed.value.value] as const;
  });
  return Object.fromEntries(settings);
};

/** For a run: limits only. Throws ProblemError `usage`. */
export const runLimits = (written: readonly string[]): Partial<Record<LimitName, number>> => {
  const { model, command, ...limits } = decisionSettings(written);
  if (model !== undefined)
    fail('usage', '--set model=… is for decisions.', 'Write `model:` into the job or emend.yaml.');
  if (command !== undefined)
    fail('usage', '--set command=… is for decisions.', 'Write `test:` into the job or emend.yaml.');
  return limits as Partial<Record<LimitName, number>>;
};
