import { describe, expect, test } from '@jest/globals';
import {
  changeNeeds,
  combinedDiff,
  neededName,
  readDiff,
  selectChanges,
  wordsOf,
} from '../../../src/edits/index.js';
import {
  type ChangeNeed,
  CHANGE_NEEDS,
  NEED_NAME_CHARS,
} from '../../../src/edits/proposal/needs.js';
import { numberedChanges } from '../../../src/edits/proposal/select.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (from: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(from);
const edit = (path: string, base: string, result: string) => ({
  path,
  base: bytes(base),
  result: bytes(result),
});
/** What becomes of `base` when these changes of the way to `result` are taken. */
const take = (base: string, result: string, chosen: readonly number[]): string => {
  const changes = numberedChanges(combinedDiff([edit('a.txt', base, result)])).get('a.txt') ?? [];
  return text(selectChanges({ base: bytes(base), result: bytes(result), changes, chosen }));
};
const lines = (n: number, change: (line: number) => string = () => ''): string =>
  Array.from({ length: n }, (_, i) => `${change(i + 1) || `line ${i + 1}`}\n`).join('');

describe("the proposal's diff, read back", () => {
  test('has every file with its hunks, and changes numbered through the file', () => {
    const base = lines(40);
    const result = lines(40, (n) => (n === 3 || n === 5 || n === 30 ? `LINE ${n}` : ''));
    const [section, other] = readDiff(
      combinedDiff([edit('a b/é.txt', base, result), edit('z.txt', 'one\n', 'two\n')]),
    );
    expect(section?.path).toBe('a b/é.txt');
    expect(section?.hunks.map((hunk) => hunk.changes.map((change) => change.n))).toEqual([
      [1, 2],
      [3],
    ]);
    expect(section?.hunks[0]?.changes[1]).toEqual({
      n: 2,
      b0: 4,
      b1: 5,
      r0: 4,
      r1: 5,
      first: 5,
      end: 7,
    });
    expect(section?.hunks[0]?.lines.slice(5, 7)).toEqual(['-line 5', '+LINE 5']);
    expect(other).toMatchObject({
      path: 'z.txt',
      header: ['diff --git a/z.txt b/z.txt', '--- a/z.txt', '+++ b/z.txt'],
    });
  });

  test('files that come, go, move, are binary or not UTF-8 are there and have no changes to choose', () => {
    const diff = combinedDiff([
      { path: 'new.txt', base: null, result: bytes('--- a\n+++ b\n@@ -1 +1 @@\n') },
      { path: 'gone.txt', base: bytes('diff --git a/x b/x\n'), result: null },
      { path: 'to.txt', moveFrom: 'from.txt', base: bytes('a\n'), result: bytes('b\n') },
      { path: 'x.bin', base: Uint8Array.of(0, 1), result: Uint8Array.of(0, 2) },
      { path: 'latin.txt', base: Uint8Array.of(0xe9, 10), result: Uint8Array.of(0xe8, 10) },
      edit('last.txt', 'a\n', 'b\n'),
    ]);
    expect(readDiff(diff).map(({ path }) => path)).toEqual([
      'new.txt',
      'gone.txt',
      'to.txt',
      'x.bin',
      'latin.txt',
      'last.txt',
    ]);
    expect([...numberedChanges(diff).keys()]).toEqual(['last.txt']);
  });

  test('a diff that is cut short is no diff', () => {
    const diff = combinedDiff([
      edit(
        'a.txt',
        lines(9),
        lines(9, (n) => (n === 4 ? 'four' : '')),
      ),
    ]);
    expect(() => readDiff(diff.slice(0, diff.indexOf('+four')))).toThrow('is cut');
  });
});

