/** What a call is told of the files round its own, in real trees of several languages. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createEditRunner } from '../../../src/activities/frame/edit-worker.js';
import { findSignatures, type Signatures } from '../../../src/activities/step/find.js';
import type { SnapshotTarget } from '../../../src/activities/step/snapshot.js';
import { showSignatures } from '../../../src/model/prompts/index.js';
import { createRecordStore } from '../../../src/stores/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { sampled } from '../../support/seeded.js';
import { getJson } from '../../../src/stores/ports.js';
import { listWorkspaceFiles } from '../../../src/workspace/files/index.js';

let top: string;
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'signatures '));
});
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

let trees = 0;
type Files = Readonly<Record<string, string>>;
const tree = (files: Files): string => {
  const root = join(top, `tree ${(trees += 1)}`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  execFileSync('git', ['init', '-q'], { cwd: root });
  return root;
};
/** Of the targets, those of `fresh` new. */
const around = async (
  root: string,
  task: string,
  paths: readonly string[],
  fresh: readonly string[] = [],
) => {
  const blobs = createBlobStore({ dir: join(top, 'blobs') });
  const ports = {
    blobs,
    records: createRecordStore({ dir: join(top, 'records') }),
    edits: createEditRunner(),
  };
  const target = async (path: string) => ({
    path,
    base: fresh.includes(path)
      ? null
      : { ref: await blobs.put(readFileSync(join(root, path))), mode: 0o644 },
  });
  const targets = (await Promise.all(
    [...paths, ...fresh].map(target),
  )) as unknown as readonly SnapshotTarget[];
  const files = await listWorkspaceFiles(root);
  const found = await findSignatures(
    ports,
    { root, files, task },
    targets,
    new AbortController().signal,
  );
  return { around: await getJson<Signatures>(blobs, found.ref, 'signatures'), bytes: found.bytes };
};
const shown = async (...asked: Parameters<typeof around>) => {
  const paths = [...asked[2], ...(asked[3] ?? [])];
  const { around: all } = await around(...asked);
  return showSignatures(
    paths.flatMap((path) => all[path] ?? []),
    paths,
  );
};
/** Path and why of each, and its text. */
const listed = ({ files, text }: Awaited<ReturnType<typeof shown>>) => ({
  files: files.map(({ path, why }) => `${path}: ${why}`),
  text,
});

