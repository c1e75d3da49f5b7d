/** `emend init` and `emend new`: files to begin with. Nothing that is there is written over. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fail } from '../../shared/problems.js';
import { topOf } from '../../workspace/git/index.js';
import { type Io, asides, type QuietFlag } from '../io.js';
import { plain } from '../render/text.js';
import { orNull } from '../../system/durable.js';
import { jsonOf } from '../../system/json.js';
import { readGivenText } from '../../system/given-file.js';

// What `emend init` and `emend new` write. A test reads each back with our own readers. Pure.

/** What stands below the heading of a job until somebody writes there. */
export const UNWRITTEN =
  'Describe the change as you would to a colleague: what, where, and what must not change.';

export const CONFIG = `# Emend's settings for this project; every key is optional. All keys: docs/configuration.md of Emend.

# The model that writes edits, unless a route or a job names another.
# model: claude-sonnet-5-5

# Run after a change is applied and before it is committed. A job's own \`test:\` wins.
# test: npm test

# Commit what passed its tests.
# commit: true

# Project rules added to every prompt, in addition to CLAUDE.md and AGENTS.md.
# rules: [docs/style.md]

# Files that always need your review, in addition to those Emend protects by default (CI, hooks, manifests).
# protected: ["infra/**"]

# Limits; reaching one asks for a decision and keeps the work so far.
# limits:
#   budget_usd: 2
#   maxFilesBeforeSplit: 1
`;

const front = (files: readonly string[]): string =>
  files.length === 0
    ? '# target_files: [src/a.js]   # default: the paths in the text below; if there are none, Emend asks the model\n'
    : `target_files: [${files.map((file) => JSON.stringify(file)).join(', ')}]\n`;

/** A job; `test` null: none is known. */
export const job = (title: string, files: readonly string[], test: string | null): string => `---
${front(files)}${test === null ? '# test: npm test\n' : `test: ${JSON.stringify(test)}\n`}commit: true
---

# ${title}

${UNWRITTEN}
`;

export const plan = (title: string): string => `# ${title}

### Phase 1: Prepare

**Objective**: What this phase achieves.

**Dependencies**: []

- [ ] A task, with the files that it touches: \`src/a.js\`

### Phase 2: Build

**Objective**: What this phase achieves.

**Dependencies**: [1]

- [ ] A task
`;

/** False: there is such a file already. */
const make = async (path: string, text: string): Promise<boolean> => {
  await mkdir(dirname(path), { recursive: true });
  const written = writeFile(path, text, { flag: 'wx' }).then(() => true);
  return (await orNull(written, ['EEXIST'])) ?? false;
};

export const init = async (io: Io, flags: QuietFlag): Promise<void> => {
  const top = await topOf(io.cwd);
  const first = join('jobs', 'first.md');
  const shown = (path: string): string => plain(relative(io.cwd, join(top, path)));
  const files = [
    ['emend.yaml', CONFIG],
    [first, job('Say what should change', [], await npmTest(top))],
  ] as const;
  for (const [path, text] of files) {
    const made = await make(join(top, path), text);
    io.out(`${made ? 'wrote' : 'already exists, unchanged:'} ${shown(path)}`);
  }
  asides(io, flags).out(
    `Next: describe the change in ${shown(first)}, then: emend run ${shown(first)} --dev`,
  );
};

/** The project's own test command, where its manifest names one. */
const npmTest = async (top: string): Promise<string | null> => {
  const text = await readGivenText(join(top, 'package.json')).catch(() => null);
  const manifest: { readonly scripts?: { readonly test?: unknown } } | null = jsonOf(text ?? '');
  return typeof manifest?.scripts?.test === 'string' ? 'npm test' : null;
};

export interface NewFlags extends QuietFlag {
  readonly title?: string;
  readonly file: readonly string[];
}

export const makeNew = async (
  io: Io,
  kind: 'job' | 'plan',
  path: string,
  flags: NewFlags,
): Promise<void> => {
  if (!/\.(?:md|markdown)$/.test(path))
    return fail('usage', `${path}: expected a name that ends in .md.`);
  if (kind === 'plan' && flags.file.length > 0)
    return fail('usage', '--file is for jobs; a plan names files in its tasks.');
  const at = resolve(io.cwd, path);
  const title = flags.title ?? titleOf(path);
  const text =
    kind === 'plan' ? plan(title) : job(title, flags.file, await npmTest(await topOf(io.cwd)));
  if (!(await make(at, text))) return fail('usage', `${path} already exists; nothing was written.`);
  io.out(`wrote ${plain(path)}`);
  asides(io, flags).out(
    `Next: ${kind === 'plan' ? 'emend plan check' : 'emend run'} ${plain(path)}`,
  );
};

/** `jobs/010_greet-politely.md` -> `Greet politely`. */
const titleOf = (path: string): string => {
  const name = (path.split('/').at(-1) ?? '')
    .replace(/\.\w+$/, '')
    .replace(/^\d+[_-]/, '')
    .replace(/[_-]+/g, ' ')
    .trim();
  return name === '' ? 'What should change' : `${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`;
};
