/**
 * Responses of which every careful reader says the same: they are read so, or refused whole. Each row is one kind of slip that models make,
 * in one of the forms that it has.
 */
import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { lineCheck } from '../../src/edits/listing.js';
import { applyAnswer, wantedPaths } from '../../src/edits/apply-answer.js';
import { detectFormat } from '../../src/edits/response.js';
import type { AnswerFormat } from '../../src/shared/formats.js';
import type { ApplyOptions } from '../../src/edits/types.js';

type Files = Readonly<Record<string, string>>;
const FILES: Files = { 'a.js': 'one();\nend();\n', 'b.js': 'x();\n' };

interface Row {
  readonly name: string;
  readonly format: AnswerFormat;
  readonly response: string;
  readonly files?: Files;
  readonly options?: Partial<ApplyOptions>;
  /** The files that change; a text: the code of the refusal. */
  readonly expected: Files | string;
}

/** The files that a response changes, or the code of the first reason why it changes none. */
const outcomeOf = ({
  format,
  response,
  files = FILES,
  options,
}: Omit<Row, 'name' | 'expected'>) => {
  const paths = Object.keys(files);
  const applied = (order: readonly string[]) => {
    const outcome = applyAnswer({
      format,
      answer: response,
      files: new Map(order.map((path) => [path, { bytes: Buffer.from(files[path] ?? '') }])),
      options: {
        requireMarker: false,
        allowDelete: true,
        mayCreateUnder: [''],
        beside: paths,
        ...options,
      },
    });
    const codes = outcome.outcome === 'edited' ? [] : outcome.reasons.map(({ code }) => code);
    if (outcome.outcome !== 'edited') return codes.find((code) => code !== 'marker_missing') ?? '';
    const changed = [...outcome.files].map(([path, file]): [string, string] => [
      path,
      file === 'absent' ? '' : Buffer.from(file.bytes).toString(),
    ]);
    return Object.fromEntries(changed.sort());
  };
  const result = applied(paths);
  // The order in which files are offered never matters.
  expect(applied(paths.toReversed())).toEqual(result);
  return result;
};

const fence = (text: string, info = 'js'): string => `\`\`\`${info}\n${text}\n\`\`\`\n`;
const block = (search: string, replace: string, path = 'a.js'): string =>
  `${path}\n<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n`;
const find = (quote: string, replace: string, path = 'a.js'): string =>
  `FILE: ${path}\nFIND:\n${quote}\nREPLACE:\n${replace}\nEND\n`;
const string = (before: string, after: string, path = 'a.js'): string =>
  JSON.stringify({ file_path: path, old_string: before, new_string: after });
const operation = (fields: object): string =>
  JSON.stringify({ operations: [{ file_path: 'a.js', ...fields }], complete: true });
const hunks = (body: string, path = 'a.js'): string => `--- a/${path}\n+++ b/${path}\n${body}`;

const CHANGE = block('one();', 'two();');
const CHANGED: Files = { 'a.js': 'two();\nend();\n' };
const FIVE: Files = { 'a.js': '1\n2\n3\n4\n5\n' };

const check = (rows: readonly Row[]): void =>
  test.each(rows)('$name', ({ expected, ...row }) => expect(outcomeOf(row)).toEqual(expected));

describe('a hunk without header is of the file that the line before it names', () => {
  const files = { 'b.py': 'y = 2\n\nf()\n', 'a.py': 'x = 1\n\nf()\n' };
  const first = fence('--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,2 @@\n+import sys\n x = 1', 'diff');
  const second = '@@ -2,2 +2,2 @@\n \n-f()\n+g()';
  const expected = { 'a.py': 'import sys\nx = 1\n\nf()\n', 'b.py': 'y = 2\n\ng()\n' };
  check(
    ['b.py:\n', '**b.py**\n\n', '### b.py\n', '`b.py`\n', 'Now in b.py:\n'].map((line) => ({
      name: line.trim(),
      format: 'unified-diff',
      files,
      response: `a.py:\n${first}\n${line}${fence(second, 'diff')}`,
      expected,
    })),
  );
  check([
    {
      name: 'by the info string',
      format: 'unified-diff',
      files,
      response: first + fence(second, 'diff b.py'),
      expected,
    },
    {
      name: 'behind prose it goes on with the file before',
      format: 'unified-diff',
      files,
      response: `${first}And:\n${fence('@@ -3,1 +4,1 @@\n-f()\n+g()', 'diff')}`,
      expected: { 'a.py': 'import sys\nx = 1\n\ng()\n' },
    },
  ]);
});

