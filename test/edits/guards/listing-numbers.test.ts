/** Numbers of a listing in new text, and numbers that belong to a file. */
import { describe, expect, test } from '@jest/globals';
import { findingsOf, type GuardRow } from './findings.js';

const found = findingsOf('listing_numbers');

describe('numbers of a listing', () => {
  test.each<GuardRow>([
    ['with an arrow', 'notes.txt', 'one\ntwo\nthree\n', '     1→one\n     2→TWO\n     3→three\n'],
    ['with a bar', 'a.js', 'one();\nend();\n', '1| two();\n2| end();\n'],
    ['with a bar between blanks', 'a.css', 'a\nb\n', '1 | a\n2 | c\n'],
    ['with a colon', 'a.css', 'a\nb\n', '1: a\n2: c\n'],
    ['of `cat -n`, in a part', 't.py', 'a\nb\nc\nd\n', 'a\n     2\tb\n     3\tx\n     4\td\n'],
    ['of `cat -b`, which numbers no blank lines', 't.py', 'a\n\nb\n', '     1\ta\n\n     2\tx\n'],
    ['with blank lines that are numbered', 't.py', 'a\n\nb\n', '     1\ta\n     2\t\n     3\tx\n'],
    ['with a letter', 'a.css', 'a\nb\n', 'L1: a\nL2: c\n'],
    ['in brackets', 'a.css', 'a\nb\n', '[1] a\n[2] c\n'],
    ['of `bat`', 'a.css', 'a\nb\n', '   1 │ a\n   2 │ c\n'],
    ['with blanks in place of the tab', 'a.css', 'a\nb\n', '     1  a\n     2  c\n'],
    ['where the file has other numbers', 'a.css', 'a\n1: b\n', '1→a\n2→c\n'],
    ['in a new file', 'a.kt', null, '1| two()\n2| end()\n'],
    ['in one line', 'a.css', 'a\nb\n', 'a\n     2→c\n'],
    ['from another number on', 'a.css', 'a\nb\nc\n', '98| a\n99| x\n100| c\n'],
  ])('%s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([expect.stringMatching(/^listing_numbers refuse /)]);
  });
  test.each<GuardRow>([
    ['a list of Markdown', 'a.md', 'a\n', '1. a\n2. b\n'],
    ['numbers that do not follow each other', 'a.txt', 'a\n', '1| a\n3| b\n'],
    ['different separators', 'a.txt', 'a\n', '1| a\n2: b\n'],
    ['a file that has such lines', 'a.txt', '1: a\n2: b\n', '1: a\n2: b\n3: c\n4: d\n'],
    ['a new table', 'a.tsv', null, '1\ta\n2\tb\n'],
    ['new YAML with numbers as keys', 'a.yml', null, '1: a\n2: b\n'],
    ['one line with a number', 'a.txt', 'a\n', 'a\n2: b\n'],
    ['one line whose number is not that of its place', 'a.txt', 'a\n', 'a\n     9→b\n'],
    ['lines without numbers between', 'a.txt', 'a\n', '1| a\nb\n2| c\n'],
    ['a switch', 'a.c', 'a\n', 'case 1: a;\ncase 2: b;\n'],
    ['a time', 'a.txt', 'a\n', '10:30 a\n11:30 b\n'],
    ['a map', 'a.py', 'a\nx = {\n}\n', 'a\nx = {\n    1: "a",\n    2: "b",\n}\n'],
    ['rows of a table', 'a.sql', 'a\nb\n', 'a\nb\n1\tx\n2\ty\n'],
  ])('nothing: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
});
