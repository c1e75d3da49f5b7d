import { describe, expect, test } from '@jest/globals';
import type { Finding, GuardSettings } from '../../../src/shared/formats.js';
import {
  type GuardedFile,
  guardFindings,
  SHRINK_FROM_LINES,
} from '../../../src/edits/guards/index.js';

const findings = (
  base: string | null,
  result: string | null,
  more: Partial<GuardedFile> = {},
): Finding[] =>
  guardFindings([
    {
      path: 'f',
      base: base === null ? null : Buffer.from(base),
      result: result === null ? null : Buffer.from(result),
      ...more,
    },
  ]);
const run = (...of: Parameters<typeof findings>): string[] =>
  findings(...of).map(
    (f) => `${f.guard} ${f.severity}${f.lines === undefined ? '' : ` ${f.lines.join('-')}`}`,
  );
const many = (count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${i}\n`).join('');

describe('findings', () => {
  test.each<[string, string | null, string | null, string[]]>([
    ['nothing', 'a\nb\n', 'a\nc\n', []],
    ['a deletion', 'a\n', null, ['deletion ask']],
    ['a file that shrinks', many(40), many(10), ['shrinkage ask']],
    ['a file that is emptied', 'a\n', '', ['shrinkage ask']],
    ['a short file may shrink', many(10), many(1), []],
    [
      'conflict markers',
      'a\n',
      'a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n',
      ['conflict_markers ask 2-2'],
    ],
    ['conflict markers that were there', '<<<<<<< ours\na\n', '<<<<<<< ours\nb\n', []],
    ['a line before #!', '#!/bin/sh\na\n', 'x\n#!/bin/sh\na\n', ['shebang ask 1-1']],
    ['a lost #!', '#!/bin/sh\na\n', 'a\n', ['shebang ask 1-1']],
    ['a line of the example', 'a\n', 'a\n  price of coffee: 2.80\n', ['example refuse 2-2']],
    [
      'a line of the example that was there',
      'price of coffee: 2.80\n',
      'x\nprice of coffee: 2.80\ny\nprice of coffee: 2.80\n',
      [],
    ],
    ['a word in its own letters', 'a\n', 'a\n// \u043f\u0440\u0438\u0432\u0435\u0442\n', []],
    ['a curly quote', 'a\n', 'a\n\u2019\n', ['lookalikes note 2-2']],
    ['a curly quote that the file has', '\u2019 x\n', '\u2019 x\ny\u2019\n', []],
  ])('%s', (_name, base, result, expected) => {
    expect(run(base, result)).toEqual(expected);
  });

  const messages = (...of: Parameters<typeof findings>): string[] =>
    findings(...of).map(({ message }) => message);

  test.each<[string, string, string, string[]]>([
    ['nothing stands before it', '#!/bin/sh\na\n', '#!/bin/bash\na\nb\n', []],
    ['it goes', '#!/bin/sh\na\n', 'a\n', ['The #! line of f was removed.']],
    ['another line comes for it', '#!/bin/sh\na\n', 'x\na\n', ['The #! line of f was removed.']],
    [
      'two lines come before it',
      '#!/bin/sh\na\n',
      'x\ny\n#!/bin/sh\na\n',
      ['The #! line of f is no longer the first: 2 lines precede it.'],
    ],
    [
      'one line comes before it',
      '#!/bin/sh\na\n',
      'x\n#!/bin/sh\na\n',
      ['The #! line of f is no longer the first: a line precedes it.'],
    ],
    ['there was none', 'a\n', '#!/bin/sh\na\n', []],
    ['there is none in the middle', 'a\n#!/bin/sh\n', 'a\n', []],
  ])('the #! line: %s', (_name, base, result, expected) => {
    expect(messages(base, result)).toEqual(expected);
  });
  test('the #! line of a file that is emptied', () => {
    expect(messages('#!/bin/sh\n', '')).toEqual([
      'f shrinks from 1 to 0 lines; 1 of its lines were removed.',
      'The #! line of f was removed.',
    ]);
  });

  test('a file shrinks from half its lines and the bound on', () => {
    const from = SHRINK_FROM_LINES;
    expect(run(many(from), many(from / 2 - 1))).toEqual(['shrinkage ask']);
    expect(run(many(from), many(from / 2))).toEqual([]);
    expect(run(many(from - 1), many(1))).toEqual([]);
    expect(run('', '')).toEqual([]);
  });

  test('a conflict marker is told once, shortened', () => {
    const [first, ...others] = messages('a\n', `a\n<<<<<<< ${'o'.repeat(80)}\n>>>>>>> x\n`);
    expect(others).toEqual([]);
    expect(first).toBe(`Line 2 of f is a conflict marker: "<<<<<<< ${'o'.repeat(52)}".`);
    expect(run('a\n', 'a\n||||||| base\n')).toEqual(['conflict_markers ask 2-2']);
    expect(run('a\n', 'a\n<<<<<<<x\n<<<<<<<< y\n ======= \n')).toEqual([]);
  });

  test('a file that is no text is looked at for its mode alone', () => {
    const mode = { baseMode: 0o644, resultMode: 0o755 };
    expect(run('a\0\n', '<<<<<<< x\n', mode)).toEqual(['mode ask']);
    expect(run('a\n', '<<<<<<< x\n\0', mode)).toEqual(['mode ask']);
  });

  test('a file that neither was nor is there is no deletion', () => {
    expect(run(null, null)).toEqual([]);
  });

  test('a severity that is set holds for all of a guard, and for none of another', () => {
    const file = {
      path: 'f',
      base: Buffer.from('#!x\na\n'),
      result: Buffer.from('a\n<<<<<<< x\n'),
    };
    const severities = (guards: GuardSettings) =>
      guardFindings([file], { guards }).map(({ guard, severity }) => `${guard} ${severity}`);
    expect(severities({})).toEqual(['conflict_markers ask', 'shebang ask']);
    expect(severities({ shebang: 'refuse' })).toEqual(['conflict_markers ask', 'shebang refuse']);
    expect(severities({ conflict_markers: 'note', shebang: 'note' })).toEqual([
      'conflict_markers note',
      'shebang note',
    ]);
  });

  test('modes', () => {
    expect(run('a\n', 'a\n', { baseMode: 0o644, resultMode: 0o644 })).toEqual([]);
    expect(run('a\n', 'a\n', { baseMode: 0o755 })).toEqual([]);
    expect(messages('a\n', 'a\n', { baseMode: 0o755, resultMode: 0o644 })).toEqual([
      'The mode of f changes from 755 to 644.',
    ]);
    expect(messages(null, 'a\n', { resultMode: 0o644 | 0o001 })).toEqual([
      'f is new and executable.',
    ]);
    expect(run(null, 'a\n')).toEqual([]);
    expect(run('a\n', 'a\n', { baseMode: 0o644, resultMode: 0o755 })).toEqual(['mode ask']);
    expect(run(null, 'a\n', { resultMode: 0o755 })).toEqual(['mode ask']);
    expect(run(null, 'a\n', { resultMode: 0o644 })).toEqual([]);
  });
});

test('a file with other names is reported, unless it is new', () => {
  const linked = ['a', 'b'];
  const files = [
    { path: 'a', base: Buffer.from('a\n'), result: Buffer.from('b\n') },
    { path: 'b', base: null, result: Buffer.from('b\n') },
    { path: 'c', base: Buffer.from('a\n'), result: Buffer.from('b\n') },
  ];
  expect(guardFindings(files, { linked }).map(({ guard, path }) => `${guard} ${path}`)).toEqual([
    'hard_link a',
  ]);
});
