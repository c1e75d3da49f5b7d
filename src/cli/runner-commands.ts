/**
 * Commands to GitHub Actions in words that Emend prints for others: models, hooks, tests. A runner reads the output of a step line by
 * line and obeys `::name::value` at the beginning of a line, after blanks, and `##[name]value` anywhere in it.
 */
import { randomUUID } from 'node:crypto';
import type { Environment } from '../system/environment.js';

const AT_BEGINNING = /^([^\S\n]*:):/gm;
const ANYWHERE = /##(?=\[)/g;

/** Returns whether a runner reads what this process prints. */
export const isOnRunner = ({ GITHUB_ACTIONS }: Environment): boolean => GITHUB_ACTIONS === 'true';

/** Returns the text with a blank in each command, so that it stays readable and nothing obeys it. In JSON the change is an escape for the same text. */
export const withoutCommands = (text: string): string =>
  text.replace(AT_BEGINNING, '$1 :').replace(ANYWHERE, isJson(text) ? '#\\u0023' : '# #');

/** Strings of JSON never begin a line, so `::` needs no change there. */
const isJson = (text: string): boolean => /^[[{]/.test(text) && parses(text);
const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const asText = (text: string | Uint8Array): string =>
  typeof text === 'string' ? text : Buffer.from(text).toString('latin1');

export const isObeyed = (text: string | Uint8Array): boolean => {
  const shown = asText(text);
  return withoutCommands(shown) !== shown;
};

/**
 * Returns bytes that another program may read (a diff, an answer, a file) unchanged between two lines that switch commands off and on again.
 * `git apply` ignores both lines.
 */
export const unobeyed = (text: string | Uint8Array): Uint8Array => {
  const token = randomUUID();
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const end = bytes.at(-1) === 0x0a ? '' : '\n';
  return Buffer.concat([
    Buffer.from(`::stop-commands::${token}\n`),
    bytes,
    Buffer.from(`${end}::${token}::\n`),
  ]);
};