describe('an edit in another form beside those that are read refuses all', () => {
  const others = [
    '{"command":"create","path":"new.js","file_text":"n();\\n"}',
    '{"type":"tool_use","name":"x","input":{"command":"create","path":"new.js","file_text":"n"}}',
    '{"name":"x","arguments":"{\\"path\\":\\"b.js\\",\\"new_string\\":\\"y\\"}"}',
    '{"path":"b.js","code":"y();\\n"}',
    '{"target_file":"b.js","code_edit":"y();\\n"}',
    '<write_to_file>\n<path>new.js</path>\n<content>\nn();\n</content>\n</write_to_file>',
    '<file path="new.js">\nn();\n</file>',
    '<boltAction type="file" filePath="new.js">\nn();\n</boltAction>',
    "cat > new.js <<'EOF'\nn();\nEOF",
    fence("cat <<'EOF' > new.js\nn();\nEOF", 'bash'),
    "sed -i 's/x/y/' b.js",
    fence('-x();\n+y();', 'diff'),
    `Create \`new.js\`:\n\n${fence('n();')}`,
    `**new.js** (new)\n${fence('n();')}`,
    fence('// new.js\nn();'),
    fence('new.js\nn();'),
    `In \`b.js\` replace\n\n${fence('x();')}\nwith\n\n${fence('y();')}`,
    '*** Add File: new.js\n+n();',
  ];
  check(
    others.flatMap((edit) => [
      {
        name: `before: ${edit}`,
        format: 'search-blocks',
        response: `${edit}\n\n${CHANGE}`,
        expected: 'stray_edit',
      },
      {
        name: `behind: ${edit}`,
        format: 'search-blocks',
        response: `${CHANGE}\n${edit}\n`,
        expected: 'stray_edit',
      },
    ]),
  );
  check(
    [
      `Run the tests:\n${fence('npm test', 'bash')}`,
      `Usage in \`main.js\`:\n${fence('one();')}`,
      `It prints:\n${fence('- ok', 'text')}`,
      `These stay:\n${fence('a.js\nb.js', '')}`,
      `Update \`a.js\`:\n`,
      'See <https://x.y/a.js>, or {"status": 200, "path": "/a"}.\n',
    ].map((prose) => ({
      name: `prose: ${prose}`,
      format: 'search-blocks',
      response: `${prose}\n${CHANGE}`,
      expected: CHANGED,
    })),
  );
  test('a patch without its first line is no diff', () => {
    const patch =
      '*** Add File: new.js\n+n();\n*** Update File: a.js\n@@\n-one();\n+two();\n end();\n';
    expect(detectFormat(patch)).toBe('begin-patch');
    expect(outcomeOf({ format: 'unified-diff', response: patch })).toBe('stray_edit');
  });
});

describe('a lone fence around new text', () => {
  const files = { 'a.kt': 'one()\nend()\n' };
  const expected = { 'a.kt': 'two()\nend()\n' };
  check([
    {
      name: 'behind it',
      format: 'search-blocks',
      files,
      response: block('one()', 'two()\n```', 'a.kt'),
      expected,
    },
    {
      name: 'before it',
      format: 'search-blocks',
      files,
      response: block('one()', '```kotlin\ntwo()', 'a.kt'),
      expected,
    },
    {
      name: 'before END',
      format: 'search-replace',
      files,
      response: find('one()', 'two()\n```', 'a.kt'),
      expected,
    },
    {
      name: 'in a string',
      format: 'string-replace',
      files,
      response: string('one()\n', 'two()\n```\n', 'a.kt'),
      expected,
    },
    {
      name: 'in a file with fences it is its own',
      format: 'search-blocks',
      files: { 'a.kt': '// ```\none()\n```\n' },
      response: block('one()', 'two()\n```', 'a.kt'),
      expected: { 'a.kt': '// ```\ntwo()\n```\n```\n' },
    },
    {
      name: 'alone it says nothing',
      format: 'search-blocks',
      files,
      response: block('one()', '```', 'a.kt'),
      expected: 'fence_unclear',
    },
  ]);
});

