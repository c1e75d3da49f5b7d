/** Real `git diff` output, read by us and applied by real `git apply`: the same bytes. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { spliced } from '../../src/edits/text/to-splices.js';
import { decodeFile } from '../../src/edits/text/codec.js';
import { unifiedDiff } from '../../src/edits/dialects/unified-diff/index.js';
import { read as readResponse } from '../../src/edits/settle.js';
import { sampled } from '../support/seeded.js';
import { contextOf, whyNot } from './locate-support.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'unified-diff-git-'));
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

const git = (dir: string, ...args: string[]): string =>
  execFileSync(
    'git',
    ['-c', 'core.autocrlf=false', '-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args],
    {
      cwd: dir,
      encoding: 'utf8',
      env: { PATH: process.env.PATH ?? '', HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
const put = (dir: string, path: string, text: string): void => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
};

const lines = (n: number, end = '\n'): string =>
  Array.from({ length: n }, (_, i) => `line ${i % 7}${end}`).join('');
type Tree = Readonly<Record<string, string>>;
interface Case {
  readonly name: string;
  readonly before: Tree;
  readonly after: Tree;
  readonly executable?: readonly string[];
  readonly args?: readonly string[];
}

const cases: Case[] = [
  {
    name: 'one change among repeated lines',
    before: { f: lines(50) },
    after: { f: lines(50).replace('line 3\nline 4', 'line 3\nnew\nline 4') },
  },
  {
    name: 'many changes',
    before: { f: lines(200) },
    after: { f: lines(200).replaceAll('line 5', 'LINE').replace('line 1\n', '') },
  },
  {
    name: 'one line of context',
    before: { f: lines(60) },
    after: { f: lines(60).replaceAll('line 2\nline 3', 'x') },
    args: ['-U1'],
  },
  {
    name: 'no context, no bare additions',
    before: { f: lines(60) },
    after: { f: lines(60).replaceAll('line 2', 'x') },
    args: ['-U0'],
  },
  {
    name: 'CRLF',
    before: { f: lines(30, '\r\n') },
    after: { f: lines(30, '\r\n').replace('line 6', 'six') },
  },
  { name: 'final line end added', before: { f: 'a\nb' }, after: { f: 'a\nb\n' } },
  { name: 'final line end taken', before: { f: 'a\nb\n' }, after: { f: 'a\nb' } },
  { name: 'no final line end, changed', before: { f: 'a\nb' }, after: { f: 'a\nc' } },
  { name: 'no final line end, appended', before: { f: 'a\nb' }, after: { f: 'a\nb\nc' } },
  { name: 'a new file', before: { f: 'x\n' }, after: { f: 'x\n', 'dir/new.txt': '1\n2\n' } },
  { name: 'a new empty file', before: { f: 'x\n' }, after: { f: 'x\n', empty: '' } },
  { name: 'a new file without line end', before: { f: 'x\n' }, after: { f: 'x\n', n: '1' } },
  { name: 'a deletion', before: { f: 'x\n', g: lines(5) }, after: { f: 'x\n' } },
  { name: 'an empty file deleted', before: { f: 'x\n', g: '' }, after: { f: 'x\n' } },
  { name: 'an empty file filled', before: { f: '' }, after: { f: 'x\n' } },
  { name: 'a file emptied', before: { f: 'x\ny\n' }, after: { f: '' } },
  { name: 'a rename', before: { f: lines(20) }, after: { 'dir/g': lines(20) } },
  {
    name: 'a rename with a change',
    before: { f: lines(20) },
    after: { g: lines(20).replace('line 4', 'four') },
  },
  { name: 'a mode', before: { f: 'x\n' }, after: { f: 'x\n' }, executable: ['f'] },
  {
    name: 'a mode and a change',
    before: { f: lines(9) },
    after: { f: lines(9).replace('line 4', 'four') },
    executable: ['f'],
  },
  {
    name: 'a new executable',
    before: { f: 'x\n' },
    after: { f: 'x\n', run: '#!/bin/sh\n' },
    executable: ['run'],
  },
  {
    name: 'quoted names',
    before: { 'é "q".txt': lines(9), ß: 'x\n' },
    after: { 'é "q".txt': lines(9).replace('line 4', '4'), ß: 'y\n' },
  },
  {
    name: 'names with blanks',
    before: { 'a b/c d': lines(9) },
    after: { 'a b/c d': lines(9).replace('line 4', '4') },
  },
  {
    name: 'names that begin as prefixes do',
    before: { 'a/a/f': 'x\n', 'b/f': 'x\n' },
    after: { 'a/a/f': 'y\n', 'b/f': 'y\n' },
  },
  {
    name: 'no prefixes',
    before: { 'src/f': 'x\n' },
    after: { 'src/f': 'y\n' },
    args: ['--no-prefix'],
  },
  ...[
    ['i/', 'w/'],
    ['b/', 'a/'],
    ['', ''],
  ].map(([from = '', to = '']) => ({
    name: `the prefixes "${from}" and "${to}" of new, deleted, moved and other files`,
    before: { 'a/f': lines(9), 'b/f': 'x\n', 'w/g': lines(30), 'i/h': lines(40), h: 'h\n' },
    after: {
      'a/f': lines(8),
      'b/g': 'x\n',
      'i/new': 'n\n',
      'a/g': lines(30),
      'w/h': lines(41),
      h: 'h\n',
    },
    executable: ['h'],
    args: from === '' ? ['--no-prefix'] : [`--src-prefix=${from}`, `--dst-prefix=${to}`],
  })),
  {
    name: 'lines that look like a diff',
    before: { f: '-- a/f\n++ b/f\n@@ -1 +1 @@\ndiff --git a/f b/f\n' },
    after: { f: '@@ -1 +1 @@\n++ b/f\n++ c\ndiff --git a/f b/f\n' },
  },
  {
    name: 'lines of white space',
    before: { f: 'a\n\n \n\t\nb\n' },
    after: { f: 'a\n\n\t\n \nb\n' },
  },
  {
    name: 'several files',
    before: { f: lines(30), g: lines(30), h: 'x\n' },
    after: { f: lines(30).replace('line 1', '1'), g: lines(31), k: 'n\n' },
  },
];

describe('unified-diff, against git', () => {
  test.each(sampled('diffs of git', cases, 10))(
    '$name',
    ({ name, before, after, executable = [], args = [] }) => {
      const dir = mkdtempSync(join(home, 'repo '));
      git(dir, 'init', '-q');
      for (const [path, text] of Object.entries(before)) put(dir, path, text);
      git(dir, 'add', '-A');
      git(dir, 'commit', '-qm', name);
      for (const path of Object.keys(before)) if (!(path in after)) rmSync(join(dir, path));
      for (const [path, text] of Object.entries(after)) put(dir, path, text);
      for (const path of executable) chmodSync(join(dir, path), 0o755);
      git(dir, 'add', '-A');
      const diff = git(dir, 'diff', '--cached', '-M', ...args);
      expect(diff).not.toBe('');

      // git's own result, from the same diff
      git(dir, 'reset', '-q', '--hard');
      writeFileSync(join(home, 'patch'), diff);
      git(
        dir,
        'apply',
        ...(args.includes('-U0') ? ['--unidiff-zero'] : []),
        ...(args.includes('--no-prefix') ? ['-p0'] : []),
        join(home, 'patch'),
      );

      // ours
      // Git's line numbers count in the very file that the diff was made for; we take their word with its hash.
      const base = new Map(Object.entries(before).map(([path, text]) => [path, sha256(text)]));
      const options = { mayCreateUnder: [''], allowDelete: true, base };
      const reading = readResponse(unifiedDiff, diff, contextOf(before, options)).reading;
      if (reading.kind !== 'plans') throw new Error(whyNot(reading));
      expect(reading.tolerances).toEqual([]);
      git(dir, 'stash', '-q', '-u');
      const origin = new Map<string, string>();
      for (const plan of reading.plans) {
        if (plan.kind === 'delete') rmSync(join(dir, plan.path));
        else if (plan.kind === 'move') {
          mkdirSync(dirname(join(dir, plan.path)), { recursive: true });
          renameSync(join(dir, plan.from), join(dir, plan.path));
          origin.set(plan.path, plan.from);
        } else {
          const old = before[origin.get(plan.path) ?? plan.path];
          const bytes = old === undefined ? null : new TextEncoder().encode(old);
          const decoded = bytes === null ? null : decodeFile(bytes);
          const outcome = spliced(
            bytes !== null && decoded?.ok
              ? { bytes, text: decoded.text, codec: decoded.codec }
              : null,
            plan,
          );
          if (!outcome.ok) throw new Error(outcome.reasons.map((r) => r.message).join());
          put(dir, plan.path, new TextDecoder().decode(outcome.bytes));
          if (plan.mode !== undefined) chmodSync(join(dir, plan.path), plan.mode);
        }
      }
      const ours = new Map<string, string>();
      const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
      const snapshot = (into: Map<string, string>): void => {
        for (const path of paths) {
          const at = join(dir, path);
          if (existsSync(at))
            into.set(path, `${statSync(at).mode & 0o100} ${readFileSync(at, 'latin1')}`);
        }
      };
      snapshot(ours);
      git(dir, 'add', '-A');
      git(dir, 'reset', '-q', '--hard');
      git(dir, 'stash', 'pop', '-q');
      const theirs = new Map<string, string>();
      snapshot(theirs);
      expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(theirs));
      for (const [path, text] of Object.entries(after))
        expect(theirs.get(path)?.slice(theirs.get(path)?.indexOf(' ')).slice(1)).toBe(
          Buffer.from(text).toString('latin1'),
        );
    },
  );
});
