/** Tags of a tool call in new text, and tags that a document may have. */
import { describe, expect, test } from '@jest/globals';
import { findingsOf, type GuardRow } from './findings.js';

const found = findingsOf('tool_remnant');

describe('tags of a tool call', () => {
  test.each<GuardRow>([
    [
      'at the end of a style sheet',
      'a.css',
      'a { color: red; }\n',
      'a { color: blue; }\n</content>\n</write_to_file>\n',
    ],
    ['at the end of a line', 'a.css', 'a {}\n', 'b {}</content>\n'],
    ['of Claude', 'a.py', 'a\n', 'b\n</invoke>\n'],
    [
      'of Claude, with a parameter',
      'a.py',
      null,
      '<invoke name="Write">\n<parameter name="content">\nb\n</parameter>\n</invoke>\n',
    ],
    ['of a new document', 'a.md', null, '# A\n</content>\n'],
    ['around the text', 'a.txt', 'a\n', '<content>\nb\n'],
    ['the argument that names the file', 'src/a.css', 'a\n', '<path>src/a.css</path>\nb\n'],
    ['a token of DeepSeek', 'a.js', 'a\n', 'b<｜tool▁calls▁end｜>\n'],
    ['behind a tag that the file had', 'a.txt', 'a\n</path>\n', '</path>\n</write_to_file>\n'],
    ['in brackets', 'a.txt', 'a\n', 'b\n[/TOOL_CALLS]\n'],
    ['of Bolt', 'a.js', 'a\n', 'b\n</boltAction>\n'],
    ['a token that ends a message', 'a.js', 'a\n', 'b<|im_end|>\n'],
    ['in XML, unbalanced', 'a.xml', '<a>\n</a>\n', '<a>\n<b/>\n</a>\n</content>\n'],
  ])('%s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([expect.stringMatching(/^tool_remnant ask /)]);
  });
  test.each<GuardRow>([
    ['a tag with its counterpart', 'a.xml', '<a>\n</a>\n', '<a>\n<content>\nb\n</content>\n</a>\n'],
    ['over several lines', 'a.tsx', 'a\n', '<path\n  d="M 1"\n></path>\n'],
    ['on one line', 'a.vue', 'a\n', '<code>a</code>\n'],
    [
      'a document about a tool, within its text',
      'a.md',
      '# A\n',
      '# A\n\nSend\n<tool_call>\nb\n</tool_call>\nas text.\n',
    ],
    ['a file that had it', 'a.txt', 'a\n</content>\n', 'b\n</content>\nc\n</content>\n'],
    [
      'half of an element is moved',
      'a.xml',
      '<a>\n<content>\n</content>\n</a>\n',
      '<a>\n<content>\n<b/>\n</content>\n</a>\n',
    ],
    ['a lone opening tag in a document', 'a.md', 'a\n', '<content>\nb\n'],
    ['a lone opening tag within the text', 'a.txt', 'a\n', 'a\nx\n<content>\nb\n'],
    ['other tags', 'a.css', 'a\n', 'b\n</style>\n'],
    ['a comment with markup', 'a.cs', 'a\n', 'a\n/// </code>\n'],
    ['in a string', 'a.js', 'a\n', "b('</content>', c);\n"],
  ])('nothing: %s', (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
});