describe('edits that are sent twice, contradict each other, or are done', () => {
  const grown: Files = { 'a.js': 'one();\ntwo();\nend();\n' };
  const grow = block('one();', 'one();\ntwo();');
  const quotedBefore: readonly (readonly [
    AnswerFormat,
    (quote: string, after: string) => string,
  ])[] = [
    ['search-blocks', (quote, after) => block(quote, after)],
    ['search-replace', (quote, after) => find(quote, after)],
    ['string-replace', (quote, after) => string(quote, after)],
  ];
  check([
    { name: 'a block twice', format: 'search-blocks', response: grow + grow, expected: grown },
    {
      name: 'a string twice',
      format: 'string-replace',
      response: `${string('one();', 'one();\ntwo();')}\n${string('one();', 'one();\ntwo();')}`,
      expected: grown,
    },
    {
      name: 'a hunk in two sections',
      format: 'unified-diff',
      response: hunks('@@ -1 +1,2 @@\n one();\n+two();\n').repeat(2),
      expected: grown,
    },
    {
      name: 'an append twice',
      format: 'structured-edit',
      response: `${operation({ type: 'append', content: 'two();\n' })}\n${operation({ type: 'append', content: 'two();\n' })}`,
      expected: 'edit_twice',
    },
    {
      name: 'two blocks that replace the same lines by different ones',
      format: 'search-blocks',
      response: block('one();', 'two();') + block('one();', 'three();'),
      expected: 'contradiction',
    },
    {
      name: 'two blocks that replace the same lines, one by what the file has elsewhere',
      format: 'search-blocks',
      response: block('one();', 'two();') + block('one();', 'end();'),
      expected: 'contradiction',
    },
    {
      name: 'two strings that replace the same text by different ones',
      format: 'string-replace',
      response: `${string('one();', 'two();')}\n${string('one();', 'three();')}`,
      expected: 'contradiction',
    },
    {
      name: 'two blocks for the same lines',
      format: 'search-blocks',
      response: grow + block('one();', 'one();\nthree();'),
      expected: 'contradiction',
    },
    {
      name: 'two strings for the same text',
      format: 'string-replace',
      response: `${string('one();', 'one(1);one();')}\n${string('one();', 'one(2);')}`,
      expected: 'contradiction',
    },
    {
      name: 'an addition that is there',
      format: 'search-blocks',
      files: grown,
      response: grow,
      expected: 'already_present',
    },
    {
      name: 'an addition before, that is there',
      format: 'search-blocks',
      files: grown,
      response: block('end();', 'two();\nend();'),
      expected: 'already_present',
    },
    {
      name: 'an addition to a string that is there',
      format: 'string-replace',
      files: grown,
      response: string('one();\n', 'one();\ntwo();\n'),
      expected: 'already_present',
    },
    {
      name: 'beside another edit it is unclear',
      format: 'search-blocks',
      files: grown,
      response: grow + block('end();', 'stop();'),
      expected: 'find_absent',
    },
    ...quotedBefore.map(([format, say]): Row => ({
      name: `a line that an edit before quotes is not what this one adds, in ${format}`,
      format,
      files: { 'a.js': 'one();\nsame();\nend();\n' },
      response: `${say('one();\nsame();', 'two();\nsame();')}\n${say('end();', 'same();\nend();')}`,
      expected: { 'a.js': 'two();\nsame();\nsame();\nend();\n' },
    })),
    ...quotedBefore.map(([format, say]): Row => ({
      name: `a line that an edit behind quotes may be what this one adds, in ${format}`,
      format,
      files: grown,
      response: `${say('one();', 'one();\ntwo();')}\n${say('two();\nend();', 'two();\nstop();')}`,
      expected: 'find_absent',
    })),
    ...quotedBefore.map(([format, say]): Row => ({
      name: `a line that an edit before writes may be what this one adds, in ${format}`,
      format,
      response: `${say('one();', 'one();\ntwo();')}\n${say('end();', 'two();\nend();')}`,
      expected: 'find_absent',
    })),
    {
      name: 'blank lines may stand in a row',
      format: 'search-blocks',
      files: { 'a.js': 'a\n\nb\n' },
      response: block('a', 'a\n'),
      expected: { 'a.js': 'a\n\n\nb\n' },
    },
  ]);
});

describe('a part of a line is no part of a word or a number', () => {
  const rows: readonly (readonly [line: string, quote: string, after: string | null])[] = [
    ['timeout: 100', 'timeout: 10', null],
    ['counter = 1', 'count', null],
    ['my_count = 1', 'count', null],
    ['x = 1.25', 'x = 1', null],
    ['n: 10,000', 'n: 10', null],
    ['max-width: 9px', 'width: 9px', null],
    ['$count++;', 'count++', null],
    ['// run(1); later', 'run(1);', null],
    ['say("run(1);")', 'run(1);', null],
    ['call(one, two);', 'one, two', 'call(new);'],
    ['const a = 1; // note', 'a = 1', 'const new; // note'],
    ['# The old title', 'old title', '# The new'],
  ];
  check(
    rows.map(([line, quote, after]) => ({
      name: `${quote} in ${line}`,
      format: 'search-replace',
      files: { 'a.py': `${line}\nend\n` },
      response: find(quote, 'new', 'a.py'),
      expected: after === null ? 'find_absent' : { 'a.py': `${after}\nend\n` },
    })),
  );
});

