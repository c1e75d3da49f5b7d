/** Escaped text in place of plain characters: what is reported, and what may well be escaped and stays silent. */
import { describe, expect, test } from '@jest/globals';
import { guardFindings } from '../../../src/edits/guards/index.js';

/** `severity first-last` of each finding of the guard. */
const found = (path: string, base: string | null, result: string): string[] =>
  guardFindings([
    { path, base: base === null ? null : Buffer.from(base), result: Buffer.from(result) },
  ])
    .filter(({ guard }) => guard === 'escaped_text')
    .map(({ severity, lines }) => `${severity} ${lines?.join('-') ?? ''}`);

type Row = readonly [string, string, string | null, string];

describe('entities of HTML', () => {
  test.each<Row>([
    [
      'a shell script that has none',
      'run.sh',
      '#!/bin/sh\nmake\n',
      '#!/bin/sh\nmake &amp;&amp; [ 1 -lt 2 ] &gt; out.log\n',
    ],
    ['a file without an ending', 'Dockerfile', 'RUN a\n', 'RUN a &amp;&amp; b\n'],
    ['a new file', 'a.sh', null, 'a &gt; b\n'],
    ['operators in YAML', 'ci.yml', 'run: a\n', 'run: a &amp;&amp; b\n'],
    ['operators in PHP', 'a.php', '<?php\n$a = 1;\n', '<?php\n$a-&gt;b();\n'],
    ['quotes in YAML', 'ci.yml', 'run: echo "a"\n', 'run: echo &quot;b&quot;\n'],
    ['a file that has an entity in a string', 'a.sh', "a '&amp;'\n", "a '&amp;'\nb &amp;&amp; c\n"],
    ['a Makefile', 'Makefile', 'a: b\n', 'a: b\n\tc &amp;&amp; d\n'],
    ['by number', 'a.py', 'x = 1\n', 'x = 1 &#60; 2\n'],
  ])('ask: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([expect.stringMatching(/^ask /)]);
  });
  test.each<Row>([
    [
      'the file holds the character plain',
      'a.c',
      '#include <a.h>\nint a;\n',
      '#include <a.h>\nint a = b &lt; c;\n',
    ],
    ['a generic type', 'a.java', 'List<A> a;\nint b;\n', 'List<A> a;\nList&lt;B&gt; b;\n'],
    [
      'a whole document',
      'a.html',
      '<p>\n<b>a</b>\n</p>\n',
      '&lt;p&gt;\n&lt;b&gt;b&lt;/b&gt;\n&lt;/p&gt;\n',
    ],
    [
      'a whole file of data',
      'a.json',
      '{"a": 1, "b": 2}\n',
      '{&quot;a&quot;: 1, &quot;b&quot;: 3}\n',
    ],
  ])('refuse: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toContainEqual(expect.stringMatching(/^refuse /));
  });
  test.each<Row>([
    ['a string', 'a.js', 'a(1 < 2);\n', "a(1 < 2);\nb('Terms &amp; Conditions');\n"],
    [
      'a function that escapes',
      'a.js',
      'a();\n',
      "x.replace(/&/g, '&amp;').replace(/</g, '&lt;');\n",
    ],
    [
      'a function that takes it back',
      'a.js',
      'a();\n',
      "x.replace(/&amp;/g, '&').replace(/&quot;/g, '\"');\n",
    ],
    ['a comment', 'a.js', 'a(1 < 2);\n', 'a(1 < 2);\n// Returns &lt;b&gt;.\n'],
    ['a comment behind code', 'a.js', 'a(1 < 2);\n', 'a(1 < 2);\nb(); // as &lt;b&gt;\n'],
    ['a comment of JSDoc', 'a.js', 'a();\n', '/**\n * As &lt;b&gt;.\n */\na();\n'],
    ['HTML in a template string', 'a.ts', 'a();\n', 'a(`\n  <p>A &amp; B</p>\n`);\n'],
    ['a document', 'a.md', 'a < b\n', 'a &lt; b\n'],
    ['one character of a document is corrected', 'a.html', '<p>a & b</p>\n', '<p>a &amp; b</p>\n'],
    ['a page of JSX', 'a.tsx', 'a\n', 'b &amp; c\n'],
    ['a substitution of Perl', 'a.pl', 'a\n', '$text =~ s/</&lt;/g;\n'],
    ['XML before it is configured', 'a.xml.in', 'a\n', 'for &lt;i&gt; b\n'],
    [
      'an ampersand of a translation is corrected',
      'de.yml',
      'title: A & B\n',
      'title: A &amp; B\n',
    ],
    ['an example in the text of a page', 'a.vue', 'a\n', 'a\n&lt;style &gt; is red\n'],
    [
      'XML by its first line',
      'a.settings',
      '<?xml version="1.0"?>\n',
      '<?xml version="1.0"?>\na &lt; b\n',
    ],
    ['a file that has entities', 'a.sh', 'a &amp; b\n', 'a &amp; b\nc &gt; d\n'],
    ['a translation', 'de.yml', 'title: A\n', 'title: A &amp; B\n'],
    ['a reference to a query', 'a.sh', 'a\n', 'curl x?a=1&lt=2\n'],
    ['other entities', 'a.sh', 'a\n', 'a &nbsp; &copy;\n'],
  ])('nothing: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
});

