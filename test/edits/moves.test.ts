/** Files that move, go, and change, each once; their bytes and modes; the file that an answer was made for. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { applyAnswer, type ApplyOptions, type OfferedFile } from '../../src/edits/index.js';
import { firstMessage } from './told.js';

const file = (text: string, mode = 0o755): OfferedFile => ({ bytes: Buffer.from(text), mode });
const run = (
  answer: string,
  files: Readonly<Record<string, OfferedFile>>,
  options: Partial<ApplyOptions> = {},
) =>
  applyAnswer({
    format: 'unified-diff',
    answer,
    files: new Map(Object.entries(files)),
    options: { requireMarker: false, mayCreateUnder: [''], allowDelete: true, ...options },
  });
/** `text mode` by path, and the moves; else the codes of the reasons with their paths. */
const told = (...input: Parameters<typeof run>) => {
  const outcome = run(...input);
  if (outcome.outcome !== 'edited')
    return `${outcome.outcome} ${outcome.reasons.map(({ code, path }) => `${code} ${path ?? ''}`.trim()).join(', ')}`;
  const files = [...outcome.files].map(([path, result]): [string, string] => [
    path,
    result === 'absent'
      ? 'absent'
      : `${Buffer.from(result.bytes).toString('latin1')}${(result.mode ?? 0).toString(8)}`,
  ]);
  return {
    files: Object.fromEntries(files),
    renames: outcome.renames.map(({ from, to }) => `${from} ${to}`),
  };
};

const rename = (from: string, to: string, body = ''): string =>
  `diff --git a/${from} b/${to}\nsimilarity index 90%\nrename from ${from}\nrename to ${to}\n${body}`;
const hunk = (from: string, to: string, ...lines: string[]): string => {
  const old = lines.filter((line) => !line.startsWith('+')).length;
  const now = lines.filter((line) => !line.startsWith('-')).length;
  return `--- ${from}\n+++ ${to}\n@@ -${old > 0 ? 1 : 0},${old} +${now > 0 ? 1 : 0},${now} @@\n${lines.join('\n')}\n`;
};
const modes = (old: string, now: string): string =>
  `diff --git a/a b/a\nold mode ${old}\nnew mode ${now}\n`;

describe('what moves', () => {
  const a = { a: file('x\n') };
  const both = { ...a, b: file('y\n') };
  test.each<[string, string, Readonly<Record<string, OfferedFile>>, object | string]>([
    [
      'keeps bytes and mode',
      rename('a', 'n'),
      a,
      { files: { a: 'absent', n: 'x\n755' }, renames: ['a n'] },
    ],
    [
      'and changes',
      rename('a', 'n', hunk('a/a', 'b/n', '-x', '+z')),
      a,
      { files: { a: 'absent', n: 'z\n755' }, renames: ['a n'] },
    ],
    [
      'to where nothing is',
      rename('a', 'n'),
      { ...a, n: { bytes: null } },
      { files: { a: 'absent', n: 'x\n755' }, renames: ['a n'] },
    ],
    ['to where a file is', rename('a', 'b'), both, 'refused already_exists b'],
    ['what is not there', rename('n', 'm'), a, 'refused target_absent n'],
    [
      'what is known not to be there',
      rename('n', 'm'),
      { n: { bytes: null } },
      'refused target_absent n',
    ],
    ['two to one place', rename('a', 'n') + rename('b', 'n'), both, 'refused file_twice n'],
    ['one to two places', rename('a', 'n') + rename('a', 'm'), a, 'refused file_twice a'],
    [
      'to where another was',
      rename('a', 'b') + rename('b', 'n'),
      both,
      { files: { a: 'absent', b: 'x\n755', n: 'y\n755' }, renames: ['a b', 'b n'] },
    ],
    [
      'each to where the other was',
      rename('a', 'b') + rename('b', 'a', hunk('a/b', 'b/a', '-y', '+z')),
      both,
      { files: { a: 'z\n755', b: 'x\n755' }, renames: ['a b', 'b a'] },
    ],
    [
      'to where another was and something new comes',
      `${rename('a', 'n')}diff --git a/a b/a\nnew file mode 100644\n${hunk('/dev/null', 'b/a', '+z')}`,
      a,
      'refused file_twice a',
    ],
    [
      'what was changed before',
      hunk('a/a', 'b/a', '-x', '+z') + rename('a', 'n'),
      a,
      'refused file_twice a',
    ],
    [
      'what went before',
      hunk('a/a', '/dev/null', '-x') + rename('a', 'n'),
      a,
      'refused file_twice a',
    ],
    [
      'to what was made before',
      hunk('/dev/null', 'b/n', '+z') + rename('a', 'n'),
      a,
      'refused file_twice n',
    ],
    ['out of the workspace', rename('a', '../n'), a, 'refused bad_path ../n'],
  ])('%s', (_, answer, files, expected) => {
    expect(told(answer, files)).toEqual(expected);
  });

  test('keeps the bytes of lines that its encoding alone can tell', () => {
    const files = {
      a: { bytes: Buffer.from('x\n\xe9\n', 'latin1'), mode: 0o644, encoding: 'windows-1252' },
    };
    const answer = rename('a', 'n', hunk('a/a', 'b/n', '-x', '+z', ' \xe9'));
    expect(told(answer, files)).toEqual({
      files: { a: 'absent', n: 'z\n\xe9\n644' },
      renames: ['a n'],
    });
  });

  test('is a new name: guards look at it, and at nothing that stays', () => {
    const outcome = run(rename('a', 'con?.js'), { a: file('x\n'), 'b?': file('y\n') });
    expect(outcome).toMatchObject({
      outcome: 'edited',
      findings: [{ guard: 'file_name', path: 'con?.js' }],
    });
  });
});

