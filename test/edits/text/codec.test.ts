import { describe, expect, test } from '@jest/globals';
import { answerLines, decodeFile, describeFile } from '../../../src/edits/text/codec.js';
import { splitLines } from '../../../src/edits/text/lines.js';

describe('splitLines', () => {
  test.each<[string, string[], string[]]>([
    ['', [], []],
    ['a', ['a'], ['']],
    ['a\nb\r\nc', ['a', 'b', 'c'], ['\n', '\r\n', '']],
    ['\n', [''], ['\n']],
    ['a\rb\r', ['a', 'b'], ['\r', '\r']],
    ['a\r\rb', ['a', '', 'b'], ['\r', '\r', '']],
    ['a\rb\n', ['a\rb'], ['\n']],
    ['\r\n\n', ['', ''], ['\r\n', '\n']],
  ])('%j', (text, lines, ends) => {
    expect(splitLines(text)).toEqual({ lines, ends });
  });
});

test.each<[string, string[]]>([
  ['', []],
  ['\n', ['']],
  ['a', ['a']],
  ['a\r\n', ['a']],
  ['a\n\n', ['a', '']],
  ['a\rb\n', ['a\rb']],
])('answerLines(%j)', (text, lines) => {
  expect(answerLines(text)).toEqual(lines);
});

const utf16le = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);

describe('describeFile', () => {
  test.each<[string, Uint8Array, object]>([
    [
      'UTF-8',
      Buffer.from('é\n'),
      { encoding: 'utf-8', bom: false, eol: 'lf', lines: 1, finalNewline: true },
    ],
    [
      'BOM',
      Buffer.from('\ufeffa\r\nb'),
      { encoding: 'utf-8', bom: true, eol: 'crlf', lines: 2, finalNewline: false },
    ],
    [
      'UTF-16 LE',
      utf16le('a\nb\r\n'),
      { encoding: 'utf-16le', bom: true, eol: 'mixed', lines: 2, finalNewline: true },
    ],
    ['UTF-16 BE', utf16le('a\r').swap16(), { encoding: 'utf-16be', eol: 'cr', lines: 1 }],
    ['bytes', Buffer.from([0x61, 0xe9, 0x0a]), { encoding: 'bytes', eol: 'lf', lines: 1 }],
    [
      'empty',
      Buffer.from(''),
      { encoding: 'utf-8', eol: 'none', lines: 0, finalNewline: false, binary: false },
    ],
    [
      'binary',
      Buffer.from('\0b'),
      { encoding: 'binary', bom: false, eol: 'none', lines: 0, finalNewline: false, binary: true },
    ],
    ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), { binary: true }],
  ])('%s', (_name, bytes, expected) => {
    expect(describeFile(bytes)).toMatchObject(expected);
  });
});

test('every byte sequence without NUL comes back as it was', () => {
  const all = Uint8Array.from({ length: 255 }, (_, i) => i + 1);
  for (const bytes of [all, Buffer.from('\ufeffaé👋\r\n'), utf16le('a\ud800b\n')]) {
    const decoded = decodeFile(bytes);
    if (!decoded.ok) throw new Error(decoded.problem.message);
    const { text, codec } = decoded;
    const joined = text.lines.map((line, i) => line + (text.ends[i] ?? '')).join('');
    expect(Buffer.concat([codec.bom, codec.encode(joined)])).toEqual(Buffer.from(bytes));
    expect(codec.size(joined)).toBe(bytes.length - codec.bom.length);
  }
});

test('a configured single-byte encoding is read and written by its letters', () => {
  const bytes = Buffer.from([0x80, 0x0a, 0xe9]);
  const decoded = decodeFile(bytes, 'windows-1252');
  if (!decoded.ok) throw new Error(decoded.problem.message);
  expect(decoded.text.lines).toEqual(['€', 'é']);
  expect([...decoded.codec.encode('é€')]).toEqual([0xe9, 0x80]);
  expect(decoded.codec.holds('日')).toBe(false);
  expect(decoded.codec.holds('\0')).toBe(false);
  // Bytes without a letter of their own.
  expect(decodeFile(bytes, 'windows-1253')).toMatchObject({
    ok: false,
    problem: { code: 'config_invalid' },
  });
  expect(decodeFile(bytes, 'shift_jis')).toMatchObject({
    ok: false,
    problem: { code: 'config_invalid' },
  });
  expect(decodeFile(Buffer.from('é'), 'windows-1252')).toMatchObject({
    ok: true,
    codec: { encoding: 'utf-8' },
  });
});

test.each<[string, Uint8Array, string[], string[]]>([
  [
    'UTF-8',
    Buffer.from('a'),
    ['a', '\x7f', '\u00e9', '\u{1f600}', '\ue000'],
    ['\0', '\ud800', '\udc00', '\udfff'],
  ],
  ['UTF-16', utf16le('a'), ['a', '\u00e9', '\u{1f600}'], ['\0', '\udfff']],
  ['bytes', Buffer.from([0xe9]), ['a', '\x01', '\x7f'], ['\0', '\x80', '\u00e9']],
])('what may be added to %s', (_name, bytes, good, bad) => {
  const decoded = decodeFile(bytes);
  if (!decoded.ok) throw new Error(decoded.problem.message);
  expect(good.filter((c) => !decoded.codec.holds(c))).toEqual([]);
  expect(bad.filter((c) => decoded.codec.holds(c))).toEqual([]);
});
