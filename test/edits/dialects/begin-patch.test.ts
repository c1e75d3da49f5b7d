/** Which patches are read, where their chunks stand, and what is refused. */
import { describe, expect, test } from '@jest/globals';
import type { ApplyOptions } from '../../../src/edits/index.js';
import * as say from '../told.js';

const patch = (...lines: string[]): string =>
  `*** Begin Patch\n${lines.join('\n')}\n*** End Patch\n`;
const update = (...lines: string[]): string => patch('*** Update File: f', ...lines);
const run = (
  answer: string,
  files: Readonly<Record<string, string>>,
  options?: Partial<ApplyOptions>,
): say.Told => say.told('begin-patch', answer, files, options);
const inF = (answer: string, f = 'a\nb\nc\nd\n', options?: Partial<ApplyOptions>): say.Told => {
  const found = run(answer, { f }, options);
  return typeof found === 'object' && !('tolerances' in found) ? String(found.f) : found;
};

describe('an answer that is no patch', () => {
  const right = '*** Update File: f\n-b\n+B';
  test.each([
    ['nothing', '', 'invalid no_edits 0'],
    ['blank lines alone', '\n \n', 'invalid no_edits 0'],
    ['a longer first line', `*** Begin Patch now\n${right}\n*** End Patch\n`, 'invalid no_edits 0'],
    [
      'something before the first line',
      ` *** Begin Patch\n${right}\n*** End Patch\n`,
      'invalid no_edits 0',
    ],
    ['no file', '*** Begin Patch\n*** End Patch\n', 'invalid no_edits 0'],
    ['no end', `*** Begin Patch\n${right}\n`, 'truncated open_block 1'],
    [
      'its end alone is longer',
      `*** Begin Patch\n${right}\n*** End Patch now\n`,
      'invalid stray_line 1',
    ],
    [
      'cut within the line that ends it',
      `*** Begin Patch\n${right}\n*** End Pat`,
      'truncated stray_line 1',
    ],
    ['a line before the first file', patch('x', right), 'invalid stray_line 0'],
    [
      'a line that is none, before another',
      `*** Begin Patch\n*** Update\n${right}\n*** End Patch\n`,
      'invalid stray_line 0',
    ],
    ['cut within a header', '*** Begin Patch\n*** Upd', 'truncated stray_line 0'],
    ['cut within a line', `*** Begin Patch\n${right}\nx`, 'truncated stray_line 0'],
    ['a line of a chunk behind its end', `${patch(right)}+x\n`, 'invalid stray_line 1'],
    [
      'another format behind its end',
      `${patch(right)}FILE f\nx\nEND FILE\n`,
      'invalid stray_edit 1',
    ],
    ['a header behind its end', `${patch(right)}*** Delete File: f\n`, 'invalid stray_line 1'],
    ['a line without sign', patch(right, 'c'), 'invalid stray_line 0'],
    ['a line without sign, later', patch(right, '@@', '-c', 'x', '+C'), 'invalid stray_line 0'],
    [
      'a line behind End of File',
      patch('*** Update File: f', '-d', '*** End of File', '+e'),
      'invalid stray_line 0',
    ],
    ['a chunk of a name alone', patch(right, '@@ c'), 'invalid stray_line 0'],
    ['an addition with a name', patch('*** Add File: n', '@@ x', '+a'), 'invalid stray_line 0'],
    [
      'an addition with a removed line',
      patch('*** Add File: n', '+a', '-b'),
      'invalid stray_line 0',
    ],
    ['an addition with a kept line', patch('*** Add File: n', ' a'), 'invalid stray_line 0'],
  ])('%s', (_, answer, expected) => {
    const found = inF(answer);
    expect(typeof found === 'string' ? found.split(', marker')[0] : found).toBe(expected);
  });

  test('a stray line is told by number, and cut where it is long', () => {
    const message = say.firstMessage(
      'begin-patch',
      patch('*** Update File: f', '-b', 'x'.repeat(300)),
      { f: 'b\n' },
    );
    expect(message).toContain(`Line 4 of the answer, "${'x'.repeat(120)}…", belongs`);
  });
});

