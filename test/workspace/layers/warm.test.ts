/** The outputs that a run's commands leave for its next command: what git ignores, and nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { layersDir, type Layer } from '../../../src/workspace/layers/index.js';
import { found, whyNone } from '../../support/box-users.js';
import { describeIf, testIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';
import { scene, type RunOptions, type Scene } from './scene.js';

const hasCompiler = existsSync('/usr/bin/cc') && existsSync('/usr/bin/make');

describeIf(found.works, whyNone)('warm layers', () => {
  let repo: Scene;
  beforeEach(() => {
    repo = scene();
    repo.put('.gitignore', 'target/\n*.o\n__pycache__/\nnode_modules/\nout\n');
    repo.put('src/a.txt', 'base\n');
    repo.put('target/kept/tracked.txt', 'tracked\n');
    repo.commit();
    repo.git('add', '-f', 'target/kept/tracked.txt');
    repo.git('commit', '-qm', 'tracked');
  });
  afterEach(() => repo.remove());

  const warm = (command: string, options: RunOptions = {}) =>
    repo.run(command, { isWarm: true, ...options });
  const generations = (): readonly string[] => {
    const dir = join(layersDir(repo.home), 'r1', 'warm');
    return existsSync(dir) ? readdirSync(dir).filter((name) => /^\d+$/.test(name)) : [];
  };

  testIf(hasCompiler, 'there is no C compiler')(
    'let make compile only what the proposal changed',
    async () => {
      repo.put('Makefile', 'out: a.o b.o\n\tcc -o out a.o b.o\n');
      repo.put('a.c', 'int main(void) { return 0; }\n');
      repo.put('b.c', 'int b(void) { return 1; }\n');
      const compiled = async (options: RunOptions = {}) =>
        (await warm('make', options)).output.match(/-o [ab]\.o|up to date/g);
      expect(await compiled()).toEqual(['-o a.o', '-o b.o']);
      expect(await compiled()).toEqual(['up to date']);
      const proposal = [await repo.proposed('b.c', 'int b(void) { return 2; }\n')];
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      expect(await compiled({ proposal })).toEqual(['-o b.o']);
      // Without the proposal the object file of b.c is newer than its source, but not of it.
      expect(await compiled()).toEqual(['-o a.o', '-o b.o']);
      expect(existsSync(join(repo.workspace, 'a.o'))).toBe(false);
    },
    60_000,
  );

  test('keep no program of a dependency folder, no repository, and nothing that git does not ignore', async () => {
    repo.put('node_modules/.bin/tool', '#!/bin/sh\necho good\n', 0o755);
    await warm(
      `echo 'echo poisoned' > node_modules/.bin/tool; mkdir -p build.o/node_modules build.o/.git; echo x > build.o/kept;
       echo x > build.o/node_modules/x; echo x > build.o/.git/config; echo x > src/a.snap; echo changed > src/a.txt`,
    );
    const { output } = await warm(
      'node_modules/.bin/tool; find build.o src -type f | sort; cat src/a.txt',
    );
    expect(output).toBe('good\nbuild.o/kept\nsrc/a.txt\nbase');
  });

  test('keep what a command removed, also a directory that it made again', async () => {
    repo.put('cache.o', 'old\n');
    await warm('echo 1 > one.o; echo 1 > target/one; mkdir -p new/target; echo 1 > new/target/one');
    await warm(
      'rm one.o cache.o; rm -r target new/target; mkdir target new/target; echo 2 > target/two; echo 2 > new/target/two',
    );
    const { output } = await warm('find . -path ./.git -prune -o -type f -print | sort');
    expect(output.split('\n')).toEqual([
      './.gitignore',
      './new/target/two',
      './src/a.txt',
      './target/kept/tracked.txt',
      './target/two',
    ]);
  });

  test('keep a file in a directory that the command closed', async () => {
    await warm('mkdir -p deep/x.o; echo 1 > deep/x.o/one; chmod 555 deep/x.o; chmod 000 deep');
    expect((await warm('cat deep/x.o/one')).output).toBe('1');
  });

  test('keep nothing whose path is longer than the kernel takes', async () => {
    const deep = `perl -e 'mkdir "deep.o"; chdir "deep.o"; for (1 .. 60) { mkdir "d" x 100; chdir "d" x 100 }'`;
    expect((await warm(`${deep}; echo x > a.o`)).exit).toBe(0);
    expect((await warm('cat a.o')).output).toBe('x');
  });

  test('belong to one command at a time, and a fresh one has none', async () => {
    await warm('echo 1 > one.o');
    const first = warm('cat one.o; echo 2 > first.o; sleep 1');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await warm('ls *.o; echo 3 > second.o')).output).toContain('cannot access');
    expect((await first).output).toBe('1');
    // The second command ended first: its outputs stay.
    expect((await warm('echo *.o')).output).toBe('second.o');
    expect((await repo.run('echo *.o; echo 4 > fresh.o')).output).toBe('*.o');
    expect((await warm('echo *.o')).output).toBe('second.o');
  });

  test('keep nothing of a command that was discarded or whose use failed, and all of earlier ones', async () => {
    const discard = (layer: Layer): Promise<void> => {
      layer.discardOutputs();
      return Promise.resolve();
    };
    await warm('echo 1 > one.o');
    await warm('echo 2 > two.o', { use: discard });
    const failed = warm('echo 3 > three.o', { use: () => Promise.reject(new Error('stopped')) });
    await expect(failed).rejects.toThrow('stopped');
    expect((await warm('echo *.o')).output).toBe('one.o');
  });

  test('start again after some commands, and when a proposal takes a file back', async () => {
    const seen: string[] = [];
    for (let count = 1; count <= 9; count++)
      seen.push((await warm(`echo *.o; echo > ${count}.o`)).output);
    expect(seen.at(7)).toBe('1.o 2.o 3.o 4.o 5.o 6.o 7.o');
    expect(seen.at(8)).toBe('*.o');
    expect(generations()).toEqual(['1']);
    const proposal = [await repo.proposed('src/new.txt', 'new\n')];
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await warm('echo *.o', { proposal })).output).toBe('9.o');
    expect((await warm('echo *.o')).output).toBe('*.o');
  });

  test('never hold a file of the proposal or a directory on PATH', async () => {
    const other = scene({ programs: 'target/bin' });
    try {
      other.put('.gitignore', 'target/\n');
      other.commit();
      const proposal = [await other.proposed('target/generated.txt', 'proposed\n')];
      const options = { isWarm: true, proposal };
      const poison = 'mkdir target/bin; echo x > target/bin/git; echo x > target/generated.txt';
      await other.run(`${poison}; echo 1 > target/one`, options);
      expect((await other.run('cat target/*', options)).output).toBe('proposed\n1');
    } finally {
      await other.remove();
    }
  });

  test('end with a command that is killed', async () => {
    const child = transpile('warm-child', 'test/workspace/layers/warm-child.ts');
    try {
      await warm('echo 1 > one.o');
      const killed = spawn(process.execPath, [child.path, repo.base], { stdio: 'pipe' });
      await once(killed.stdout, 'data');
      killed.kill('SIGKILL');
      await once(killed, 'close');
      expect(generations()).toEqual([]);
      expect((await warm('echo *.o')).output).toBe('*.o');
      expect(readFileSync(join(repo.workspace, 'src/a.txt'), 'utf8')).toBe('base\n');
    } finally {
      child.remove();
    }
  });

  test('keep nothing outside git', async () => {
    const other = scene();
    try {
      other.put('.gitignore', '*.o\n');
      await other.run('echo 1 > one.o; git init -q . && echo made', { isWarm: true });
      const { output } = await other.run('echo *.o; ls -A', { isWarm: true });
      expect(output).toBe('*.o\n.gitignore');
      expect(readdirSync(other.workspace)).toEqual(['.gitignore']);
    } finally {
      await other.remove();
    }
  });
});
