/** Where the edits of calls go, and what several calls of one response make together. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer, detectFormat } from '../../../src/edits/index.js';

const FILES = { 'a.txt': 'one\ntwo\nthree\n', 'open.txt': 'one\ntwo', 'b.txt': 'b\n' };

interface Made {
  readonly files: Readonly<Record<string, string | null>>;
  readonly tolerances: readonly string[];
}
const madeOf = (response: unknown): Made | string => {
  const answer = typeof response === 'string' ? response : JSON.stringify(response);
  const format = detectFormat(answer);
  if (format === null) return 'no format';
  const files = new Map(
    Object.entries(FILES).map(([path, text]) => [path, { bytes: Buffer.from(text) }]),
  );
  const options = { requireMarker: false, allowDelete: true, mayCreateUnder: [''] };
  const outcome = applyAnswer({ format, answer, files, options });
  if (outcome.outcome !== 'edited') return outcome.reasons.map(({ code }) => code).join();
  const results = [...outcome.files].map(([path, file]) => [
    path,
    file === 'absent' ? null : Buffer.from(file.bytes).toString(),
  ]);
  return {
    files: Object.fromEntries(results) as Record<string, string | null>,
    tolerances: outcome.tolerances.map(({ tolerance }) => tolerance),
  };
};
const insert = (line: unknown, text: string, path = 'a.txt') => ({
  command: 'insert',
  path,
  insert_line: line,
  new_str: text,
});
const replace = (path: string, old_string: string, new_string: string) => ({
  file_path: path,
  old_string,
  new_string,
});

describe('an insert at a line number', () => {
  test.each([
    ['at the top', insert(0, 'x'), 'a.txt', 'x\none\ntwo\nthree\n', []],
    ['between lines', insert(1, 'x\n'), 'a.txt', 'one\nx\ntwo\nthree\n', ['unchecked_lines']],
    ['by a number as text', insert('1', 'x'), 'a.txt', 'one\nx\ntwo\nthree\n', ['unchecked_lines']],
    ['at the end', insert(3, 'x\ny\n'), 'a.txt', 'one\ntwo\nthree\nx\ny\n', []],
    [
      'behind a last line without an end',
      insert(2, 'x\n', 'open.txt'),
      'open.txt',
      'one\ntwo\nx',
      [],
    ],
  ])('%s', (_name, call, path, text, tolerances) => {
    expect(madeOf(call)).toEqual({ files: { [path]: text }, tolerances });
  });

  test('behind an edit that moved no line means the same line', () => {
    const results = madeOf([replace('a.txt', 'one', '1'), insert(2, 'x')]);
    expect(results).toEqual({
      files: { 'a.txt': '1\ntwo\nx\nthree\n' },
      tolerances: ['unchecked_lines'],
    });
  });
  test('of a path with a prefix means the only file that has the rest of it', () => {
    expect(madeOf(insert(3, 'x', 'repo/a.txt'))).toEqual({
      files: { 'a.txt': 'one\ntwo\nthree\nx\n' },
      tolerances: [],
    });
  });
  test('that is there twice is refused', () => {
    expect(madeOf([insert(1, 'x'), insert(1, 'x')])).toBe('edit_twice');
  });
  test.each([
    ['at its line', insert(1, 'two\n')],
    [
      'at the end',
      { name: 'write_file', arguments: { path: 'a.txt', content: 'three\n', mode: 'append' } },
    ],
  ])('whose lines are there already changes nothing: %s', (_name, call) => {
    expect(madeOf(call)).toBe('marker_missing,already_present');
  });
  test('whose lines are there already is refused if other edits of the file are not made yet', () => {
    expect(madeOf([insert(1, 'two\n'), replace('a.txt', 'three', '3')])).toBe('find_absent');
  });
  test('behind an edit that moved it is refused', () => {
    expect(madeOf([replace('a.txt', 'one\n', 'one\nnew\n'), insert(2, 'x')])).toBe(
      'insert_unclear',
    );
  });
  test.each([
    [4, 'out_of_range'],
    [-1, 'wrong_type'],
    ['two', 'wrong_type'],
    [1.5, 'wrong_type'],
  ])('line %j is refused', (line, code) => {
    expect(madeOf(insert(line, 'x'))).toBe(code);
  });
});

describe('several calls', () => {
  test('of several files and kinds are one answer', () => {
    const results = madeOf([
      { command: 'create', path: 'new.txt', file_text: 'n\n' },
      replace('new.txt', 'n', 'm'),
      { file_path: 'b.txt', content: 'whole\n' },
      {
        name: 'apply_diff',
        arguments: { path: 'a.txt', diff: '<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE' },
      },
      { name: 'delete_file', arguments: { target_file: 'open.txt' } },
    ]);
    const files = {
      'new.txt': 'm\n',
      'b.txt': 'whole\n',
      'a.txt': 'one\n2\nthree\n',
      'open.txt': null,
    };
    expect(results).toEqual({ files, tolerances: ['earlier_block'] });
  });

  test.each([
    [
      'whole content and strings of a file that is there',
      [{ file_path: 'b.txt', content: 'x\n' }, replace('b.txt', 'x', 'y')],
    ],
    [
      'strings and a patch',
      [
        replace('a.txt', 'one', '1'),
        {
          name: 'apply_patch',
          arguments: {
            input: '*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch',
          },
        },
      ],
    ],
    [
      'a deletion and strings',
      [{ name: 'delete_file', arguments: { path: './a.txt' } }, replace('a.txt', 'one', '1')],
    ],
  ])('%s are refused', (_name, calls) => {
    expect(madeOf(calls)).toBe('calls_mixed');
  });

  test('an edit in the text beside a call is refused with it', () => {
    const text = 'b.txt\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE';
    const message = {
      role: 'assistant',
      content: [
        { type: 'text', text },
        { type: 'tool_use', name: 'Edit', input: replace('a.txt', 'one', '1') },
      ],
    };
    expect(madeOf(message)).toBe('stray_edit');
  });
  test('lines beside the blocks of a diff are refused', () => {
    const diff = '<<<<<<< SEARCH\ntwo\n=======\n>>>>>>> REPLACE\n2';
    expect(madeOf({ path: 'a.txt', diff })).toBe('stray_line');
  });
  test('a diff that names another file than its call is refused', () => {
    const diff = '--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n';
    expect(madeOf({ path: 'a.txt', diff })).toMatch(/unknown_file|names_differ|file_not_offered/);
  });
  test('a shell command that does more than apply a patch is refused', () => {
    const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch';
    const command = ['bash', '-lc', `cd sub && apply_patch <<'EOF'\n${patch}\nEOF`];
    expect(madeOf({ name: 'shell', arguments: { command } })).toBe('call_unread');
  });
});

describe('texts of other forms', () => {
  test('a patch that is indented as a whole is moved back', () => {
    const patch = [
      '*** Begin Patch',
      '*** Update File: a.txt',
      '@@',
      '-two',
      '+2',
      '*** End Patch',
    ];
    const indented = `1. The change:\n\n${patch.map((line) => `    ${line}\n`).join('')}`;
    expect(madeOf(indented)).toMatchObject({ files: { 'a.txt': 'one\n2\nthree\n' } });
    expect(madeOf(indented.replace('    -two', '  -two'))).toBe('no format');
  });

  test.each([
    ['escaped markers of a conflict', '<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> topic\n'],
    ['a backslash that the file has', '\\<<<<<<< HEAD\none\n\\=======\ntwo\n\\>>>>>>> topic\n'],
  ])('%s', (_name, text) => {
    const search = '\\<<<<<<< HEAD\none\n\\=======\ntwo\n\\>>>>>>> topic';
    const answer = `a.txt\n<<<<<<< SEARCH\n${search}\n=======\ntwo\n>>>>>>> REPLACE\n`;
    const outcome = applyAnswer({
      format: 'search-blocks',
      answer,
      files: new Map([['a.txt', { bytes: Buffer.from(`0\n${text}9\n`) }]]),
      options: { requireMarker: false },
    });
    const file = outcome.outcome === 'edited' ? outcome.files.get('a.txt') : undefined;
    expect(
      file === undefined || file === 'absent' ? null : Buffer.from(file.bytes).toString(),
    ).toBe('0\ntwo\n9\n');
  });
});

const FENCE = '```';
const inFence = (path: string, call: unknown): string =>
  `Change \`${path}\`:\n\n${FENCE}json\n${JSON.stringify(call)}\n${FENCE}\n\n`;

describe('calls in fences', () => {
  const calls =
    inFence('a.txt', replace('a.txt', 'one', '1')) + inFence('b.txt', replace('b.txt', 'b', 'c'));

  test('are read where a sentence before each fence names the file', () => {
    expect(madeOf(calls)).toEqual({
      files: { 'a.txt': '1\ntwo\nthree\n', 'b.txt': 'c\n' },
      tolerances: [],
    });
  });
  test('are refused beside a fence that holds an edit and no call', () => {
    expect(madeOf(`Change \`open.txt\`:\n\n${FENCE}\none\n3\n${FENCE}\n\n${calls}`)).toBe(
      'stray_edit',
    );
  });
});

test('a call with line numbers of a listing is read without them', () => {
  const call = `<search_and_replace>\n<path>a.txt</path>\n<search>     2\ttwo</search>\n<replace>     2\t2</replace>\n</search_and_replace>\n`;
  expect(madeOf(call)).toEqual({
    files: { 'a.txt': 'one\n2\nthree\n' },
    tolerances: ['listing_numbers'],
  });
});
test('a call in loose JSON is read', () => {
  expect(
    madeOf('{\n// The limit.\n"file_path": "b.txt", "old_string": "b", "new_string": "c",\n}'),
  ).toEqual({
    files: { 'b.txt': 'c\n' },
    tolerances: [],
  });
});
