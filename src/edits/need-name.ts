/** What a change needs, as a person reads it: `hunk 1`, `hunk 2 of src/a.ts`. Pure. */
import type { ChangeNeed } from './change-needs.js';

/** `hunk`: number of the hunk that brings the name, from 1 in its file; 0: in none. */
export const neededName = ({ user, needs }: ChangeNeed, hunk: number): string => {
  const where = needs.path === user.path ? '' : ` of ${needs.path}`;
  return hunk === 0 ? needs.path : `hunk ${hunk}${where}`;
};
