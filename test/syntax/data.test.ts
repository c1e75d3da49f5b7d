/** Tests new errors of files that have a parser instead of a grammar, as the guard `syntax` reports them. */
import { describe, expect, test } from '@jest/globals';
import { guardFindings } from '../../src/edits/guards/index.js';
import { DATA_FILE_CHARS, YAML_FILE_CHARS } from '../../src/syntax/data/index.js';
import { YAML_NESTING } from '../../src/syntax/data/yaml.js';
import { dataLanguageOf, loadSyntax } from '../../src/syntax/index.js';

const syntax = await loadSyntax([]);
const bytes = (text: string | null): Uint8Array | null =>
  text === null ? null : Buffer.from(text);
const findings = (path: string, base: string | null, result: string) =>
  guardFindings([{ path, base: bytes(base), result: bytes(result) }], { syntax }).filter(
    ({ guard }) => guard === 'syntax',
  );
/** Returns `severity line` of each finding. */
const found = (path: string, base: string | null, result: string): string[] =>
  findings(path, base, result).map(({ severity, lines }) =>
    `${severity} ${lines?.[0] ?? ''}`.trim(),
  );

type Row = readonly [string, string, string | null, string];
const asks = (name: string, rows: readonly Row[]): void => {
  test.each(rows)(`${name}: %s`, (_name, path, base, result) => {
    expect(found(path, base, result)[0]).toMatch(/^ask \d+$/);
  });
};
const isSilent = (name: string, rows: readonly Row[]): void => {
  test.each(rows)(`${name}, nothing: %s`, (_name, path, base, result) => {
    expect(found(path, base, result)).toEqual([]);
  });
};

describe('JSON', () => {
  asks('an error', [
    [
      'a trailing comma in package.json',
      'package.json',
      '{\n  "version": "1.0.0"\n}\n',
      '{\n  "version": "1.0.1",\n}\n',
    ],
    ['a missing comma', 'a.json', '{"a": 1}\n', '{\n"a": 1\n"b": 2\n}\n'],
    ['a comment where the file has none', 'package.json', '{"a": 1}\n', '{\n// b\n"a": 1}\n'],
    ['single quotes', 'a.json', '{"a": 1}\n', "{'a': 1}\n"],
    ['a bracket that is not closed', 'a.json', '[1]\n', '[1, 2\n'],
    ['text behind the end', 'a.json', '[1]\n', '[1]\n]\n'],
    ['a new file', 'a.json', null, '{"a": }\n'],
    ['a new file with a brace too much', 'a.json', null, '{"a": 1}\n}\n'],
    ['comments in a new package.json', 'package.json', null, '// a\n{"a": 1}\n'],
    ['a trailing comma in a new file', 'a.json', null, '{"a": 1,}\n'],
    ['a quote that is not escaped', 'tsconfig.json', '{"a": "b"}\n', '{"a": "b "c" d"}\n'],
    [
      'a missing comma beside comments',
      'tsconfig.json',
      '{\n// a\n"a": 1\n}\n',
      '{\n// a\n"a": 1\n"b": 2\n}\n',
    ],
    ['a lock file', 'composer.lock', '{"a": 1}\n', '{"a": 1,}\n'],
    ['a second value in a file of settings', 'a.json', '{"a": 1}\n', '{"a": 1}\n{"a": 2}\n'],
    ['two values in a new manifest', 'package.json', null, '{"a": 1}\n{"a": 1}\n'],
    [
      'a second value in a manifest of test data',
      'test/fixtures/a/package.json',
      '{"a": 1}\n',
      '{"a": 1}\n{"a": 2}\n',
    ],
    ['a broken second value in test data', 'tests/a.json', '{"a": 1}\n', '{"a": 1}\n{"a": 2\n'],
  ]);
  isSilent('JSON', [
    ['a valid change', 'a.json', '{"a": 1}\n', '{"a": 2}\n'],
    [
      'comments and a trailing comma in tsconfig.json',
      'tsconfig.build.json',
      '{"a": 1}\n',
      '{\n// b\n"a": 1,\n/* c */\n}\n',
    ],
    ['comments in settings of an editor', '.vscode/settings.json', '{}\n', '{\n// b\n}\n'],
    [
      'comments in a file that had some',
      'a.json',
      '{\n// a\n"a": 1}\n',
      '{\n// a\n// b\n"a": 1,\n}\n',
    ],
    ['a new .jsonc', 'a.jsonc', null, '// a\n{"a": 1,}\n'],
    ['new JSON Lines', 'a.json', null, '{"a": 1}\n{"a": 2}\n'],
    ['a second value in test data', 'tests/a.json', '{"a": 1}\n', '{"a": 1}\n{"a": 2}\n'],
    [
      'a second value and comments in test data',
      'tests/specs/a.jsonc',
      '// a\n{"a": 1}\n',
      '// a {\n{"a": 1}\n\n// b\n{"a": 2}\n// "c\n',
    ],
    ['new values on one line', 'a.json', null, '0 true null [] {} [{}] "a"\n'],
    [
      'comments in a new file of an unknown program',
      'bundleconfig.json',
      null,
      '// a\n[\n  1, // b\n]\n',
    ],
    ['a file that was no JSON', 'a.json', '{"a": }\n', '{"a": }}\n'],
    ['a template', 'a.json', '{"a": 1}\n', '{"a": {{ value }}}\n'],
    ['a template of ERB', 'a.json', null, '{"a": <%= value %>}\n'],
    ['an empty file', 'a.json', '{}\n', '\n'],
    ['another ending', 'a.json5', '{a: 1}\n', '{a: 1'],
  ]);
  test('the message names the line and what is wrong', () => {
    const [finding] = findings('a.json', '{}\n', '{\n  "a": 1,\n}\n');
    expect(finding?.message).toBe(
      'Line 3 of the new a.json is not valid (JSON): a key in double quotes is expected: "}".',
    );
  });
});