describe('line endings', () => {
  const created = '--- /dev/null\n+++ b/n.js\n@@ -0,0 +1,2 @@\n+a\n+b\n';
  const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
  const mixed = { 'a.txt': 'same\r\nsame\nend\n' };
  check([
    {
      name: 'a diff that came in CRLF',
      format: 'unified-diff',
      response: crlf(created),
      expected: { 'n.js': 'a\nb\n' },
    },
    {
      name: 'the convention of the path',
      format: 'unified-diff',
      response: created,
      options: { newFileEols: new Map([['n.js', '\r\n']]) },
      expected: { 'n.js': 'a\r\nb\r\n' },
    },
    {
      name: 'a diff whose text has carriage returns',
      format: 'unified-diff',
      response: created.replace('+a\n+b\n', '+a\r\n+b\r\n'),
      expected: { 'n.js': 'a\r\nb\r\n' },
    },
    {
      name: 'a whole file that came in CRLF',
      format: 'whole-file',
      response: crlf('FILE n.js\na\nb\nEND FILE\n'),
      expected: { 'n.js': 'a\nb\n' },
    },
    {
      name: 'a patch says which line goes',
      format: 'begin-patch',
      files: mixed,
      response: '*** Begin Patch\n*** Update File: a.txt\n@@\n-same\n same\n end\n*** End Patch\n',
      expected: { 'a.txt': 'same\nend\n' },
    },
    {
      name: 'a diff says which line goes',
      format: 'unified-diff',
      files: mixed,
      response: hunks('@@ -1,3 +1,2 @@\n-same\n same\n end\n', 'a.txt'),
      expected: { 'a.txt': 'same\nend\n' },
    },
    {
      name: 'an operation says which line goes',
      format: 'structured-edit',
      files: mixed,
      response: operation({ file_path: 'a.txt', type: 'delete', line: 1 }),
      expected: { 'a.txt': 'same\nend\n' },
    },
    {
      name: 'a string that ends where the file has no line end',
      format: 'string-replace',
      files: { 'a.js': 'one\ntwo' },
      response: string('two\n', 'three\n'),
      expected: { 'a.js': 'one\nthree' },
    },
  ]);
});

describe('paths', () => {
  const files: Files = {
    'src/lib/a.js': 'one();\nend();\n',
    'src/b.js': 'x();\n',
    'README.md': 't\n',
  };
  const changed: Files = { 'src/lib/a.js': 'two();\nend();\n' };
  const stated = [
    'repo/src/lib/a.js',
    '/home/user/repo/src/lib/a.js',
    '/src/lib/a.js',
    'C:\\repo\\src\\lib\\a.js',
    'src\\lib\\a.js',
    'lib/a.js',
    'a.js',
    'path/to/a.js',
    'src/lib/A.js',
    './src//lib/a.js',
  ];
  check(
    stated.flatMap((path): Row[] => [
      {
        name: `${path} in a string`,
        format: 'string-replace',
        files,
        response: string('one()', 'two()', path),
        expected: changed,
      },
      {
        name: `${path} in a diff`,
        format: 'unified-diff',
        files,
        response: `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-one();\n+two();\n`,
        expected: changed,
      },
      {
        name: `${path} in a patch`,
        format: 'begin-patch',
        files,
        response: `*** Begin Patch\n*** Update File: ${path}\n@@\n-one();\n+two();\n*** End Patch\n`,
        expected: changed,
      },
      {
        name: `${path} in a block`,
        format: 'search-replace',
        files,
        response: find('one();', 'two();', path),
        expected: changed,
      },
    ]),
  );
  const twins = { ...files, 'test/lib/a.js': 'one();\nend();\n' };
  const whole = (path: string): string => `FILE ${path}\none();\ntwo();\nend();\nEND FILE\n`;
  check([
    {
      name: 'two files of that name',
      format: 'string-replace',
      files: twins,
      response: string('one()', 'two()', 'a.js'),
      expected: 'target_absent',
    },
    {
      name: 'a folder of the workspace is no prefix',
      format: 'string-replace',
      files: { 'a.js': 'one();\n', 'src/b.js': 'x\n' },
      response: string('one()', 'two()', 'src/a.js'),
      expected: 'target_absent',
    },
    {
      name: 'a path that leaves its folder',
      format: 'string-replace',
      files,
      response: string('one()', 'two()', '../src/lib/a.js'),
      expected: 'bad_path',
    },
    {
      name: 'a new file beside paths with a prefix',
      format: 'string-replace',
      files,
      response: `${string('one()', 'two()', 'repo/src/lib/a.js')}\n${string('', 'n();\n', 'repo/src/n.js')}`,
      expected: 'bad_path',
    },
    ...['a.js', 'lib/a.js', 'repo/src/lib/a.js', 'src/lib/A.js', 'path/to/a.js'].map(
      (path): Row => ({
        name: `a whole file at ${path}`,
        format: 'whole-file',
        files,
        response: whole(path),
        expected: 'bad_path',
      }),
    ),
    {
      name: 'a new block at another path',
      format: 'search-replace',
      files,
      response: 'FILE: a.js\nFIND:\nREPLACE:\none();\nend();\nEND\n',
      expected: 'bad_path',
    },
    {
      name: 'another file of that name',
      format: 'whole-file',
      files,
      response: 'FILE lib/a.js\nother();\nEND FILE\n',
      expected: { 'lib/a.js': 'other();\n' },
    },
    {
      name: 'a file that is moved',
      format: 'whole-file',
      files,
      response: `${whole('a.js')}DELETE src/lib/a.js\n`,
      expected: { 'a.js': 'one();\ntwo();\nend();\n', 'src/lib/a.js': '' },
    },
  ]);
  test('a file that may be meant is asked for', () => {
    const paths = wantedPaths({
      format: 'string-replace',
      answer: string('one()', 'two()', '/repo/src/lib/a.js'),
      files: new Map(),
      options: { requireMarker: false, beside: Object.keys(files) },
    });
    expect(paths).toContain('src/lib/a.js');
  });
});

