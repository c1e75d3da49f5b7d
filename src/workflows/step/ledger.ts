/** Changes entries of the ledger: a file is asked for again, made by an answer for another file, or taken as it is on disk. Pure. */
import type { MadeFiles } from '../../shared/pick.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { isUnfinished } from './selectors.js';
import type { CallProgress, FileEntry, StepState } from './state.js';

export const withFiles = (
  state: StepState,
  paths: readonly string[] | 'all',
  change: (file: FileEntry) => FileEntry,
): StepState => {
  const wanted = paths === 'all' ? null : new Set(paths);
  const files = state.edits.files.map((file) => {
    const next = wanted === null || wanted.has(file.path) ? change(file) : file;
    return isUnfinished(next) && !isUnfinished(file) ? { ...next, again: true as const } : next;
  });
  return within(state, 'edits', { files });
};

/** No attempt made yet. */
export const FRESH = {
  status: 'pending',
  attempts: 0,
  answers: 0,
  unmarkedAsked: false,
  kept: null,
  failure: null,
} as const;

/** A file is asked for anew: fresh attempts, and a new answer (`regeneration`) where the old one must not be found again. */
export const askAgain = (file: FileEntry, change: Partial<CallProgress> = {}): FileEntry => ({
  ...file,
  ...FRESH,
  regeneration: file.regeneration + 1,
  manual: false,
  verdict: null,
  selected: null,
  region: file.region === null ? null : { ...file.region, index: 0, work: null },
  ...change,
  ...(file.madeBy === undefined ? {} : { status: 'done' }),
});

/** What an answer makes beside the files that it was asked for is reviewed as they are. */
export function withMade(
  state: StepState,
  attempt: CallProgress,
  made: MadeFiles | undefined,
): StepState {
  if (made === undefined) return state;
  const { paths, by: madeBy } = made;
  const known = state.edits.files.map((file) =>
    paths.includes(file.path) ? { ...file, madeBy } : file,
  );
  const fresh = paths.filter((path) => !known.some((file) => file.path === path));
  const entries = fresh.map((path): FileEntry => ({
    ...attempt,
    ...FRESH,
    status: 'done',
    refusal: null,
    unchanged: null,
    region: null,
    linesAsked: null,
    path,
    isNew: true,
    deletes: false,
    bucket: 'A',
    lines: 0,
    madeBy,
    manual: false,
    unreviewed: false,
    verdict: null,
    selected: null,
  }));
  return within(state, 'edits', { files: [...known, ...entries] });
}

export const pending = (file: FileEntry): FileEntry =>
  isUnfinished(file) ? { ...file, status: 'pending' } : file;

/** One call a file from here on; `brief`: they agree on names beforehand. */
export function splitByFile(
  state: StepState,
  reason: string,
  currentTime_ms: number,
  brief?: boolean,
): StepState {
  const { files: before, combined } = state.edits;
  // Answers about all files were answers about each.
  const all = combined === null ? {} : { answers: combined.answers };
  const files = before.map((file) => (isUnfinished(file) ? { ...file, ...all } : file));
  const briefWanted = brief ?? files.length > 1;
  const split = within(state, 'edits', { combined: null, split: true, briefWanted, files });
  return emit(split, currentTime_ms, {
    type: 'edit_split_triggered',
    reason,
    file_count: files.length,
  });
}

export const asManual = (file: FileEntry): FileEntry => ({
  ...file,
  status: 'done',
  manual: true,
  failure: null,
  verdict: null,
});