describe('notebooks', () => {
  const notebook = (source: string): string =>
    `{\n "cells": [\n  {\n   "cell_type": "code",\n   "source": [\n    ${source}\n   ]\n  }\n ],\n "nbformat": 4\n}\n`;
  asks('an error', [
    ['quotes that are not escaped', 'n.ipynb', notebook('"y = 2"'), notebook('"print("y", y)"')],
    ['a trailing comma', 'n.ipynb', notebook('"y"'), notebook('"y",')],
    ['cells that are no list', 'n.ipynb', notebook('"y"'), '{"cells": {}, "nbformat": 4}\n'],
    ['a source that is no text', 'n.ipynb', notebook('"y"'), notebook('1')],
    [
      'a cell without a type',
      'n.ipynb',
      notebook('"y"'),
      notebook('"y"').replace('cell_type', 'kind'),
    ],
    ['no object', 'n.ipynb', null, '[]\n'],
  ]);
  isSilent('notebooks', [
    ['a valid change', 'n.ipynb', notebook('"y = 2"'), notebook('"print(\\"y\\", y)"')],
    ['format 3', 'n.ipynb', '{"worksheets": []}\n', '{"worksheets": [1]}\n'],
    ['a file that was none', 'n.ipynb', '{"a": 1}\n', '{"a": 2}\n'],
  ]);
});