describe('hunks', () => {
  const [first, second] = ['@@ -1,2 +1,2 @@\n-1\n+one\n 2\n', '@@ -4,2 +4,2 @@\n 4\n-5\n+five\n'];
  const expected: Files = { 'a.js': 'one\n2\n3\n4\nfive\n' };
  const row = (name: string, body: string, result: Files | string = expected): Row => ({
    name,
    format: 'unified-diff',
    files: FIVE,
    response: hunks(body),
    expected: result,
  });
  check([
    row('in two sections', first + hunks(second)),
    row('in the wrong order', second + first),
    row('with dots between', `${first}...\n${second}`),
    row(
      'that share context',
      '@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n 4\n@@ -3,3 +3,3 @@\n 3\n 4\n-5\n+five\n',
    ),
    row('that change the same line', `${first}@@ -1,2 +1,2 @@\n-1\n+uno\n 2\n`, 'overlap'),
    row(
      'with a mark of a missing line end in the middle',
      '@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n\\ No newline at end of file\n',
      { 'a.js': '1\ntwo\n3\n4\n5\n' },
    ),
    {
      name: 'in two sections of a patch',
      format: 'begin-patch',
      files: FIVE,
      response:
        '*** Begin Patch\n*** Update File: a.js\n@@\n-5\n+five\n*** Update File: a.js\n@@\n-1\n+one\n*** End Patch\n',
      expected,
    },
  ]);
});

