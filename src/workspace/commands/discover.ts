/** A test command that the project itself defines. It is proposed to a person, never run unasked. */
import { join } from 'node:path';

import { sha256 } from '../../system/hash.js';
import { readGiven, readGivenText, UNREADABLE } from '../../system/given-file.js';

export interface DiscoveredCommand {
  readonly command: string;
  /** The files that define it, workspace-relative, with the sha-256 (hex) of their bytes: a change asks again. */
  readonly definedBy: readonly { readonly path: string; readonly sha256: string }[];
}

type Read = (path: string) => Promise<string | null>;
type Finder = (read: Read) => Promise<{ readonly command: string; readonly path: string } | null>;

/** package.json, pytest, Makefile, go.mod, Cargo.toml, in this order; null where none of them defines tests. */
export async function discoverTestCommand(root: string): Promise<DiscoveredCommand | null> {
  const read: Read = (path) => readGivenText(join(root, path), UNREADABLE);
  for (const find of FINDERS) {
    const found = await find(read);
    if (found === null) continue;
    const bytes = await readGiven(join(root, found.path));
    return { command: found.command, definedBy: [{ path: found.path, sha256: sha256(bytes) }] };
  }
  return null;
}

/** What `npm init` writes where there are no tests. */
const NO_TEST = 'no test specified';

const npmTest: Finder = async (read) => {
  const script = testScript(await read('package.json'));
  if (script === null || script.includes(NO_TEST)) return null;
  for (const [lock, command] of [
    ['pnpm-lock.yaml', 'pnpm test'],
    ['yarn.lock', 'yarn test'],
    ['bun.lock', 'bun run test'],
  ] as const) {
    if ((await read(lock)) !== null) return { command, path: 'package.json' };
  }
  return { command: 'npm test', path: 'package.json' };
};

function testScript(manifest: string | null): string | null {
  if (manifest === null) return null;
  try {
    const parsed = JSON.parse(manifest) as { scripts?: { test?: unknown } } | null;
    const script = parsed?.scripts?.test;
    return typeof script === 'string' && script.trim() !== '' ? script : null;
  } catch {
    return null; // not ours to mend
  }
}

const pytest: Finder = async (read) => {
  for (const [path, section] of [
    ['pytest.ini', /^/],
    ['pyproject.toml', /^\s*\[tool\.pytest(\.ini_options)?\]/m],
    ['setup.cfg', /^\[tool:pytest\]/m],
    ['tox.ini', /^\[pytest\]/m],
    ['conftest.py', /^/],
    ['tests/conftest.py', /^/],
  ] as const) {
    const text = await read(path);
    if (text !== null && section.test(text)) return { command: 'python3 -m pytest', path };
  }
  return null;
};

const makeTest: Finder = async (read) => {
  // In the order in which make looks for them; only the first is used.
  for (const path of ['GNUmakefile', 'makefile', 'Makefile']) {
    const text = await read(path);
    if (text !== null) return /^test[ \t]*:(?!:?=)/m.test(text) ? { command: 'make test', path } : null;
  }
  return null;
};

const always =
  (path: string, command: string): Finder =>
  async (read) =>
    (await read(path)) === null ? null : { command, path };

const FINDERS: readonly Finder[] = [
  npmTest,
  pytest,
  makeTest,
  always('go.mod', 'go test ./...'),
  always('Cargo.toml', 'cargo test'),
];