const LANGUAGES: readonly (readonly [
  string,
  string,
  Files,
  files: readonly string[],
  texts: readonly string[],
])[] = [
  [
    'TypeScript, through a door',
    'src/shop/till.ts',
    {
      'src/shop/till.ts':
        "import { priceOf, type Goods } from '../goods/index.js';\nimport fs from 'node:fs';\nexport function payFor(all: Goods[]) {\n  return all.map((one) => priceOf(one.sku));\n}\n",
      'src/goods/index.ts':
        "export { priceOf } from './price.js';\nexport type { Goods } from './goods.js';\n",
      'src/goods/price.ts':
        '/** Of one. */\nexport function priceOf(\n  sku: string,\n): number {\n  return inner(sku);\n}\nfunction all() {}\nexport const unused = 1;\n',
      'src/goods/goods.ts':
        'export interface Goods {\n  readonly sku: string;\n  readonly weight: number;\n}\n',
      'src/fs.ts': 'export const fs = 1;\n',
      'src/main.ts':
        "import { payFor } from './shop/till.js';\n\nfunction start() {\n  console.log(payFor([]));\n}\n",
      'src/other.ts': 'const payFor = 1;\nconsole.log(payFor);\n',
      'test/shop/till.test.ts':
        "import { payFor } from '../../src/shop/till.js';\ntest('pays for nothing', () => {\n  payFor([]);\n});\n",
    },
    [
      'src/goods/price.ts: imported',
      'src/goods/goods.ts: imported',
      'src/main.ts: uses payFor',
      'test/shop/till.test.ts: its test',
    ],
    [
      'export function priceOf( sku: string, ): number\n```',
      'export interface Goods\n  readonly sku: string\n```',
      'function start()\n    console.log(payFor([]));\n```',
      "test('pays for nothing', () => {\n```",
    ],
  ],
  [
    'Python, relative and absolute',
    'shop/till.py',
    {
      'shop/till.py':
        'from .goods import price_of\nfrom shop.tax import Tax\nimport os\n\n\ndef pay_for(all):\n    return Tax().on(price_of(all))\n',
      'shop/goods.py': 'def price_of(sku: str) -> int:\n    return 1\n\n\ndef other():\n    pass\n',
      'shop/tax.py':
        'class Tax:\n    def on(self, sum: int) -> int:\n        return sum\n\n    def off(self):\n        pass\n',
      'shop/__init__.py': '',
      'lib/os.py': 'def os():\n    pass\n',
      'main.py': 'from shop.till import pay_for\n\n\ndef start():\n    pay_for([])\n',
      'tests/test_till.py': 'def test_pays_for_nothing():\n    pass\n',
    },
    [
      'shop/goods.py: imported',
      'shop/tax.py: imported',
      'main.py: uses pay_for',
      'tests/test_till.py: its test',
    ],
    [
      'def price_of(sku: str) -> int:\n```',
      'class Tax:\n  def on(self, sum: int) -> int:\n```',
      'def start():\n    pay_for([])\n```',
      'def test_pays_for_nothing():\n```',
    ],
  ],
  [
    'Rust, modules of a crate',
    'src/shop/till.rs',
    {
      'src/shop/till.rs':
        'use crate::goods::{price_of, Goods};\nuse std::path::Path;\n\npub fn pay_for(all: &[Goods]) -> u32 {\n    all.iter().map(|one| price_of(one)).sum()\n}\n',
      'src/goods.rs':
        '#[derive(Clone)]\npub struct Goods {\n    pub sku: String,\n}\n\npub fn price_of(one: &Goods) -> u32 {\n    hidden(one)\n}\n\nfn hidden(one: &Goods) -> u32 {\n    1\n}\n',
      'src/shop/mod.rs': 'pub mod till;\n',
      'src/path.rs': 'pub struct Path;\n',
      'src/main.rs':
        'mod goods;\nmod shop;\nuse shop::till::pay_for;\n\nfn main() {\n    pay_for(&[]);\n}\n',
      'tests/till.rs': '#[test]\nfn pays_for_nothing() {}\n',
    },
    ['src/goods.rs: imported', 'src/main.rs: uses pay_for', 'tests/till.rs: its test'],
    [
      '#[derive(Clone)] pub struct Goods\npub fn price_of(one: &Goods) -> u32\n```',
      'fn main()\n    pay_for(&[]);\n```',
      'fn pays_for_nothing()',
    ],
  ],
  [
    'Go, by folder',
    'shop/till.go',
    {
      'go.mod': 'module example.com/tea\n',
      'shop/till.go':
        'package shop\n\nimport (\n\t"fmt"\n\n\t"example.com/tea/internal/goods"\n)\n\nfunc PayFor(all []goods.Goods) int {\n\tfmt.Println(all)\n\treturn taxed(goods.PriceOf(all[0]))\n}\n',
      'shop/tax.go': 'package shop\n\nfunc taxed(sum int) int {\n\treturn sum\n}\n',
      'internal/goods/price.go':
        'package goods\n\ntype Goods struct {\n\tSku string\n}\n\nfunc PriceOf(one Goods) int {\n\treturn 1\n}\n',
      'magefile.go': 'package main\n\nfunc PriceOf() {}\n',
      'cmd/main.go':
        'package main\n\nimport "example.com/tea/shop"\n\nfunc main() {\n\tshop.PayFor(nil)\n}\n',
      'shop/till_test.go': 'package shop\n\nfunc TestPaysForNothing(t *testing.T) {\n}\n',
    },
    [
      'internal/goods/price.go: imported',
      'shop/tax.go: imported',
      'cmd/main.go: uses PayFor',
      'shop/till_test.go: its test',
    ],
    [
      'type Goods\nfunc PriceOf(one Goods) int\n```',
      'func taxed(sum int) int\n```',
      'func main()\n    shop.PayFor(nil)\n```',
    ],
  ],
  [
    'C, of which no grammar is known',
    'src/till.c',
    {
      'src/till.c':
        '#include <stdio.h>\n#include "goods.h"\n#include <tea/tax.h>\n\nint pay_for(struct goods *all)\n{\n  return taxed(price_of(all));\n}\n',
      'src/goods.h':
        '#ifndef GOODS_H\nstruct goods {\n  int sku;\n};\nint price_of(const struct goods *one);\nint unused(void);\n#endif\n',
      'include/tea/tax.h': '#define VAT 19\nint taxed(int sum);\n',
      'src/till.h': 'int pay_for(struct goods *all);\n',
      'src/main.c':
        '#include "till.h"\n#include "goods.h"\n\nint main(void)\n{\n  return pay_for(0);\n}\n',
      'tests/test_till.c': 'static void pays_for_nothing(void) {\n}\n',
    },
    ['include/tea/tax.h: imported', 'src/goods.h: imported', 'tests/test_till.c: its test'],
    ['struct goods {\nint price_of(const struct goods *one);\n```', 'int taxed(int sum);\n```'],
  ],
];