describe('calls whose text is in the requested format', () => {
  const blocks = `------- SEARCH\none();\n=======\ntwo();\n+++++++ REPLACE`;
  const cline = (path = 'a.js'): string =>
    `<replace_in_file>\n<path>${path}</path>\n<diff>\n${blocks}\n</diff>\n</replace_in_file>\n`;
  const diff = hunks('@@ -1,2 +1,2 @@\n-one();\n+two();\n end();');
  const patch = '*** Begin Patch\n*** Update File: a.js\n@@\n-one();\n+two();\n*** End Patch';
  const written =
    '<write_to_file>\n<path>a.js</path>\n<content>\ntwo();\nend();\n</content>\n</write_to_file>\n';
  const tagged =
    '<invoke name="str_replace">\n<parameter name="path">a.js</parameter>\n<parameter name="old_str">one();</parameter>\n<parameter name="new_str">two();</parameter>\n</invoke>\n';
  const twins = { 'a.js': 'one();\nend();\n', 'b.js': 'one();\n' };
  check([
    { name: 'blocks', format: 'search-blocks', response: cline(), expected: CHANGED },
    {
      name: 'blocks of the file that the call names',
      format: 'search-blocks',
      files: { 'a.js': 'one();\nend();\n' },
      response: cline('c.js'),
      expected: 'target_absent',
    },
    {
      name: 'blocks in two calls, in a fence',
      format: 'search-blocks',
      files: twins,
      response: fence(cline() + cline('b.js'), 'xml'),
      expected: { 'a.js': 'two();\nend();\n', 'b.js': 'two();\n' },
    },
    {
      name: 'a diff',
      format: 'unified-diff',
      response: `<apply_diff>\n<path>a.js</path>\n<diff>\n${diff}\n</diff>\n</apply_diff>\n`,
      expected: CHANGED,
    },
    {
      name: 'a patch in JSON',
      format: 'begin-patch',
      response: JSON.stringify({ name: 'apply_patch', arguments: { input: patch } }),
      expected: CHANGED,
    },
    { name: 'a whole file', format: 'whole-file', response: written, expected: CHANGED },
    {
      name: 'strings in tags',
      format: 'string-replace',
      response: tagged,
      expected: CHANGED,
    },
    {
      name: 'strings in JSON where blocks are requested',
      format: 'search-blocks',
      response: string('one()', 'two()'),
      expected: 'no_edits',
    },
    {
      name: 'a call of another kind next to it',
      format: 'search-blocks',
      response: `${cline()}<write_to_file>\n<path>new.js</path>\n<content>\nn();\n</content>\n</write_to_file>\n`,
      expected: 'find_without_file',
    },
  ]);
  test.each([
    ['whole-file', 'FILE b.js\ny();\nEND FILE\n', written],
    ['search-blocks', block('x();', 'y();', 'b.js'), cline()],
    ['string-replace', `${string('x()', 'y()', 'b.js')}\n`, tagged],
  ] as const)('%s next to a call is refused', (format, own, call) => {
    for (const response of [own + call, call + own])
      expect(outcomeOf({ format, response })).toMatch(
        /^(?:stray_edit|find_without_file|not_json)$/,
      );
  });
  test('their files are asked for', () => {
    const options = { requireMarker: false };
    const input = { format: 'search-blocks', answer: cline(), files: new Map(), options } as const;
    expect(wantedPaths(input)).toContain('a.js');
  });
});

