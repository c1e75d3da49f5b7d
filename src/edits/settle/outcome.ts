/** What becomes of one edit in its file. */
import type { Tolerance } from '../../shared/formats.js';
import type { Edit } from '../edit.js';
import type { FilePlan } from '../text/changes.js';
import type { Fault } from '../types.js';

export interface LocatedTolerance {
  readonly tolerance: Tolerance;
  /** 1-based line where it was used; null: the edit says nothing of lines. */
  readonly line: number | null;
}

export type EditOutcome =
  | { readonly kind: 'changed'; readonly tolerances: readonly LocatedTolerance[] }
  | ({ readonly kind: 'refused' } & Fault)
  /** `absence`: why an edit that has nothing to do is refused if another one changes its file; null: it is not. */
  | ({ readonly kind: 'skipped'; readonly absence: string | null } & Fault);

export const refused = (code: string, message: string): EditOutcome => ({
  kind: 'refused',
  code,
  message,
});

/** The edits of one file, each of which sees what the ones before it did. */
export interface FileOfEdits<E extends Edit> {
  readonly isChanged: boolean;
  take(edit: E): EditOutcome;
  plans(): readonly FilePlan[];
}
