/**
 * Finds secrets in a text, by secretlint's recommended rules and by our own rules for secrets that these miss or find only in part. A result is
 * the value itself, never a place, so that every occurrence can be hidden (vault.ts).
 */
import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { STANDS_FOR_ONE, tokensIn } from '../shared/tokens.js';
import { tally } from '../shared/text.js';
import { secretValues, type Environment } from './environment.js';
import { KnownValues } from './known-values.js';

// bound: A shorter value occurs in ordinary text by chance. Hiding it everywhere would garble the text.
const SECRET_CHARS = 8;
const LINE_CHARS = 6; // bound: A shorter line of a key with several lines occurs by chance.
const BARE_CHARS = 16; // bound: A shorter value that is assigned without quotes may be a name of code.
const NAME_PART_CHARS = 4; // bound: Words of a name are as long on average; random letters change case sooner.
const LEAST_BITS = 2.9; // bound: Least bits of entropy of a character in a random value.
const ODD_CHARS = 64; // bound: A longer value has only letters and digits. One with other characters is a table, or code.
const KEY_CHARS = 100; // bound: Least characters of a private key. A shorter one is an example.
const KEY_BLOCK_CHARS = 20_000; // bound: A private key ends within this.

/** The lines of one secret: one, or those of a private key. */
export type Secret = readonly string[];

/** Every call of secretlint would leave two marks in the process's time line, and nothing ever removes them. */
secretLintProfiler.mark = () => undefined;

// These rules are not used. Comments in a file must not turn the rules off. The rule for Google's key files looks at names of files, and
// reports no value. The rule for AWS takes as long as all others, and ours finds the same.
const OUT = /-(filter-comments|gcp|aws)$/;
const PRESET = rules
  .filter(({ meta }) => !OUT.test(meta.id))
  .map((rule) => ({ id: rule.meta.id, rule }));

/** The secret that follows the number of a Telegram bot. */
const BOT = /:(AA[\w-]{33})(?![\w-])/g;
const WEBHOOK =
  /https:\/\/(?:hooks\.slack\.com\/(?:services|workflows)|discord(?:app)?\.com\/api\/webhooks)\/([\w/-]{20,})/g;
