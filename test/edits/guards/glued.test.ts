/** Lines that lost the line end between them, and lines that were joined on purpose. */
import { describe, expect, test } from '@jest/globals';
import { findingsOf, type GuardRow } from './findings.js';

const found = findingsOf('glued_lines');

describe('glued lines', () => {
  test.each<GuardRow>([
    ['two keys', 'c.yml', 'name: a\nport: 1\nhost: b\n', 'name: a\nport: 2host: b\n'],
    ['an indented line', 'a.py', 'if a:\n    b()\n    c()\n', 'if a:\n    d()    c()\n'],
    ['a block of lines', 'a.txt', 'one\ntwo\nthree\nfour\n', 'ONE\nTWOthree\nfour\n'],
    ['a brace', 'a.js', 'a {\n  b();\n}\n', 'a {\n  c();}\n'],
    ['the replacement of one word', 'a.txt', 'target\nfoo\n', 'replacementfoo\n'],
    ['behind a string', 'a.yml', 'a: "x"\nhost: b\n', 'a: "y"host: b\n'],
    ['a statement', 'a.js', 'a();\nb();\n', 'c();b();\n'],
  ])('%s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([expect.stringMatching(/^glued_lines ask /)]);
  });
  test.each<GuardRow>([
    ['an argument list on one line', 'a.js', 'a(\n  b,\n  c\n)\n', 'a(b, c)\n'],
    ['a block on one line', 'a.js', 'a {\n  b\n}\n', 'a { b }\n'],
    ['a sentence that is joined by a blank', 'a.md', 'one two\nthree four\n', 'one 2 three four\n'],
    ['a name gets a prefix', 'a.c', 'static void\nsum(a) {\n', 'ctl_sum(a) {\n'],
    [
      'a command that was broken',
      'a.md',
      '    $ a -e HUBOT_\nTOKEN=b c\n',
      '    $ x -e HUBOT_TOKEN=b c\n',
    ],
    ['a block without blanks', 'a.css', 'a {\n  b: c\n}\n', 'a{b: c}\n'],
    [
      'a block that ends on its line',
      'a.js',
      'a {\n  b = {\n    c\n  }\n}\n',
      'a {\n  b = {c}\n}\n',
    ],
    [
      'the first line of a string',
      'a.rs',
      'a(\n    r#"\nHere it is:\n"#)\n',
      'a(\n    r#"Here it is:\n"#)\n',
    ],
    ['a line goes', 'a.txt', 'one\ntwo\n', 'two\n'],
    ['a line is indented', 'a.txt', 'one\ntwo\n', '  two\n'],
    ['a short line', 'a.txt', 'a\nb\n', 'xb\n'],
  ])('nothing: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
});
