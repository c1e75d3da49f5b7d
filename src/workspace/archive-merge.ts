/** One order for the logs that several hosts kept of one run. */
import type { ArchiveEntry } from './types.js';

/**
 * Each log keeps its own order, whatever its clock says; among logs the one whose next entry has the earliest time goes on. What one
 * host did (all work on files is one host's) is told in its order even where clocks differ.
 */
export const mergeLogs = (logs: readonly (readonly ArchiveEntry[])[]): readonly ArchiveEntry[] => {
  if (logs.length <= 1) return logs[0] ?? [];
  const next = logs.map(() => 0);
  const merged: ArchiveEntry[] = [];
  for (;;) {
    let first: { readonly log: number; readonly entry: ArchiveEntry } | null = null;
    for (const [log, entries] of logs.entries()) {
      const entry = entries[next[log] ?? 0];
      if (entry !== undefined && (first === null || entry.at < first.entry.at)) first = { log, entry };
    }
    if (first === null) return merged;
    merged.push(first.entry);
    next[first.log] = (next[first.log] ?? 0) + 1;
  }
};
