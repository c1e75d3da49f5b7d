import { describe, expect, test } from '@jest/globals';
import type { Change, LinesPlan } from '../../../src/edits/text/changes.js';
import {
  exactBase,
  quotesItsBom,
  type SpliceOptions,
  spliced,
} from '../../../src/edits/text/to-splices.js';
import { applySplices } from '../../../src/edits/text/splices.js';
import { indexOfLines } from '../../../src/edits/text/lines.js';
import { decodeFile } from '../../../src/edits/text/codec.js';

const run = (
  base: Buffer | string | null,
  lines: string[],
  more: Partial<LinesPlan> = {},
  options: SpliceOptions = {},
) => {
  const bytes = base === null ? null : Buffer.from(base);
  const decoded = bytes === null ? null : decodeFile(bytes);
  const from = decoded?.ok === true ? decoded : null;
  return spliced(from, { kind: 'lines', path: 'f', result: indexOfLines(lines), ...more }, options);
};
const textOf = (...args: Parameters<typeof run>): string => {
  const outcome = run(...args);
  if (!outcome.ok) throw new Error(outcome.reasons[0]?.message);
  return Buffer.from(outcome.bytes).toString('latin1');
};

describe('line ends, and the end of the file', () => {
  const table: [rule: string, base: string | null, lines: string[], expected: string][] = [
    [
      'kept lines keep their ends in a mixed file',
      'a\nb\r\nc\rd\n',
      ['a', 'x', 'b', 'c\rd'],
      'a\nx\nb\r\nc\rd\n',
    ],
    ['a new line takes the end before it', 'a\r\nb\n', ['a', 'x', 'b'], 'a\r\nx\r\nb\n'],
    ['else the end after it', 'a\r\nb\n', ['x', 'a', 'b'], 'x\r\na\r\nb\n'],
    ['else LF', 'a', ['a', 'x'], 'a\nx'],
    ['a wholly new text keeps the kind of line end', 'a\r\nb\r\n', ['x', 'y'], 'x\r\ny\r\n'],
    ['the result ends with a line end if the base did', 'a\nb\n', ['a'], 'a\n'],
    ['and without one if the base did not', 'a\nb', ['a'], 'a'],
    ['the old last line gets an end', 'a\r\nb', ['a', 'b', 'c'], 'a\r\nb\r\nc'],
    ['the end of the kept line before it', 'a\r\nb\nc', ['a', 'b', 'c', 'd'], 'a\r\nb\nc\nd'],
    ['not that of a line that went', 'a\r\nb\nc', ['a', 'X', 'c', 'd'], 'a\r\nX\r\nc\r\nd'],
    ['a new file ends with a line end', null, ['a', 'b'], 'a\nb\n'],
    ['so does an empty one', '', ['a'], 'a\n'],
    ['no lines are no bytes', 'a\nb\n', [], ''],
    ['one empty line', null, [''], '\n'],
    ['lines end at CR only without LF', 'a\rb\r', ['a', 'x', 'b'], 'a\rx\rb\r'],
    ['a CR inside a line of an LF file is text', 'a\rb\nc\n', ['a\rb', 'x', 'c'], 'a\rb\nx\nc\n'],
  ];
  test.each(table)('%s', (_rule, base, lines, expected) => {
    expect(textOf(base, lines)).toBe(expected);
  });

  test('a diff\u2019s final newline goes before the base\u2019s, the job\u2019s before both', () => {
    expect(textOf('a\n', ['a'], { finalNewline: false })).toBe('a');
    expect(textOf('a', ['a'], { finalNewline: true })).toBe('a\n');
    expect(textOf('a\r\nb', ['a', 'b'], {}, { finalNewline: true })).toBe('a\r\nb\r\n');
    expect(textOf('a\n', ['a'], { finalNewline: false }, { finalNewline: true })).toBe('a\n');
  });

  test('an end that is asked for is that of the kept line before it, else that of the new one', () => {
    const asked = { finalNewline: true };
    expect(textOf('a\r\nb\nc', ['a', 'b', 'c'], {}, asked)).toBe('a\r\nb\nc\n');
    expect(textOf('a\r\nb\nc', ['a', 'X', 'c'], {}, asked)).toBe('a\r\nX\r\nc\r\n');
    expect(textOf('a\r\nb\r\nc\nd', ['a', 'X', 'c', 'd'], {}, asked)).toBe('a\r\nX\r\nc\nd\n');
  });

  test('new files end their lines as asked', () => {
    expect(textOf(null, ['a', 'b'], {}, { newFileEol: '\r\n' })).toBe('a\r\nb\r\n');
  });

  test('in a mixed file the lines stay that the format says, else those of a line diff', () => {
    const base = 'x\r\nx\ny\n';
    expect(textOf(base, ['x', 'y'])).toBe('x\r\ny\n');
    expect(textOf(base, ['x', 'y'], { changes: [{ from: 0, to: 1, lines: [] }] })).toBe('x\ny\n');
    expect(textOf(base, ['x', 'y'], { changes: [{ from: 1, to: 2, lines: [] }] })).toBe('x\r\ny\n');
  });

  test('a quoted byte order mark is the one that is there; one that is not is refused', () => {
    expect(textOf('\ufeffa\nb\n', ['\ufeffa', 'c'])).toBe(
      Buffer.from('\ufeffa\nc\n').toString('latin1'),
    );
    expect(run('a\nb\n', ['\ufeffa', 'b'])).toMatchObject({
      ok: false,
      reasons: [{ code: 'byte_order_mark' }],
    });
  });

  test.each<[string, string | null, string[], Partial<LinesPlan>, string]>([
    [
      'quoted in a change',
      '\ufeffa\nb\n',
      ['\ufeffa', 'c'],
      { changes: [{ from: 0, to: 2, lines: ['\ufeffa', 'c'] }] },
      '\ufeffa\nc\n',
    ],
    [
      'a second one is text of the first line',
      '\ufeff\ufeffa\nb\n',
      ['\ufeffa', 'c'],
      {},
      '\ufeff\ufeffa\nc\n',
    ],
    ['the only thing left', '\ufeffa\n', [], {}, '\ufeff'],
    ['of a new file', null, ['\ufeffa'], {}, '\ufeffa\n'],
    ['not in the first line', 'a\nb\n', ['a', '\ufeffb'], {}, 'a\n\ufeffb\n'],
  ])('a byte order mark %s', (_name, base, lines, more, expected) => {
    expect(textOf(base, lines, more)).toBe(Buffer.from(expected).toString('latin1'));
  });

  test('splices touch nothing but what changes', () => {
    const base = Buffer.from('a\nb\nc\nd\n');
    const outcome = run(base, ['a', 'B', 'c', 'd', 'e']);
    if (!outcome.ok) throw new Error();
    expect(
      outcome.splices.map(({ start, end, bytes }) => [start, end, Buffer.from(bytes).toString()]),
    ).toEqual([
      [2, 4, 'B\n'],
      [8, 8, 'e\n'],
    ]);
    expect(applySplices(base, outcome.splices)).toEqual(outcome.bytes);
  });

  test.each<[string, readonly Change[]]>([
    ['none', []],
    ['of the first line', [{ from: 0, to: 1, lines: ['x'] }]],
    ['with a mark in another line', [{ from: 1, to: 2, lines: ['\ufeffx'] }]],
  ])('changes that the format knows are taken as they are: %s', (_name, changes) => {
    const outcome = run('\ufeffa\nb\n', ['not looked at'], { changes });
    expect(outcome.ok && outcome.changes).toBe(changes);
  });

  test('equal lines said as new are no splice', () => {
    expect(
      run('a\nb\n', ['a', 'b'], { changes: [{ from: 1, to: 2, lines: ['b'] }] }),
    ).toMatchObject({
      ok: true,
      splices: [],
    });
  });
});

