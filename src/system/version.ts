import { existsSync, readFileSync } from 'node:fs';

/** By the first two numbers of a program's version; false where it has none. */
export const isAtLeast = (version: string, least: string): boolean => {
  const numbersOf = (text: string): number[] => text.split('.').map((part) => Number.parseInt(part, 10));
  const [[major = 0, minor = 0], [wanted = 0, also = 0]] = [numbersOf(version), numbersOf(least)];
  return major > wanted || (major === wanted && minor >= also);
};

/** The package's version: from a checkout package.json is two levels up, from `dist` three. */
export const version = (): string => {
  const place = ['../../package.json', '../../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  const parsed: unknown = place === undefined ? null : JSON.parse(readFileSync(place, 'utf8'));
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed && typeof parsed.version === 'string'
    ? parsed.version
    : 'unknown';
};

/** As in `0.1.0+1a2b3c4d`: the version, and the beginning of the hash of all that the build made; of code that was not built the version alone. */
export const build = (): string => {
  const made = new URL('../../build-id', import.meta.url);
  return `${version()}${existsSync(made) ? `+${readFileSync(made, 'utf8').trim()}` : ''}`;
};

/** docs/reference/archive.json, which scripts/json-schema.js makes of types: the kinds of stored values. The build has a copy of it. */
export const storedKinds = (): Readonly<Record<string, unknown>> => {
  const built = new URL('../../archive.json', import.meta.url);
  const path = existsSync(built) ? built : new URL('../../docs/reference/archive.json', import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
};
