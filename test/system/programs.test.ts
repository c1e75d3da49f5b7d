/** Which programs Emend itself starts, for root and an ordinary user, in a small world of directories for each test. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sha256 } from '../../src/system/hash.js';
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

describe.each(users)('as $name', (user) => {
  let base: string;
  const at = (...names: readonly string[]): string => join(base, ...names);
  const made = new Set<string>();
  const directory = (path: string, mode = 0o755, uid = user.uid): string => {
    fs.mkdirSync(at(path), { recursive: true });
    fs.chmodSync(at(path), mode);
    if (isRoot)
      for (let each = path; each !== '.' && !made.has(each); each = dirname(each)) {
        fs.chownSync(at(each), uid, uid);
        made.add(each);
      }
    return at(path);
  };
  const program = (path: string, mode = 0o755, uid = user.uid): string => {
    directory(dirname(path));
    fs.writeFileSync(at(path), '#!/bin/sh\n');
    fs.chmodSync(at(path), mode);
    if (isRoot) fs.chownSync(at(path), uid, uid);
    return at(path);
  };
  const link = (path: string, to: string): string => {
    directory(dirname(path));
    fs.symlinkSync(to, at(path));
    if (isRoot) fs.lchownSync(at(path), user.uid, user.uid);
    return at(path);
  };
  beforeEach(() => {
    made.clear();
    // Below a sticky directory that every user can write to.
    base = fs.realpathSync(fs.mkdtempSync('/tmp/emend-programs-'));
    fs.chmodSync(base, 0o755);
    if (isRoot) fs.chownSync(base, user.uid, user.uid);
    for (const path of ['person', 'start']) directory(path);
    program('good/git');
  });
  afterEach(() => fs.rmSync(base, { recursive: true, force: true }));

  /** What each look sees with a PATH of these entries and the trusted directory `good` at its end. */
  const look = (
    entries: readonly string[],
    looks: readonly Look[] = [{}],
    { cwd = 'start', isAlone = false, variables = {} }: Surroundings = {},
  ): readonly Seen[] => {
    const argv = [...user.as, process.execPath, child.path, JSON.stringify(looks)];
    const PATH = [...entries, ...(isAlone ? [] : [at('good')])].join(':');
    const output = execFileSync(argv[0] ?? '', argv.slice(1), {
      cwd: at(cwd),
      encoding: 'utf8',
      env: { PATH, HOME: at('person'), ...variables },
    });
    return JSON.parse(output) as Seen[];
  };
  const expectSkipped = (entry: string, reason: string): void => {
    const [seen] = look([entry]);
    expect(seen).toMatchObject({
      path: at('good'),
      git: at('good/git'),
      skipped: [{ path: entry, reason }],
    });
  };
  const expectUsed = (entry: string, path = fs.realpathSync(entry)): void => {
    const [seen] = look([entry]);
    expect(seen).toMatchObject({
      path: `${path}:${at('good')}`,
      git: join(path, 'git'),
      skipped: [],
    });
  };

  test('skips a directory that every user can write to', () => {
    program('open/git');
    directory('open', 0o777);
    expectSkipped(at('open'), `every user can write to ${at('open')}`);
  });

  test('skips a directory below one that every user can write to', () => {
    program('open/tools/bin/git');
    directory('open', 0o777);
    expectSkipped(at('open/tools/bin'), `every user can write to ${at('open')}`);
  });

  testIf(isRoot, ALONE)('skips a directory of another ordinary user, and one below it', () => {
    const stranger = user.uid === 0 ? 65534 : STRANGER;
    program('theirs/bin/git');
    fs.chownSync(at('theirs'), stranger, stranger);
    const reason = `${at('theirs')} belongs to another user (${stranger})`;
    expectSkipped(at('theirs/bin'), reason);
    fs.renameSync(at('theirs/bin'), at('bin'));
    fs.chownSync(at('bin'), stranger, stranger);
    expectSkipped(at('bin'), `${at('bin')} belongs to another user (${stranger})`);
  });

  testIf(isRoot, ALONE)("uses root's directories", () => {
    program('roots/bin/git', 0o755, 0);
    for (const path of ['roots', 'roots/bin']) fs.chownSync(at(path), 0, 0);
    expectUsed(at('roots/bin'));
  });

  test('uses a directory below a sticky one, and skips the sticky one itself, to which every user can add programs', () => {
    program('sticky/tools/git');
    program('sticky/git');
    directory('sticky', 0o1777);
    expectUsed(at('sticky/tools'));
    expectSkipped(at('sticky'), `every user can write to ${at('sticky')}`);
  });

  test('uses the profile and the store of Nix', () => {
    directory('nix/store');
    program('nix/store/1-git/bin/git', 0o555);
    link('nix/store/2-profile/bin/git', at('nix/store/1-git/bin/git'));
    link('nix/profiles/default', at('nix/store/2-profile'));
    link('person/.nix-profile', at('nix/profiles/default'));
    for (const path of ['1-git/bin', '1-git', '2-profile/bin', '2-profile'])
      fs.chmodSync(at('nix/store', path), 0o555);
    directory('nix/store', 0o1775);
    expectUsed(at('person/.nix-profile/bin'), at('nix/store/2-profile/bin'));
  });

  test("uses Homebrew's prefix and nvm, which are clones of git", () => {
    for (const prefix of ['homebrew', 'person/.nvm']) {
      directory(`${prefix}/.git`);
      directory(prefix, 0o775);
      program(`${prefix}/Cellar/git/2.50/bin/git`);
      link(`${prefix}/bin/git`, '../Cellar/git/2.50/bin/git');
      expectUsed(at(prefix, 'bin'));
    }
  });

  test('skips entries that are empty, relative or absent', () => {
    program('start/bin/git');
    program('start/git');
    const [seen] = look(['', 'bin', './bin', '.', at('nowhere')]);
    expect(seen?.path).toBe(at('good'));
    expect(seen?.git).toBe(at('good/git'));
    expect(seen?.skipped.map(({ path, reason }) => `${path}: ${reason}`)).toEqual([
      ...['', 'bin', './bin', '.'].map((path) => `${path}: it depends on the current directory`),
      `${at('nowhere')}: it does not exist`,
    ]);
  });

  test('skips a program that every user can write, and a directory without an executable git', () => {
    program('writable/git', 0o777);
    program('plain/git', 0o644);
    const [seen] = look([at('writable'), at('plain')]);
    expect(seen?.gits).toEqual([at('good/git')]);
  });

  test('B1: skips the workspace in which it was started, by its repository, also from a directory below', () => {
    program('ws/.venv/bin/git');
    directory('ws/.git');
    directory('ws/src/deep');
    for (const cwd of ['ws', 'ws/src/deep']) {
      const [seen] = look([at('ws/.venv/bin')], [{}], { cwd });
      expect(seen).toMatchObject({
        path: at('good'),
        git: at('good/git'),
        skipped: [
          {
            path: at('ws/.venv/bin'),
            reason: `it is inside the workspace ${at('ws')}`,
          },
        ],
      });
    }
  });

  test('B1: skips the directory in which it was started if there is no repository', () => {
    program('ws/.venv/bin/git');
    const [seen] = look([at('ws/.venv/bin')], [{}], { cwd: 'ws' });
    expect(seen?.git).toBe(at('good/git'));
  });

  test('B1: looks again when a workspace becomes known later', () => {
    program('ws/.venv/bin/git');
    directory('ws/.git');
    const entry = at('ws/.venv/bin');
    for (const later of [{ workspace: at('ws') }, { around: at('ws/.git') }]) {
      const [before, after] = look([entry], [{}, later]);
      expect(before).toMatchObject({ git: join(entry, 'git'), path: `${entry}:${at('good')}` });
      expect(after).toMatchObject({ git: at('good/git'), path: at('good') });
    }
    const [, known] = look([entry], [{}, { workspace: at('ws') }]);
    expect(known?.holding).toBe(at('ws'));
  });

  test('B1: remembers a workspace with a directory of PATH while it works in thousands of others', () => {
    program('ws/.venv/bin/git');
    const entry = at('ws/.venv/bin');
    const others = Array.from({ length: 1_100 }, (_, index) => ({
      around: directory(`d/${index}`),
    }));
    // A new home makes it look at PATH again.
    const home = { checkouts: at('none'), locks: at('none') };
    const seen = look([entry], [{ around: at('ws') }, ...others, { home }]);
    expect(seen.at(-1)?.git).toBe(at('good/git'));
    expect(new Set(seen.map(({ git }) => git)).size).toBe(1);
  });

  test('B1: says what is skipped and what to type if there is no other git', () => {
    program('ws/.venv/bin/git');
    const [seen] = look([at('ws/.venv/bin')], [{ workspace: at('ws') }], { isAlone: true });
    expect(seen?.git).toBe(
      `Emend found no git that it can trust. ${at('ws/.venv/bin/git')} is not used: it is inside the workspace ${at('ws')}.\n` +
        'Install git outside the workspace, where only you and root can write, and put its directory on PATH.',
    );
    const [none] = look([at('nowhere')], [{}], { isAlone: true });
    expect(none?.git).toBe('git is not on PATH.\nInstall git, or put it on PATH.');
  });

  test('B1: skips links that lead into a workspace, and links in a workspace that lead out of it', () => {
    program('ws/bin/git');
    link('linked/git', at('ws/bin/git'));
    link('ws/out', at('good'));
    link('tools', at('ws/bin'));
    link('ws/hop', at('good/git'));
    link('hops/git', at('ws/hop'));
    const entries = [at('linked'), at('ws/out'), at('tools'), at('hops')];
    const [seen] = look(entries, [{ workspace: at('ws') }]);
    expect(seen).toMatchObject({ path: at('good'), gits: [at('good/git')] });
    const inside = `the workspace ${at('ws')}`;
    expect(seen?.skipped).toEqual([
      { path: at('linked'), reason: `its git leads into ${inside}` },
      { path: at('ws/out'), reason: `it is inside ${inside}` },
      { path: at('tools'), reason: `it is inside ${inside}` },
      { path: at('hops'), reason: `its git leads into ${inside}` },
    ]);
  });

  test('B1: keeps a directory for its other programs if a link of another name leads into a workspace', () => {
    program('ws/bin/mine');
    link('linked/mine', at('ws/bin/mine'));
    const [seen] = look([at('linked')], [{ workspace: at('ws') }]);
    expect(seen?.path).toBe(`${at('linked')}:${at('good')}`);
  });

  test('B1: knows the workspaces of earlier processes by the locks in their git directories and in the home', () => {
    for (const ws of ['main', 'linked', 'plain', 'other']) program(`${ws}/bin/git`);
    directory('main/.git/emend/lock');
    directory('main/.git/worktrees/linked/emend/lock');
    fs.writeFileSync(at('linked/.git'), `gitdir: ${at('main/.git/worktrees/linked')}\n`);
    directory(`home/locks/${sha256(at('plain'))}`);
    const home = { checkouts: at('home-repositories'), locks: at('home/locks') };
    program('home-repositories/1/checkout/bin/git');
    const entries = ['main', 'linked', 'plain', 'home-repositories/1/checkout', 'other'];
    const paths = entries.map((entry) => at(entry, 'bin'));
    const [before, after] = look(paths, [{}, { home }]);
    expect(before?.path).toBe([...paths.slice(2), at('good')].join(':'));
    expect(after?.path).toBe(`${at('other/bin')}:${at('good')}`);
  });

  test('takes no home for a workspace, even if it is a repository', () => {
    directory('person/.git/emend/lock');
    directory('person/notes');
    program('person/bin/git');
    for (const cwd of ['person', 'person/notes']) {
      const [seen] = look([at('person/bin')], [{ around: at('person') }], { cwd });
      expect(seen?.git).toBe(at('person/bin/git'));
    }
  });

  test('passes on GIT_EXEC_PATH only if it names a trusted directory', () => {
    directory('ws');
    directory('exec');
    const passed = (path: string): string | null | undefined =>
      look([], [{ workspace: at('ws') }], { variables: { GIT_EXEC_PATH: path } })[0]?.gitExecPath;
    expect(passed(at('exec'))).toBe(at('exec'));
    expect(passed(at('ws'))).toBeNull();
    expect(passed('exec')).toBeNull();
  });
});
