import { existsSync, readFileSync } from 'node:fs';
import { isRecord } from '../shared/text.js';

/** By the first two numbers of a program's version; false where it has none. */
export const isAtLeast = (version: string, least: string): boolean => {
  const numbersOf = (text: string): number[] => text.split('.').map((part) => Number.parseInt(part, 10));
  const [[major = 0, minor = 0], [wanted = 0, also = 0]] = [numbersOf(version), numbersOf(least)];
  return major > wanted || (major === wanted && minor >= also);
};

/** The first of the files that is there: from a checkout the package is two levels up, from `dist` three. */
const readJson = (...paths: readonly string[]): unknown => {
  const place = paths.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  return place === undefined ? null : JSON.parse(readFileSync(place, 'utf8'));
};

/** The package's version. */
export const version = (): string => {
  const parsed = readJson('../../package.json', '../../../package.json');
  return isRecord(parsed) && typeof parsed.version === 'string' ? parsed.version : 'unknown';
};

/** As in `0.1.0+1a2b3c4d`: the version, and the beginning of the hash of all that the build made; of code that was not built the version alone. */
export const build = (): string => {
  const made = new URL('../../build-id', import.meta.url);
  return `${version()}${existsSync(made) ? `+${readFileSync(made, 'utf8').trim()}` : ''}`;
};

/** docs/reference/archive.json, which scripts/json-schema.js makes of types: the kinds of stored values. The build has a copy of it. */
export const storedKinds = (): Readonly<Record<string, unknown>> =>
  readJson('../../archive.json', '../../docs/reference/archive.json') as Record<string, unknown>;
