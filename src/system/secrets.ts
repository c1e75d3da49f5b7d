/**
 * Finds secrets in a text: secretlint's recommended rules, and rules of our own for what these miss or find only in part. What is found is
 * the value itself, never a place, so that every occurrence can be hidden. A vault puts placeholders there, and the values back.
 */
import { createHmac } from 'node:crypto';
import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { STANDS_FOR_ONE, tokensIn } from '../shared/tokens.js';
import { escaped, literally, tally } from '../shared/text.js';
import { secretValues, type Environment } from './environment.js';
import { KnownValues } from './known-values.js';

// bound: A shorter value stands in ordinary text by chance; hiding it everywhere would garble what is shown.
const SECRET_CHARS = 8;
const LINE_CHARS = 6; // bound: The same of a line of a key that has several.
const BARE_CHARS = 16; // bound: The same of what is assigned without quotes: names of code stand there, too.
const NAME_PART_CHARS = 4; // bound: Words of a name are as long on average; random letters change case sooner.
const LEAST_BITS = 2.9; // bound: Bits of entropy a character, in what was drawn.
const ODD_CHARS = 64; // bound: A longer value is letters and digits; what has other characters is a table, or code.
const KEY_CHARS = 100; // bound: A private key's lines come to as much at least; what is shorter stands for one in an example.
const KEY_BLOCK_CHARS = 20_000; // bound: A private key ends within this.
const HASH_DIGITS = 8; // bound: Of the hash in a placeholder: two secrets of a run hardly ever share it.

/** The lines of one secret: one, or those of a private key. */
export type Secret = readonly string[];

/** Every call leaves two marks in the process's time line, and nothing ever takes them out. */
secretLintProfiler.mark = () => undefined;

// Left out: comments in a file must not turn the rules off; the rule for Google's key files looks at names of files, and tells no value;
// the rule for AWS costs as much as all others, and ours finds what it does.
const OUT = /-(filter-comments|gcp|aws)$/;
const PRESET = rules
  .filter(({ meta }) => !OUT.test(meta.id))
  .map((rule) => ({ id: rule.meta.id, rule }));

/** Behind the number of a Telegram bot. */
const BOT = /:(AA[\w-]{33})(?![\w-])/g;
const WEBHOOK =
  /https:\/\/(?:hooks\.slack\.com\/(?:services|workflows)|discord(?:app)?\.com\/api\/webhooks)\/([\w/-]{20,})/g;
