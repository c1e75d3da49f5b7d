/** The model calls of a run, from the call journal of this machine's store: no server and no worker is needed. */
import { callsOfStep, type CallTexts, type ShownCall } from '../../model/journal/calls.js';
import { count } from '../../shared/text.js';
import { fail } from '../../shared/problems.js';
import { shownKey, type StepKey } from '../../shared/ids.js';
import { storePaths } from '../../stores/location.js';
import type { Emend } from '../types.js';

export type { CallTexts, ShownCall } from '../../model/journal/calls.js';

/** In the order in which they were begun; a plan's phases have their own. Throws ProblemError `disk`. */
export const listCalls = async ({ store }: Pick<Emend, 'store'>, run: StepKey): Promise<readonly ShownCall[]> =>
  (await callsOfStep(storePaths(store).calls, run)).map(({ call }) => call);

/** What was sent and what came back. `n`: as `listCalls` counts. Throws ProblemError `usage` where there is no such call, `disk`. */
export const readCall = async (
  { store }: Pick<Emend, 'store'>,
  run: StepKey,
  n: number,
): Promise<ShownCall & CallTexts> => {
  const calls = await callsOfStep(storePaths(store).calls, run);
  const [found, key] = [calls[n - 1], shownKey(run)];
  if (found !== undefined) return { ...found.call, ...found.texts };
  return fail('usage', `Run ${key} has ${count(calls.length, 'model call')}, no ${n}.`, `See: emend calls ${key}`);
};
