/** The exam over a small repository with odd bytes made here: nothing wrong, nothing refused, and it can tell what is wrong. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DIALECTS, FORMATS } from '../../../src/shared/formats.js';
import { changeOf } from './change.js';
import { exam } from './exam.js';
import type { FileChange } from './git.js';
import { judge } from './judge.js';

let repo: string;
const git = (...args: string[]): void =>
  void execFileSync(
    'git',
    ['-c', 'core.autocrlf=false', '-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args],
    {
      cwd: repo,
      env: { PATH: process.env.PATH ?? '', HOME: repo, GIT_CONFIG_NOSYSTEM: '1' },
    },
  );
const put = (path: string, bytes: string | Uint8Array): void =>
  writeFileSync(join(repo, path), bytes);
const numbered = (eol: string, changed: string): string =>
  Array.from({ length: 40 }, (_, i) => (i === 20 ? changed : i % 7 === 0 ? '}' : `line ${i}`)).join(
    eol,
  ) + eol;
const utf16 = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
const commit = (message: string): void => {
  git('add', '-A');
  git('commit', '-qm', message);
};

beforeAll(() => {
  repo = mkdtempSync(join(tmpdir(), 'exam history '));
  git('init', '-q');
  const files = (changed: string): void => {
    put('crlf.txt', numbered('\r\n', changed));
    put('cr.txt', numbered('\r', changed));
    put('utf16.txt', utf16(numbered('\r\n', `${changed} \u00e9`)));
    put('bom.txt', `\ufeff${numbered('\n', changed)}`);
    put('latin1.txt', Buffer.from(numbered('\n', `${changed} \u00e9\u00ff`), 'latin1'));
    put('no-end.txt', numbered('\n', changed).trimEnd());
    put('mixed.txt', numbered('\n', changed).replaceAll('3\n', '3\r\n'));
    put('\u00fc"q".txt', numbered('\n', `${changed}\u2028`));
  };
  files('first');
  put('empty.txt', '');
  put('gone.txt', 'x\ny\n');
  put('moved.txt', numbered('\n', 'moved'));
  put('binary', Buffer.from([1, 0, 2]));
  commit('first');
  files('second\tline');
  rmSync(join(repo, 'gone.txt'));
  renameSync(join(repo, 'moved.txt'), join(repo, 'away.txt'));
  put('away.txt', numbered('\n', 'moved and changed'));
  put('empty.txt', 'filled\n');
  put('binary', Buffer.from([1, 0, 3]));
  commit('second');
  put('no-end.txt', numbered('\n', 'second\tline'));
  put('crlf.txt', numbered('\n', 'second\tline'));
  chmodSync(join(repo, 'bom.txt'), 0o755);
  commit('third');
});
afterAll(() => {
  rmSync(repo, { recursive: true, force: true });
});

test('odd bytes, creations, deletions, moves and modes: exact in every format', async () => {
  const formats = [...FORMATS, ...DIALECTS];
  const { tally, commits } = await exam({
    repo,
    ref: 'HEAD',
    count: 10,
    seed: 1,
    formats,
    encoding: 'windows-1252',
  });
  const table = tally.print(true);
  expect({ commits, wrong: tally.wrong, table: table.includes('WRONG') }).toEqual({
    commits: 3,
    wrong: 0,
    table: false,
  });
  const rows = [...table.matchAll(/^\| ([a-z-]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) /gm)].map(
    ([, format, asked, exact, , refused]) => ({
      format,
      ends: Number(asked) - Number(exact),
      refused,
    }),
  );
  // New files of CR or of mixed line ends: an answer has no words for them.
  expect(rows).toEqual(formats.map((format) => ({ format, ends: 2, refused: '0' })));
  for (const trait of [
    'utf-16le with BOM',
    'windows-1252',
    'ends cr ',
    'ends mixed',
    'deletion',
    'rename',
    'mode',
  ])
    expect(table).toContain(trait);
  expect(table).toContain('binary 2');
  expect(table).toContain('only line ends change 1');
});

test('a result with other bytes, and another mode, is wrong', () => {
  const file: FileChange = {
    commit: 'c',
    status: 'M',
    oldMode: '100644',
    newMode: '100644',
    oldId: 'a',
    newId: 'b',
    path: 'f.txt',
  };
  const sayable = changeOf(
    file,
    { base: Buffer.from('a\nb\n'), result: Buffer.from('a\nc\n') },
    undefined,
  );
  if (typeof sayable === 'string') throw new Error(sayable);
  expect(judge('unified-diff', sayable, undefined).kind).toBe('exact');
  expect(judge('unified-diff', { ...sayable, result: Buffer.from('a\nd\n') }, undefined).kind).toBe(
    'wrong',
  );
  const line = {
    ...sayable,
    change: { ...sayable.change, edits: [{ from: 1, to: 2, lines: ['d'] }] },
  };
  expect(judge('structured-edit', line, undefined).kind).toBe('wrong');
  expect(judge('structured-edit', { ...line, endsMayDiffer: true }, undefined)).toEqual({
    kind: 'wrong',
    why: 'another text',
  });
});