describe('backslashes', () => {
  test.each<Row>([
    ['quotes of a whole file', 'a.c', 'x("my");\nint a;\n', 'x(\\"my\\");\nint b;\n'],
    ['quotes of one line', 'a.go', 'a("x")\nb()\n', 'a("x")\nb(\\"y\\")\n'],
    ['single quotes', 'a.js', "a('x')\nb()\n", "a('x')\nb(\\'y\\')\n"],
    ['underscores', 'a.py', 'my_name = 1\nb = 2\n', 'my_name = 1\nmy\\_other = 2\n'],
    ['tabs', 'a.go', 'a {\n\tb()\n}\n', 'a {\n\\tc()\n}\n'],
    ['tabs behind tabs', 'a.go', 'a {\n\tb()\n}\n', 'a {\n\tb()\n\t\\treturn\n}\n'],
  ])('refuse: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([expect.stringMatching(/^refuse /)]);
  });
  test.each<Row>([
    ['quotes in a shell script', 'a.sh', 'a "x"\n', 'a "x"\necho \\"y\\"\n'],
    ['quotes in a new file', 'a.c', null, 'x(\\"my\\");\n'],
  ])('ask: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([expect.stringMatching(/^ask /)]);
  });
  test.each<Row>([
    ['quotes in a new Makefile', 'Makefile', null, 'a:\n\tb \\"c\\"\n'],
    ['quotes within a string', 'a.c', 'a("x");\n', 'a("x");\nb("say \\"y\\"");\n'],
    ['quotes within other quotes', 'a.js', 'a("x");\n', 'a("x");\nb(\'<a b=\\"c\\">\');\n'],
    ['a file that has such lines', 'a.sh', 'a "x\n\\"y\\"\n"\n', 'a "x\n\\"y\\"\n\\"z\\"\n"\n'],
    ['a document', 'a.md', 'my_name\nb\n', 'my_name\nmy\\_other\n'],
    ['an underscore in a regular expression', 'a.js', 'a_b;\n', "a_b;\nc('x\\_y');\n"],
    ['a lambda of Haskell', 'a.hs', 'a_b = 1\n', 'a_b = 1\nc = \\_ -> 2\n'],
    ['a command of TeX', 'a.tex', '\ta\n', '\ta\n\\textbf{b}\n'],
    ['a path of Windows', 'a.go', 'a\n\tb\n', 'a\n\tb\nc(`\\temp`)\n'],
  ])('nothing: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
});

describe('line ends in letters', () => {
  test.each<Row>([
    ['a new document', 'notes.md', null, '# Title\\n\\nFirst line\\n- item\\n\n'],
    ['a new document without a line end', 'notes.md', null, '# Title\\nFirst'.concat('\\nSecond')],
    ['a new file of code', 'a.py', null, 'def f():\\n    return 1\\n\n'],
    ['a new file of code with its strings', 'a.js', null, 'print("a");\\nprint("b");\\n\n'],
    ['before a capital letter', 'a.md', 'a\n', 'First line\\nSecond line\n'],
    ['one line for two statements', 'a.py', 'a\n', 'import os\\nimport sys\n'],
    ['one line for several', 'a.kt', 'one()\nend()\n', 'two()\\nthree()\\n\nend()\n'],
    ['one line with indentation', 'a.py', 'if a:\n    b()\n', 'if a:\n    b()\\n    c()\n'],
    ['and the quotes are escaped, too', 'a.txt', null, 'a(\\"x\\");\\nb(\\"y\\");\\n\n'],
  ])('something: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).not.toEqual([]);
  });
  test.each<Row>([
    ['a string', 'a.c', 'a();\n', 'a();\nprintf("a\\n  b\\n");\n'],
    ['a new file of one string', 'a.js', null, 'console.log("a\\n\\nb\\n");\n'],
    ['a new file of JSON in one line', 'a.json', null, '{"a":"b\\nc\\n"}\n'],
    ['a regular expression', 'a.js', 'a();\n', 'a();\nb.split(/\\n\\n/);\n'],
    ['a regular expression with a class', 'a.js', 'a();\n', 'a();\nb = /[\\n]+\\r?\\n/g;\n'],
    ['code in a document', 'a.md', 'a\n', 'a\nUse `\\n` or `a\\n  b`.\n'],
    ['a path of Windows', 'a.txt', 'a\n', 'a\nC:\\new\\names\n'],
    ['TeX', 'a.tex', null, 'a \\newline b\\n\n'],
    ['a file that has such lines', 'a.txt', 'a\\nb\\n\n', 'a\\nb\\n\nc\\nd\\n\n'],
    ['a minified file', 'a.min.js', 'a\n', `${'x'.repeat(2_000)}\\n}\n`],
    ['the end of a string of several lines', 'a.rs', 'a\n', 'a\n[b]: c\\n"\n'],
    ['a comment', 'a.sh', 'a\n', 'a\nb=$c # d\\nd\\n...\n'],
    ['several lines', 'a.txt', null, 'a\\n\nb\n'],
    ['a backslash that is escaped itself', 'a.txt', null, 'a\\\\n\\\\n\n'],
  ])('nothing: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
});

test('the message names the line, what is escaped and what to send', () => {
  const [finding] = guardFindings([
    { path: 'run.sh', base: Buffer.from('make\n'), result: Buffer.from('make &amp;&amp; b\n') },
  ]);
  expect(finding?.message).toBe(
    'Line 1 of the new run.sh has "&amp;" in place of "&": "make &amp;&amp; b". Send the plain characters.',
  );
});
