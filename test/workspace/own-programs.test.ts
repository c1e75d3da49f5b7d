/** B1 for every program that Emend starts itself, as root and as an ordinary user: none of the workspace's programs on PATH is run. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sampled } from '../support/seeded.js';
import { transpile } from '../support/transpile.js';
import { isRoot, users } from '../support/users.js';

/** What Emend, git, pip, a shell of Emend's or a pager start by name. */
const NAMES =
  'git gh ssh ssh-keygen gpg python3 python pip pip3 temporal bwrap mknod cat sh env ps lsof perl'.split(
    ' ',
  );

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('own-programs', 'test/workspace/own-programs-child.ts');
});
afterAll(() => child.remove());

describe.each(sampled('users of own programs', users, 1))('as $name', (user) => {
  let base: string;
  const pathOf = (...names: readonly string[]): string => join(base, ...names);
  const program = (path: string, ...lines: readonly string[]): void => {
    fs.mkdirSync(dirname(pathOf(path)), { recursive: true });
    fs.writeFileSync(pathOf(path), ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
  };
  beforeEach(() => {
    base = fs.realpathSync(fs.mkdtempSync('/tmp/emend-own-'));
    fs.chmodSync(base, 0o755);
    for (const path of ['marks', 'person', 'start']) fs.mkdirSync(pathOf(path));
    const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: pathOf('ws') });
    execFileSync('git', ['init', '-q', pathOf('ws')]);
    const key = ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', pathOf('ws/.git/key')];
    execFileSync('ssh-keygen', key);
    for (const [name, value] of Object.entries({
      'user.name': 'Ann',
      'user.email': 'ann@example.org',
      'gpg.format': 'ssh',
      'user.signingkey': pathOf('ws/.git/key'),
    }))
      git('config', name, value);
    for (const name of NAMES)
      program(`ws/.venv/bin/${name}`, `touch "${pathOf('marks', name)}"`, 'echo "version 99.0"');
    program('ws/.venv/bin/tool');
    for (const name of ['gh', 'temporal'])
      program(`trusted/${name}`, `echo "${name} version 9.9.9"`);
    if (isRoot) execFileSync('chown', ['-R', `${user.uid}:${user.uid}`, base]);
  });
  afterEach(() => fs.rmSync(base, { recursive: true, force: true }));

  const started = (PATH: string, cwd = 'ws'): Record<string, string> => {
    const argv = [...user.as, process.execPath, child.path, pathOf('ws'), pathOf('layer')];
    const output = execFileSync(argv[0] ?? '', argv.slice(1), {
      cwd: pathOf(cwd),
      encoding: 'utf8',
      stdio: 'pipe',
      env: { PATH, HOME: pathOf('person'), TMPDIR: '/tmp', GIT_CONFIG_NOSYSTEM: '1' },
    });
    // The pager writes to the terminal before the results.
    const [, json = '{}'] = /(\{.*\})$/s.exec(output) ?? [];
    return JSON.parse(json) as Record<string, string>;
  };
  const system = '/usr/local/bin:/usr/bin:/bin';

  test.each(['ws', 'start'])(
    'B1: with an activated environment, started in %s, Emend uses the programs elsewhere',
    (cwd) => {
      const path = `${pathOf('ws/.venv/bin')}:${pathOf('trusted')}:${system}`;
      // If it is started elsewhere, the first call in the workspace makes it known.
      const results = started(path, cwd);
      expect(fs.readdirSync(pathOf('marks'))).toEqual([]);
      expect(results).toMatchObject({
        git: expect.stringMatching(/^ok \{"root"/),
        group: expect.stringMatching(/^ok \{"exit":0,.*git version 2/),
        commit: expect.stringMatching(/^ok \{"exit":0/),
        sign: expect.stringMatching(/^ok "-----BEGIN SSH SIGNATURE/),
        marks: 'ok undefined',
        pager: 'ok 0',
        temporal: expect.stringContaining(`"path":"${pathOf('trusted/temporal')}"`),
        command: expect.stringContaining(pathOf('ws/.venv/bin/tool')),
      });
      const log = [
        '-C',
        pathOf('ws'),
        '-c',
        `safe.directory=${pathOf('ws')}`,
        'log',
        '-1',
        '--format=%s',
      ];
      expect(execFileSync('git', log, { encoding: 'utf8' })).toBe('signed\n');
      expect(results.gh).toContain('gh version 9.9.9');
      expect(fs.lstatSync(pathOf('layer/removed')).isCharacterDevice()).toBe(true);
      expect(results.bwrap).not.toContain('.venv/bin/bwrap","version');
      expect(results.pip).not.toContain('99.0');
    },
  );

  test('B1: if there is no other program, each call names the one that is not used, and why', () => {
    const results = started(pathOf('ws/.venv/bin'));
    expect(fs.readdirSync(pathOf('marks'))).toEqual([]);
    const refusal = (name: string): string =>
      `${pathOf('ws/.venv/bin', name)} is not used: it is inside the workspace ${pathOf('ws')}`;
    for (const [what, name] of [
      ['gh', 'gh'],
      ['git', 'git'],
      ['group', 'git'],
      ['sign', 'ssh-keygen'],
      ['pip', 'pip3'],
      ['temporal', 'temporal'],
      ['bwrap', 'bwrap'],
    ] as const)
      expect([what, results[what]]).toEqual([what, expect.stringContaining(refusal(name))]);
  });
});
