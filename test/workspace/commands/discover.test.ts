import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { discoverTests } from '../../../src/workspace/commands/discover.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'emend-discover-'));
});
afterEach(() => rm(dir, { recursive: true }));

const manifest = (test?: unknown): string => JSON.stringify({ scripts: { test, build: 'tsc' } });
const NPM_DEFAULT = 'echo "Error: no test specified" && exit 1';

const CASES: [string, Record<string, string>, string | null, string?][] = [
  ['nothing', {}, null],
  ['an npm script', { 'package.json': manifest('jest') }, 'npm test', 'package.json'],
  [
    'with pnpm',
    { 'package.json': manifest('jest'), 'pnpm-lock.yaml': '' },
    'pnpm test',
    'package.json',
  ],
  ['with yarn', { 'package.json': manifest('jest'), 'yarn.lock': '' }, 'yarn test', 'package.json'],
  ["npm's default is none", { 'package.json': manifest(NPM_DEFAULT) }, null],
  [
    "npm's default beside a Makefile",
    { 'package.json': manifest(NPM_DEFAULT), Makefile: 'test: all\n\t./t\n' },
    'make test',
    'Makefile',
  ],
  ['a script of another type', { 'package.json': manifest(7) }, null],
  ['no script', { 'package.json': manifest() }, null],
  ['a package.json that is no JSON', { 'package.json': '{' }, null],
  ['a package.json that is null', { 'package.json': 'null' }, null],
  ['pytest.ini', { 'pytest.ini': '' }, 'python3 -m pytest', 'pytest.ini'],
  [
    'pyproject',
    { 'pyproject.toml': '[project]\nname = "x"\n[tool.pytest.ini_options]\n' },
    'python3 -m pytest',
    'pyproject.toml',
  ],
  ['a pyproject without pytest', { 'pyproject.toml': '[project]\nname = "x"\n' }, null],
  ['conftest', { 'tests/conftest.py': '' }, 'python3 -m pytest', 'tests/conftest.py'],
  ['make', { Makefile: 'all:\n\ttrue\ntest:\n\ttrue\n' }, 'make test', 'Makefile'],
  ['make, a variable', { Makefile: 'test := 1\ntest::=2\ntests: all\n' }, null],
  ['make looks at makefile first', { makefile: 'all:\n', Makefile: 'test:\n' }, null],
  ['go', { 'go.mod': 'module x\n' }, 'go test ./...', 'go.mod'],
  ['cargo', { 'Cargo.toml': '[package]\n' }, 'cargo test', 'Cargo.toml'],
  [
    'the first of several',
    { 'Cargo.toml': '', 'go.mod': '', 'package.json': manifest('jest') },
    'npm test',
    'package.json',
  ],
];

test.each(CASES.map(([name, files, command, path = '']) => ({ name, files, command, path })))(
  '$name',
  async ({ files, command, path }) => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(dir, name)), { recursive: true });
      await writeFile(join(dir, name), text);
    }
    const sha256 = createHash('sha256')
      .update(files[path] ?? '')
      .digest('hex');
    expect(await discoverTests(dir)).toEqual(
      command === null
        ? null
        : { commands: [command], source: path, definedBy: [{ path, sha256 }] },
    );
  },
);

const NOTES = [
  '# Notes',
  '## Testing Protocols',
  '- **Test Command**: `./ci.sh unit`',
  '- npm test',
  '- Run `pytest tests/x.py`, see `src/a.py`',
  '- **Test Pattern**: `*_spec.lua`',
  'and `make test` in prose is none',
  '### Deeper',
  '1. `go test ./...`',
  '## Other',
  '- `cargo test`',
].join('\n');

test('"Testing Protocols" goes before the project, all of its commands in order; the nearest notes within the repository count', async () => {
  await mkdir(join(dir, 'repo/.git/objects'), { recursive: true });
  await mkdir(join(dir, 'repo/.git/refs'));
  await writeFile(join(dir, 'repo/.git/HEAD'), 'ref: refs/heads/main\n');
  await mkdir(join(dir, 'repo/sub/deep'), { recursive: true });
  await writeFile(join(dir, 'repo/sub/deep/package.json'), manifest('jest'));
  // Outside of the repository nobody looks.
  await writeFile(join(dir, 'CLAUDE.md'), NOTES);
  expect(await discoverTests(join(dir, 'repo/sub/deep'))).toMatchObject({ source: 'package.json' });

  await writeFile(join(dir, 'repo/AGENTS.md'), NOTES);
  const found = await discoverTests(join(dir, 'repo/sub/deep'));
  expect(found).toMatchObject({
    commands: ['./ci.sh unit', 'npm test', 'pytest tests/x.py', 'go test ./...'],
    source: '../../AGENTS.md, Testing Protocols',
  });
  await writeFile(join(dir, 'repo/sub/CLAUDE.md'), '## Testing Protocols\n- `make check`\n');
  const nearer = await discoverTests(join(dir, 'repo/sub/deep'));
  expect(nearer).toMatchObject({
    commands: ['make check'],
    source: '../CLAUDE.md, Testing Protocols',
  });
  // What else the notes say changes nothing; other commands do.
  await writeFile(join(dir, 'repo/sub/CLAUDE.md'), 'More.\n## Testing Protocols\n- `make check`\n');
  expect(await discoverTests(join(dir, 'repo/sub/deep'))).toMatchObject({
    definedBy: nearer!.definedBy,
  });
});
