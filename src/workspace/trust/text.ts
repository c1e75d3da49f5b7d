/** Writes what a question and `emend trust` show about a file that is not trusted. Pure. */
import type { Doubt } from './types.js';

const GRANTS_SHOWN = 20; // bound: Maximum number of grants of a file in a question.
const GRANT_CHARS = 200; // bound: Maximum length of a grant in a question.

export function doubtText({ path, reason, grants }: Doubt): string {
  const shown = grants.slice(0, GRANTS_SHOWN).map((grant) => grant.slice(0, GRANT_CHARS));
  const more = grants.length - shown.length;
  const list = [...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ');
  const effect =
    grants.length === 0
      ? 'It allows nothing new, but Emend follows it'
      : `It would newly allow Emend to ${list}`;
  return `${path}: ${reason}. ${effect}.`;
}
