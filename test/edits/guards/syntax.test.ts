/** Guards that look at syntax trees, on TypeScript: what is told of which line, how often, and what is passed over. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { guardFindings } from '../../../src/edits/guards/index.js';
import type { Syntax } from '../../../src/edits/syntax-port.js';
import { loadSyntax } from '../../../src/syntax/index.js';
import { SYNTAX_FINDINGS } from '../../../src/edits/guards/syntax.js';
import { SYNTAX_FILE_CHARS } from '../../../src/syntax/load.js';

let syntax: Syntax;
beforeAll(async () => {
  syntax = await loadSyntax(['a.ts']);
});

interface Sides {
  readonly base: string | null;
  readonly result: string;
}
const bytes = (text: string | null): Uint8Array | null =>
  text === null ? null : Buffer.from(text);
/** `guard severity first-last: message`; files are `a.ts`, `b.ts` and so on. */
const told = (files: readonly Sides[], asked = ''): string[] =>
  guardFindings(
    files.map(({ base, result }, i) => ({
      path: `${String.fromCharCode(97 + i)}.ts`,
      base: bytes(base),
      result: bytes(result),
    })),
    { syntax, asked },
  ).map(
    ({ guard, severity, lines, message }) =>
      `${guard} ${severity} ${lines?.join('-') ?? ''}: ${message}`,
  );
const one = (base: string, result: string, asked?: string): string[] =>
  told([{ base, result }], asked);
const each = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('');
const KEPT = 'const kept = 1;\n';

describe('a definition that is gone', () => {
  const MENU = 'class Menu {\n  price() {}\n  size() {}\n}\n';

  test('is told with its lines; what stood in it is not told again', () => {
    expect(one(KEPT + MENU, KEPT)).toEqual([
      'lost_symbol ask 2-5: Menu (class, line 2 of the old a.ts) was removed.',
    ]);
    expect(one(MENU, MENU.replace('  price() {}\n', ''))).toEqual([
      'lost_symbol ask 2-2: Menu.price (method, line 2 of the old a.ts) was removed.',
    ]);
    const nested = 'namespace N {\n  namespace M {\n    function f() {}\n  }\n}\n';
    expect(one(KEPT + nested, KEPT)).toEqual([
      'lost_symbol ask 2-6: N (namespace, line 2 of the old a.ts) was removed.',
    ]);
    expect(one(nested, 'namespace N {\n}\n')).toEqual([
      'lost_symbol ask 2-4: N.M (namespace, line 2 of the old a.ts) was removed.',
    ]);
  });

  test('is told once where it was overloaded, and of many only so many are told', () => {
    const overloaded =
      'function f(a: string): void;\nfunction f(a: number): void;\nfunction f(a: unknown) {}\n';
    expect(one(KEPT + overloaded, KEPT)).toEqual([
      'lost_symbol ask 4-4: f (function, line 4 of the old a.ts) was removed.',
    ]);
    const many = each(SYNTAX_FINDINGS + 1, (i) => `function f${i}() {}`);
    expect(one(KEPT + many, KEPT).filter((line) => line.startsWith('lost_symbol'))).toHaveLength(
      SYNTAX_FINDINGS,
    );
  });

  test('values may go', () => {
    expect(one(`${KEPT}const gone = 2;\n`, KEPT)).toEqual([]);
  });

  test.each([
    ['remove price', true],
    ['price goes', true],
    ['drop Menu.price.', true],
    ['not prices, price', true],
    ['remove prices', false],
    ['a surprice', false],
    ['remove price_of', false],
    ['remove $price', false],
    ['', false],
  ])('named by the instructions %j: %s', (asked, isNamed) => {
    expect(one(MENU, MENU.replace('  price() {}\n', ''), asked)).toEqual([
      isNamed
        ? 'lost_symbol note 2-2: Menu.price (method, line 2 of the old a.ts) was removed; the instructions name it.'
        : 'lost_symbol ask 2-2: Menu.price (method, line 2 of the old a.ts) was removed.',
    ]);
  });

  describe('and there in another file', () => {
    const f = 'function f() {}\n';
    const gone = { base: KEPT + f, result: KEPT };
    const IS_GONE = 'lost_symbol ask 2-2: f (function, line 2 of the old a.ts) was removed.';

    test.each<[string, Sides, string]>([
      [
        'new there',
        { base: KEPT, result: `function g() {}\n${KEPT}${f}` },
        'lost_symbol note 2-2: f (function, line 2 of the old a.ts) moves to b.ts.',
      ],
      ['there before', { base: f, result: f + KEPT }, IS_GONE],
      ['as something else', { base: KEPT, result: `${KEPT}class f {}\n` }, IS_GONE],
      ['under another name', { base: KEPT, result: `${KEPT}function fs() {}\n` }, IS_GONE],
    ])('%s', (_name, other, expected) => {
      expect(told([gone, other])).toEqual([expected]);
    });

    test('that it moves is told even where the instructions name it', () => {
      expect(told([gone, { base: null, result: f }], 'move f')).toEqual([
        'lost_symbol note 2-2: f (function, line 2 of the old a.ts) moves to b.ts.',
      ]);
    });
  });

  test('may only be hidden by new errors, unless it was to go', () => {
    const broken = 'function (\n';
    const lost = (asked?: string): string[] =>
      one(`${KEPT}function f() {}\n`, KEPT + broken, asked).filter((line) =>
        line.startsWith('lost_symbol'),
      );
    expect(lost()).toEqual([
      'lost_symbol ask 2-2: f (function, line 2 of the old a.ts) was removed. New syntax errors may merely hide it.',
    ]);
    expect(lost('remove f')).toEqual([
      'lost_symbol note 2-2: f (function, line 2 of the old a.ts) was removed; the instructions name it.',
    ]);
    // The errors were there before.
    expect(one(`function f() {}\n${KEPT}${broken}`, KEPT + broken)).toEqual([
      'lost_symbol ask 1-1: f (function, line 1 of the old a.ts) was removed.',
    ]);
  });
});