describe('what a file cannot take', () => {
  const latin = Buffer.from('caf\u00e9\nx\n', 'latin1');
  test.each([
    ['a new character in a file read byte for byte', latin, ['caf\u00e9', 'na\u00efve'], 'U+00EF'],
    ['a copy of one is new, too', latin, ['caf\u00e9', 'caf\u00e9'], 'U+00E9'],
    ['NUL', Buffer.from('a\n'), ['a', 'b\0'], 'U+0000'],
    ['a lone surrogate', Buffer.from('a\n'), ['a', 'b\ud800'], 'U+D800'],
  ])('%s', (_name, base, lines, name) => {
    const outcome = run(base, lines);
    expect(outcome).toMatchObject({ ok: false, reasons: [{ code: 'character' }] });
    expect(!outcome.ok && outcome.reasons[0]?.message).toContain(name);
  });

  test('the line is counted in the result', () => {
    const outcome = run(Buffer.from('caf\u00e9\nx\ny\n', 'latin1'), [
      'caf\u00e9',
      '1',
      '2',
      'y',
      '3',
      'na\u00efve',
    ]);
    expect(!outcome.ok && outcome.reasons[0]?.message).toContain(
      'at line 6 of the result, column 3',
    );
    const stray = run('a\n', ['a', 'b', 'c\r']);
    expect(!stray.ok && stray.reasons[0]?.message).toContain('line 3 of the result');
  });

  test('a changed line may keep its characters', () => {
    expect(textOf(latin, ['caf\u00e9 = 1', 'x'])).toBe('caf\u00e9 = 1\nx\n');
  });

  test('a carriage return that would end a line', () => {
    expect(run('a\rb\r', ['a', 'x\ry', 'b'])).toMatchObject({
      ok: false,
      reasons: [{ code: 'stray_cr' }],
    });
    expect(run('a\nb\n', ['a', 'x\r', 'b'])).toMatchObject({
      ok: false,
      reasons: [{ code: 'stray_cr' }],
    });
    expect(run('a\nb', ['a', 'x\r', 'y'])).toMatchObject({
      ok: false,
      reasons: [{ code: 'stray_cr' }],
    });
  });

  test('one that ends no line is text', () => {
    expect(textOf('a\nb\n', ['a', 'x\ry', 'b'])).toBe('a\nx\ry\nb\n');
    expect(textOf('a\r\n', ['a', 'x\r'])).toBe('a\r\nx\r\r\n');
    expect(textOf('a\nb', ['a', 'x\r'])).toBe('a\nx\r');
  });
});

