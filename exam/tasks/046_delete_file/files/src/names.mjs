export { legacyName } from './legacy.mjs';

/** The name as it is shown. */
export function displayName({ first, last }) {
  return `${first} ${last}`;
}