const URL_PASSWORD = /:\/\/[^\s:/?#@"'`<>]{0,100}:([^\s/?#@"'`<>]{8,200})@/g;
const URL_USER = /:\/\/([^\s:/?#@"'`<>]{16,200})@/g;
const BEARER = /\b(?:Bearer|Basic|token)\s+([A-Za-z\d._~+/-]{16,}=*)/gi;
/** `name = value`, quoted or bare, in any notation of settings, in a URL, in XML, and as JSON quotes it in a notebook or a log. */
const ASSIGNED =
  /(?:secret|token|passw(?:or)?d|passphrase|pwd|credential|auth|(?<=[?&])sig|(?:api|access|account|private|signing|encryption|shared|session|master|client|service|admin|deploy)[_-]?key)[\w.-]{0,40}[\\"'`\]]{0,5}[ \t]{0,20}(?::=|=>|[:=>])[ \t]{0,20}(?:(\\{0,3}["'`])((?:[^\s"'`,;()<>{}\\]|\\(?!\\{0,2}[nrt"'`])){10,512})|([\w+/.~!?#%*^@-][\w+/.~!?#%*^@=-]{9,511}))(\\{0,3}["'`nrt]|.?)/gi;
/** A private key in one piece, with any line ends. */
const PRIVATE_KEY = new RegExp(
  String.raw`-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----)){${KEY_CHARS},${KEY_BLOCK_CHARS}}?)-----END [A-Z ]{0,40}PRIVATE KEY`,
  'g',
);
const LINE_ENDS = /(?:\\[nrt]|[\s"'`,\\])+/;

/** Returns whether a value is a name of code: words, each followed by few digits. */
const isName = (value: string): boolean => {
  const parts = value.split(/[-_./:$@]+|(?<=[a-z\d])(?=[A-Z])/).filter((part) => part !== '');
  const words = parts.every((part) => /^(?:[A-Za-z]+\d{0,2}|\d{1,4})$/.test(part));
  return words && value.length / parts.length >= NAME_PART_CHARS;
};

/** Returns whether a value looks random. */
const looksRandom = (value: string): boolean =>
  value.length >= SECRET_CHARS &&
  !STANDS_FOR_ONE.test(value) &&
  /\d/.test(value) &&
  /[A-Za-z]/.test(value) &&
  !isName(value) &&
  bits(value) >= LEAST_BITS;

/** Returns whether the password in a URL is a secret. Simple words such as `postgres` or `secret1` are none. */
const isPassword = (value: string): boolean =>
  !STANDS_FOR_ONE.test(value) && !/^[A-Z]?(?:[a-z]*|[A-Z]*)\d{0,4}$/.test(value);

/** Returns Shannon's entropy of a character of the text. */
const bits = (value: string): number =>
  [...tally(value).values()].reduce(
    (sum, n) => sum - (n / value.length) * Math.log2(n / value.length),
    0,
  );

/** Returns the secrets of a text, each once. */
export async function findSecrets(text: string): Promise<readonly Secret[]> {
  const found = new Map<string, Secret>();
  const add = (...lines: readonly string[]): void => void found.set(lines.join('\n'), lines);
  for (const value of [...tokensIn(text), ...valuesIn(text, WEBHOOK)]) add(value);
  for (const value of valuesIn(text, URL_PASSWORD).filter(isPassword)) add(value);
  for (const rule of [BOT, URL_USER, BEARER])
    for (const value of valuesIn(text, rule).filter(looksRandom)) add(value);
  for (const value of assignedValues(text)) add(value);
  for (const [, block = ''] of text.matchAll(PRIVATE_KEY)) addKey(block, add);
  for (const value of await presetFinds(text)) add(value);
  return [...found.values()];
}

const valuesIn = (text: string, rule: RegExp): readonly string[] =>
  [...text.matchAll(rule)].map(([, value = '']) => value);

const assignedValues = (text: string): readonly string[] =>
  [...text.matchAll(ASSIGNED)].flatMap(([, quote = '', quoted = '', bare = '', next = '']) =>
    isAssigned(quoted + bare, quote, next) ? [quoted + bare] : [],
  );

/**
 * Returns a text, or a value of JSON, with `(secret)` for what is recognized, and for known values in whatever notation. Each of its texts is
 * also searched by itself: as JSON quotes it, none shows where a value ends.
 */
export const hideSecrets = async <T>(
  words: T,
  known: readonly Secret[] = secretsOfEnvironment(process.env),
): Promise<T> => {
  const texts = [JSON.stringify(words)];
  const inEach = (change: (text: string) => string): T =>
    JSON.parse(
      JSON.stringify(words, (_key, item: unknown) =>
        typeof item === 'string' ? change(item) : item,
      ),
    ) as T;
  inEach((text) => (texts.push(text), text));
  const found = await findSecrets(texts.join('\n'));
  const values = new KnownValues([...known, ...found].flat());
  return inEach((text) => values.hide(text, '(secret)'));
};

/**
 * Returns whether an assigned value is a secret: it looks random, and is quoted to its end, or bare to the end of a line, a list, an element, or
 * one of several parameters.
 */
const isAssigned = (value: string, quote: string, next: string): boolean =>
  looksRandom(value) &&
  (quote === ''
    ? value.length >= BARE_CHARS && /^(?:[\s,;"'<)&]|\\.+)?$/.test(next)
    : next.endsWith(quote.slice(-1)) &&
      (value.length <= ODD_CHARS || /^[\w+/=.:~-]+$/.test(value)));

/** Adds the lines of a private key. */
const addKey = (block: string, add: (...lines: readonly string[]) => void): void => {
  // Headers such as `DEK-Info: …` may precede the key.
  const body = block.replace(/(?<![A-Za-z-])[A-Za-z-]+: [^\n\\]*/g, '');
  const lines = body
    .split(LINE_ENDS)
    .filter((line) => line.length >= LINE_CHARS && /^[A-Za-z\d+/]+=*$/.test(line));
  if (lines.join('').length >= KEY_CHARS && lines.some((line) => looksRandom(line))) add(...lines);
};

const presetFinds = async (content: string): Promise<readonly string[]> => {
  const { messages } = await lintSource({
    source: { filePath: 'text', content, contentType: 'text' },
    options: { noPhysicFilePath: true, config: { rules: PRESET } },
  });
  return messages.flatMap((message) =>
    'data' in message
      ? Object.values(message.data ?? {}).flatMap((value) =>
          typeof value === 'string' ? core(value) : [],
        )
      : [],
  );
};

/** Returns the secret part of what a rule reports: it reports whole URLs, and rests of lines. Keys have a rule of ours. */
const core = (value: string): readonly string[] => {
  if (value.includes('PRIVATE KEY')) return [];
  const password = /:\/\/[^\s:/@]*:([^\s@]+)@/.exec(value)?.[1];
  const secret = password ?? /[^\s"'`,;()<>]+/.exec(value)?.[0] ?? '';
  return secret.includes('://') || secret.length < SECRET_CHARS || !isPassword(secret)
    ? []
    : [secret];
};

/** Returns the values of the environment that could be secrets, by their names or by `env:` of a run: files may have them also. */
export const secretsOfEnvironment = (
  env: Environment,
  names: readonly string[] = [],
): readonly Secret[] =>
  secretValues(env, names)
    .filter(
      (value) =>
        value.length >= SECRET_CHARS && isPassword(value) && !/^[./~]|:\/\/|\s/.test(value),
    )
    .map((value) => [value]);
