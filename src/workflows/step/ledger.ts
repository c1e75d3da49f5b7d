/** Changes entries of the ledger: the model is asked again for a file, a response made it, or it is taken as it is on disk. Pure. */
import type { MadeFiles } from '../../shared/pick.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { isUnfinished } from './selectors.js';
import type { CallProgress, FileEntry, StepState } from './state.js';

/** Changes the entries of these files. An entry that is unfinished again is marked, so that its number does not count twice. */
export const withFiles = (
  state: StepState,
  paths: readonly string[] | 'all',
  change: (file: FileEntry) => FileEntry,
): StepState => {
  const named = paths === 'all' ? null : new Set(paths);
  const files = state.edits.files.map((file) => {
    const next = named === null || named.has(file.path) ? change(file) : file;
    return isUnfinished(next) && !isUnfinished(file) ? { ...next, again: true as const } : next;
  });
  return within(state, 'edits', { files });
};

/** The progress of a call before its first attempt. */
export const FRESH = {
  status: 'pending',
  attempts: 0,
  answers: 0,
  unmarkedAsked: false,
  kept: null,
  failure: null,
} as const;

/** Asks the model for the file again, with new attempts and a new request (`regeneration`), so that no recorded response is found. */
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

/** Adds the files that a response made in addition to those that it was asked for. They are reviewed like these. */
export function withMade(
  state: StepState,
  attempt: CallProgress,
  newFiles: MadeFiles | undefined,
): StepState {
  if (newFiles === undefined) return state;
  const { paths, by: madeBy } = newFiles;
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

/** Makes an unfinished file pending again. */
export const pending = (file: FileEntry): FileEntry =>
  isUnfinished(file) ? { ...file, status: 'pending' } : file;

/** Makes one call for each file from now on. `brief`: whether a brief with names for all of them comes first. */
export function splitByFile(
  state: StepState,
  reason: string,
  currentTime_ms: number,
  brief?: boolean,
): StepState {
  const { files: before, combined } = state.edits;
  // A response about all files counts as one about each.
  const counts = combined === null ? {} : { answers: combined.answers };
  const files = before.map((file) => (isUnfinished(file) ? { ...file, ...counts } : file));
  const briefWanted = brief ?? files.length > 1;
  const split = within(state, 'edits', { combined: null, split: true, briefWanted, files });
  return emit(split, currentTime_ms, {
    type: 'edit_split_triggered',
    reason,
    file_count: files.length,
  });
}

/** Takes the file as it is on disk, where it was edited by hand. */
export const asManual = (file: FileEntry): FileEntry => ({
  ...file,
  status: 'done',
  manual: true,
  failure: null,
  verdict: null,
});