describe('chosen changes', () => {
  const base = 'a\nb\nc\nd\ne\nf\n';
  const result = 'A\nb\nc\nx\ny\ne\n';
  test.each([
    [[1], 'A\nb\nc\nd\ne\nf\n'],
    [[2], 'a\nb\nc\nx\ny\ne\nf\n'],
    [[3], 'a\nb\nc\nd\ne\n'],
    [[3, 1], 'A\nb\nc\nd\ne\n'],
    [[1, 2, 3], result],
  ])('%j', (chosen, expected) => {
    expect(take(base, result, chosen)).toBe(expected);
  });

  test('bytes of all else stay: BOM, mixed line endings, a missing last line end', () => {
    const mixed = '\ufeffone\r\ntwo\nthree\r\nfour\nfive\r\nsix';
    const changed = '\ufeffone\r\nTWO\r\nthree\r\nfour\nFIVE\nsix\nseven';
    expect(take(mixed, changed, [1])).toBe('\ufeffone\r\nTWO\r\nthree\r\nfour\nfive\r\nsix');
    expect(take(mixed, changed, [2])).toBe('\ufeffone\r\ntwo\nthree\r\nfour\nFIVE\nsix\nseven');
  });

  test('insertions into an empty stretch, at the start and at the end', () => {
    expect(take('m\n', 'a\nm\nz\n', [1])).toBe('a\nm\n');
    expect(take('m\n', 'a\nm\nz\n', [2])).toBe('m\nz\n');
    // A last line that gets its line end is a change of that line: one with what follows it.
    expect(take('m', 'a\nm\nz', [1])).toBe('a\nm\nz');
  });

  test('whatever the change: all of it gives the result, and what was left out is what a diff still finds', () => {
    let seed = 7;
    const random = (n: number): number => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
    for (let round = 0; round < 200; round += 1) {
      const from = Array.from(
        { length: random(30) },
        () => `${'abcdef'[random(6)] ?? ''}${random(4) === 0 ? '\r' : ''}`,
      );
      const to = from.flatMap((line) =>
        random(4) === 0 ? [] : random(4) === 0 ? [line, `new ${random(9)}`] : [line],
      );
      const [one, two] = [from.join('\n'), to.join('\n')];
      const changes = numberedChanges(combinedDiff([edit('a.txt', one, two)])).get('a.txt') ?? [];
      const all = changes.map(({ n }) => n);
      expect(take(one, two, all)).toBe(two);
      expect(take(one, two, [])).toBe(one);
      const some = all.filter(() => random(2) === 0);
      const rest = all.filter((n) => !some.includes(n));
      // Taken in two goes, the other way round, too: the changes do not touch each other.
      const added = (chosen: readonly number[]) => take(one, two, chosen).length - one.length;
      expect(added(some) + added(rest)).toBe(two.length - one.length);
    }
  });

  test('a number that the file does not have is an error of ours, not a silent nothing', () => {
    expect(() => take(base, result, [4])).toThrow('there is no change 4');
  });
});

