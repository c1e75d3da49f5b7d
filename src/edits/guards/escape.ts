/** Escaped text in new lines, and the search for it. */
import type { Severity } from '../../shared/formats.js';
import type { PlacedChange } from '../text/changes.js';
import type { GuardView } from './view.js';

/** Escaped text, and where. */
export interface Escape {
  /** 0-based line of the result. */
  readonly place: number;
  readonly line: string;
  readonly escape: string;
  readonly plain: string;
  readonly severity: Severity;
}

/** The first of the changes' lines for which `find` finds something. */
export const firstIn = (
  { changes }: GuardView,
  find: (line: string, place: number, change: PlacedChange) => Escape | null,
): Escape | null => {
  for (const change of changes)
    for (const [i, line] of change.lines.entries()) {
      const escape = find(line, change.at + i, change);
      if (escape !== null) return escape;
    }
  return null;
};
