import { execFileSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import {
  dirtyPaths,
  eolsForNewFiles,
  inspectTarget,
  listWorkspaceFiles,
  newFileCheck,
  newFilesRefused,
} from '../../../src/workspace/files/index.js';
import { isolateGit, Repo } from '../git-fixture.js';

isolateGit();

let plain: string;
let repo: Repo;
beforeEach(async () => {
  plain = await realpath(await mkdtemp(join(tmpdir(), 'emend files-')));
});
const made: Repo[] = [];
/** Of those that use it alone: most of the tests here are about names. */
const makeRepo = async (): Promise<void> => {
  repo = await Repo.make();
  made.push(repo);
};
afterEach(async () => {
  await rm(plain, { recursive: true, force: true });
  for (const each of made.splice(0)) await each.remove();
});
const write = async (path: string, content = ''): Promise<void> => {
  await mkdir(dirname(join(plain, path)), { recursive: true });
  await writeFile(join(plain, path), content);
};
const TREE: readonly (readonly [string, string?])[] = [
  ['a.txt'],
  ['-dash "q" ü.txt'],
  ['build/out.js'],
  ['build/keep.js'],
  ['sub/.gitignore', '*.gen\n!keep.gen\n/only-here\n'],
  ['sub/x.gen'],
  ['sub/keep.gen'],
  ['sub/only-here'],
  ['sub/deep/only-here'],
  ['y.gen'],
  ['.gitignore', 'build/\n*.log\n'],
  ['x.log'],
];
const LISTED = [
  '-dash "q" ü.txt',
  '.gitignore',
  'a.txt',
  'sub/.gitignore',
  'sub/deep/only-here',
  'sub/keep.gen',
  'y.gen',
];

describe('listing says the same with git and without', () => {
  test('with git', async () => {
    await makeRepo();
    for (const [path, content] of TREE) await repo.write(path, content ?? '');
    expect(await listWorkspaceFiles(repo.dir)).toEqual(LISTED);
    const below = await listWorkspaceFiles(join(repo.dir, 'sub'));
    expect(below).toEqual(['.gitignore', 'deep/only-here', 'keep.gen']);
  });

  test('without git', async () => {
    for (const [path, content] of TREE) await write(path, content);
    await write('node_modules/p/index.js');
    await write('.git/config-of-nothing');
    await rm(join(plain, '.git'), { recursive: true });
    expect(await listWorkspaceFiles(plain)).toEqual(LISTED);
    expect(await listWorkspaceFiles(plain, 3)).toHaveLength(3);
  });

  test('git: tracked files count though ignored, deleted ones do not, submodules and other repositories are no files', async () => {
    await makeRepo();
    await repo.write('tracked.log', 'x');
    await repo.write('gone', 'x');
    await repo.write('plain', 'x');
    await repo.commitAll();
    await repo.write('.gitignore', '*.log\n');
    await rm(join(repo.dir, 'gone'));
    await Repo.make({
      dir: await mkdir(join(repo.dir, 'inner'), { recursive: true }).then(() =>
        join(repo.dir, 'inner'),
      ),
    });
    const head = await repo.line('rev-parse', 'HEAD');
    await repo.git('update-index', '--add', '--cacheinfo', `160000,${head},module`);
    expect(await listWorkspaceFiles(repo.dir)).toEqual(['.gitignore', 'plain', 'tracked.log']);
  });
});

describe('inspectTarget', () => {
  const code = async (path: string, max: number | null = null): Promise<string> => {
    const found = await inspectTarget(plain, path, max);
    return found.ok ? 'ok' : found.problem.code;
  };
  const outside = async (): Promise<string> =>
    realpath(await mkdtemp(join(tmpdir(), 'emend-outside-')));

  test('a file: its facts', async () => {
    await write('a b/ü.txt', 'héllo');
    await chmod(join(plain, 'a b/ü.txt'), 0o751);
    const path = 'a b/ü.txt';
    expect(await inspectTarget(plain, `./${path}`, 6)).toEqual({
      ok: true,
      value: {
        path,
        target: path,
        realPath: join(plain, path),
        bytes: 6,
        mode: 0o751,
        symlink: false,
        names: 1,
      },
    });
    expect(await code(path, 5)).toBe('target_too_large');
  });

  test('links inside: their target is what is edited', async () => {
    await write('real/f', 'x');
    await symlink('real', join(plain, 'dir'));
    await symlink('dir/f', join(plain, 'file'));
    for (const path of ['file', 'dir/f']) {
      expect(await inspectTarget(plain, path, null)).toMatchObject({
        ok: true,
        value: { path, target: 'real/f', symlink: true },
      });
    }
  });

  test('a workspace that is itself reached through a link', async () => {
    await write('f', 'x');
    await symlink(plain, `${plain}-link`);
    expect(await inspectTarget(`${plain}-link`, 'f', null)).toMatchObject({
      ok: true,
      value: { target: 'f', realPath: join(plain, 'f'), symlink: false },
    });
    await rm(`${plain}-link`);
  });

  test('nothing there; a file may be made, its directory lies inside', async () => {
    await write('f');
    await symlink('nothing', join(plain, 'dangling'));
    for (const path of ['none', 'new/dir/none', 'f/below', 'dangling'])
      expect([path, await code(path)]).toEqual([path, 'target_missing']);
  });

  test('F10: a name that the file system does not take is not a file that may be made', async () => {
    for (const path of ['n'.repeat(256), `${'n'.repeat(256)}/a.txt`])
      expect(await code(path)).toBe('name_too_long');
  });

  test('not a file', async () => {
    await mkdir(join(plain, 'd'));
    execFileSync('mkfifo', [join(plain, 'pipe')]);
    await symlink('loop2', join(plain, 'loop1'));
    await symlink('loop1', join(plain, 'loop2'));
    await symlink('.', join(plain, 'self'));
    for (const path of ['d', 'pipe', 'loop1', 'self'])
      expect([path, await code(path)]).toEqual([path, 'target_not_a_file']);
  });

  test("outside, by its words, by a link, by a link above it, also where a new file would be; git's own files", async () => {
    const other = await outside();
    await writeFile(join(other, 'f'), 'x');
    await symlink(join(other, 'f'), join(plain, 'out'));
    await symlink(other, join(plain, 'outdir'));
    await symlink('/dev/null', join(plain, 'null'));
    await mkdir(join(plain, '.git'));
    await writeFile(join(plain, '.git/config'), '');
    await symlink('.git/config', join(plain, 'sly'));
    const sibling = `${plain}x`;
    await mkdir(sibling);
    await writeFile(join(sibling, 'f'), '');
    await symlink(`${sibling}/f`, join(plain, 'sibling'));
    const paths = [
      '../x',
      '/etc/passwd',
      'out',
      'outdir/f',
      'outdir/new',
      'outdir/new/er',
      'null',
      '.git/config',
      'sly',
      'sibling',
      'a/../../b',
      '',
    ];
    for (const path of paths) expect([path, await code(path)]).toEqual([path, 'target_outside']);
    await rm(other, { recursive: true });
    await rm(sibling, { recursive: true });
  });
});

describe('dirtyPaths', () => {
  test('what is changed, staged, untracked, ignored, unmerged; clean and absent paths are not named', async () => {
    await makeRepo();
    for (const path of ['clean', 'changed', 'staged', 'both', 'gone', 'merge', 'p ü/"x"'])
      await repo.write(path, '1\n');
    await repo.write('.gitignore', 'ignored/\n');
    await repo.commitAll();
    await repo.git('checkout', '-q', '-b', 'side');
    await repo.write('merge', 'side\n');
    await repo.commitAll();
    await repo.git('checkout', '-q', 'main');
    await repo.write('merge', 'main\n');
    await repo.commitAll();
    await repo.git('merge', '-q', 'side').catch(() => '');
    for (const path of ['changed', 'staged', 'both', 'p ü/"x"', 'new', 'ignored/f', 'dir/new'])
      await repo.write(path, '2\n');
    await repo.git('add', 'staged', 'both');
    await repo.write('both', '3\n');
    await rm(join(repo.dir, 'gone'));
    const paths = [
      'clean',
      'absent',
      'changed',
      'staged',
      'both',
      'gone',
      'merge',
      'p ü/"x"',
      'new',
      'ignored/f',
      'dir/new',
    ];
    const states = Object.fromEntries(
      (await dirtyPaths(repo.dir, paths)).map(({ path, state }) => [path, state]),
    );
    expect(states).toEqual({
      changed: 'changed',
      staged: 'staged',
      both: 'changed',
      gone: 'changed',
      merge: 'unmerged',
      'p ü/"x"': 'changed',
      new: 'untracked',
      'ignored/f': 'ignored',
      'dir/new': 'untracked',
    });
    expect(await dirtyPaths(join(repo.dir, 'p ü'), ['"x"'])).toEqual([
      { path: '"x"', state: 'changed' },
    ]);
  });

  test('outside git, and asked for nothing: none', async () => {
    await makeRepo();
    await write('f');
    expect(await dirtyPaths(plain, ['f'])).toEqual([]);
    expect(await dirtyPaths(repo.dir, [])).toEqual([]);
  });
});

const eolForNewFile = async (root: string, path: string, files: readonly string[]) =>
  (await eolsForNewFiles(root, [path], files)).get(path);

describe('eolForNewFile', () => {
  test('.gitattributes, then .editorconfig, then siblings, then LF', async () => {
    await makeRepo();
    expect(await eolForNewFile(repo.dir, 'd/new.txt', [])).toBe('\n');
    await repo.write('d/a.txt', 'x\r\ny\r\n');
    await repo.write('d/b.md', 'x\ny\n');
    await repo.write('e/c.txt', 'x\n');
    const siblings = ['d/a.txt', 'd/b.md', 'e/c.txt', 'd'];
    expect(await eolForNewFile(repo.dir, 'd/new.txt', siblings)).toBe('\r\n');
    expect(await eolForNewFile(repo.dir, 'd/new.md', siblings)).toBe('\n');
    expect(await eolForNewFile(repo.dir, 'new.txt', siblings)).toBe('\n');
    await repo.write('.editorconfig', 'root = true\n[*.txt]\nend_of_line = lf\n');
    expect(await eolForNewFile(repo.dir, 'd/new.txt', siblings)).toBe('\n');
    await repo.write('.gitattributes', 'd/* eol=crlf\n*.sh text eol=lf\n');
    expect(await eolForNewFile(repo.dir, 'd/new.txt', siblings)).toBe('\r\n');
    expect(await eolForNewFile(repo.dir, 'd/text', siblings)).toBe('\r\n');
    expect(await eolForNewFile(repo.dir, 'run.sh', siblings)).toBe('\n');
  });

  test('many new files cost one git, and one look at each name of the workspace', async () => {
    await makeRepo();
    const path = process.env.PATH ?? '';
    const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    await write('bin/git', `#!/bin/sh\necho >> '${plain}/calls'\nexec '${real}' "$@"\n`);
    await chmod(join(plain, 'bin/git'), 0o755);
    await repo.write('.gitattributes', '*.bat eol=crlf\n*.bin -text eol=crlf\n');
    await repo.write('d/a.txt', 'x\r\n');
    const wanted = Array.from(
      { length: 30 },
      (_, i) => `d/new${i}.${['bat', 'bin', 'md'][i % 3] ?? ''}`,
    );
    let looks = 0;
    const names = Array.from({ length: 100 }, (_, i) => `e/${i}.txt`);
    const files = new Proxy([...names, 'd/a.txt'], {
      get: (all: string[], key) => {
        if (/^\d+$/.test(String(key))) looks += 1;
        return Reflect.get(all, key) as unknown;
      },
    });
    process.env.PATH = `${plain}/bin:${path}`;
    const eols = await eolsForNewFiles(repo.dir, wanted, files).finally(
      () => (process.env.PATH = path),
    );
    expect(wanted.map((each) => eols.get(each))).toEqual(wanted.map(() => '\r\n'));
    expect({ looks, gits: (await readFile(join(plain, 'calls'), 'utf8')).length }).toEqual({
      looks: 101,
      gits: 1,
    });
  });

  test.each<[string, string, string, '\n' | '\r\n']>([
    ['a star stays in its directory', '[*.c]\nend_of_line=crlf', 'x/y/a.c', '\r\n'],
    ['a glob with a slash is anchored', '[src/*.c]\nend_of_line=crlf', 'lib/src/a.c', '\n'],
    ['two stars', '[src/**.c]\nend_of_line=crlf', 'src/x/a.c', '\r\n'],
    ['choices', '[*.{bat,cmd}]\nend_of_line = CRLF ', 'a.cmd', '\r\n'],
    ['one in braces is text', '[{a}.c]\nend_of_line=crlf', 'a.c', '\n'],
    ['a range of numbers', '[f{1..3}]\nend_of_line=crlf', 'f2', '\r\n'],
    ['a set that ends before it begins', '[[c-a]x]\nend_of_line=crlf', 'bx', '\n'],
    ['choices in choices', '[{a,b{c,d*}e}.c]\nend_of_line=crlf', 'bdxe.c', '\r\n'],
    ['a set', '[[!a-c]x]\nend_of_line=crlf', 'dx', '\r\n'],
    ['the last section wins', '[*]\nend_of_line=crlf\n[*.c]\nend_of_line=lf', 'a.c', '\n'],
    [
      'comments and unknown keys',
      '# c\n[*]\n; end_of_line=lf\nend_of_line=crlf\nindent=2',
      'a',
      '\r\n',
    ],
    ['a broken glob is no match', '[a{b]\nend_of_line=crlf', 'a', '\n'],
    ['cr is not written', '[*]\nend_of_line=cr', 'a', '\n'],
  ])('.editorconfig: %s', async (_, text, path, eol) => {
    await write('.editorconfig', text);
    expect(await eolForNewFile(plain, path, [])).toBe(eol);
  });

  test('.editorconfig: the nearest file wins, root ends the search', async () => {
    await write('.editorconfig', '[*]\nend_of_line=crlf');
    await write('a/.editorconfig', '[*.md]\nend_of_line=lf');
    await write('b/.editorconfig', 'root=true\n[*.md]\nindent=1');
    expect(await eolForNewFile(plain, 'a/x.md', [])).toBe('\n');
    expect(await eolForNewFile(plain, 'a/x.txt', [])).toBe('\r\n');
    expect(await eolForNewFile(plain, 'b/x.txt', [])).toBe('\n');
  });
});

describe('a new file that a model names', () => {
  const anywhere = { create: true, protected: ['# it is listed', 'package.json'] } as const;

  test.each([
    ['../x', /leaves its folder/],
    ['/etc/passwd', /absolute/],
    ['~/x', /starts with/],
    ['a\\b', /backslash/],
    ['src/', /names a folder/],
    ['a\nb', /control character/],
    ['.git/hooks/pre-commit', /`\.git` folder/],
    ['src/.GIT/config', /`\.git` folder/],
    ['.g\u200cit/x', /`\.git` folder/],
    ['src/NUL.txt', /device name/],
    ['src/a\u202ets.exe', /another name/],
    ['src/A.JS', /exists/],
    ['package.json', /listed/],
    ['.env', /keys or passwords/],
  ])('%j is refused by its name', (path, why) => {
    expect(newFileCheck(anywhere, ['src/a.js'])(path)).toEqual({
      ok: false,
      why: expect.stringMatching(why),
    });
  });

  test.each([
    [true, 'src/new.js', true],
    [['docs/**', '!docs/x.md'], 'docs/a/b.md', true],
    [['docs/**', '!docs/x.md'], 'docs/x.md', false],
    [['docs/**'], 'src/docs.js', false],
    [false, 'src/new.js', false],
    [null, 'src/new.js', false],
  ])('with `create: %j` %s may be made: %s', (create, path, ok) => {
    expect(newFileCheck({ create, protected: [] }, [])(`./${path}`).ok).toBe(ok);
  });

  test.each(['git', 'plain'])(
    '%s: on the disk nothing is in its way, and no rule ignores it',
    async (how) => {
      await makeRepo();
      const dir = how === 'git' ? repo.dir : plain;
      const put = (path: string, content: string) =>
        how === 'git' ? repo.write(path, content) : write(path, content);
      await put('.gitignore', 'build/\n*.log\n!keep.log\n');
      await put('src/.gitignore', '/here.js\n');
      await put('src/a.js', '');
      await put('src/kept.log', 'tracked by nobody\n');
      await symlink(tmpdir(), join(dir, 'out'));
      await symlink('src', join(dir, 'in'));
      await symlink('nowhere', join(dir, 'broken.js'));
      const made = ['src/b.js', '*.txt', 'src/deep/er/here.js', 'keep.log'];
      const unmade = {
        'src/a.js': /exists/,
        'src/A.js': /letter case alone/,
        'Src/b.js': /letter case alone/,
        src: /directory/,
        'src/a.js/b.js': /not a directory/,
        'build/out.js': /ignores it/,
        'x.log': /ignores it/,
        'src/here.js': /ignores it/,
        'out/x.js': /outside/,
        'in/b.js': /symbolic link/,
        'broken.js': /broken symbolic link/,
        'package.json': /listed/,
      };
      const refused = await newFilesRefused(dir, [...made, ...Object.keys(unmade)], anywhere);
      expect(Object.fromEntries(refused)).toEqual(
        Object.fromEntries(
          Object.entries(unmade).map(([path, why]) => [path, expect.stringMatching(why)]),
        ),
      );
    },
  );

  test('it is not made in a repository below the workspace', async () => {
    await makeRepo();
    await repo.write('lib/a.js', '');
    execFileSync('git', ['init', '-q'], { cwd: join(repo.dir, 'lib') });
    expect([...(await newFilesRefused(repo.dir, ['lib/b.js'], anywhere)).values()]).toEqual([
      'it belongs to another repository',
    ]);
  });
});
