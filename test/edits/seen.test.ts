/** What a refusal says of a response that no dialect reads, or of a call that is not complete: what it looks like, and what to send. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer, detectFormat, seenIn } from '../../src/edits/index.js';

const FENCE = '```';

describe('a response without a format', () => {
  test.each([
    ['a.ts\n<<<<<<< WAS\nx\n=======\ny\n>>>>>>> IS\n', 'block whose first marker is not'],
    ['&lt;edit&gt;\nx\n', 'escaped as HTML'],
    ['*** Begin Patch`n*** Update File: a.ts`n', 'line ends are written as characters'],
    ['  *** Begin Patch\n *** Update File: a.ts\n', 'indented or quoted patch'],
    ['> FILE a.ts\n> x\n> END FILE\n', 'indented or quoted edit'],
    ['*** 1,2 ****\n! x\n', 'context diff'],
    ['3c3\n< x\n---\n> y\n', 'plain diff'],
    ["cat > a.ts <<'EOF'\nx\nEOF\n", 'shell command that writes a file'],
    ['sed -i s/a/b/ a.ts\n', 'shell command that edits a file'],
    [`${FENCE}12:15:src/a.ts\nx\n${FENCE}\n`, "Cursor's fence"],
    [`${FENCE}diff\n-x\n+y\n${FENCE}\n`, 'diff without its headers'],
    [
      `**b.xyz**\n\n${FENCE}\nx\n${FENCE}\n\n${FENCE}\ny\n${FENCE}\n`,
      'whole file in a fence below its path, "b.xyz"',
    ],
    [`${FENCE}ts\nx\n${FENCE}\n`, 'code in a fence, without the path'],
    ['<change_it>\n<what>x</what>\n</change_it>\n', 'tags `<change_it>`'],
    ['{"foo": 1, "bar": 2}', 'JSON object with the keys "foo", "bar"'],
    ['{"foo": }', 'JSON with a mistake at line 1'],
    ['{"foo": "bar', 'JSON that ends inside a string'],
    ['I would change the limit.', 'text without an edit'],
  ])('%j', (response, seen) => {
    expect(detectFormat(response)).toBeNull();
    const message = seenIn(response);
    expect(message).toContain(seen);
    expect(message).toMatch(/ Send /);
  });

  test('one in a format that was not requested is named', () => {
    expect(seenIn('FILE a.ts\nx\nEND FILE\n')).toContain('`whole-file`');
  });
});

describe('a call that lacks something, or is not read', () => {
  const refusal = (response: string): string => {
    const format = detectFormat(response);
    if (format === null) throw new Error('no format');
    const files = new Map([['a.ts', { bytes: Buffer.from('x\ny\n') }]]);
    const options = { requireMarker: false, mayCreateUnder: [''] };
    const outcome = applyAnswer({ format, answer: response, files, options });
    return outcome.outcome === 'edited'
      ? 'edited'
      : outcome.reasons.map(({ code, message }) => `${code}: ${message}`).join('\n');
  };
  const call = (name: string, args: object): string => JSON.stringify({ name, arguments: args });

  test.each([
    [
      '<write_to_file>\n<content>\nx\n</content>\n</write_to_file>\n',
      'missing_key',
      'a Cline `write_to_file` call without `path`',
    ],
    ['<write_to_file>\n<path>a.ts</path>\n<content>\nx\n', 'cut_inside_call', 'no closing tag'],
    [
      '<apply_diff>\n<path>a.ts</path>\n<diff>\nx becomes y\n</diff>\n</apply_diff>\n',
      'call_unread',
      'neither a block',
    ],
    [
      '<write_to_file>\n<path>a.ts</path>\n<content>\na\n</content>\n</write_to_file>\n</content>\n</write_to_file>\n',
      'call_unclear',
      'may end in several places',
    ],
    [
      '<write_to_file>\n<path>a.ts</path>\nx\n</write_to_file>\n',
      'call_unclear',
      'where a tag of an argument should',
    ],
    [
      '<boltAction type="shell" filePath="a.ts">\nnpm i\n</boltAction>\n',
      'call_unread',
      'edits no file',
    ],
    [
      call('write_file', { content: 'x' }),
      'missing_key',
      'a Gemini CLI `write_file` call without `file_path`',
    ],
    [call('edit', { filePath: 'a.ts', newString: 'x' }), 'missing_key', 'without `old'],
    [
      call('Edit', { file_path: 'a.ts', old_string: 'x', new_string: 'y', colour: 'red' }),
      'unknown_key',
      'has no key "colour"',
    ],
    [
      call('search_and_replace', { path: 'a.ts', search: 'x', replace: 'y', use_regex: true }),
      'unknown_key',
      '"use_regex" changes what the edit means',
    ],
    [call('bash', { command: 'sed -i s/x/y/ a.ts' }), 'call_unread', 'looks like a shell command'],
    [
      call('NotebookEdit', { notebook_path: 'n.ipynb', new_source: 'x' }),
      'call_unread',
      '`NotebookEdit` call, which is not read',
    ],
    [call('create_file', { filePath: 'a.ts', content: 'z' }), 'file_exists', 'a.ts exists already'],
    [
      call('replace', {
        file_path: 'a.ts',
        old_string: 'x',
        new_string: 'z',
        expected_replacements: 2,
      }),
      'find_count',
      'occurs once, not 2 times',
    ],
    [call('read_file', { path: 'a.ts' }), 'no_edits', 'only calls that edit nothing'],
    [
      JSON.stringify({ command: 'insert', path: 'a.ts', insert_line: 7, new_str: 'x' }),
      'out_of_range',
      'has 2 lines',
    ],
    [
      JSON.stringify([
        { path: 'a.ts', content: 'z\n' },
        { path: 'a.ts', old_string: 'z', new_string: 'w' },
      ]),
      'calls_mixed',
      'calls of different kinds',
    ],
    [
      JSON.stringify([
        { path: 'a.ts', old_string: 'x\n', new_string: 'x\nw\n' },
        { command: 'insert', path: 'a.ts', insert_line: 2, insert_text: 'v' },
        { command: 'insert', path: 'a.ts', insert_line: 1, insert_text: 'v' },
      ]),
      'insert_unclear',
      'moved lines',
    ],
    ['{"content": "x"}', 'missing_key', 'The edit needs `file_path`'],
  ])('%j', (response, code, seen) => {
    const message = refusal(response);
    expect(message).toContain(`${code}: `);
    expect(message).toContain(seen);
  });
});