describe('what is read', () => {
  test.each([
    ['blank lines before it and behind it', `\n \n${update('-b', '+B')}\n \n`, 'a\nB\nc\nd\n'],
    ['prose before it', `Here it is:\n\n${update('-b', '+B')}`, 'a\nB\nc\nd\n'],
    ['prose behind it', `${update('-b', '+B')}done`, 'a\nB\nc\nd\n'],
    ['a fence behind it', `${update('-b', '+B')}\`\`\`\n~~~\n`, 'a\nB\nc\nd\n'],
    [
      'blanks behind its marks',
      '*** Begin Patch \n*** Update File: f \n-b\n+B\n*** End Patch\t\n',
      'a\nB\nc\nd\n',
    ],
    ['CRLF', update(' a', '-b', '+B', '@@ c', '-d', '+D').replaceAll('\n', '\r\n'), 'a\nB\nc\nD\n'],
    [
      'blank lines between header and chunk',
      patch('', '*** Update File: f', '', '@@', '-b', '+B'),
      'a\nB\nc\nd\n',
    ],
    [
      'blank lines at the end of chunks',
      update('-b', '+B', '', '', '@@', '-d', '+D', ''),
      'a\nB\nc\nD\n',
    ],
    ['an empty chunk between', update('-b', '+B', '@@', '@@', '-d', '+D'), 'a\nB\nc\nD\n'],
    ['a blank line behind End of File', update('-d', '+D', '*** End of File', ''), 'a\nb\nc\nD\n'],
    [
      'a line of dots and stars that is a context',
      update(' a', '-b', '+*** B'),
      'a\n*** B\nc\nd\n',
    ],
  ])('%s', (_, answer, expected) => {
    expect(inF(answer)).toBe(expected);
  });

  test('files that are made, go and move', () => {
    expect(run(patch('*** Add File: n', '+a', '', '+b'), {})).toBe('invalid stray_line 0');
    expect(run(patch('*** Add File: n', '+a', '+', '+b', ''), {})).toEqual({ n: 'a\n\nb\n' });
    expect(run(patch('*** Add File: n'), {})).toEqual({ n: '' });
    expect(run(patch('*** Delete File: f', '*** Add File: n', '+a'), { f: 'x\n' })).toEqual({
      f: null,
      n: 'a\n',
    });
    expect(run(patch('*** Update File: f', '*** Move to: n'), { f: 'x\n' })).toEqual({
      f: null,
      n: 'x\n',
    });
    expect(run(patch('*** Update File: f', '*** Move to: n', '-x', '+y'), { f: 'x\n' })).toEqual({
      f: null,
      n: 'y\n',
    });
    expect(run(patch('*** Update File: f'), { f: 'x\n' })).toBe('refused bare_header 0');
    expect(run(patch('*** Update File: f', '*** Move to: ../n'), { f: 'x\n' })).toMatch(
      /^refused \w+ 0$/,
    );
    expect(run(patch('*** Update File: n', '-x', '+y'), {})).toBe('refused target_absent 0');
    expect(say.firstMessage('begin-patch', patch('*** Delete File: n'), {})).toMatch(
      /^n does not exist, so it cannot be deleted\./,
    );
    expect(run(patch('*** Delete File: f', '*** Delete File: f'), { f: 'x\n' })).toBe(
      'refused file_twice 1',
    );
    expect(run(patch('*** Add File: f', '+a'), { f: 'x\n' })).toBe('refused already_exists 0');
    expect(run(patch('*** Delete File: f', '*** Move to: n'), { f: 'x\n' })).toBe(
      'invalid stray_line 1',
    );
  });

  test.each([
    [
      'made before',
      ['*** Add File: n', '+a', '*** Update File: f', '*** Move to: n'],
      'refused file_twice 1',
    ],
    [
      'made later',
      ['*** Update File: f', '*** Move to: n', '*** Add File: n', '+a'],
      'refused file_twice 0',
    ],
    [
      'made later, spelt otherwise',
      ['*** Update File: f', '*** Move to: ./n', '*** Add File: n', '+a'],
      'refused file_twice 0',
    ],
    [
      'moved to twice',
      ['*** Update File: f', '*** Move to: n', '*** Update File: g', '*** Move to: n'],
      'refused file_twice 0',
    ],
    [
      'moved on',
      ['*** Update File: f', '*** Move to: g', '*** Update File: g', '*** Move to: n'],
      'refused file_twice 0',
    ],
    ['there', ['*** Update File: f', '*** Move to: g'], 'refused move_onto_file'],
    ['itself', ['*** Update File: f', '*** Move to: f', '-x', '+y'], 'refused move_onto_file 0'],
  ])('a file is not moved onto one that is %s', (_, lines, expected) => {
    expect(run(patch(...lines), { f: 'x\n', g: 'y\n' })).toBe(expected);
  });

  test('edits are chunks; what is wrong is told by the chunk', () => {
    const files = { f: 'a\nb\n', g: 'c\n' };
    const both = patch(
      '*** Update File: f',
      '-a',
      '+A',
      '@@',
      '-b',
      '+B',
      '*** Update File: g',
      '-x',
      '+y',
    );
    expect(run(both, files)).toBe('refused context_mismatch 2');
    const after = patch(
      '*** Delete File: g',
      '*** Update File: f',
      '@@',
      '-a',
      '+A',
      '@@',
      '-x',
      '+X',
    );
    expect(run(after, files)).toBe('refused context_mismatch 2');
  });
});