describe('YAML', () => {
  asks('an error', [
    ['a tab as indentation', 'a.yml', 'a:\n  b: 1\n', 'a:\n\tb: 1\n'],
    ['a second colon', 'a.yml', 'a: 1\n', 'a: b: 1\n'],
    ['a key twice', 'a.yml', 'a: 1\nb: 2\n', 'a: 1\nb: 2\na: 3\n'],
    ['a quote that is not closed', 'a.yaml', 'a: 1\n', 'a: "1\nb: 2\n'],
    ['a quote that is closed by the next one', 'a.yaml', 'a: 1\n', 'a: "b\nc: "d"\n'],
    ['a quote that is closed in the next document', 'a.yaml', 'a: 1\n', 'a: "b\n---\nc: d"\n'],
    ['wrong indentation', 'a.yml', 'a:\n  b: 1\n  c: 2\n', 'a:\n  b: 1\n c: 2\n'],
    ['a list that is not closed', 'a.yml', 'a: []\n', 'a: [1, 2\nb: 2\n'],
    ['in the second document', 'a.yml', 'a: 1\n---\nb: 1\n', 'a: 1\n---\nb: "1\n'],
    [
      'beside an expression of GitHub',
      '.github/workflows/a.yml',
      'a: ${{ b }}\n',
      'a: ${{ b }}\nc: d: e\n',
    ],
    ['beside a quoted template', 'a.yml', 'a: "{{ b }}"\n', 'a: "{{ b }}"\nc: d: e\n'],
    [
      'beside templates that could be parsed',
      'a.yml',
      'a: 1:{{ b }}\nc:\n  d: 1\n',
      'a: 1:{{ b }}\nc:  d: 1\n',
    ],
    ['an anchor that does not exist', 'a.yml', 'a: 1\n', 'a: *b\n'],
  ]);
  isSilent('YAML', [
    [
      'a string whose further lines are not indented',
      'a.yml',
      'a:\n- b\n',
      'a:\n- "b \\\n  c: d"\n- "e: \\"f\n- g"\n- h: \'i\n\'\'j: k\'\nl: "m\nn"\n',
    ],
    ['several documents', 'a.yml', 'a: 1\n', '---\na: 1\n---\na: 2\n...\n'],
    ['a tag of CloudFormation', 'a.yml', 'a: 1\n', 'a: !Sub "${b}"\nc: !GetAtt d.e\n'],
    ['a vault of Ansible', 'a.yml', 'a: 1\n', 'a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3132\n'],
    ['merge keys', 'a.yml', 'a: &a\n  b: 1\n', 'a: &a\n  b: 1\nc:\n  <<: *a\n  <<: *a\n'],
    ['tasks of Cirrus CI', '.cirrus.yml', 'task:\n  a: 1\n', 'task:\n  a: 1\ntask:\n  a: 2\n'],
    [
      'Helm',
      'templates/a.yaml',
      'a: {{ .Values.a }}\n',
      '{{- if .Values.b }}\na: {{ .Values.a }}\n{{- end }}\n',
    ],
    [
      'a new template of Helm',
      'templates/a.yaml',
      null,
      '{{- range .Values.b }}\n  a: {{ .a | quote }}\n{{- end }}\n',
    ],
    ['Jinja', 'a.yml', 'a: 1\n', '{% for b in c %}\n{{ b }}: 1\n{% endfor %}\n'],
    ['Ansible', 'a.yml', 'a: "{{ b }}"\n', 'a: "{{ b }}"\nc: {{ d }}\n'],
    ['a file that had errors', 'a.yml', 'a: b: c\n', 'a: b: c\nd: e: f\n'],
    ['a list at the indentation of its key', 'a.yml', 'a:\n- b\n', 'a:\n- b\n- c\n'],
    ['a bracket at the indentation of its key', 'a.yml', 'a: []\n', 'a: [\n  1,\n]\n'],
  ]);
  test('nesting that the parser could not stand is a note', () => {
    const deep = `a: ${'['.repeat(YAML_NESTING + 1)}${']'.repeat(YAML_NESTING + 1)}\n`;
    expect(found('a.yml', 'a: 1\n', deep)).toEqual(['note']);
    expect(found('a.yml', 'a: 1\n', `a: ${'['.repeat(100_000)}\n`)).toEqual(['note']);
  });
  test('many keys take no more than linear time', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => `key${i}: 1\n`).join('');
    expect(found('a.yml', many, `${many}key7: 2\n`)).toEqual(['ask 20001']);
  });
});

describe('TOML', () => {
  asks('an error', [
    ['a value without quotes', 'Cargo.toml', '[a]\nb = "1"\n', '[a]\nb = 1.0.0\n'],
    ['a key twice', 'pyproject.toml', '[a]\nb = 1\n', '[a]\nb = 1\nb = 2\n'],
    ['a table that is not closed', 'a.toml', '[a]\n', '[a\n'],
    ['a new file', 'a.toml', null, 'a: 1\n'],
    ['a lock file', 'Cargo.lock', '[[package]]\nname = "a"\n', '[[package]]\nname = a\n'],
  ]);
  isSilent('TOML', [
    ['a valid change', 'a.toml', 'a = 1\n', 'a = 12345678901234567890\nb = [\n  1,\n]\n'],
    ['a file that had an error', 'a.toml', 'a = b\n', 'a = c\n'],
    ['a template', 'a.toml', 'a = 1\n', 'a = {{ b }}\n'],
  ]);
});