describe('a definition that stands twice', () => {
  const f = (body: string): string => `function f() {\n  ${body};\n}\n`;
  const TWICE = (line: number): string =>
    `doubled_block ask ${line}-${line + 2}: f is defined twice with the same signature in the new a.ts: lines 1 and ${line}.`;

  test('is told where it did not before', () => {
    expect(one(f('one()'), f('one()') + f('two()'))).toEqual([TWICE(4)]);
    expect(one(f('one()') + f('two()'), f('one()') + f('three()'))).toEqual([]);
    expect(one(f('one()') + f('two()'), f('one()') + f('two()') + f('three()'))).toEqual([
      TWICE(4),
      TWICE(7),
    ]);
    expect(told([{ base: null, result: f('one()') + f('two()') }])).toEqual([TWICE(4)]);
  });

  test('namespaces, values and other heads may come again', () => {
    expect(one('namespace N {}\n', 'namespace N {}\nnamespace N {}\n')).toEqual([]);
    expect(one('var a = 1;\n', 'var a = 1;\nvar a = 2;\n')).toEqual([]);
    expect(
      one('function f(a: string) {}\n', 'function f(a: string) {}\nfunction f(b: number) {}\n'),
    ).toEqual([]);
  });

  test('of many only so many are told', () => {
    const many = each(SYNTAX_FINDINGS + 2, (i) => `function f() { g${i}(); }`);
    expect(one('function f() {}\n', many)).toHaveLength(SYNTAX_FINDINGS);
  });
});

describe('a syntax error', () => {
  test('that the base did not have is told by its line', () => {
    expect(one('f(1);\n', KEPT + 'f(1;\n')).toEqual([
      'syntax ask 2-2: Line 2 of the new a.ts lacks ")" (TypeScript): "f(1;".',
    ]);
    expect(one(KEPT, `${KEPT}  const = ${'x'.repeat(90)};\n`)).toEqual([
      `syntax ask 2-2: Line 2 of the new a.ts does not fit the grammar (TypeScript): "const = ${'x'.repeat(72)}".`,
    ]);
  });

  test('on a line that stays is the old one; where there are no more than before it is a note', () => {
    expect(one(`f(1;\n${KEPT}`, `f(1;\n${KEPT}${KEPT}`)).toEqual([]);
    expect(one(`f(1;\n${KEPT}`, `g(2;\n${KEPT}`)).toEqual([
      'syntax note 1-1: Line 1 of the new a.ts lacks ")" (TypeScript): "g(2;".',
    ]);
  });

  test('of many only so many are told', () => {
    const many = each(SYNTAX_FINDINGS + 5, (i) => `f(${i};`);
    expect(one(KEPT, KEPT + many).filter((line) => line.startsWith('syntax'))).toHaveLength(
      SYNTAX_FINDINGS,
    );
  });

  test('is not looked for where one side is too large for a tree; that is told', () => {
    const large = `// ${'x'.repeat(SYNTAX_FILE_CHARS)}\n`;
    for (const [base, result] of [
      [KEPT, large],
      [large, KEPT],
    ] as const)
      expect(one(base, result).filter((line) => line.startsWith('syntax'))).toEqual([
        expect.stringMatching(/^syntax note : The syntax of a\.ts was not checked: \S/),
      ]);
  });
});
