/** How the page reads a diff: against diffs that the edit engine draws. */
import { describe, expect, test } from '@jest/globals';
import { combinedDiff } from '../../src/edits/proposal/write-diff.js';
import { coloured } from '../../src/web/page/model/tokens.js';
import { parseDiff, type DiffFile, stretchesOf } from '../../src/web/page/model/diff.js';
import { pairsOf, rowsOf, type Row } from '../../src/web/page/model/rows.js';
import { searchRows } from '../../src/web/page/model/navigation.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const lines = (n: number): string =>
  Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join('');
const rowsFor = (
  files: readonly DiffFile[],
  more: Partial<Parameters<typeof rowsOf>[0]> = {},
): readonly Row[] =>
  rowsOf({
    files,
    layout: 'unified',
    findings: [],
    comments: [],
    folded: new Set(),
    texts: new Map(),
    linesBefore: new Map(),
    unfolded: new Set(),
    ...more,
  });

describe('parseDiff', () => {
  test('content that looks like a header stays content', () => {
    const base = 'a\ndiff --git a/x b/x\n--- a/x\n@@ -1 +1 @@\nz\n';
    const [file, ...rest] = parseDiff(
      combinedDiff([
        { path: 'x', base: bytes(base), result: bytes(base.replace('--- a/x', '+++ b/evil')) },
      ]),
    );
    expect(rest).toEqual([]);
    expect(file?.path).toBe('x');
    const text = (sign: string): readonly (string | undefined)[] =>
      file!.hunks[0]!.lines.filter((line) => line.sign === sign).map((line) => line.text);
    expect(text('-')).toEqual(['--- a/x']);
    expect(text('+')).toEqual(['+++ b/evil']);
  });

  test('names of every kind come back as they were', () => {
    const names = [
      'a b.txt',
      'ü/Ω.txt',
      'with "quotes".txt',
      'tab\there',
      'new\nline',
      '<img src=x onerror=alert(1)>',
      'back\\slash',
      '\u{1F600}.md',
    ];
    const diff = combinedDiff(
      names.map((path) => ({ path, base: bytes('1\n'), result: bytes('2\n') })),
    );
    expect(parseDiff(diff).map((file) => file.path)).toEqual(names);
  });

  test('files that come, go, move, change their mode or have no line end', () => {
    const files = parseDiff(
      combinedDiff([
        { path: 'new', base: null, result: bytes('1\n') },
        { path: 'gone', base: bytes('1\n'), result: null },
        { path: 'there', moveFrom: 'here', base: bytes('same\n'), result: bytes('same\n') },
        {
          path: 'run.sh',
          base: bytes('x\n'),
          result: bytes('x\n'),
          baseMode: 0o644,
          resultMode: 0o755,
        },
        { path: 'open', base: bytes('1'), result: bytes('2') },
        {
          path: 'latin',
          base: Uint8Array.of(0xe9, 10),
          result: Uint8Array.of(0xe8, 10),
          encoding: 'latin1',
        },
      ]),
    );
    expect(files.map((file) => file.path)).toEqual([
      'new',
      'gone',
      'there',
      'run.sh',
      'open',
      'latin',
    ]);
    expect(files[0]?.isNew).toBe(true);
    expect(files[1]?.isDeleted).toBe(true);
    expect(files[2]?.movedFrom).toBe('here');
    expect(files[3]?.mode).toBe('100644 -> 100755');
    expect(files[4]?.hunks[0]?.lines.map((line) => line.noEnd)).toEqual([true, true]);
    expect(files[5]?.notes.join('\n')).toContain('not UTF-8');
  });

  test('every line of both sides has its number', () => {
    const base = lines(100);
    const result = base
      .replace('line 10\n', '')
      .replace('line 50\n', 'line 50\nmore\n')
      .replace('line 90\n', 'other\n');
    const [file] = parseDiff(
      combinedDiff([{ path: 'f', base: bytes(base), result: bytes(result) }]),
    );
    for (const line of file!.hunks.flatMap((hunk) => hunk.lines)) {
      if (line.before !== null) expect(base.split('\n')[line.before - 1]).toBe(line.text);
      if (line.after !== null) expect(result.split('\n')[line.after - 1]).toBe(line.text);
    }
  });
});

