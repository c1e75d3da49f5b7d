/** Archives in the txtar format hold every file byte for byte. */
import { describe, expect, test } from '@jest/globals';
import { readTxtar, writeTxtar } from './txtar.js';

describe('txtar', () => {
  test.each([
    ['text', 'a\nb\n', '-- a.txt --\na\nb\n'],
    ['an empty file', '', '-- a.txt --\n'],
    ['text without a newline at its end', 'a', '-- a.txt (no newline at end) --\na\n'],
    ['only newlines', '\n\n', '-- a.txt --\n\n\n'],
    ['a carriage return', 'a\r\n', '-- a.txt (base64) --\nYQ0K\n'],
    ['a byte order mark', '\ufeffa\n', '-- a.txt (base64) --\n77u/YQo=\n'],
    ['a line that opens a part', '-- b --\n', '-- a.txt (base64) --\nLS0gYiAtLQo=\n'],
    ['bytes that are no UTF-8', Buffer.from([0xe9, 0x0a]), '-- a.txt (base64) --\n6Qo=\n'],
  ])('%s is written so that it is read back', (_, content, archive) => {
    const file = { path: 'a.txt', bytes: Buffer.from(content) };
    expect(writeTxtar([file])).toBe(archive);
    expect(readTxtar(archive)).toEqual([file]);
  });

  test('parts keep their order, and comments come before the first', () => {
    const files = readTxtar('# Two files.\n\n-- b/c.txt --\n1\n-- a b.txt --\n2\n');
    expect(files.map(({ path, bytes }) => [path, bytes.toString()])).toEqual([
      ['b/c.txt', '1\n'],
      ['a b.txt', '2\n'],
    ]);
  });

  test('text before the first part is an error, since it would be lost', () => {
    expect(() => readTxtar('a\n-- b --\n')).toThrow('a line before the first "-- name --": a');
  });

  test('long bytes are broken into lines of 76 characters', () => {
    const bytes = Buffer.alloc(100, 0xff);
    const archive = writeTxtar([{ path: 'a', bytes }]);
    expect(Math.max(...archive.split('\n').map((line) => line.length))).toBe(76);
    expect(readTxtar(archive)).toEqual([{ path: 'a', bytes }]);
  });
});