test('a huge rewrite stays linear and right', () => {
  const base = Array.from({ length: 30_000 }, (_, i) => `line ${i}`);
  const lines = base.flatMap((line, i) => (i % 3 === 0 ? [line] : [`new ${line}`, '}']));
  const outcome = run(`${base.join('\n')}\n`, lines);
  expect(outcome.ok && Buffer.from(outcome.bytes).toString()).toBe(`${lines.join('\n')}\n`);
  expect(outcome.ok && outcome.splices.length).toBe(10_000);
});

describe('exact bytes: lines end at LF alone, and all else is text', () => {
  test.each<[string, Buffer | null, string[], string[]]>([
    ['no file', null, [], []],
    ['an empty file', Buffer.from(''), [], []],
    ['no text', Buffer.from('a\0b'), [], []],
    ['a last line without end', Buffer.from('a\r\nb\rc'), ['a\r', 'b\rc'], ['\n', '']],
    ['a blank last line', Buffer.from('a\n\n'), ['a', ''], ['\n', '\n']],
    ['a byte order mark', Buffer.from('\ufeffa\n'), ['\ufeffa'], ['\n']],
  ])('%s', (_name, bytes, lines, ends) => {
    const base = exactBase(bytes);
    expect(base.text).toEqual({ lines, ends });
    expect(base.codec.bom).toHaveLength(0);
  });
  test('new lines end in LF, and a mark or a carriage return in them is no mistake', () => {
    const base = Buffer.from('a\r\nb\r\n');
    const changes = [{ from: 0, to: 1, lines: ['\ufeffa', 'x\r'] }];
    expect(textOf(base, [], { exact: exactBase(base), changes })).toBe(
      Buffer.from('\ufeffa\nx\r\nb\r\n').toString('latin1'),
    );
    const lines = { exact: exactBase(null), changes: [{ from: 0, to: 0, lines: ['a'] }] };
    expect(textOf(null, ['a'], lines, { newFileEol: '\r\n' })).toBe('a\n');
  });
});

test.each([
  ['\ufeffa\nb\n', true],
  ['\ufeff', true],
  ['\ufeffa\n\ufeffb\n', false],
  ['a\nb\n', false],
  ['a\n\ufeffb\n', false],
])('a mark before a quoted line of %j can mean only that of the file: %s', (text, only) => {
  const decoded = decodeFile(Buffer.from(text));
  expect(decoded.ok && quotesItsBom({ ...decoded, bytes: Buffer.from(text) })).toBe(only);
});
