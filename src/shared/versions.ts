/**
 * ◆ Everything stored or scheduled carries `v` (docs/versions.md lists it all). A reader takes every `v` ever released and fields that
 * it does not know; of a later `v` nothing can be said, so it answers `version_unknown` and leaves the thing alone.
 */
import { fail, problem, type Problem } from './problems.js';

/** The only one released so far. */
const KNOWN = 1;

/** The `v` of a value that came from a disk, a server or another process; undefined where it has none. */
export const versionOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'v' in value ? value.v : undefined;

export const isKnown = (value: unknown): boolean => versionOf(value) === KNOWN;

/** Of a kind that was written without `v` at first: without one it is the first. */
export const isKnownOrFirst = (value: unknown): boolean => versionOf(value) === undefined || isKnown(value);

/** Whatever came: only a number is repeated. */
const shown = (v: unknown): string =>
  typeof v === 'number' ? `version ${v}` : v === undefined ? 'no version' : 'a strange version';

/** `what` names the thing and where it is. */
export const unknownVersion = (what: string, value: unknown): Problem =>
  problem(
    'version_unknown',
    `${what} has ${shown(versionOf(value))}; this Emend reads version ${KNOWN}.`,
    'A newer Emend wrote it: upgrade this one (worker and client), then try again.',
  );

/** Throws ProblemError `version_unknown`. */
export const checkVersion = (value: unknown, what: string): void => {
  if (isKnown(value)) return;
  const { code, message, next } = unknownVersion(what, value);
  fail(code, message, next);
};

/**
 * Why a run cannot go on from what the run before it carried over (continue-as-new); null: it can. `fresh`: a state as this build begins
 * with, for the shape; fields that begin as null may be missing, as they came later.
 */
export function unreadableCarried(carried: unknown, fresh: object): Problem | null {
  const what = 'What the run goes on from';
  if (!isKnown(carried)) return unknownVersion(what, carried);
  const { state, told } = carried as { readonly state?: unknown; readonly told?: unknown };
  if (!isKnown(state)) return unknownVersion(`The state that the run goes on from`, state);
  const kind = (value: unknown): string => (Array.isArray(value) ? 'list' : typeof value);
  const odd = Object.entries(fresh)
    .filter(([name, value]) => name !== 'input' && value !== null && value !== undefined)
    .find(([name, value]) => kind((state as Readonly<Record<string, unknown>>)[name]) !== kind(value))?.[0];
  if (odd === undefined && typeof told === 'number') return null;
  return problem(
    'version_unknown',
    `${what} is not as version ${KNOWN} has it: ${odd ?? 'told'} is missing or of another kind.`,
  );
}
