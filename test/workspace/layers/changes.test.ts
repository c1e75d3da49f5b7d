/** What a command changed, as its layer shows it. */
import { join } from 'node:path';
import { symlinkSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readBeneath } from '../../../src/system/beneath.js';
import { found, whyNone } from '../../support/box-users.js';
import { describeIf } from '../../support/skipped.js';
import { scene, type Scene } from './scene.js';

describeIf(found.works, whyNone)('the changes in a layer', () => {
  let repo: Scene;
  beforeEach(() => {
    repo = scene();
    repo.put('src/a.txt', 'base\n');
    repo.put('src/b.txt', 'other\n');
    repo.put('src/sub/c.txt', 'deep\n');
    repo.put('run.sh', 'echo\n', 0o755);
    repo.commit();
  });
  afterEach(() => repo.remove());

  const changes = async (command: string, proposal: Parameters<Scene['run']>[1] = {}) =>
    (await repo.run(command, proposal)).changes;

  test('are none for a file that was touched, rewritten with its bytes, or changed and restored', async () => {
    expect(
      await changes(
        'touch src/a.txt; cp src/b.txt x; cat x > src/b.txt; rm x; chmod 700 run.sh; chmod 755 run.sh; mkdir empty',
      ),
    ).toEqual([]);
  });

  test('are files with other bytes or another mode, links and removals', async () => {
    const command =
      'echo more >> src/a.txt; chmod 644 run.sh; ln -s /etc/passwd link; mkfifo pipe; rm src/b.txt; mv src/sub sub';
    expect(await changes(command)).toEqual([
      'link link',
      'other pipe',
      'file run.sh',
      'file src/a.txt',
      'removed src/b.txt',
      'removed src/sub',
      'file sub/c.txt',
    ]);
  });

  test('are files that differ from the proposal, not from the workspace', async () => {
    const proposal = [
      await repo.proposed('src/a.txt', 'new\n'),
      await repo.proposed('src/b.txt', null),
    ];
    const command = 'cp src/a.txt x; mv x src/a.txt; echo other > src/b.txt';
    expect(await changes(command, { proposal })).toEqual(['file src/b.txt']);
    expect(await changes('echo base > src/a.txt', { proposal })).toEqual(['file src/a.txt']);
  });

  test('show what a directory lost that was removed and made again', async () => {
    const command = 'rm -r src; mkdir -p src/sub; echo base > src/a.txt; echo new > src/sub/d.txt';
    expect(await changes(command)).toEqual([
      'removed src/b.txt',
      'removed src/sub/c.txt',
      'file src/sub/d.txt',
    ]);
  });

  test('are seen in directories of mode 000, and count a repository as one', async () => {
    const command =
      'mkdir -p closed/in; echo 1 > closed/in/one; chmod 000 closed/in closed; git init -q made; printf x > "$(printf "bad\\377name")"';
    expect(await changes(command)).toEqual(['file closed/in/one', 'other made/.git']);
  });

  test('are read through no link', async () => {
    await repo.run('mkdir d; echo in > d/file; ln -s /etc/passwd link; ln -s d dir', {
      use: async ({ overlay: { upper } }) => {
        const read = async (path: string, max_bytes = 100) => {
          const result = await readBeneath(upper, path, max_bytes);
          return result.ok ? String(result.value.bytes) : result.reason;
        };
        expect(await read('d/file')).toBe('in\n');
        expect(await read('d/none')).toBe('absent');
        expect(await read('link')).toBe('link');
        expect(await read('dir/file')).toBe('link');
        expect(await read('d')).toBe('not_a_file');
        expect(await read('d/file', 2)).toBe('too_large');
      },
    });
  });
});

