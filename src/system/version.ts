import { existsSync, readFileSync } from 'node:fs';
import { isRecord } from '../shared/text.js';

/** By the first two numbers of a program's version; false where it has none. */
export const isAtLeast = (version: string, least: string): boolean => {
  const numbersOf = (text: string): number[] =>
    text.split('.').map((part) => Number.parseInt(part, 10));
  const [[major = 0, minor = 0], [wanted = 0, also = 0]] = [numbersOf(version), numbersOf(least)];
  return major > wanted || (major === wanted && minor >= also);
};

/** The first of the files that is there: from a checkout the package is two levels up, from `dist` three. */
const readJson = (...paths: readonly string[]): unknown => {
  const place = paths.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  return place === undefined ? null : JSON.parse(readFileSync(place, 'utf8'));
};

export const version = (): string => {
  const parsed = readJson('../../package.json', '../../../package.json');
  return isRecord(parsed) && typeof parsed.version === 'string' ? parsed.version : 'unknown';
};

/** As in `0.1.0+1a2b3c4d`: the version, and the beginning of the hash of all that the build made; of code that was not built the version alone. */
export const build = (): string => {
  const made = new URL('../../build-id', import.meta.url);
  return `${version()}${existsSync(made) ? `+${readFileSync(made, 'utf8').trim()}` : ''}`;
};

let kinds: Readonly<Record<string, unknown>> | undefined;
/** docs/reference/archive.json, which scripts/json-schema.js makes of types: the kinds of stored values. The build has a copy of it. */
export const storedKinds = () =>
  (kinds ??= readJson('../../archive.json', '../../docs/reference/archive.json') as Record<
    string,
    unknown
  >);

/** `kind`: a type's name, one of several, one of the words of `=`, or fields: `name?` may be absent, `[]` are a list's items, `*` what a map holds. */
export const isOfKind = (kind: unknown, value: unknown): boolean => {
  if (Array.isArray(kind)) return kind.some((each) => isOfKind(each, value));
  if (!isRecord(kind))
    return [undefined, 'any', value === null ? 'null' : typeof value].includes(kind as string);
  if (Array.isArray(kind['='])) return kind['='].includes(value);
  if (Array.isArray(value))
    return '[]' in kind && value.every((each) => isOfKind(kind['[]'], each));
  if (!isRecord(value) || '[]' in kind) return false;
  return Object.entries(kind).every(([name, each]) => {
    if (name === '*') return Object.values(value).every((part) => isOfKind(each, part));
    const part = value[name.replace('?', '')];
    return (part === undefined && name.endsWith('?')) || isOfKind(each, part);
  });
};