test.each([
  ['another mode', modes('100755', '100644'), { files: { a: 'x\n644' }, renames: [] }],
  ['the mode that it has', modes('100644', '100755'), 'unchanged marker_missing'],
])('%s', (_, answer, expected) => {
  expect(told(answer, { a: file('x\n') })).toEqual(expected);
});

describe('the file that the answer was made for', () => {
  const hash = createHash('sha256').update('x\n').digest('hex');
  const change = hunk('a/a', 'b/a', '-x', '+z');
  test.each([
    ['the same', hash, { files: { a: 'z\n755' }, renames: [] }],
    ['the same, in capitals', hash.toUpperCase(), { files: { a: 'z\n755' }, renames: [] }],
    ['another', '0'.repeat(64), 'refused base a'],
    ['none', 'absent', 'refused base a'],
  ])('%s', (_, wanted, expected) => {
    expect(told(change, { a: file('x\n') }, { base: new Map([['a', wanted]]) })).toEqual(expected);
  });
  test('none, as it is now', () => {
    const base = new Map([['n', 'absent']]);
    const made = hunk('/dev/null', 'b/n', '+z');
    expect(told(made, { n: { bytes: null } }, { base })).toEqual({
      files: { n: 'z\n0' },
      renames: [],
    });
    expect(told(made, { n: { bytes: null } }, { base: new Map([['n', hash]]) })).toBe(
      'refused base n',
    );
    expect(told(change, { a: file('x\n') }, { base })).toEqual({
      files: { a: 'z\n755' },
      renames: [],
    });
  });
});

test('an answer says what it does; one that says nothing has no summary', () => {
  const answer = (more: object): string =>
    JSON.stringify({
      ...more,
      operations: [{ type: 'append', file_path: 'a', content: 'y\n' }],
      complete: true,
    });
  const summaryOf = (text: string) => {
    const options = { requireMarker: false };
    return applyAnswer({
      format: 'structured-edit',
      answer: text,
      files: new Map([['a', file('x\n')]]),
      options,
    });
  };
  expect(summaryOf(answer({ summary: 'One more' }))).toMatchObject({
    outcome: 'edited',
    summary: 'One more',
  });
  expect(summaryOf(answer({}))).not.toHaveProperty('summary');
});

test('a rename to a path that may not be created says which key of the job allows it', () => {
  const response = 'diff --git a/lib/a.js b/lib/b.js\nrename from lib/a.js\nrename to lib/b.js\n';
  const message = firstMessage(
    'unified-diff',
    response,
    { 'lib/a.js': 'x\n' },
    { mayCreateUnder: [] },
  );
  expect(message).toMatch(
    /^lib\/a\.js cannot be renamed to lib\/b\.js: no new file may be created there\. Keep its path\. In a job, `create: \[lib\/b\.js\]` allows it\./,
  );
});