describe.each(sampled('languages', LANGUAGES, 2))('%s', (_, path, files, expected, texts) => {
  test('what it imports, who uses what the task names, its test; nothing else', async () => {
    const found = listed(
      await shown(tree(files), `Let ${/pay_?for/i.exec(files[path]!)![0]} take a discount`, [path]),
    );
    expect(found.files.filter((file) => !/[.]c: uses/.test(file)).sort()).toEqual(
      [...expected].sort(),
    );
    for (const text of texts) expect(found.text).toContain(text);
  });
});
test('C: a caller includes the header', async () => {
  const [, path, files] = LANGUAGES[4]!;
  const { files: found, text } = listed(
    await shown(tree(files), 'Let pay_for take a discount', [path]),
  );
  expect(found).toContain('src/main.c: uses pay_for');
  expect(text).toContain('int main(void)\n    return pay_for(0);\n```');
});
test('a task that names nothing of the file has no callers', async () => {
  const [, path, files] = LANGUAGES[0]!;
  const { files: found } = listed(await shown(tree(files), 'Tidy the imports', [path]));
  expect(found.filter((file) => file.includes('uses'))).toEqual([]);
});

test('a new file is shown the beginning of the one beside it that is most like it', async () => {
  const root = tree({
    'src/rules/colour-rule.ts': `export const colourRule = 1;\n${'\n'.repeat(100)}// far below\n`,
    'src/rules/list.ts': 'export const list = [];\n',
    'src/rules/colour-rule.test.ts': 'test("x", () => {});\n',
  });
  const { files, text } = listed(await shown(root, 'Add a rule', [], ['src/rules/size-rule.ts']));
  expect(files).toEqual(['src/rules/colour-rule.ts: an example']);
  expect(text).toContain('```\nexport const colourRule = 1;\n');
  expect(text).not.toContain('far below');
});

describe('of several files', () => {
  const FILES: Files = {
    'src/a.ts':
      "import { one } from './shared.js';\nimport { bee } from './b.js';\nexport const a = one + bee;\n",
    'src/b.ts': "import { two } from './shared.js';\nexport const bee = two;\n",
    'src/shared.ts': 'export const one = 1;\nexport const two = 2;\n',
  };
  test('in one call each file stands once, and no target', async () => {
    const { files, text } = listed(await shown(tree(FILES), 'x', ['src/a.ts', 'src/b.ts']));
    expect(files).toEqual(['src/shared.ts: imported']);
    expect(text).toContain('export const one = 1;\nexport const two = 2;\n');
  });
  test('in calls of their own each is told of the other', async () => {
    const { around: all } = await around(tree(FILES), 'x', ['src/a.ts', 'src/b.ts']);
    expect(showSignatures(all['src/a.ts']!, ['src/a.ts']).files.map(({ path }) => path)).toEqual([
      'src/shared.ts',
      'src/b.ts',
    ]);
    expect(showSignatures(all['src/b.ts']!, ['src/b.ts']).text).not.toContain('one');
  });
});

