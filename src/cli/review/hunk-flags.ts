/** `--hunk PATH:1,3`: hunks as `emend diff` shows them, counted from 1 in each file, to the changes in them. Pure. */
import { changesByPath, readSealedDiff } from '../../edits/index.js';
import type { Selection } from '../../shared/decisions.js';
import { fail } from '../../shared/problems.js';

/** Throws ProblemError `usage`. */
export const hunkSelection = (written: readonly string[], diff: string): Selection => {
  const sections = readSealedDiff(diff);
  const known = changesByPath(sections);
  const chosen = new Map<string, Set<number>>();
  for (const text of written) {
    const [, named = '', list = ''] = /^(.+):([0-9]+(?:,[0-9]+)*)$/.exec(text) ?? [];
    const path = named.replace(/^\.\//, '');
    if (path === '') fail('usage', `--hunk ${text}: expected PATH:N or PATH:N,N, as in src/a.ts:1,3.`);
    const hunks = sections.find((section) => section.path === path)?.hunks;
    if (hunks === undefined || !known.has(path))
      fail(
        'usage',
        `--hunk ${text}: the proposal has no file ${path} that can be taken in part.`,
        'See `emend diff RUN`.',
      );
    const taken = chosen.get(path) ?? new Set();
    chosen.set(path, taken);
    for (const n of list.split(',').map(Number)) {
      const hunk = hunks?.[n - 1];
      if (hunk === undefined) fail('usage', `--hunk ${text}: ${path} has hunks 1 to ${hunks?.length ?? 0}.`);
      for (const change of hunk?.changes ?? []) taken.add(change.n);
    }
  }
  return Object.fromEntries([...chosen].map(([path, changes]) => [path, [...changes].sort((a, b) => a - b)]));
};
