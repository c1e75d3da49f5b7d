import { existsSync, readFileSync } from 'node:fs';

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