describe('Makefiles', () => {
  asks('an error', [
    ['a recipe with spaces', 'Makefile', 'all:\n\techo a\n', 'all:\n    echo a\n    echo b\n'],
    ['one line of a recipe', 'GNUmakefile', 'all:\n\techo a\n', 'all:\n\techo a\n        echo b\n'],
    ['a recipe with a colon', 'Makefile', 'all:\n\techo a\n', 'all:\n    @echo "a: b"\n'],
    ['a recipe with an address', 'Makefile', 'all:\n\techo a\n', 'all:\n    curl http://a\n'],
    ['a recipe with ports', 'Makefile', 'all:\n\techo a\n', 'all:\n    docker run -p 80:80 a\n'],
    ['a rule with a pattern', 'rules.mk', 'A = 1\n', 'A = 1\n%.o: %.c\n  $(CC) -c $<\n'],
    [
      'a rule with references',
      'Makefile',
      'A = 1\n',
      'A = 1\n$(OUT)/a: $(SOURCES:.c=.o)\n  @touch $@\n',
    ],
    ['a new file', 'src/Makefile', null, 'all:\n    echo a\n'],
  ]);
  isSilent('Makefiles', [
    ['a tab', 'Makefile', 'all:\n\techo a\n', 'all:\n\techo a\n\techo b\n'],
    ['a line that goes on', 'Makefile', 'all:\n\techo a\n', 'all:\n\techo a \\\n        b\n'],
    ['an assignment with indentation', 'Makefile', 'a: b\n', 'a: b\n  C = 1\n  D := $(shell e)\n'],
    ['a rule with indentation', 'Makefile', 'a: b\n', 'a: b\n  c: d\n  e f: g\n'],
    ['a Makefile of nmake', 'makefile', null, 'all: a.exe\n\na.exe: a.cs\n    csc a.cs\n'],
    [
      'a condition',
      'Makefile',
      'a: b\n',
      'a: b\nifdef C\n  ifeq ($(D),1)\n    E = 1\n  endif\nendif\n',
    ],
    ['a call', 'Makefile', 'a: b\n', 'a: b\n  $(eval $(call c,d))\n'],
    ['a definition', 'Makefile', 'a: b\n', 'define c\n  d\nendef\na: b\n'],
    ['another prefix of recipes', 'Makefile', 'a: b\n', '.RECIPEPREFIX = >\na: b\n  c\n'],
    ['a file that had such lines', 'Makefile', 'a:\n    b\n', 'a:\n    b\n    c\n'],
    ['a comment', 'Makefile', 'a: b\n', 'a: b\n    # c\n'],
    ['a script of another name', 'Makefile.PL', 'a: b\n', 'a: b\n    c\n'],
    ['a continued list', 'Makefile', 'A = 1\n', 'A = \\\n    b \\\n    c\n'],
  ]);
});

test.each([
  ['tests/specs/a.json', 'note'],
  ['src/lib_tests/a.json', 'note'],
  ['crates/a/__tests__/b/a.json', 'note'],
  ['test-data/a.json', 'note'],
  ['src/latest/a.json', 'ask'],
  ['tests.json', 'ask'],
])('a new file of test data may be invalid on purpose: %s is %s', (path, severity) => {
  expect(findings(path, null, '{"a": }\n').map((finding) => finding.severity)).toEqual([severity]);
  expect(findings(path, '{}\n', '{"a": }\n').map((finding) => finding.severity)).toEqual(['ask']);
});

test('a file over the limit is a note, and its lines are not made', () => {
  const large = '"a",\n'.repeat(DATA_FILE_CHARS / 5);
  expect(found('a.json', `[${large}1]\n`, `[${large}1,]\n`)).toEqual(['note']);
  const yaml = `# ${'x'.repeat(YAML_FILE_CHARS)}\n`;
  expect(found('a.yml', yaml, `${yaml}a: b: c\n`)).toEqual(['note']);
  const lines = { leastChars: DATA_FILE_CHARS + 1, all: [] };
  Object.defineProperty(lines, 'all', {
    get: () => {
      throw new Error('the lines were made');
    },
  });
  expect(syntax.dataFaults?.({ path: 'a.json', base: null, result: lines })).toMatchObject({
    kind: 'unread',
    code: 'syntax_too_large',
  });
});

test('hostile nesting is passed over, and other paths have no parser', () => {
  const deep = '['.repeat(200_000);
  expect(found('a.json', '[]\n', `${deep}\n`)).toEqual([]);
  expect(found('a.toml', 'a = 1\n', `a = ${deep}\n`)).not.toContain('ask');
  expect(dataLanguageOf('a.txt')).toBeNull();
  expect(dataLanguageOf('a.json.j2')).toBeNull();
});