describe('a change of several that is there already', () => {
  const done: Files = { 'a.js': 'ONE\n2\n3\n4\n5\n' };
  const [first, second] = ['@@ -1,2 +1,2 @@\n-one\n+ONE\n 2\n', '@@ -4,2 +4,2 @@\n 4\n-5\n+five\n'];
  const expected: Files = { 'a.js': 'ONE\n2\n3\n4\nfive\n' };
  const known = (files: Files): Partial<ApplyOptions> => ({
    base: new Map(
      Object.entries(files).map(([path, text]) => [
        path,
        createHash('sha256').update(text).digest('hex'),
      ]),
    ),
  });
  const patch = (...chunks: readonly string[]): string =>
    `*** Begin Patch\n*** Update File: a.js\n${chunks.map((chunk) => `@@\n${chunk}`).join('')}*** End Patch\n`;
  const row = (name: string, response: string, files: Files, result: Files | string): Row => ({
    name,
    format: 'unified-diff',
    files,
    response: hunks(response),
    expected: result,
  });
  check([
    row('the first hunk', first + second, done, expected),
    row(
      'the last hunk',
      first.replace('one', '1') + second,
      { 'a.js': '1\n2\n3\n4\nfive\n' },
      expected,
    ),
    row(
      'an insertion, which moves what is behind it',
      '@@ -1,2 +1,3 @@\n 1\n+new\n 2\n@@ -4,2 +5,2 @@\n 4\n-5\n+five\n',
      { 'a.js': '1\nnew\n2\n3\n4\n5\n' },
      { 'a.js': '1\nnew\n2\n3\n4\nfive\n' },
    ),
    row(
      'a deletion, which moves what is behind it',
      '@@ -1,3 +1,2 @@\n 1\n-old\n 2\n@@ -5,2 +4,2 @@\n 4\n-5\n+five\n',
      FIVE,
      { 'a.js': '1\n2\n3\n4\nfive\n' },
    ),
    row(
      'a move that leaves two places for the next hunk',
      '@@ -1,2 +1,3 @@\n 1\n+new\n 2\n@@ -3,2 +4,2 @@\n x\n-y\n+z\n',
      { 'a.js': '1\nnew\n2\nx\ny\nx\ny\n' },
      'context_repeated',
    ),
    row(
      'context on one side only',
      `@@ -2,2 +2,2 @@\n 2\n-three\n+3\n${second}`,
      FIVE,
      'context_mismatch',
    ),
    row(
      'at another line',
      `@@ -2,3 +2,3 @@\n 1\n-two\n+2\n 3\n${second.replace('-4,2 +4,2', '-5,2 +5,2')}`,
      FIVE,
      'context_mismatch',
    ),
    row(
      'that would be there twice',
      '@@ -1,2 +1,2 @@\n-two\n+1\n 2\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n',
      FIVE,
      'overlap',
    ),
    {
      name: 'a chunk, if the base is known',
      format: 'begin-patch',
      files: done,
      options: known(done),
      response: patch('-one\n+ONE\n 2\n', ' 4\n-5\n+five\n'),
      expected,
    },
    {
      name: 'a chunk, if it is not',
      format: 'begin-patch',
      files: done,
      response: patch('-one\n+ONE\n 2\n', ' 4\n-5\n+five\n'),
      expected: 'context_mismatch',
    },
    {
      name: 'all chunks',
      format: 'begin-patch',
      files: done,
      response: patch('-one\n+ONE\n 2\n'),
      expected: 'already_present',
    },
    {
      name: 'a string, if the base is known',
      format: 'string-replace',
      files: done,
      options: known(done),
      response: `${string('one\n', 'ONE\n')}\n${string('5', 'five')}`,
      expected,
    },
    {
      name: 'a string, if it is not',
      format: 'string-replace',
      files: done,
      response: `${string('one\n', 'ONE\n')}\n${string('5', 'five')}`,
      expected: 'find_absent',
    },
    {
      name: 'all strings',
      format: 'string-replace',
      files: done,
      response: string('one\n', 'ONE\n'),
      expected: 'already_present',
    },
    {
      name: 'a string within a line is no sign',
      format: 'string-replace',
      files: done,
      options: known(done),
      response: string('one', 'ON'),
      expected: 'find_absent',
    },
  ]);
  test('the refusal says that it may be there', () => {
    const outcome = applyAnswer({
      format: 'unified-diff',
      answer: hunks(`@@ -1,3 +1,3 @@\n 1\n-two\n+2\n 3\n@@ -5 +5 @@\n-5\n+five\n`),
      files: new Map([['a.js', { bytes: Buffer.from('0\n1\n2\n3\n4\n5\n') }]]),
      options: { requireMarker: false },
    });
    expect('reasons' in outcome ? outcome.reasons[0]?.message : '').toContain(
      'What it makes of them does, at line 2',
    );
  });
});

describe('a number that fits one of its contexts is not moved by the other', () => {
  const files = { 'a.js': 'a {\n  x\n}\nb {\n  y\n}\n' };
  const moved = (before: string, after: string): string =>
    operation({
      type: 'replace',
      line: 2,
      content: '  z\n',
      context_before: before,
      context_after: after,
    });
  check([
    {
      name: 'the one behind',
      format: 'structured-edit',
      files,
      response: moved('b {\n', '}\n'),
      expected: 'context_mismatch',
    },
    {
      name: 'the one before',
      format: 'structured-edit',
      files,
      response: moved('a {\n', 'q\n'),
      expected: 'context_mismatch',
    },
  ]);
  test.each([
    [`1:${lineCheck(undefined, 'one();', 'end();')}`, CHANGED],
    ['1:abc', 'check_mismatch'],
  ])('a check behind a colon is read: %s', (line, expected) => {
    const response = operation({ type: 'replace', line, content: 'two();\n' });
    expect(outcomeOf({ format: 'structured-edit', response })).toEqual(expected);
  });
});

