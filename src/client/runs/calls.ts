/** The model calls of a run, from the call journal of this machine's store: no server and no worker is needed. */
import { callsOfStep, type CallTexts, type ShownCall } from '../../model/journal/calls.js';
import type { ContextFile } from '../../shared/pick.js';
import { count } from '../../shared/text.js';
import { fail, failAll, sentence } from '../../shared/problems.js';
import { shownKey, shownRecordOf, type StepKey } from '../../shared/ids.js';
import type { Emend } from '../types.js';

export type { CallTexts, ShownCall } from '../../model/journal/calls.js';

export interface ListedCalls {
  /** In the order in which they were begun; a plan's phases have their own. */
  readonly calls: readonly ShownCall[];
  /** Why others are not listed, and what to do. */
  readonly unread: readonly string[];
}

/** Throws ProblemError `disk`. */
export const listCalls = async (
  { calls }: Pick<Emend, 'calls'>,
  run: StepKey,
): Promise<ListedCalls> => {
  const { found, unread } = await callsOfStep(calls, run);
  return { calls: found.map(({ call }) => call), unread: unread.map(sentence) };
};

/** What was sent and what came back. `n`: as `listCalls` counts. Throws ProblemError `usage` where there is no such call, `disk`. */
export const readCall = async (
  emend: Pick<Emend, 'calls'>,
  run: StepKey,
  n: number,
): Promise<ShownCall & CallTexts> => {
  const { found: calls, unread } = await callsOfStep(emend.calls, run);
  const [found, key] = [calls[n - 1], shownKey(run)];
  if (found !== undefined) return { ...found.call, ...found.texts };
  failAll(unread);
  return fail(
    'usage',
    `Run ${key} has ${count(calls.length, 'model call')}, no ${n}.`,
    `See: emend calls ${key}`,
  );
};

/** What a call for edits showed in addition to the files to edit (null: its record is missing), and what did not fit. */
export interface SentContext extends Pick<ShownCall, 'n' | 'file'> {
  readonly files: readonly ContextFile[] | null;
  readonly omitted: readonly string[];
}

/** In the order of `listCalls`. Throws ProblemError `disk`. */
export const sentContext = async (
  { calls, records }: Pick<Emend, 'calls' | 'records'>,
  run: StepKey,
): Promise<readonly SentContext[]> => {
  const { found, unread } = await callsOfStep(calls, run);
  failAll(unread);
  const edits = found.filter(({ call }) => call.role === 'edit');
  const sent = edits.map(async ({ callKey, call: { n, file } }) => {
    const recorded = await records.get<Pick<SentContext, 'files' | 'omitted'>>(
      shownRecordOf(run, callKey),
    );
    return { n, file, files: recorded?.files ?? null, omitted: recorded?.omitted ?? [] };
  });
  return Promise.all(sent);
};
