/** The combined diff against the real `git apply`. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type DiffFile,
  combinedDiff,
  countChanged,
} from '../../../src/edits/proposal/write-diff.js';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'emend diff '));
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

const bytes = (text: string | null): Uint8Array | null =>
  text === null ? null : Buffer.from(text);
const file = (
  path: string,
  base: string | null,
  result: string | null,
  more: Partial<DiffFile> = {},
): DiffFile => ({
  path,
  base: bytes(base),
  result: bytes(result),
  ...more,
});
const many = (change: (line: number) => string): string =>
  Array.from({ length: 60 }, (_, i) => `${change(i)}\n`).join('');

const CASES: [string, DiffFile[]][] = [
  ['a change', [file('a.txt', 'a\nb\nc\n', 'a\nB\nc\n')]],
  [
    'several hunks',
    [
      file(
        'a.txt',
        many((i) => `line ${i}`),
        many((i) => (i % 20 === 5 ? `new ${i}` : `line ${i}`)),
      ),
    ],
  ],
  ['a new file', [file('dir/new.txt', null, 'a\nb\n')]],
  ['a new executable file', [file('run.sh', null, '#!/bin/sh\n', { resultMode: 0o755 })]],
  ['a new empty file', [file('empty', null, '')]],
  ['a deleted file', [file('a.txt', 'a\nb', null)]],
  ['a deleted executable', [file('a.sh', 'a\n', null, { baseMode: 0o755 })]],
  ['a mode alone', [file('a.sh', 'a\n', 'a\n', { baseMode: 0o644, resultMode: 0o755 })]],
  ['a mode and a change', [file('a.sh', 'a\n', 'b\n', { baseMode: 0o755, resultMode: 0o644 })]],
  ['a final newline lost', [file('a.txt', 'a\nb\n', 'a\nb')]],
  ['a final newline won', [file('a.txt', 'a\nb', 'a\nb\n')]],
  ['none on both sides', [file('a.txt', 'a\nb', 'x\nb')]],
  ['all lines gone', [file('a.txt', 'a\nb\n', '')]],
  ['an empty file filled', [file('a.txt', '', 'a\n')]],
  ['CRLF, mixed and lone CR', [file('a.txt', 'a\r\nb\nc\rd\r\n', 'a\r\nB\r\nc\rD\n')]],
  ['a byte order mark', [file('a.txt', '\ufeffa\nb\n', '\ufeffa\nc\n')]],
  ['a move', [file('b.txt', 'a\nb\nc\n', 'a\nb\nc\n', { moveFrom: 'a.txt' })]],
  ['a move with a change', [file('x y/b.txt', 'a\nb\nc\n', 'a\nB\nc\n', { moveFrom: 'a b.txt' })]],
  ['a path with blanks', [file('a b/c d.txt', 'a\n', 'b\n'), file('e f', null, 'x\n')]],
  ['a quoted path', [file('q"uote\\.txt', 'a\n', 'b\n'), file('tab\there', null, 'x\n')]],
  ['a path in other letters', [file('größe/日本.txt', 'a\n', 'b\n')]],
  ['lines that look like a diff', [file('a.txt', '--- a/x\n+++ b/x\n', '--- a/x\n@@ -1 +1 @@\n')]],
];

const run = (files: readonly DiffFile[], diff = combinedDiff(files)): string => {
  const folder = mkdtempSync(join(root, 'case '));
  for (const f of files) {
    if (f.base === null) continue;
    const at = join(folder, f.moveFrom ?? f.path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, f.base);
    chmodSync(at, f.baseMode ?? 0o644);
  }
  execFileSync('git', ['init', '-q'], { cwd: folder });
  execFileSync('git', ['apply', '--whitespace=nowarn', '-'], {
    cwd: folder,
    input: diff,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return folder;
};

describe('git apply makes the result of', () => {
  test.each(CASES)('%s', (_name, files) => {
    const folder = run(files);
    for (const f of files) {
      const at = join(folder, f.path);
      expect(existsSync(at)).toBe(f.result !== null);
      if (f.moveFrom !== undefined) expect(existsSync(join(folder, f.moveFrom))).toBe(false);
      if (f.result === null) continue;
      expect(readFileSync(at)).toEqual(Buffer.from(f.result));
      expect(statSync(at).mode & 0o111).toBe((f.resultMode ?? f.baseMode ?? 0o644) & 0o111);
    }
  });

  test('all of them in one diff', () => {
    const files = CASES.flatMap(([, group], i) =>
      group.map((f) => ({
        ...f,
        path: `${i}/${f.path}`,
        ...(f.moveFrom === undefined ? {} : { moveFrom: `${i}/${f.moveFrom}` }),
      })),
    );
    const folder = run(files);
    for (const f of files)
      if (f.result !== null)
        expect(readFileSync(join(folder, f.path))).toEqual(Buffer.from(f.result));
  });

  test('the text beside files that are not UTF-8, which are shown as comments', () => {
    const latin = {
      path: 'l.txt',
      base: Buffer.from('caf\u00e9\n', 'latin1'),
      result: Buffer.from('caf\u00e9s\n', 'latin1'),
    };
    const binary = { path: 'b.bin', base: Buffer.from('a\0'), result: Buffer.from('b\0') };
    const files = [latin, file('a.txt', 'a\n', 'b\n'), binary];
    const diff = combinedDiff(files);
    expect(diff).toContain('# -café\n# +cafés\n');
    expect(diff).toContain('# Binary files a/b.bin and b/b.bin differ\n');
    const folder = run(files, diff);
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('b\n');
    expect(readFileSync(join(folder, 'l.txt'))).toEqual(latin.base);
  });
});

test('files without any change are left out', () => {
  expect(combinedDiff([file('a', 'x\n', 'x\n'), file('b', null, null)])).toBe('');
});

test('countChanged counts lines', () => {
  expect(
    countChanged([
      file('a', 'a\nb\nc\n', 'a\nB\nC\nD\n'),
      file('n', null, 'x\ny'),
      file('d', 'z\n', null),
    ]),
  ).toEqual({
    added: 5,
    removed: 3,
  });
});
