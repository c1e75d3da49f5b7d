/** Test commands that nobody configured: the project's notes and files say them. They are proposed to a person, never run unasked. */
import { dirname, join, relative } from 'node:path';
import { testingProtocols } from '../../documents/plan/index.js';
import { sha256 } from '../../system/hash.js';
import { readGiven, readGivenText, UNREADABLE } from '../../system/given-file.js';
import { topOf } from '../git/git.js';

export interface DiscoveredTests {
  readonly commands: readonly string[];
  /** As a person is told: `package.json`, `CLAUDE.md, Testing Protocols`, `tasks of Phase 2`. */
  readonly source: string;
  /** What defines them, workspace-relative, with the sha-256 (hex) of its bytes or of the words concerned: a change asks again. */
  readonly definedBy: readonly { readonly path: string; readonly sha256: string }[];
  /** What a person wrote for this purpose may be trusted: these commands in a text of its kind. */
  readonly read?: (text: string) => readonly string[];
}

const NOTES_CHARS = 256 * 1024; // bound: Of one CLAUDE.md or AGENTS.md, so much is searched for settings and test commands.

type Read = (path: string) => Promise<string | null>;
type Finder = (read: Read) => Promise<{ readonly command: string; readonly path: string } | null>;

/** CLAUDE.md and AGENTS.md of `from` and of each folder above it, up to `top`. */
export async function* notesAbove(from: string, top: string) {
  for (let folder = from; ; folder = dirname(folder)) {
    for (const path of [join(folder, 'CLAUDE.md'), join(folder, 'AGENTS.md')]) {
      const text = await readGivenText(path, UNREADABLE);
      if (text !== null) yield { path, text: text.slice(0, NOTES_CHARS) };
    }
    if (folder === top || folder === dirname(folder)) return;
  }
}

/**
 * "Testing Protocols" of the nearest notes within the repository; else what the first of package.json, pytest, Makefile, go.mod, Cargo.toml
 * says. Null: nothing defines tests.
 */
export async function discoverTests(root: string): Promise<DiscoveredTests | null> {
  const top = await topOf(root);
  for await (const { path: file, text } of notesAbove(root, top)) {
    const commands = testingProtocols(text);
    const path = relative(root, file);
    const definedBy = [{ path, sha256: sha256(commands.join('\0')) }];
    const source = `${path}, Testing Protocols`;
    if (commands.length > 0) return { commands, source, definedBy, read: testingProtocols };
  }
  const read: Read = (path) => readGivenText(join(root, path), UNREADABLE);
  for (const find of FINDERS) {
    const found = await find(read);
    if (found === null) continue;
    const { command, path } = found;
    const definedBy = [{ path, sha256: sha256(await readGiven(join(root, path))) }];
    return { commands: [command], source: path, definedBy };
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
    return null; // not ours to fix
  }
}

const pytest: Finder = async (read) => {
  for (const [path, section] of [
    ['pytest.ini', /^/],
    ['pyproject.toml', /^[ \t]*\[tool\.pytest(\.ini_options)?\]/m],
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
    if (text !== null)
      return /^test[ \t]*:(?!:?=)/m.test(text) ? { command: 'make test', path } : null;
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
