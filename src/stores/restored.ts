/**
 * Knows whether a home was restored from a backup, which may be older than the last work of its runs: calls that were made since then are paid
 * for, and their responses are lost. So a run that began before asks you once, before it makes a call that this home does not know.
 */
import { join } from 'node:path';
import { planOf, type StepKey } from '../shared/ids.js';
import { putJsonIfAbsent, readJson } from '../system/durable.js';
import { realSys, type Sys } from '../system/sys.js';
import type { Archive, ArchiveEntry } from './ports.js';

/** Content of `restored.json`. */
export interface RestoredNote {
  /** ISO time of the restore. */
  readonly restoredAt: string;
  /** ISO time at which the backup began. */
  readonly backupAt: string;
}

const noteIn = (home: string): string => join(home, 'restored.json');

export const putRestoredNote = async (
  home: string,
  note: RestoredNote,
  sys: Sys = realSys,
): Promise<void> => {
  await putJsonIfAbsent(sys, noteIn(home), note);
};

/** Returns the note of the last restore; null: the home was never restored. Throws ProblemError `disk` if the note is damaged. */
const restoredNote = (home: string, sys: Sys = realSys): Promise<RestoredNote | null> =>
  readJson<RestoredNote>(sys, noteIn(home), 'RestoredNote');

/** Answers by which you allow calls. */
const ALLOWING: readonly unknown[] = ['retry', 'regenerate', 'revise'];

const isAllowedBy = ({ restoredAt }: RestoredNote, { kind, data }: ArchiveEntry): boolean => {
  if (kind !== 'event' || typeof data !== 'object' || data === null) return false;
  const event = data as Partial<Record<'type' | 'at' | 'answer', unknown>>;
  const isLater = typeof event.at === 'number' && event.at >= Date.parse(restoredAt);
  return event.type === 'decided' && isLater && ALLOWING.includes(event.answer);
};

const beganAfter = ({ restoredAt }: RestoredNote, entries: readonly ArchiveEntry[]): boolean =>
  entries.some((entry) => entry.kind === 'started' && entry.at >= restoredAt);

/** Returns why a new call of a run may have been made and paid for before; null: it was not, or you have allowed it since. */
type MayRepeat = (stepKey: StepKey) => Promise<string | null>;

export const repeatedCalls = (
  { home, archive }: { readonly home: string; readonly archive: Pick<Archive, 'read'> },
  sys: Sys = realSys,
): MayRepeat => {
  let reading: Promise<RestoredNote | null> | null = null;
  return async (stepKey) => {
    reading ??= restoredNote(home, sys);
    const note = await reading;
    if (note === null) return null;
    const own = await archive.read(stepKey);
    if (own.some((entry) => isAllowedBy(note, entry))) return null;
    const plan = planOf(stepKey);
    // A phase may have been started again by a plan that is older than the restore.
    const first = plan === stepKey ? own : await archive.read(plan);
    if (beganAfter(note, first)) return null;
    return `EMEND_HOME was restored at ${note.restoredAt} from a backup of ${note.backupAt}, and this run began before that. It may have made this call since, and the response is not in the backup. \`retry\` makes the call, which may pay for it a second time`;
  };
};
