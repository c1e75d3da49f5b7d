/** The name as version 1 showed it. */
export function legacyName({ first, last }) {
  return `${last}, ${first}`;
}
