/** The files of a proposal as the page's tree shows them. */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fuzz } from '../support/fuzz.js';
import { treeRows } from '../../src/web/page/model/tree.js';

const files = (...paths: readonly string[]) => paths.map((path) => ({ path }));
const all = (): boolean => true;
const shown = (...given: Parameters<typeof treeRows>) =>
  treeRows(...given).map(
    ({ name, depth, file }) => `${'  '.repeat(depth - 1)}${name}${file === null ? '' : ` ${file}`}`,
  );

test('folders of one folder are one; closed ones hide what is in them; a search leaves only what it finds', () => {
  const some = files(
    'a',
    'src/web/page/x.ts',
    'src/web/page/y.ts',
    'src/web/z.ts',
    'test/deep/er/t.ts',
  );
  expect(shown(some, all, new Set())).toEqual([
    ...[
      'a 0',
      'src/web/',
      '  page/',
      '    x.ts 1',
      '    y.ts 2',
      '  z.ts 3',
      'test/deep/er/',
      '  t.ts 4',
    ],
  ]);
  expect(shown(some, all, new Set(['src/web/page/', 'test/deep/er/']))).toEqual([
    ...['a 0', 'src/web/', '  page/', '  z.ts 3', 'test/deep/er/'],
  ]);
  expect(shown(some, (path) => path.includes('y.ts'), new Set())).toEqual([
    'src/web/page/',
    '  y.ts 2',
  ]);
  // A file that goes, and a folder of its name.
  expect(shown(files('a', 'a/b'), all, new Set())).toEqual(['a 0', 'a/', '  b 1']);
});

test('every file stands in it once, in the order of the diff, below the folders of its path', () => {
  const name = fc.constantFrom('a', 'b', 'a-b', '__proto__', '0');
  const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'));
  const property = fc.property(fc.uniqueArray(path, { maxLength: 30 }), (paths) => {
    const sorted = [...paths].sort();
    const rows = treeRows(files(...sorted), all, new Set());
    const found = rows.filter(({ file }) => file !== null);
    expect(found.map((row) => row.path)).toEqual(sorted);
    const above: string[] = [];
    for (const { path: at, name: own, depth, file } of rows) {
      above.splice(depth - 1);
      expect(at).toBe(`${above.join('')}${own}`);
      if (file === null) above.push(own);
    }
  });
  fc.assert(property, fuzz('tree of files'));
});
