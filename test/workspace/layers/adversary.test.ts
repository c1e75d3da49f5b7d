/** The adversary's rows in which the user matters, for root and an ordinary user: what one command leaves is not there for the next. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { removeTree } from '../../../src/workspace/layers/index.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';
import { listing } from '../../support/listing.js';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';
import type { Observation } from './adversary-child.js';

const SECRET = 'k3y-of-a-person-0123456789';
const FILES: Readonly<Record<string, string>> = {
  'workspace/.gitignore': '.venv\n.cache\nignored\n',
  'workspace/docs/a.md': 'text\n',
  'workspace/.venv/bin/tool': '#!/bin/sh\n',
  'workspace/.cache/npm/index': '\n',
  'person/.ssh/id_rsa': `${SECRET}\n`,
  'home/key': `${SECRET}\n`,
};

/** Prints the key if the command can read it. */
const PROBE = `grep -rhs ${SECRET} "$HOME" ../home .venv/bin/key || true`;
const row = (name: string, ...attack: readonly string[]) => [name, attack.join(' && ')] as const;
const LINKS = [
  row('B2: a link in a directory on PATH', 'ln -s "$HOME/.ssh/id_rsa" .venv/bin/key'),
  row('B3: that directory is a link to the home', 'rm -r .venv/bin', 'ln -s "$HOME" .venv/bin'),
  row('B4: it is a link to EMEND_HOME', 'rm -r .venv/bin', 'ln -s "$PWD/../home" .venv/bin'),
  row('B5: VIRTUAL_ENV is a link to the home', 'rm -r .venv', 'ln -s "$HOME" .venv'),
  // Now the kernel refuses it: the cache is a mount of its own in the sandbox.
  row(
    'B6: npm_config_cache is a link to the home',
    '{ mv .cache old && mkdir .cache && ln -s "$HOME" .cache/npm; } 2>/dev/null || true',
  ),
  row('B6: a cache that was not there is one', 'ln -s "$HOME" .cache/pip'),
];

describeIf(found.works, whyNone)('between two commands of a run', () => {
  const bases: string[] = [];
  let program: ReturnType<typeof transpile>;
  let users: readonly BoxUser[] = [];
  beforeAll(async () => {
    program = transpile('adversary', 'test/workspace/layers/adversary-child.ts');
    users = await boxUsers();
  }, 60_000);
  afterAll(async () => {
    for (const base of bases) await removeTree(base);
    program.remove();
    await endBoxUsers();
  });

  /** Makes the world of one user and runs the commands there. The workspace must be the same afterwards, and the home without layers. */
  const observe = (user: BoxUser, ...commands: readonly string[]): Observation => {
    const base = realpathSync(mkdtempSync('/tmp/emend-adversary-'));
    bases.push(base);
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(base, path)), { recursive: true });
      writeFileSync(join(base, path), text);
    }
    const [home, workspace] = [join(base, 'home'), join(base, 'workspace')];
    execFileSync('git', ['init', '-q', workspace]);
    execFileSync('chown', ['-R', `${user.uid}:${user.uid}`, base]);
    chmodSync(base, 0o755);
    const before = listing(workspace);
    const argv = [...user.as, process.execPath, program.path, home, workspace, ...commands];
    const output = execFileSync(argv[0] ?? '', argv.slice(1), {
      encoding: 'utf8',
      env: {
        HOME: join(base, 'person'),
        PATH: `${join(workspace, '.venv/bin')}:${process.env.PATH ?? ''}`,
        VIRTUAL_ENV: join(workspace, '.venv'),
        npm_config_cache: join(workspace, '.cache/npm'),
        PIP_CACHE_DIR: join(workspace, '.cache/pip'),
        TMPDIR: '/tmp',
        EMEND_BWRAP: user.ownBubblewrap,
      },
    });
    expect(listing(workspace)).toEqual(before);
    expect(Object.keys(listing(home)).filter((path) => path.startsWith('layers/'))).toEqual([]);
    return JSON.parse(output) as Observation;
  };

  test.each(sampled('links', LINKS, 2))('%s', (_, attack) => {
    for (const user of users)
      expect([user.name, observe(user, attack, PROBE).outputs]).toEqual([
        user.name,
        [' (exit 0)', ' (exit 0)'],
      ]);
  });

  test('A9: a setuid copy of a shell is where only its owner can reach it, and removed with the run', () => {
    const attack = ['docs', 'ignored']
      .map((dir) => `mkdir -p ${dir} && cp /bin/sh ${dir}/sh && chmod 4755 ${dir}/sh`)
      .join(' && ');
    for (const user of users) {
      const { outputs, mode } = observe(user, `${attack} && stat -c %a docs/sh`, 'ls docs');
      expect([user.name, outputs, mode]).toEqual([
        user.name,
        ['4755 (exit 0)', 'a.md (exit 0)'],
        0o700,
      ]);
    }
  });
});