describeIf(found.works, whyNone)('paths of sandbox.write', () => {
  let repo: Scene;
  beforeEach(() => {
    repo = scene({ programs: 'bin' });
    repo.put('.gitignore', 'coverage/\n');
    repo.put('snap/one.snap', '1\n');
    repo.put('snap/two.snap', '2\n');
    repo.put('coverage/old.html', 'old\n');
    repo.commit();
  });
  afterEach(() => repo.remove());

  const write = async (
    command: string,
    paths: readonly string[],
    except: readonly string[] = [],
  ) => {
    const results: unknown[] = [];
    await repo.run(command, {
      use: async (layer) => {
        const protectedPatterns = ['# it runs', '*.mk'];
        results.push(await layer.writeOut({ paths, except, protectedPatterns }));
      },
    });
    return results[0];
  };
  const shown = (): string =>
    repo
      .git('status', '--porcelain', '--ignored', '--untracked-files=all')
      .trimEnd()
      .split('\n')
      .join(',');

  test('are written and removed in the workspace, and nothing else is', async () => {
    const command =
      'echo new > snap/one.snap; rm snap/two.snap; mkdir -p snap/in; echo 3 > snap/in/three.snap; chmod 4755 snap/in/three.snap; echo x > other; rm -r coverage; mkdir coverage; echo new > coverage/new.html';
    expect(await write(command, ['snap', 'coverage/'])).toEqual({
      written: ['coverage/new.html', 'snap/in/three.snap', 'snap/one.snap'],
      removed: ['coverage/old.html', 'snap/two.snap'],
      refused: [],
    });
    expect(shown()).toBe(
      ' M snap/one.snap, D snap/two.snap,?? snap/in/three.snap,!! coverage/new.html',
    );
    expect(repo.mode('snap/in/three.snap')).toBe('100755');
    expect(repo.list('snap')).toEqual(['in', 'one.snap']);
  });

  test('are refused for links, git directories, dependencies, programs, protected files and the proposal', async () => {
    symlinkSync('/tmp', join(repo.workspace, 'away'));
    repo.git('add', 'away');
    repo.git('commit', '-qm', 'link');
    const command = `
      rm away; mkdir away; echo x > away/file
      mkdir -p out/.git out/node_modules bin; ln -s /etc/passwd out/link; mkfifo out/pipe; ln -s . out/dir
      for f in out/.git/config out/node_modules/x bin/git out/x.mk out/proposed out/fine; do echo x > $f; done`;
    const result = await write(
      command,
      ['out', 'bin', 'away', '../up', 'out/dir/fine'],
      ['out/proposed'],
    );
    expect(result).toEqual({
      written: ['out/fine'],
      removed: [],
      refused: [
        { path: 'away/file', reason: 'away is a symbolic link' },
        { path: 'bin/git', reason: 'it is in a directory on PATH, or in one of Emend itself' },
        { path: 'out/.git', reason: 'the command left something other than a file' },
        { path: 'out/dir', reason: 'the command left something other than a file' },
        { path: 'out/link', reason: 'the command left something other than a file' },
        {
          path: 'out/node_modules/x',
          reason: 'expected a path outside dependency folders such as node_modules',
        },
        { path: 'out/pipe', reason: 'the command left something other than a file' },
        { path: 'out/proposed', reason: 'the proposal has this path' },
        { path: 'out/x.mk', reason: 'expected a path that is not protected (it runs)' },
      ],
    });
    expect(shown()).toBe('?? out/fine,!! coverage/old.html');
  });

  test('are removed with a directory above them, except what must stay', async () => {
    repo.put('snap/keep.mk', 'all:\n');
    expect(await write('rm -r snap', ['snap'])).toEqual({
      written: [],
      removed: ['snap/one.snap', 'snap/two.snap'],
      refused: [
        { path: 'snap/keep.mk', reason: 'expected a path that is not protected (it runs)' },
      ],
    });
    expect(await write('rm -r coverage; ln -s /tmp coverage', ['coverage/old.html'])).toEqual({
      written: [],
      removed: [],
      refused: [
        { path: 'coverage/old.html', reason: 'the command left something other than a file' },
      ],
    });
  });

  test('replace no link and no directory of the workspace', async () => {
    symlinkSync('/tmp/emend-none', join(repo.workspace, 'report'));
    repo.put('dir/file', 'x\n');
    const command = 'rm report; echo x > report; rm -r dir; echo x > dir';
    const reason = 'it is not a regular file in the workspace';
    expect(await write(command, ['report', 'dir'])).toEqual({
      written: [],
      removed: [],
      refused: ['dir', 'report'].map((path) => ({ path, reason })),
    });
  });
});
