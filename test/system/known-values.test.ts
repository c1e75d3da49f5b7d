/** Attack 38: a known value in another notation is hidden like the value. */
import { describe, expect, test } from '@jest/globals';
import { redact } from '../../src/system/environment.js';
import { KnownValues } from '../../src/system/known-values.js';
import { hideSecrets } from '../../src/system/secrets.js';

const VALUE = `p@ss "w&rd'x$<é>1+/\\k`;
const hidden = (text: string, value = VALUE): string => redact(text, { A_TOKEN: value });
const bytes = (value: string): Buffer => Buffer.from(value);
const codesOf = (before: string, base: number, after = ''): string =>
  Array.from(VALUE, (char) => before + char.codePointAt(0)!.toString(base) + after).join('');
const hexOf = (before: string): string =>
  [...bytes(VALUE)].map((byte) => before + byte.toString(16).padStart(2, '0')).join('');
const json = JSON.stringify(VALUE).slice(1, -1);

const NOTATIONS: readonly (readonly [string, string])[] = [
  ['as it is', VALUE],
  ['URL', encodeURIComponent(VALUE)],
  [
    'URL, in small letters',
    encodeURIComponent(VALUE).replaceAll(/%../g, (code) => code.toLowerCase()),
  ],
  ['URL, each character', hexOf('%')],
  ['URL, twice', encodeURIComponent(encodeURIComponent(VALUE))],
  ['URL, only what must be', encodeURI(VALUE)],
  ['form', new URLSearchParams({ a: VALUE }).toString().slice('a='.length)],
  ['HTML', `p@ss &quot;w&amp;rd&#39;x$&lt;é&gt;1+/\\k`],
  ['HTML, as Python writes it', `p@ss &quot;w&amp;rd&#x27;x$&lt;é&gt;1+/\\k`],
  [
    'HTML, with more names',
    `p&commat;ss &quot;w&amp;rd&apos;x&dollar;&lt;é&gt;1&plus;&sol;&bsol;k`,
  ],
  ['HTML, each character', codesOf('&#', 10, ';')],
  ['HTML, each character in hexadecimal', codesOf('&#X', 16, ';')],
  ['JSON', json],
  ['JSON, ASCII only', json.replace('é', String.raw`\u00e9`)],
  ['JSON in JSON', JSON.stringify(json).slice(1, -1)],
  [
    'JSON for HTML',
    json.replaceAll(/[<>&']/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`),
  ],
  ['JSON in a URL', encodeURIComponent(json)],
  ['URL in HTML', encodeURIComponent(VALUE).replaceAll("'", '&#39;')],
  ['shell, as `printf %q` writes it', String.raw`p@ss\ \"w\&rd\'x\$\<é\>1+/\\k`],
  ['shell, as `set -x` writes it', `p@ss "w&rd'\\''x$<é>1+/\\k`],
  ['shell, as Python writes it', `p@ss "w&rd'"'"'x$<é>1+/\\k`],
  ['shell, in double quotes', String.raw`p@ss \"w&rd'x\$<é>1+/\\k`],
  ['C', hexOf('\\x')],
  ['octal', [...bytes(VALUE)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')],
  ['hexadecimal', bytes(VALUE).toString('hex')],
  ['hexadecimal, capitals', bytes(VALUE).toString('hex').toUpperCase()],
  ['hexadecimal, in columns', hexOf(' ').trim()],
];

describe('38: a known value', () => {
  test.each(NOTATIONS)('%s', (_notation, text) => {
    expect(hidden(`before ${text} after`)).toBe('before [redacted] after');
    expect(hidden(`<${text}>\n<${text}>`)).toBe('<[redacted]>\n<[redacted]>');
  });

  test.each([0, 1, 2, 3, 4])('in base64, behind %i bytes', (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.concat([bytes('user:'.slice(0, before)), bytes(VALUE)]).toString(
        encoding,
      );
      const shown = hidden(`Basic ${text}`);
      expect(shown).toContain('[redacted]');
      // At both ends a character has bits of a neighbor.
      expect(shown.replace('[redacted]', '').length - 'Basic '.length).toBeLessThan(10);
      expect(hidden(encodeURIComponent(text))).toContain('[redacted]');
    }
  });

  test('in base64, in lines of 76 characters', () => {
    const long = Array.from({ length: 40 }, (_item, index) => `part${index * 7}`).join('-');
    const lines = bytes(long).toString('base64').replaceAll(/.{76}/g, '$&\n');
    expect(lines.split('\n').length).toBeGreaterThan(3);
    expect(hidden(`a\n${lines}\nb`, long)).toMatch(/^a\n\[redacted\].{0,3}\nb$/);
    expect(hidden(JSON.stringify({ lines }), long)).toContain('[redacted]');
  });

  test.each([
    'x%41%42%43%44%45%46',
    'a&amp;b&lt;c',
    String.raw`C:\new\table`,
    'ends with \\',
    'a+b c+d=',
    '+++///+++',
  ])('%s looks like an escape itself, and is found', (value) => {
    for (const text of [
      value,
      encodeURIComponent(value),
      JSON.stringify(value),
      bytes(value).toString('base64').replace(/.=+$/, ''),
    ])
      expect(hidden(text, value)).toContain('[redacted]');
  });
});

describe('what is no value stays as it is', () => {
  const TEXT = `100% \\o/ C:\\temp &amp; 'a'\\''b' %zz &#x; &nothing; \ud800 1+1=2 \\`;
  test('in any notation', () => {
    expect(hidden(TEXT)).toBe(TEXT);
    expect(hidden(`${TEXT} ${encodeURIComponent(VALUE)}${TEXT}`)).toBe(`${TEXT} [redacted]${TEXT}`);
  });

  test.each(['%41%42%43', '&lt;&gt;', String.raw`\\\\\\\\`, 'abc123'])(
    'the short value %s hides no ordinary text',
    (value) => {
      const text = 'ABC <> abc 616263 YWJj abc12 3abc \\ 41 42 43';
      expect(hidden(text, value)).toBe(text);
    },
  );
});

test('values that overlap are hidden together, and those next to each other one by one', () => {
  const values = new KnownValues(['abcdef', 'defghi']);
  expect(values.hide('xabcdefghix', '*')).toBe('x*x');
  expect(values.hide('abcdefdefghi', '*')).toBe('**');
});

test('38: a recognized token, which occurs again in another notation, and in another field', async () => {
  const token = `ghp_${'a1B2c3'.repeat(6)}`;
  const note = { note: token, other: bytes(token).toString('base64'), third: hexOf('') };
  const shown = await hideSecrets(note, []);
  expect(shown.note).toBe('(secret)');
  expect(shown.other.replace('(secret)', '').length).toBeLessThan(4);
  expect(shown.third).toBe(note.third);
});

test('time in proportion to the text', () => {
  const values = new KnownValues([
    VALUE,
    'Zq8rT2vLk0Xn',
    '%'.repeat(40),
    '\\'.repeat(40),
    'aaaaaaaaaaaa',
  ]);
  for (const unit of [
    '%25',
    '&amp;',
    '\\',
    "'",
    `'"`,
    '&#0',
    '%',
    'a',
    '&#',
    '\\x',
    '%C3',
    '\\3',
    '+',
    ' ',
    'aaaaaaaaaaa%61',
  ]) {
    const started = process.cpuUsage();
    values.hide(unit.repeat(500_000 / unit.length), '*');
    expect([unit, process.cpuUsage(started).user / 1_000 < 3_000]).toEqual([unit, true]);
  }
}, 60_000);
