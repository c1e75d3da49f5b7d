/** The name as it is shown. */
export function displayName({ first, last }) {
  return `${first} ${last}`;
}

/**
 * The name as version 1 showed it.
 * @deprecated
 */
export function legacyName({ first, last }) {
  return `${last}, ${first}`;
}

/** The letters of a name. */
export function initials({ first, last }) {
  return `${first[0]}${last[0]}`;
}
