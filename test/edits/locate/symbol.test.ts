/** Places by symbol, in TypeScript: which definition is meant, and what a refusal names. Languages and positions: test/scenarios/6xx_symbol_*. */
import { beforeAll, expect, test } from '@jest/globals';
import type { QuotedLine } from '../../../src/edits/edit.js';
import { symbolPlacer } from '../../../src/edits/locate/symbol.js';
import { rangeEdit } from '../locate-support.js';
import { lineCheck } from '../../../src/edits/listing.js';
import type { Syntax } from '../../../src/edits/syntax-port.js';
import { indexOf, splitLines } from '../../../src/edits/text/lines.js';
import { loadSyntax } from '../../../src/syntax/index.js';

let syntax: Syntax;
beforeAll(async () => {
  syntax = await loadSyntax(['a.ts']);
});

/** `from to to` of a deletion, 1-based, or the code and the message. */
const told = (source: string, name: string, line: QuotedLine | null = null): string => {
  const symbol = { name, position: null, line };
  const edit = rangeEdit({ type: 'delete', symbol });
  const located = symbolPlacer(indexOf(splitLines(source)), 'a.ts', syntax)(edit, symbol);
  return 'code' in located
    ? `${located.code}: ${located.message}`
    : `${located.from + 1} to ${located.to}`;
};
const functions = (...names: string[]): string =>
  names.map((name) => `function ${name}() {\n}\n`).join('');
const at = (line: number, check: string | null = null): QuotedLine => ({ line, check });

const TWO = functions('f', 'f');
test.each<[string, QuotedLine | null, string | RegExp]>([
  [
    'none',
    null,
    /^symbol_repeated: a\.ts has 2 definitions "f": f \(function, lines 1 to 2\), f \(function, lines 3 to 4\)\./,
  ],
  ['its first', at(1), '1 to 2'],
  ['the last of the one before', at(2), '1 to 2'],
  ['the first of the other', at(3), '3 to 4'],
  ['its last', at(4), '3 to 4'],
  ['with its check', at(3, lineCheck('}', 'function f() {', '}')), '3 to 4'],
  ['with another', at(3, 'zzz'), /^check_mismatch: `at` quotes 3zzz, /],
  [
    'behind both',
    at(5),
    /^symbol_missing: No definition "f" of a\.ts contains line 5; there is f .*, f \(function, lines 3 to 4\)\.$/,
  ],
])('of two, a line decides: %s', (_, line, expected) => {
  expect(told(TWO, 'f', line)).toMatch(expected);
});

const MENU = 'class Menu {\n  size() {}\n}\n';
test.each([
  [
    'the same but for capitals, in another class',
    MENU,
    'Other.Size',
    'The nearest it defines: Menu.size (method, line 2).',
  ],
  [
    'that goes before a longer one',
    functions('add', 'addAll'),
    'ADD',
    'The nearest it defines: add (function, lines 1 to 2).',
  ],
  [
    'one that holds it',
    functions('addAll', 'size'),
    'add',
    'The nearest it defines: addAll (function, lines 1 to 2).',
  ],
  [
    'one that it holds',
    functions('add', 'size'),
    'addAll',
    'The nearest it defines: add (function, lines 1 to 2).',
  ],
  ['not one of two letters', functions('ad'), 'addAll', 'It defines ad (function, lines 1 to 2).'],
  ['else the outermost', MENU, 'price', 'It defines Menu (class, lines 1 to 3).'],
  ['none at all', '1;\n', 'f', 'It has no named definitions.'],
])('the nearest name: %s', (_, source, name, expected) => {
  expect(told(source, name)).toBe(
    `symbol_missing: a.ts has no definition ${JSON.stringify(name)}. ${expected} Name one of these, or quote line numbers with their checks.`,
  );
});

test('at most twelve are told', () => {
  const many = (count: number): string =>
    told(functions(...Array.from({ length: count }, (_, i) => `get${i}`)), 'get');
  expect(many(12)).toContain('get11 (function, lines 23 to 24). Name');
  expect(many(13)).toContain('get11 (function, lines 23 to 24) and 1 more. Name');
});

test.each([
  [
    'inside of it, behind another',
    `const = 1;\n${functions('g')}function f() {\n  a(;\n}\n`,
    'f',
    'The syntax error at line 5 ',
  ],
  ['in its first line', `const = 1;\nfunction f(a b) {\n}\n`, 'f', 'The syntax error at line 2 '],
  [
    'outside, that holds the name',
    `${MENU}const = size;\n`,
    'Menu.size',
    'The syntax error at line 4 ',
  ],
])('a syntax error %s', (_, source, name, expected) => {
  expect(told(source, name)).toContain(
    `symbol_unclear: ${expected}of a.ts makes it unclear where ${name} starts`,
  );
});
test('a syntax error elsewhere that does not hold the name is none', () => {
  expect(told(`${MENU}const = 1;\n`, 'Menu.size')).toBe('2 to 2');
});
