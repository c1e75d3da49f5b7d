/** A command writes what Emend, git, a tool or a later command would obey: on an overlay the workspace has nothing of it afterwards. */
import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers } from '../../../src/workspace/layers/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { found, whyNone } from '../../support/box-users.js';
import { describeIf } from '../../support/skipped.js';

const FILES: Readonly<Record<string, string>> = {
  '.gitignore': 'node_modules\n.venv\nlocal.yaml\n',
  'emend.yaml': 'approval: ask\n',
  'jobs/a.md': '# A\n',
  'review.yaml': 'v: 1\npaths: [docs/**]\n',
  'docs/a.md': 'text\n',
  'sub/.git': 'gitdir: ../.git/modules/sub\n',
  'node_modules/.bin/eslint': '#!/bin/sh\n',
  'node_modules/emend/dist/client.js': 'export {};\n',
  '.venv/bin/tool': '#!/bin/sh\n',
};

describeIf(found.works, whyNone)('after a command', () => {
  let base: string;
  let workspace: string;
  beforeEach(() => {
    base = realpathSync(mkdtempSync('/tmp/emend-obeyed-'));
    workspace = join(base, 'workspace');
    mkdirSync(join(base, 'home'));
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    }
    execFileSync('git', ['init', '-q'], { cwd: workspace });
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const contentOf = (path: string): string => {
    const stat = lstatSync(path);
    if (stat.isFile()) return readFileSync(path, 'utf8');
    return stat.isSymbolicLink() ? readlinkSync(path) : '';
  };
  /** Every entry of the workspace with its mode and content. */
  const listing = (): readonly string[] =>
    readdirSync(workspace, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => {
        const path = join(workspace, name);
        return `${name} ${lstatSync(path).mode.toString(8)} ${contentOf(path)}`;
      });

  const commands = createLocalRunner(process.env);
  const run = (command: string) =>
    createLayers({
      home: join(base, 'home'),
      blobs: createBlobStore({ dir: join(base, 'home/blobs') }),
      commands,
    }).use({ run: 'r1', workspace, proposal: [], isWarm: false }, ({ overlay }) =>
      commands.run({
        command,
        cwd: workspace,
        env: [],
        timeout_s: 30,
        maxOutput_bytes: 10_000,
        sandbox: { settings: SANDBOX_ON, workspace, overlay },
      }),
    );

  test.each([
    ['a program in an ignored dependency folder', 'echo x > node_modules/.bin/eslint'],
    ['Emend itself, as a dependency of the project', 'echo x > node_modules/emend/dist/client.js'],
    ['emend.yaml', 'echo "sandbox: off" > emend.yaml'],
    ['an ignored file', 'echo x > local.yaml'],
    ['a job', 'echo x > jobs/a.md; echo x > jobs/b.md'],
    ['a policy', 'echo x > review.yaml'],
    ["a submodule's .git file", 'rm sub/.git; mkdir sub/.git; echo x > sub/.git/config'],
    ['a repository in a tracked folder', 'mkdir docs/.git; echo x > docs/.git/config'],
    ['a setuid copy of a shell', 'cp /bin/sh docs/sh; chmod 4755 docs/sh'],
    ['a link in a directory on PATH', 'ln -sf /etc/hostname .venv/bin/tool'],
    ['a link in place of that directory', 'mv .venv/bin .venv/old; ln -s /etc .venv/bin'],
    ['a link in place of a folder', 'rm -r docs; ln -s /etc docs'],
  ])('nothing is left of %s', async (_, command) => {
    const before = listing();
    const ran = await run(`set -e; ${command}`);
    expect([ran.output, ran.exit]).toEqual(['', 0]);
    expect(listing()).toEqual(before);
  });
});
