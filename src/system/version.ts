/** Knows the version of this program, and checks stored values against the kinds that it knows. */
import { existsSync, readFileSync } from 'node:fs';
import { isRecord } from '../shared/text.js';

/** Compares the first two numbers of a program's version. Returns false if it has none. */
export const isAtLeast = (version: string, least: string): boolean => {
  const numbersOf = (text: string): number[] =>
    text.split('.').map((part) => Number.parseInt(part, 10));
  const [major = 0, minor = 0] = numbersOf(version);
  const [leastMajor = 0, leastMinor = 0] = numbersOf(least);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
};

/** Returns the content of the first of the files that exists: from a checkout the package is two levels up, from `dist` three. */
const readJson = (...paths: readonly string[]): unknown => {
  const place = paths.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  return place === undefined ? null : JSON.parse(readFileSync(place, 'utf8'));
};

export const version = (): string => {
  const parsed = readJson('../../package.json', '../../../package.json');
  return isRecord(parsed) && typeof parsed.version === 'string' ? parsed.version : 'unknown';
};

/** Returns the version and the beginning of the hash of all built files, as in `0.1.0+1a2b3c4d`. For code that was not built it is the version alone. */
export const build = (): string => {
  const buildId = new URL('../../build-id', import.meta.url);
  return `${version()}${existsSync(buildId) ? `+${readFileSync(buildId, 'utf8').trim()}` : ''}`;
};

let kinds: Readonly<Record<string, unknown>> | undefined;
/** Returns the kinds of stored values: docs/reference/archive.json, which scripts/json-schema.js makes of types. The build has a copy of it. */
export const storedKinds = () =>
  (kinds ??= readJson('../../archive.json', '../../docs/reference/archive.json') as Record<
    string,
    unknown
  >);

/**
 * Returns whether a value is of a kind. A kind is the name of a type, a list of alternatives, the permitted words in `=`, or fields: `name?` may
 * be absent, `[]` are a list's items, `*` the values of a map.
 */
export const isOfKind = (kind: unknown, value: unknown): boolean => {
  if (Array.isArray(kind)) return kind.some((alternative) => isOfKind(alternative, value));
  if (!isRecord(kind))
    return [undefined, 'any', value === null ? 'null' : typeof value].includes(kind as string);
  if (Array.isArray(kind['='])) return kind['='].includes(value);
  if (Array.isArray(value))
    return '[]' in kind && value.every((item) => isOfKind(kind['[]'], item));
  if (!isRecord(value) || '[]' in kind) return false;
  return Object.entries(kind).every(([name, partKind]) => {
    if (name === '*') return Object.values(value).every((part) => isOfKind(partKind, part));
    const part = value[name.replace('?', '')];
    return (part === undefined && name.endsWith('?')) || isOfKind(partKind, part);
  });
};
