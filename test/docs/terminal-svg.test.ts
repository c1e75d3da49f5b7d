/** The picture of a terminal shows what a terminal would show after the same output. */
import { expect, test } from '@jest/globals';
import { terminalSvg } from '../../scripts/pictures/terminal-svg.js';

const ESC = '\u001b[';
const shown = (output: string, columns = 40): readonly string[] =>
  [
    ...terminalSvg({ output, columns, title: 'a < b' }).matchAll(/<text [^>]*>([^<]*)<\/text>/g),
  ].map(([, text]) => (text ?? '').replaceAll('\u00a0', ' '));

test('lines that were written over are gone; colours, bold and dim stay', () => {
  expect(shown(`one\r\n${ESC}2mlive\r\nmore${ESC}22m\r\n${ESC}2A${ESC}0Jtwo\r\n`)).toEqual([
    'one',
    'two',
  ]);
  expect(shown(`${ESC}1G${ESC}0J> ${ESC}3Ga\r\n`)).toEqual(['&gt; a']);
  const svg = terminalSvg({
    output: `${ESC}32mgreen${ESC}39m ${ESC}1mbold${ESC}0m`,
    columns: 20,
    title: 'x',
  });
  expect(svg).toMatch(/fill="#3fb950">green</);
  expect(svg).toMatch(/font-weight="bold">bold</);
});

test('a long line goes on in the next one, and text is text', () => {
  expect(shown('abcdef\r\n', 4)).toEqual(['abcd', 'ef']);
  expect(shown('a <b> & c')).toEqual(['a &lt;b&gt; &amp; c']);
});

test('what it does not know it does not draw wrongly', () => {
  expect(() => shown(`${ESC}5;3H`)).toThrow('a control sequence that this does not know');
  expect(() => shown(`${ESC}48m`)).toThrow('a colour that this does not know');
});