test('4,000 tokens, imports first; what does not fit is named', async () => {
  const names = Array.from({ length: 30 }, (_, at) => `name${at}`);
  const lines = (name: string): string =>
    Array.from(
      { length: 20 },
      (_, at) => `export const ${name}x${at} = '${'long '.repeat(20)}';\n`,
    ).join('');
  const uses = (name: string): string =>
    Array.from({ length: 20 }, (_, at) => `${name}x${at}`).join(' ');
  const root = tree({
    'src/all.ts':
      names.map((name) => `import {} from './${name}.js'; // ${uses(name)}\n`).join('') +
      'export function tea() {}\n',
    ...Object.fromEntries(names.map((name) => [`src/${name}.ts`, lines(name)])),
    'src/user.ts': "import { tea } from './all.js';\ntea();\n",
    'test/all.test.ts': "test('x', () => {});\n",
  });
  const found = await shown(root, 'tea', ['src/all.ts']);
  const tokens = found.files.reduce((sum, file) => sum + file.tokens, 0);
  expect(tokens).toBeGreaterThan(3_000);
  expect(tokens).toBeLessThanOrEqual(4_000);
  expect(found.files[0]).toMatchObject({ path: 'src/name0.ts', why: 'imported' });
  expect(found.files.length + found.omitted.length).toBe(32);
  const { files } = showSignatures(
    (await around(root, 'tea', ['src/all.ts'])).around['src/all.ts']!,
    [],
    0,
  );
  expect(files).toEqual([]);
});

describe('what no call may see', () => {
  const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4)}`.slice(0, 40);
  const KEY = [
    '-----BEGIN PRIVATE KEY-----',
    ...Array.from({ length: 8 }, (_, at) => `${at}aB3x9Kq7Zt2Lm5Vw8Rn4Yp6Hs1Jd0Gf${at}`.repeat(2)),
    '-----END PRIVATE KEY-----',
  ];
  test('secrets, files that look secret, ignored files, links that leave, what is no text', async () => {
    writeFileSync(join(top, 'outside.ts'), 'export const outside = "leak";\n');
    const root = tree({
      '.gitignore': 'ignored.ts\n',
      'src/a.ts':
        ['keys', 'link', 'secrets', 'binary', 'many', 'huge', '../ignored']
          .map((name) => `import {} from './${name}.js';\n`)
          .join('') + '// token pem plain plain7 outside ignored inBinary\nexport const tea = 1;\n',
      'src/keys.ts': `export const plain = 1;\nexport const token = "${TOKEN}";\nexport const pem = \`${KEY.join('\n')}\`;\n`,
      'ignored.ts': 'export const ignored = 1;\n',
      'src/many.ts': Array.from(
        { length: 101 },
        (_, at) => `export const plain${at} = "${TOKEN.slice(0, 36)}${1000 + at}";\n`,
      ).join(''),
      'src/binary.ts': 'export const inBinary = "\0";\n',
      'src/huge.ts': `export const plain = 1;\n${'// x\n'.repeat(200_000)}`,
      'src/.env.ts': '',
      '.env': 'export const tea = 1\n',
      'src/user.ts': `import { tea } from './a.js';\ntea("${TOKEN}");\ntea(1);\n`,
    });
    symlinkSync(join(top, 'outside.ts'), join(root, 'src/link.ts'));
    for (let times = 0; times < 2; times += 1) {
      const { files, text } = listed(await shown(root, 'tea', ['src/a.ts']));
      expect(files).toEqual(['src/keys.ts: imported', 'src/user.ts: uses tea']);
      expect(text).toContain('export const plain = 1;');
      expect(text).toContain('tea(1);');
      for (const hidden of [TOKEN.slice(0, 20), 'aB3x9Kq7Zt2', 'leak', 'ignored', 'inBinary'])
        expect(text).not.toContain(hidden);
    }
  });
});

test('a directory without git, an empty file, a file that no language knows: nothing fails', async () => {
  const root = tree({ 'a.txt': '', 'b.xyz': 'import b from "./b"\n' });
  rmSync(join(root, '.git'), { recursive: true });
  expect((await shown(root, 'x', ['a.txt', 'b.xyz'])).files).toEqual([]);
});