describe('quotes with line numbers, and tabs', () => {
  const forms = [
    ['1| one();', '2| end();'],
    ['1|one();', '2|end();'],
    ['1: one();', '2: end();'],
    ['     1\tone();', '     2\tend();'],
    ['1kef| one();', '2abc| end();'],
  ];
  check(
    forms.flatMap((lines): Row[] => [
      {
        name: `${lines[0]} in a block`,
        format: 'search-blocks',
        response: block(lines.join('\n'), lines.join('\n').replace('one', 'two')),
        expected: CHANGED,
      },
      {
        name: `${lines[0]} in a string`,
        format: 'string-replace',
        response: string(lines.join('\n'), 'two();\nend();'),
        expected: CHANGED,
      },
    ]),
  );
  check([
    {
      name: 'numbers that are text of the file',
      format: 'search-blocks',
      files: { 'a.js': '1: one\n2: end\n' },
      response: block('1: one', '1: two'),
      expected: { 'a.js': '1: two\n2: end\n' },
    },
    {
      name: 'some new lines with numbers',
      format: 'search-blocks',
      response: block('1| one();\n2| end();', '1| two();\nend();'),
      expected: 'find_absent',
    },
    {
      name: 'blanks for tabs',
      format: 'search-blocks',
      files: { 'a.js': 'f() {\n\tone\n}\n' },
      response: block('f() {\n    one', 'f() {\n    if\n        two'),
      expected: { 'a.js': 'f() {\n\tif\n\t\ttwo\n}\n' },
    },
    {
      name: 'tabs for blanks',
      format: 'search-blocks',
      files: { 'a.js': 'f() {\n  one\n}\n' },
      response: block('f() {\n\tone', 'f() {\n\ttwo'),
      expected: { 'a.js': 'f() {\n  two\n}\n' },
    },
    {
      name: 'tabs of different widths',
      format: 'search-blocks',
      files: { 'a.js': 'f\n\tone\n\t\ttwo\n' },
      response: block('    one\n      two', 'x'),
      expected: 'find_absent',
    },
  ]);
});

describe('other forms with one meaning', () => {
  const marked = (open: string, close: string): string =>
    `a.js\n${open}\none();\n=======\ntwo();\n${close}\n`;
  const loose = '{"file_path":"a.js","old_string":"one()","new_string":"two()",}';
  const chat = `Here is the updated file:\n\n**\`a.js\`**\n\n${fence('two();\nend();')}`;
  check([
    ...(
      [
        ['<<<<<<< ORIGINAL', '>>>>>>> UPDATED'],
        ['<<<<<<< SEARCH>', '>>>>>>> REPLACE'],
        ['<<<<<<<SEARCH', '>>>>>>>REPLACE'],
        ['<<<<<<< search', '>>>>>>> replace'],
        ['<<<<<<< SEARCH a.js', '>>>>>>> REPLACE'],
      ] as const
    ).map(([open, close]): Row => ({
      name: open,
      format: 'search-blocks',
      response: marked(open, close),
      expected: CHANGED,
    })),
    { name: 'a comma at the end', format: 'string-replace', response: loose, expected: CHANGED },
    {
      name: 'a comment',
      format: 'string-replace',
      response: loose.replace(',}', ' /* so */}'),
      expected: CHANGED,
    },
    {
      name: 'False',
      format: 'string-replace',
      response: loose.replace(',}', ',"replace_all": False}'),
      expected: CHANGED,
    },
    {
      name: 'raw line ends',
      format: 'string-replace',
      response: '{"file_path":"a.js","old_string":"one();\nend();","new_string":"two();\nend();"}',
      expected: CHANGED,
    },
    {
      name: 'a JSON string',
      format: 'search-blocks',
      response: JSON.stringify(CHANGE),
      expected: CHANGED,
    },
    {
      name: 'an object round it',
      format: 'search-blocks',
      response: fence(JSON.stringify({ answer: CHANGE }), 'json'),
      expected: CHANGED,
    },
    { name: 'a whole file in a chat', format: 'whole-file', response: chat, expected: CHANGED },
    {
      name: 'a whole file by the info string',
      format: 'whole-file',
      response: fence('two();\nend();', 'js a.js'),
      expected: CHANGED,
    },
    {
      name: 'a new file in a chat',
      format: 'whole-file',
      response: `${chat}\n### \`n.js\` (new)\n${fence('n();')}`,
      expected: { ...CHANGED, 'n.js': 'n();\n' },
    },
    {
      name: 'what may be a part of a file',
      format: 'whole-file',
      response: `In \`a.js\`:\n${fence('three();')}`,
      expected: 'fence_unclear',
    },
    {
      name: 'another fence without a name',
      format: 'whole-file',
      response: `${chat}\nAnd:\n${fence('n();')}`,
      expected: 'stray_edit',
    },
    {
      name: 'lines of a file in a fence',
      format: 'whole-file',
      response: '```1:2:a.js\ntwo();\nend();\n```\n',
      expected: 'no_edits',
    },
    {
      name: 'lines of a file in a fence beside a whole file',
      format: 'whole-file',
      response: `${chat}\n\`\`\`1:1:b.js\ny();\n\`\`\`\n`,
      expected: 'stray_edit',
    },
    {
      name: 'a chat that is cut',
      format: 'whole-file',
      response: chat.trimEnd().slice(0, -3),
      expected: 'cut_inside_fence',
    },
  ]);
  test('a chat is found without its format', () => expect(detectFormat(chat)).toBe('whole-file'));
});
