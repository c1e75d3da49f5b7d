/** Which programs Emend itself starts, for root and an ordinary user, in a small world of directories for each test. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sha256 } from '../../src/system/hash.js';
import { sampled } from '../support/seeded.js';
import { testIf } from '../support/skipped.js';
import { transpile } from '../support/transpile.js';
import { isRoot, users } from '../support/users.js';
import type { Look, Seen } from './programs-child.js';

const STRANGER = 12_345;
const ALONE = 'chown needs root';

interface Surroundings {
  readonly cwd?: string;
  /** Without the trusted directory. */
  readonly isAlone?: boolean;
  readonly variables?: Readonly<Record<string, string>>;
}

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('programs', 'test/system/programs-child.ts');
});
afterAll(() => child.remove());

describe.each(sampled('users of programs', users, 1))('as $name', (user) => {
  let base: string;
  const pathOf = (...names: readonly string[]): string => join(base, ...names);
  const owned = new Set<string>();
  const directory = (path: string, mode = 0o755, uid = user.uid): string => {
    fs.mkdirSync(pathOf(path), { recursive: true });
    fs.chmodSync(pathOf(path), mode);
    if (isRoot)
      for (let part = path; part !== '.' && !owned.has(part); part = dirname(part)) {
        fs.chownSync(pathOf(part), uid, uid);
        owned.add(part);
      }
    return pathOf(path);
  };
  const program = (path: string, mode = 0o755, uid = user.uid): string => {
    directory(dirname(path));
    fs.writeFileSync(pathOf(path), '#!/bin/sh\n');
    fs.chmodSync(pathOf(path), mode);
    if (isRoot) fs.chownSync(pathOf(path), uid, uid);
    return pathOf(path);
  };
  const link = (path: string, to: string): string => {
    directory(dirname(path));
    fs.symlinkSync(to, pathOf(path));
    if (isRoot) fs.lchownSync(pathOf(path), user.uid, user.uid);
    return pathOf(path);
  };
  beforeEach(() => {
    owned.clear();
    // Below a sticky directory that every user can write to.
    base = fs.realpathSync(fs.mkdtempSync('/tmp/emend-programs-'));
    fs.chmodSync(base, 0o755);
    if (isRoot) fs.chownSync(base, user.uid, user.uid);
    for (const path of ['person', 'start']) directory(path);
    program('good/git');
  });
  afterEach(() => {
    // The store of Nix is read-only, also for its owner.
    execFileSync('chmod', ['-R', 'u+w', base]);
    fs.rmSync(base, { recursive: true, force: true });
  });

  /** Returns the result of each look with a PATH of these entries and the trusted directory `good` at its end. */
  const look = (
    entries: readonly string[],
    looks: readonly Look[] = [{}],
    { cwd = 'start', isAlone = false, variables = {} }: Surroundings = {},
  ): readonly Seen[] => {
    const argv = [...user.as, process.execPath, child.path, JSON.stringify(looks)];
    const PATH = [...entries, ...(isAlone ? [] : [pathOf('good')])].join(':');
    const output = execFileSync(argv[0] ?? '', argv.slice(1), {
      cwd: pathOf(cwd),
      encoding: 'utf8',
      env: { PATH, HOME: pathOf('person'), ...variables },
    });
    return JSON.parse(output) as Seen[];
  };
  const expectSkipped = (entry: string, reason: string): void => {
    const [seen] = look([entry]);
    expect(seen).toMatchObject({
      path: pathOf('good'),
      git: pathOf('good/git'),
      skipped: [{ path: entry, reason }],
    });
  };
  const expectUsed = (entry: string, path = fs.realpathSync(entry)): void => {
    const [seen] = look([entry]);
    expect(seen).toMatchObject({
      path: `${path}:${pathOf('good')}`,
      git: join(path, 'git'),
      skipped: [],
    });
  };

  test('skips a directory that every user can write to', () => {
    program('open/git');
    directory('open', 0o777);
    expectSkipped(pathOf('open'), `every user can write to ${pathOf('open')}`);
  });

  test('skips a directory below one that every user can write to', () => {
    program('open/tools/bin/git');
    directory('open', 0o777);
    expectSkipped(pathOf('open/tools/bin'), `every user can write to ${pathOf('open')}`);
  });

  testIf(isRoot, ALONE)('skips a directory of another ordinary user, and one below it', () => {
    const stranger = user.uid === 0 ? 65534 : STRANGER;
    program('theirs/bin/git');
    fs.chownSync(pathOf('theirs'), stranger, stranger);
    const reason = `${pathOf('theirs')} belongs to another user (${stranger})`;
    expectSkipped(pathOf('theirs/bin'), reason);
    fs.renameSync(pathOf('theirs/bin'), pathOf('bin'));
    fs.chownSync(pathOf('bin'), stranger, stranger);
    expectSkipped(pathOf('bin'), `${pathOf('bin')} belongs to another user (${stranger})`);
  });

  testIf(isRoot, ALONE)("uses root's directories", () => {
    program('roots/bin/git', 0o755, 0);
    for (const path of ['roots', 'roots/bin']) fs.chownSync(pathOf(path), 0, 0);
    expectUsed(pathOf('roots/bin'));
  });

  test('uses a directory below a sticky one, and skips the sticky one itself, to which every user can add programs', () => {
    program('sticky/tools/git');
    program('sticky/git');
    directory('sticky', 0o1777);
    expectUsed(pathOf('sticky/tools'));
    expectSkipped(pathOf('sticky'), `every user can write to ${pathOf('sticky')}`);
  });

  test('uses the profile and the store of Nix', () => {
    directory('nix/store');
    program('nix/store/1-git/bin/git', 0o555);
    link('nix/store/2-profile/bin/git', pathOf('nix/store/1-git/bin/git'));
    link('nix/profiles/default', pathOf('nix/store/2-profile'));
    link('person/.nix-profile', pathOf('nix/profiles/default'));
    for (const path of ['1-git/bin', '1-git', '2-profile/bin', '2-profile'])
      fs.chmodSync(pathOf('nix/store', path), 0o555);
    directory('nix/store', 0o1775);
    expectUsed(pathOf('person/.nix-profile/bin'), pathOf('nix/store/2-profile/bin'));
  });

  test("uses Homebrew's prefix and nvm, which are clones of git", () => {
    for (const prefix of ['homebrew', 'person/.nvm']) {
      directory(`${prefix}/.git`);
      directory(prefix, 0o775);
      program(`${prefix}/Cellar/git/2.50/bin/git`);
      link(`${prefix}/bin/git`, '../Cellar/git/2.50/bin/git');
      expectUsed(pathOf(prefix, 'bin'));
    }
  });

  test('skips entries that are empty, relative or absent', () => {
    program('start/bin/git');
    program('start/git');
    const [seen] = look(['', 'bin', './bin', '.', pathOf('nowhere')]);
    expect(seen?.path).toBe(pathOf('good'));
    expect(seen?.git).toBe(pathOf('good/git'));
    expect(seen?.skipped.map(({ path, reason }) => `${path}: ${reason}`)).toEqual([
      ...['', 'bin', './bin', '.'].map((path) => `${path}: it depends on the current directory`),
      `${pathOf('nowhere')}: it does not exist`,
    ]);
  });

  test('skips a program that every user can write, and a directory without an executable git', () => {
    program('writable/git', 0o777);
    program('plain/git', 0o644);
    const [seen] = look([pathOf('writable'), pathOf('plain')]);
    expect(seen?.gits).toEqual([pathOf('good/git')]);
  });

  test('B1: skips the workspace in which it was started, by its repository, also from a directory below', () => {
    program('ws/.venv/bin/git');
    directory('ws/.git');
    directory('ws/src/deep');
    for (const cwd of ['ws', 'ws/src/deep']) {
      const [seen] = look([pathOf('ws/.venv/bin')], [{}], { cwd });
      expect(seen).toMatchObject({
        path: pathOf('good'),
        git: pathOf('good/git'),
        skipped: [
          {
            path: pathOf('ws/.venv/bin'),
            reason: `it is inside the workspace ${pathOf('ws')}`,
          },
        ],
      });
    }
  });

  test('B1: skips the directory in which it was started if there is no repository', () => {
    program('ws/.venv/bin/git');
    const [seen] = look([pathOf('ws/.venv/bin')], [{}], { cwd: 'ws' });
    expect(seen?.git).toBe(pathOf('good/git'));
  });

  test('B1: looks again when a workspace becomes known later', () => {
    program('ws/.venv/bin/git');
    directory('ws/.git');
    const entry = pathOf('ws/.venv/bin');
    for (const later of [{ workspace: pathOf('ws') }, { around: pathOf('ws/.git') }]) {
      const [before, after] = look([entry], [{}, later]);
      expect(before).toMatchObject({ git: join(entry, 'git'), path: `${entry}:${pathOf('good')}` });
      expect(after).toMatchObject({ git: pathOf('good/git'), path: pathOf('good') });
    }
    const [, known] = look([entry], [{}, { workspace: pathOf('ws') }]);
    expect(known?.holding).toBe(pathOf('ws'));
  });

  test('B1: remembers a workspace with a directory of PATH while it works in thousands of others', () => {
    program('ws/.venv/bin/git');
    const entry = pathOf('ws/.venv/bin');
    const others = Array.from({ length: 1_100 }, (_, index) => ({
      around: directory(`d/${index}`),
    }));
    // A new home makes it look at PATH again.
    const home = { checkouts: pathOf('none'), locks: pathOf('none') };
    const seen = look([entry], [{ around: pathOf('ws') }, ...others, { home }]);
    expect(seen.at(-1)?.git).toBe(pathOf('good/git'));
    expect(new Set(seen.map(({ git }) => git)).size).toBe(1);
  });

  test('B1: says what is skipped and what to type if there is no other git', () => {
    program('ws/.venv/bin/git');
    const [seen] = look([pathOf('ws/.venv/bin')], [{ workspace: pathOf('ws') }], { isAlone: true });
    expect(seen?.git).toBe(
      `Emend found no git that it can trust. ${pathOf('ws/.venv/bin/git')} is not used: it is inside the workspace ${pathOf('ws')}.\n` +
        'Install git outside the workspace, where only you and root can write, and put its directory on PATH.',
    );
    const [none] = look([pathOf('nowhere')], [{}], { isAlone: true });
    expect(none?.git).toBe('git is not on PATH.\nInstall git, or put it on PATH.');
  });

  test('B1: skips links that lead into a workspace, and links in a workspace that lead out of it', () => {
    program('ws/bin/git');
    link('linked/git', pathOf('ws/bin/git'));
    link('ws/out', pathOf('good'));
    link('tools', pathOf('ws/bin'));
    link('ws/hop', pathOf('good/git'));
    link('hops/git', pathOf('ws/hop'));
    const entries = [pathOf('linked'), pathOf('ws/out'), pathOf('tools'), pathOf('hops')];
    const [seen] = look(entries, [{ workspace: pathOf('ws') }]);
    expect(seen).toMatchObject({ path: pathOf('good'), gits: [pathOf('good/git')] });
    const inside = `the workspace ${pathOf('ws')}`;
    expect(seen?.skipped).toEqual([
      { path: pathOf('linked'), reason: `its git leads into ${inside}` },
      { path: pathOf('ws/out'), reason: `it is inside ${inside}` },
      { path: pathOf('tools'), reason: `it is inside ${inside}` },
      { path: pathOf('hops'), reason: `its git leads into ${inside}` },
    ]);
  });

  test('53: skips a program that is also a file of a workspace by a hard link', () => {
    program('ws/env/bin/git');
    for (const name of ['git', 'ssh']) {
      directory(`linked-${name}`);
      if (name !== 'git') program('ws/env/bin/ssh');
      fs.linkSync(pathOf('ws/env/bin', name), pathOf(`linked-${name}`, name));
    }
    const entries = [pathOf('linked-git'), pathOf('linked-ssh')];
    const [seen] = look(entries, [{ workspace: pathOf('ws') }]);
    expect(seen).toMatchObject({ path: pathOf('good'), git: pathOf('good/git') });
    expect(seen?.skipped).toEqual(
      ['git', 'ssh'].map((name) => ({
        path: pathOf(`linked-${name}`),
        reason: `of its ${name}: it is also ${pathOf('ws/env/bin', name)}, by a hard link, in the workspace ${pathOf('ws')}. Replace it by a copy`,
      })),
    );
    const [before] = look(entries);
    expect(before?.git).toBe(pathOf('linked-git/git'));
  });

  test('53: uses programs that a package manager or git itself links', () => {
    program('conda/pkgs/git-2/bin/git');
    directory('conda/bin');
    directory('libexec/git-core');
    directory('ws/src');
    for (const path of ['conda/bin/git', 'conda/bin/git-shell'])
      fs.linkSync(pathOf('conda/pkgs/git-2/bin/git'), pathOf(path));
    const [seen] = look([pathOf('conda/bin')], [{ workspace: pathOf('ws') }]);
    expect(seen).toMatchObject({ git: pathOf('conda/bin/git'), skipped: [] });
  });

  test('B1: keeps a directory for its other programs if a link of another name leads into a workspace', () => {
    program('ws/bin/mine');
    link('linked/mine', pathOf('ws/bin/mine'));
    const [seen] = look([pathOf('linked')], [{ workspace: pathOf('ws') }]);
    expect(seen?.path).toBe(`${pathOf('linked')}:${pathOf('good')}`);
  });

  test('B1: knows the workspaces of earlier processes by the locks in their git directories and in the home', () => {
    for (const ws of ['main', 'linked', 'plain', 'other']) program(`${ws}/bin/git`);
    directory('main/.git/emend/lock');
    directory('main/.git/worktrees/linked/emend/lock');
    fs.writeFileSync(pathOf('linked/.git'), `gitdir: ${pathOf('main/.git/worktrees/linked')}\n`);
    directory(`home/locks/${sha256(pathOf('plain'))}`);
    const home = { checkouts: pathOf('home-repositories'), locks: pathOf('home/locks') };
    program('home-repositories/1/checkout/bin/git');
    const entries = ['main', 'linked', 'plain', 'home-repositories/1/checkout', 'other'];
    const paths = entries.map((entry) => pathOf(entry, 'bin'));
    const [before, after] = look(paths, [{}, { home }]);
    expect(before?.path).toBe([...paths.slice(2), pathOf('good')].join(':'));
    expect(after?.path).toBe(`${pathOf('other/bin')}:${pathOf('good')}`);
  });

  test('takes no home for a workspace, even if it is a repository', () => {
    directory('person/.git/emend/lock');
    directory('person/notes');
    program('person/bin/git');
    for (const cwd of ['person', 'person/notes']) {
      const [seen] = look([pathOf('person/bin')], [{ around: pathOf('person') }], { cwd });
      expect(seen?.git).toBe(pathOf('person/bin/git'));
    }
  });

  test('passes on GIT_EXEC_PATH only if it names a trusted directory', () => {
    directory('ws');
    directory('exec');
    const passed = (path: string): string | null | undefined =>
      look([], [{ workspace: pathOf('ws') }], { variables: { GIT_EXEC_PATH: path } })[0]
        ?.gitExecPath;
    expect(passed(pathOf('exec'))).toBe(pathOf('exec'));
    expect(passed(pathOf('ws'))).toBeNull();
    expect(passed('exec')).toBeNull();
  });
});