describe('where a chunk stands', () => {
  const twice = 'x\na\nb\ny\na\nb\nz\n';
  test.each([
    ['in one place', ['-c', '+C'], 'a\nb\nc\nd\n', 'a\nb\nC\nd\n'],
    ['in two places', ['-a', '+A'], twice, 'refused context_repeated 0'],
    ['below the named line', ['@@ y', '-a', '+A'], twice, 'x\na\nb\ny\nA\nb\nz\n'],
    [
      'named with blanks round it',
      ['@@   y  ', '-a', '+A'],
      twice.replace('y', '  y'),
      'x\na\nb\n  y\nA\nb\nz\n',
    ],
    ['at the named line itself', ['@@ y', ' y', '-a', '+A'], twice, 'x\na\nb\ny\nA\nb\nz\n'],
    ['above the named line alone', ['@@ z', '-y', '+Y'], twice, 'refused context_mismatch 0'],
    ['two named lines', ['@@ x', '@@ y', '-a', '+A'], twice, 'x\na\nb\ny\nA\nb\nz\n'],
    ['a named line that is not there', ['@@ q', '-a', '+A'], twice, 'refused context_mismatch 0'],
    ['a part of a named line', ['@@ cd', '-e', '+E'], 'abcd\ne\n', 'refused context_mismatch 0'],
    ['a named line that stands twice', ['@@ a', '-z', '+Z'], twice, 'refused context_mismatch 0'],
    ['behind the chunk before', ['-y', '+Y', '@@', '-a', '+A'], twice, 'x\na\nb\nY\nA\nb\nz\n'],
    ['right behind the chunk before', ['-b', '+B', '@@', '-c', '+C'], 'a\nb\nc\n', 'a\nB\nC\n'],
    [
      'before the chunk before',
      ['-y', '+Y', '@@', '-x', '+X'],
      twice,
      'refused context_mismatch 1',
    ],
    [
      'at the end, where it stands twice',
      ['-a', '+A', '*** End of File'],
      'a\nb\na\n',
      'a\nb\nA\n',
    ],
    [
      'at the end, where it does not stand',
      ['-a', '+A', '*** End of File'],
      'a\nb\n',
      'refused context_mismatch 0',
    ],
    ['additions at the end', ['+e', '*** End of File'], 'a\nb\n', 'a\nb\ne\n'],
    ['additions to an empty file', ['+e'], '', 'e\n'],
    ['additions alone', ['+e'], 'a\nb\n', 'refused no_context 0'],
    [
      'a chunk behind additions at the end',
      ['+e', '*** End of File', '@@', '-a', '+A'],
      'a\n',
      'refused context_mismatch 1',
    ],
  ])('%s', (_, chunk, text, expected) => {
    expect(inF(update(...chunk), text)).toBe(expected);
  });

  test.each([
    [
      'a context line that lost its blank',
      ['-a', '+A', '', '-b', '+B'],
      'a\n\nb\n',
      'lost_blank',
      1,
      'A\n\nB\n',
    ],
    ['blanks at a line end', ['-a', '+A', ' b'], 'a  \nb\n', 'trailing_space', 1, 'A\nb\n'],
    [
      'another indentation',
      [' if:', '-  a', '+  A'],
      '\n  if:\n    a\n',
      'indent',
      2,
      '\n  if:\n    A\n',
    ],
  ])('by a tolerance: %s', (_, chunk, text, tolerance, line, expected) => {
    const on = { tolerances: { [tolerance]: true } };
    expect(run(update(...chunk), { f: text }, on)).toEqual({
      f: expected,
      tolerances: [`${tolerance}:${line}`],
    });
    const off = { tolerances: { [tolerance]: false } };
    expect(run(update(...chunk), { f: text }, off)).toBe(
      tolerance === 'lost_blank' ? 'refused lost_blank 0' : 'refused context_mismatch 0',
    );
  });

  test('in another indentation: below what is named, at the end, in one place', () => {
    const on = { tolerances: { indent: true } };
    const text = '  if:\n    a\n  y\n  if:\n    a\n';
    const chunk = [' if:', '-  a', '+  A'];
    expect(run(update(...chunk), { f: text }, on)).toBe('refused context_repeated 0');
    const second = { f: '  if:\n    a\n  y\n  if:\n    A\n', tolerances: ['indent:4'] };
    expect(run(update('@@ y', ...chunk), { f: text }, on)).toEqual(second);
    expect(run(update(...chunk, '*** End of File'), { f: text }, on)).toEqual(second);
    expect(run(update(...chunk, '*** End of File'), { f: `${text}z\n` }, on)).toBe(
      'refused context_mismatch 0',
    );
    // What stands exactly goes before what only stands shifted.
    expect(run(update(...chunk), { f: `${text}if:\n  a\n` }, on)).toEqual({
      f: `${text}if:\n  A\n`,
    });
  });

  test('a line that is not there is told with where it was looked for', () => {
    const message = (chunk: string[], text: string): string =>
      say.firstMessage('begin-patch', update(...chunk), { f: text });
    expect(message(['-q', '+Q'], twice)).toContain('do not occur. ');
    expect(message(['@@ y', '-q', '+Q'], twice)).toContain('do not occur below line 3.');
    expect(message(['-q', '+Q', '*** End of File'], twice)).toContain(
      'do not occur at the end of the file.',
    );
    expect(message(['-a', '+A'], twice)).toContain('at lines 2, 5. Add');
    expect(message([`@@ ${'n'.repeat(200)}`, '-a', '+A'], twice)).toContain(
      `"${'n'.repeat(120)}", which`,
    );
    expect(message(['@@ a', '-z', '+Z'], twice)).toContain('Several lines of the file are "a"');
  });
});