describe('what a change needs', () => {
  const needs = (...files: { path: string; base: string; result: string }[]) =>
    changeNeeds(
      readDiff(combinedDiff(files.map(({ path, base, result }) => edit(path, base, result)))),
      (path) => {
        const file = files.find((each) => each.path === path);
        return file === undefined ? null : new Set(wordsOf(file.base));
      },
    ).map(
      ({ user, name, needs: from }) =>
        `${user.path}:${user.n} needs ${name} of ${from.path}:${from.n}`,
    );
  const filler = lines(12);

  test.each([
    ['function', 'function shout(x) { return x; }', 'print(shout(1));'],
    ['const', 'export const shout = 1;', 'print(shout);'],
    ['python', 'def shout(x):', 'print(shout(1))'],
    ['rust', 'pub fn shout(x: u8) {}', 'shout(1);'],
    ['go method', 'func (r *Room) shout() {}', 'r.shout()'],
    ['C', 'static int shout(int x) {', 'x = shout(1);'],
    ['import', "import { shout } from './shout.js';", 'print(shout(1));'],
    ['assignment', 'shout = 1', 'print(shout)'],
  ])('a name that another change of the file defines: %s', (_, definition, use) => {
    const result = `${definition}\n${filler}${use}\n`;
    expect(needs({ path: 'a.ts', base: filler, result })).toEqual(['a.ts:2 needs shout of a.ts:1']);
  });

  test('a name from another file', () => {
    expect(
      needs(
        { path: 'lib.ts', base: filler, result: `${filler}export function shout() {}\n` },
        { path: 'use.ts', base: filler, result: `${filler}shout();\n` },
      ),
    ).toEqual(['use.ts:1 needs shout of lib.ts:1']);
  });

  test('nothing is missed where the name was there before, or the change brings it itself', () => {
    const old = `function shout() {}\n${filler}`;
    expect(
      needs({ path: 'a.ts', base: old, result: `function shout(x) {}\n${filler}shout(1);\n` }),
    ).toEqual([]);
    expect(
      needs({ path: 'a.ts', base: filler, result: `${filler}const shout = 1;\nprint(shout);\n` }),
    ).toEqual([]);
  });

  const brings = `${filler}export function shout() {}\n`;
  test('of several that bring the name the one in its own file is meant, else the first', () => {
    const own = { path: 'z.ts', base: filler, result: `function shout() {}\n${filler}shout();\n` };
    const other = { path: 'a.ts', base: filler, result: brings };
    const third = { path: 'm.ts', base: filler, result: `shout();\n${filler}` };
    expect(needs(other, third, own)).toEqual([
      'm.ts:1 needs shout of a.ts:1',
      'z.ts:2 needs shout of z.ts:1',
    ]);
  });

  test('a word that the file had before is another thing, if another file brings it', () => {
    const known = `let shout = 2;\n${filler}`;
    const use = { path: 'use.ts', base: known, result: `${known}shout();\n` };
    expect(needs({ path: 'lib.ts', base: filler, result: brings }, use)).toEqual([]);
    // In its own file it was not brought: it was there.
    expect(
      needs({ path: 'use.ts', base: known, result: `let shout = 3;\n${filler}shout();\n` }),
    ).toEqual([]);
  });

  test('names of fewer characters are no sign of anything', () => {
    const name = 'n'.repeat(NEED_NAME_CHARS);
    const using = (word: string) =>
      needs({
        path: 'a.ts',
        base: filler,
        result: `const ${word} = 1;\n${filler}print(${word});\n`,
      });
    expect(using(name)).toHaveLength(1);
    expect(using(name.slice(1))).toEqual([]);
  });

  test('only added lines bring and use names', () => {
    const base = `const shout = 1;\n${filler}print(shout);\n`;
    expect(
      needs({ path: 'a.ts', base, result: `const shout = 2;\n${filler}print(other);\n` }),
    ).toEqual([]);
    expect(needs({ path: 'a.ts', base, result: filler })).toEqual([]);
  });

  test('so many needs are told', () => {
    const names = Array.from({ length: CHANGE_NEEDS + 5 }, (_, i) => `name${i}`);
    const result = `${names.map((name) => `const ${name} = 1;\n`).join('')}${filler}${names.join(' ')}\n`;
    expect(needs({ path: 'a.ts', base: filler, result })).toHaveLength(CHANGE_NEEDS);
  });

  test('as a person reads it', () => {
    const need = (path: string): ChangeNeed => ({
      user: { path: 'a.ts', n: 1 },
      name: 'x',
      needs: { path, n: 2 },
    });
    expect(neededName(need('a.ts'), 2)).toBe('hunk 2');
    expect(neededName(need('b.ts'), 2)).toBe('hunk 2 of b.ts');
    expect(neededName(need('b.ts'), 0)).toBe('b.ts');
  });

  test('words of strings in an import are no names', () => {
    const result = `import './line.js';\n${filler}the js of it\n`;
    expect(needs({ path: 'a.ts', base: filler, result })).toEqual([]);
  });
});