const URL_PASSWORD = /:\/\/[^\s:/?#@"'`<>]{0,100}:([^\s/?#@"'`<>]{8,200})@/g;
const URL_USER = /:\/\/([^\s:/?#@"'`<>]{16,200})@/g;
const BEARER = /\b(?:Bearer|Basic|token)\s+([A-Za-z\d._~+/-]{16,}=*)/gi;
/** `name = value`, in whatever a program's settings are written, a URL, XML, and as JSON quotes it: in a notebook, a log. Quoted, or bare. */
const ASSIGNED =
  /(?:secret|token|passw(?:or)?d|passphrase|pwd|credential|auth|(?<=[?&])sig|(?:api|access|account|private|signing|encryption|shared|session|master|client|service|admin|deploy)[_-]?key)[\w.-]{0,40}[\\"'`\]]{0,5}[ \t]{0,20}(?::=|=>|[:=>])[ \t]{0,20}(?:(\\{0,3}["'`])((?:[^\s"'`,;()<>{}\\]|\\(?!\\{0,2}[nrt"'`])){10,512})|([\w+/.~!?#%*^@-][\w+/.~!?#%*^@=-]{9,511}))(\\{0,3}["'`nrt]|.?)/gi;
/** A private key in one piece, its lines ended in whatever way. */
const PRIVATE_KEY = new RegExp(
  String.raw`-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----)){${KEY_CHARS},${KEY_BLOCK_CHARS}}?)-----END [A-Z ]{0,40}PRIVATE KEY`,
  'g',
);
const LINE_ENDS = /(?:\\[nrt]|[\s"'`,\\])+/;

/** Names of code: words, with few digits behind them. */
const isName = (value: string): boolean => {
  const parts = value.split(/[-_./:$@]+|(?<=[a-z\d])(?=[A-Z])/).filter((part) => part !== '');
  const words = parts.every((part) => /^(?:[A-Za-z]+\d{0,2}|\d{1,4})$/.test(part));
  return words && value.length / parts.length >= NAME_PART_CHARS;
};

/** Drawn at random, as far as a text shows it. */
const looksDrawn = (value: string): boolean =>
  value.length >= SECRET_CHARS &&
  !STANDS_FOR_ONE.test(value) &&
  /\d/.test(value) &&
  /[A-Za-z]/.test(value) &&
  !isName(value) &&
  bits(value) >= LEAST_BITS;

/** In a URL nothing but a password can stand there: words are left, as `postgres` or `secret1`. */
const isPassword = (value: string): boolean =>
  !STANDS_FOR_ONE.test(value) && !/^[A-Z]?(?:[a-z]*|[A-Z]*)\d{0,4}$/.test(value);

/** Returns Shannon's entropy of a character of the text. */
const bits = (value: string): number =>
  [...tally(value).values()].reduce(
    (sum, n) => sum - (n / value.length) * Math.log2(n / value.length),
    0,
  );

/** Each once. */
export async function findSecrets(text: string): Promise<readonly Secret[]> {
  const found = new Map<string, Secret>();
  const add = (...lines: readonly string[]): void => void found.set(lines.join('\n'), lines);
  for (const token of tokensIn(text)) add(token);
  for (const [, value = ''] of text.matchAll(WEBHOOK)) add(value);
  for (const [, value = ''] of text.matchAll(URL_PASSWORD)) if (isPassword(value)) add(value);
  for (const rule of [BOT, URL_USER, BEARER])
    for (const [, value = ''] of text.matchAll(rule)) if (looksDrawn(value)) add(value);
  for (const [, quote = '', quoted = '', bare = '', next = ''] of text.matchAll(ASSIGNED))
    if (isAssigned(quoted + bare, quote, next)) add(quoted + bare);
  for (const [, block = ''] of text.matchAll(PRIVATE_KEY)) addKey(block, add);
  for (const value of await presetFinds(text)) add(value);
  return [...found.values()];
}

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

/** Quoted to its end, or bare to the end of a line, a list, an element, or one of several parameters. */
const isAssigned = (value: string, quote: string, next: string): boolean =>
  looksDrawn(value) &&
  (quote === ''
    ? value.length >= BARE_CHARS && /^(?:[\s,;"'<)&]|\\.+)?$/.test(next)
    : next.endsWith(quote.slice(-1)) &&
      (value.length <= ODD_CHARS || /^[\w+/=.:~-]+$/.test(value)));

const addKey = (block: string, add: (...lines: readonly string[]) => void): void => {
  // Above the key there may be headers, `DEK-Info: …`.
  const body = block.replace(/(?<![A-Za-z-])[A-Za-z-]+: [^\n\\]*/g, '');
  const lines = body
    .split(LINE_ENDS)
    .filter((line) => line.length >= LINE_CHARS && /^[A-Za-z\d+/]+=*$/.test(line));
  if (lines.join('').length >= KEY_CHARS && lines.some((line) => looksDrawn(line))) add(...lines);
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

/** Returns the values of the environment that could be secrets, by their names or by `env:` of a run: they may stand in files, too. */
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

// Placeholders, which stand for secrets where these must not be seen.

/** Finds what looks like a placeholder. In a file of yours it is hidden like a secret, so that each one in an answer is one of Emend's. */
export const LIKE_PLACEHOLDER = /EMEND_SECRET_\w+/g;

export const hidesSecret = (text: string): boolean => text.search(LIKE_PLACEHOLDER) !== -1;

const anyOf = (texts: Iterable<string>): string =>
  [...texts]
    .sort((a, b) => b.length - a.length)
    .map(literally)
    .join('|');

/** Values and their placeholders, one for each line of a secret. The same key gives the same ones. */
export class Vault {
  /** Line, or the same as JSON quotes it -> placeholder. */
  private readonly shown = new Map<string, string>();
  private readonly hidden = new Map<string, string>();
  private readonly lines: RegExp;
  private readonly placeholders: RegExp;

  constructor(key: string, secrets: readonly Secret[]) {
    for (const secret of secrets) {
      const hash = createHmac('sha256', key)
        .update(secret.join('\n'))
        .digest('hex')
        .slice(0, HASH_DIGITS);
      secret.forEach((line, index) => {
        if (this.shown.has(line)) return;
        const placeholder = `EMEND_SECRET_${hash}_${index + 1}`;
        this.shown.set(line, placeholder);
        this.hidden.set(placeholder, line);
      });
    }
    // Messages quote what files hold.
    for (const [line, placeholder] of [...this.shown])
      if (!this.shown.has(escaped(line))) this.shown.set(escaped(line), placeholder);
    this.lines = new RegExp(anyOf(this.shown.keys()), 'g');
    const known = this.hidden.size === 0 ? '' : `${anyOf(this.hidden.keys())}|`;
    this.placeholders = new RegExp(known + LIKE_PLACEHOLDER.source, 'g');
  }

  mask(text: string): string {
    return this.shown.size === 0
      ? text
      : text.replace(this.lines, (line) => this.shown.get(line) ?? line);
  }

  /** `isJson`: the placeholders stand in strings of JSON. `unknown`: what looks like one and is none of ours. */
  restore(
    answer: string,
    isJson: boolean,
  ): { readonly text: string; readonly unknown: readonly string[] } {
    const unknown = new Set<string>();
    const text = answer.replace(this.placeholders, (placeholder) => {
      const line = this.hidden.get(placeholder);
      if (line === undefined) unknown.add(placeholder);
      return line === undefined ? placeholder : isJson ? escaped(line) : line;
    });
    return { text, unknown: [...unknown] };
  }
}