describe('rowsOf', () => {
  const base = lines(60);
  const result = base.replace('line 10\n', 'changed 10\n').replace('line 50\n', 'line 50\nmore\n');
  const files = parseDiff(combinedDiff([{ path: 'f', base: bytes(base), result: bytes(result) }]));

  test('with all parts unfolded the rows hold the whole result, whatever the layout', () => {
    for (const layout of ['unified', 'split'] as const) {
      const texts = new Map([['f', result.split('\n').slice(0, -1)]]);
      const rows = rowsFor(files, { layout, texts, unfolded: new Set(['f:0', 'f:1', 'f:2']) });
      const shown = rows.flatMap((row) =>
        row.kind === 'line' && row.line.after !== null
          ? [row.line]
          : row.kind === 'pair' && row.after !== null
            ? [row.after]
            : [],
      );
      expect(shown.map((line) => line.text).join('\n') + '\n').toBe(result);
      expect(shown.map((line) => line.after)).toEqual(shown.map((_, i) => i + 1));
      expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
      const before = rows.flatMap((row) =>
        row.kind === 'line' && row.line.before !== null
          ? [row.line]
          : row.kind === 'pair' && row.before !== null
            ? [row.before]
            : [],
      );
      expect(before.map((line) => line.text).join('\n') + '\n').toBe(base);
    }
  });

  test('folded parts say how many lines they hide; where the length is not known, that there may be more', () => {
    const hidden = (rows: readonly Row[]): readonly (readonly number[])[] =>
      rows.flatMap((row) => (row.kind === 'fold' ? [[row.from, row.to]] : []));
    expect(hidden(rowsFor(files, { linesBefore: new Map([['f', 60]]) }))).toEqual([
      [1, 6],
      [14, 47],
      [55, 61],
    ]);
    expect(hidden(rowsFor(files)).at(-1)?.[1]).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('findings and comments stand below their lines, those without a line at the top', () => {
    const finding = (at?: readonly [number, number]) => ({
      guard: 'syntax',
      severity: 'ask' as const,
      path: 'f',
      message: 'm',
      ...(at ? { lines: at } : {}),
    });
    const rows = rowsFor(files, {
      findings: [finding(), finding([10, 10])],
      comments: [{ path: 'f', side: 'before', line: 10 }],
    });
    const at = (kind: Row['kind']): readonly number[] =>
      rows.flatMap((row, i) => (row.kind === kind ? [i] : []));
    expect(at('finding')[0]).toBe(1);
    const below = rows[(at('finding')[1] ?? 0) - 1];
    expect(below?.kind === 'line' && below.line.text).toBe('changed 10');
    const commented = rows[(at('comment')[0] ?? 0) - 1];
    expect(commented?.kind === 'line' && commented.line.text).toBe('line 10');
  });

  test('search goes round', () => {
    const rows = rowsFor(files);
    const first = searchRows(rows, files, 'changed 10', 0);
    expect(first).not.toBeNull();
    expect(searchRows(rows, files, 'changed 10', first!)).toBe(first);
    expect(searchRows(rows, files, 'nowhere', 0)).toBeNull();
  });

  test('removed and added lines stand side by side in order', () => {
    const [file] = parseDiff(
      combinedDiff([{ path: 'g', base: bytes('a\nb\nc\n'), result: bytes('x\ny\nz\nw\n') }]),
    );
    expect(pairsOf(file!.hunks[0]!).map(([a, b]) => [a?.text, b?.text])).toEqual([
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'z'],
      [undefined, 'w'],
    ]);
  });
});

describe('within a line', () => {
  test('stretches put together are the line, and mark what changed', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['const a = 1;', 'const b = 1;'],
      ['', 'x'],
      ['a'.repeat(5000), `${'a'.repeat(2500)}b${'a'.repeat(2500)}`],
      ['foo(bar, baz)', 'foo(bar, qux)'],
    ];
    for (const [old, now] of cases) {
      expect(
        stretchesOf(now, old, true)
          .map((part) => part.text)
          .join(''),
      ).toBe(now);
      expect(
        stretchesOf(old, now, false)
          .map((part) => part.text)
          .join(''),
      ).toBe(old);
    }
    expect(
      stretchesOf('foo(bar, qux)', 'foo(bar, baz)', true)
        .filter((part) => part.changed)
        .map((part) => part.text),
    ).toEqual(['qux']);
  });

  test('colours are laid over stretches without losing a character', () => {
    const parts = coloured(
      [
        { text: 'const ', changed: false },
        { text: 'abc', changed: true },
      ],
      [
        { from: 0, to: 5, colour: 'k' },
        { from: 7, to: 9, colour: 'n' },
      ],
    );
    expect(parts.map((part) => [part.text, part.changed, part.colour])).toEqual([
      ['const', false, 'k'],
      [' ', false, null],
      ['a', true, null],
      ['bc', true, 'n'],
    ]);
    const across = coloured(
      [
        { text: 'ab', changed: false },
        { text: 'cd', changed: true },
      ],
      [{ from: 1, to: 3, colour: 'k' }],
    );
    expect(across.map((part) => [part.text, part.changed, part.colour])).toEqual([
      ['a', false, null],
      ['b', false, 'k'],
      ['c', true, 'k'],
      ['d', true, null],
    ]);
  });
});
