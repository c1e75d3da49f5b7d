/** docs/library.md: its example is run as it stands there, and what it names is exported. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import * as edits from '../../src/edits/index.js';

const PAGE = readFileSync('docs/library.md', 'utf8');
const DOC = PAGE.slice(PAGE.indexOf('## The edit engine'));
const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(DOC)?.[1] ?? '';

test('the example prints what the page says', () => {
  const source = block('ts');
  const imports = /^import .*$/gm;
  expect(source.match(imports)).toEqual([
    "import { createHash } from 'node:crypto';",
    "import { applyAnswer, combinedDiff } from 'emend/edits';",
  ]);
  const { code } = transformSync(source.replaceAll(imports, ''), {
    swcrc: false,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  });
  const printed: string[] = [];
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the page's code is the input of this test
  const run = new Function('createHash', 'applyAnswer', 'combinedDiff', 'console', code) as (
    ...given: unknown[]
  ) => void;
  run(createHash, edits.applyAnswer, edits.combinedDiff, {
    log: (text: string) => printed.push(text),
  });
  expect(printed.join('\n').replaceAll('\r', '')).toBe(block('diff'));
  expect(printed.join('\n')).toContain('print("hello")\r\n');
});

test('names functions that are there, and all that are', () => {
  const said = [...DOC.matchAll(/`([a-z]\w+)(?:\(|`)/g)].map(([, name]) => name ?? '');
  expect(
    Object.keys(edits).filter(
      (name) => typeof edits[name as keyof typeof edits] === 'function' && !said.includes(name),
    ),
  ).toEqual([]);
  const table = DOC.slice(DOC.indexOf('## Beside it'));
  const functions = [...table.matchAll(/`(\w+)\(/g)].map(([, name]) => name ?? '');
  expect(functions.length).toBeGreaterThan(8);
  expect(functions.filter((name) => !(name in edits))).toEqual([]);
});
