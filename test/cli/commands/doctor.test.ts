/** What `emend doctor` reports of sandbox, overlay and layers: they are tried for real, and what is missing is named. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { examine } from '../../../src/cli/commands/doctor.js';
import { createArchive } from '../../../src/stores/directory/archive.js';
import { storePaths } from '../../../src/stores/location.js';
import { startedData } from '../../client/fake.js';
import { found as bubblewrap, whyNone } from '../../support/box-users.js';
import { testIf } from '../../support/skipped.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'emend-doctor-'));
  mkdirSync(join(dir, 'work'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});
const checksBy = async (bwrap: string, cwd = join(dir, 'work')) => {
  const env = { ...process.env, EMEND_BWRAP: bwrap, EMEND_HOME: join(dir, 'home') };
  const checks = await examine(
    { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1', EMEND_CONNECT_MS: '100' },
    cwd,
  );
  return (check: string) => checks.find(({ name }) => name === check);
};
const sandboxBy = async (bwrap: string) => (await checksBy(bwrap))('sandbox');
const ADVICE =
  'Install bubblewrap 0.11 or newer, and allow unprivileged user namespaces (docs/sandbox.md).';

testIf(bubblewrap.works, whyNone)('a sandbox that works', async () => {
  const told = await sandboxBy(bubblewrap.works ? bubblewrap.path : '');
  expect(told).toMatchObject({ ok: true });
  expect(told?.found).toMatch(/^bubblewrap \d+\.\d+\S* at \//);
  expect(told?.found.includes('as root')).toBe(process.getuid?.() === 0);
});

test.each([
  ['that is not there', null, 'does not exist'],
  ['that is too old', 'echo "bubblewrap 0.8.0"', 'is version 0.8.0; at least 0.11 is needed'],
  [
    'that may make no namespace',
    '[ "$1" = --version ] && echo "bubblewrap 0.11.0" || { echo "bwrap: setting up uid map: Permission denied" >&2; exit 1; }',
    'does not work here: bwrap: setting up uid map: Permission denied',
  ],
])('bubblewrap %s', async (_, script, says) => {
  const path = join(dir, 'bwrap');
  if (script !== null) writeFileSync(path, `#!/bin/sh\n${script}\n`);
  if (script !== null) chmodSync(path, 0o755);
  expect(await sandboxBy(path)).toMatchObject({ ok: false, found: `${path} ${says}`, fix: ADVICE });
});

test('names the programs that Emend starts, and what it skips on PATH', async () => {
  const bin = join(dir, 'work', '.venv', 'bin');
  mkdirSync(bin, { recursive: true });
  for (const name of ['git', 'gh']) writeFileSync(join(bin, name), '#!/bin/sh\n', { mode: 0o755 });
  const path = process.env.PATH ?? '';
  process.env.PATH = `${bin}::${path}`;
  const programs = ((await checksBy('/nowhere'))('programs')?.found ?? '').split('; skipped: ');
  process.env.PATH = path;
  expect(programs[0]).toMatch(/^\/\S+\/git, \S+\/ssh, \S+\/ssh-keygen, /);
  const workspace = realpathSync(join(dir, 'work'));
  expect(programs[1]).toContain(`${bin} (it is inside the workspace ${workspace})`);
  expect(programs[1]).toContain('an empty entry of PATH (it depends on the current directory)');
});

test('names a git that is skipped if there is no other', async () => {
  const bin = join(dir, 'work', 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'git'), '#!/bin/sh\n', { mode: 0o755 });
  const path = process.env.PATH ?? '';
  process.env.PATH = bin;
  const git = (await checksBy('/nowhere'))('git');
  process.env.PATH = path;
  expect(git).toMatchObject({
    ok: false,
    found: expect.stringContaining(`${join(bin, 'git')} is not used: it is inside the workspace`),
    fix: expect.stringMatching(/^Install git outside the workspace/),
  });
});

describe('overlay and layers', () => {
  const path = bubblewrap.works ? bubblewrap.path : '';
  const repository = () => {
    const workspace = join(dir, 'workspace');
    mkdirSync(join(workspace, 'src'), { recursive: true });
    execFileSync('git', ['init', '-q', workspace]);
    return realpathSync(workspace);
  };

  testIf(bubblewrap.works, whyNone)('an overlay over the repository here', async () => {
    const workspace = repository();
    const check = await checksBy(path, join(workspace, 'src'));
    expect(check('overlay')).toEqual({
      name: 'overlay',
      ok: true,
      found: `commands write a layer over ${workspace}`,
      fix: null,
    });
    expect(check('layers')).toMatchObject({ ok: true, found: 'none left behind' });
    expect(readdirSync(join(dir, 'home/layers'))).toEqual([]);
  });

  test('a reason why there is none, which is nothing that is missing', async () => {
    const workspace = repository();
    const check = await checksBy(join(dir, 'no-bwrap'), workspace);
    expect(check('overlay')).toEqual({
      name: 'overlay',
      ok: true,
      found: `none over ${workspace}, so tests run there after a change is applied: ${dir}/no-bwrap does not exist`,
      fix: null,
    });
  });

  test('layers of killed commands, and of runs that have ended', async () => {
    const home = join(dir, 'home');
    const layer = join(home, 'layers/probe/command.00000000.1.00000000.abcdef');
    mkdirSync(layer, { recursive: true, mode: 0o700 });
    writeFileSync(join(layer, 'f'), '12345');
    utimesSync(layer, 0, 0);
    expect((await checksBy(path))('layers')).toEqual({
      name: 'layers',
      ok: true,
      found: 'left behind: 1 of killed commands (1 file, 5 bytes)',
      fix: 'Remove them with: emend recover',
    });
    const [ended, open] = ['1'.repeat(32), '2'.repeat(32)];
    for (const run of [ended, open])
      mkdirSync(join(home, 'layers', run, 'warm'), { recursive: true });
    const archive = createArchive({ dir: storePaths(home).archive });
    const time = new Date(0).toISOString();
    for (const run of [ended, open])
      await archive.append(run, [
        { id: 'started', at: time, kind: 'started', data: startedData({}) },
      ]);
    const data = { status: 'TERMINATED', result: null, message: null };
    await archive.append(ended, [{ id: 'closed-run-1', at: time, kind: 'closed', data }]);
    expect((await checksBy(path))('layers')).toMatchObject({
      found: 'left behind: 1 of killed commands, those of 1 ended run (1 file, 5 bytes)',
      fix: 'Remove them with: emend gc',
    });
  });
});
