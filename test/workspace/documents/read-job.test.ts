import { execFileSync } from 'node:child_process';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readJobFile } from '../../../src/workspace/documents/read-job.js';
import { ProblemsError } from '../../../src/shared/problems.js';
import { problemOf, tempDir } from '../../client/fake.js';

const repository = async (): Promise<string> => {
  const dir = await tempDir();
  execFileSync('git', ['init', '-q'], { cwd: dir });
  await mkdir(join(dir, 'src'));
  await mkdir(join(dir, 'jobs'));
  await writeFile(join(dir, 'src/a.ts'), 'a\n');
  return dir;
};
const read = (dir: string, jobPath: string, workspace: string | null = null) =>
  readJobFile({ jobPath, workspace, cwd: dir });
const job = (front: string): string => `---\n${front}\n---\n# Change a\n\nDo it.\n`;

describe('the workspace', () => {
  test('is the top level of the repository that holds the job', async () => {
    const dir = await repository();
    await writeFile(join(dir, 'jobs/a.md'), job('target_files: [src/a.ts]'));
    const found = await read(join(dir, 'jobs'), 'a.md');
    expect(found).toMatchObject({
      workspace: dir,
      jobPath: 'jobs/a.md',
      job: { title: 'Change a', path: 'jobs/a.md' },
    });
  });

  test('of a worktree is the worktree, not the repository it belongs to', async () => {
    const dir = await repository();
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
        cwd: dir,
      });
    git('add', '-A');
    git('commit', '-qm', 'base');
    const other = join(await tempDir(), 'tree');
    git('worktree', 'add', '-q', other);
    await writeFile(join(other, 'job.md'), job('target_files: [src/a.ts]'));
    expect((await read(other, 'job.md')).workspace).toBe(other);
  });

  test('outside git is the directory of the job; --workspace beats both', async () => {
    const dir = await tempDir();
    const elsewhere = await repository();
    await writeFile(join(dir, 'job.md'), '# Only words\n\nDo it.\n');
    expect((await read(dir, 'job.md')).workspace).toBe(dir);
    const named = await read(dir, 'job.md', elsewhere);
    expect(named).toMatchObject({ workspace: elsewhere, jobPath: join(dir, 'job.md') });
    expect(await problemOf(() => read(dir, 'job.md', 'absent'))).toMatchObject({ code: 'usage' });
  });
});

describe('what is wrong with a job', () => {
  test('a path in a git directory, whatever that is called, and a workspace in one', async () => {
    const dir = await tempDir();
    execFileSync('git', ['init', '-q', '--separate-git-dir=.repo'], { cwd: dir });
    execFileSync('git', ['clone', '-q', '--bare', '.', 'b'], { cwd: dir });
    await writeFile(
      join(dir, 'job.md'),
      job('target_files: [.repo/config]\nnew_files: [b/hooks/post-checkout, b/new]'),
    );
    const error = await read(dir, 'job.md').catch((thrown: unknown) => thrown);
    const said = (error as ProblemsError).problems.map(({ code, message }) => [code, message]);
    expect(said).toEqual(
      Array.from({ length: 3 }, () => [
        'target_outside',
        expect.stringContaining('the path is in a `.git` folder'),
      ]),
    );
    await writeFile(join(dir, 'b/job.md'), '# Only words\n\nDo it.\n');
    for (const [path, workspace] of [
      ['job.md', 'b/hooks'],
      ['b/job.md', null],
    ] as const)
      expect(await problemOf(() => read(dir, path, workspace))).toMatchObject({
        code: 'usage',
        message: expect.stringContaining('is in a git directory'),
      });
  });

  test('is told all at once, with file, line and key, and nothing is written', async () => {
    const dir = await repository();
    await symlink('/etc', join(dir, 'out'));
    await writeFile(
      join(dir, 'job.md'),
      job('target_files:\n  - src/gone.ts\n  - src\n  - out/hostname'),
    );
    await writeFile(join(dir, 'emend.yaml'), 'approvall: ask\n');
    const before = await readdir(dir);
    const error = await read(dir, 'job.md').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProblemsError);
    const { problems } = error as ProblemsError;
    expect(problems.map((each) => each.code)).toEqual([
      'target_missing',
      'target_not_a_file',
      'target_outside',
      'config_invalid',
    ]);
    expect(problems[0].message).toMatch(
      /^job\.md:3: target_files: expected an existing file, src\/gone\.ts does not exist in /,
    );
    expect(problems[3]?.message).toMatch(/approvall/);
    expect(await readdir(dir)).toEqual(before);
  });

  test.each([
    ['absent', null, 'gone.md', 'job_not_found'],
    ['a directory', null, 'jobs', 'job_not_found'],
    ['not Markdown', 'x', 'job.txt', 'job_invalid'],
    ['not UTF-8', Buffer.from([0x23, 0x20, 0xff, 0xfe]), 'job.md', 'job_invalid'],
    ['binary', 'a\0b', 'job.md', 'job_invalid'],
    ['bad YAML', '---\na: [1\n---\nDo it.\n', 'job.md', 'job_invalid'],
    ['an unknown key', job('targets: [a]'), 'job.md', 'job_invalid'],
    ['a path out of the workspace', job('target_files: [../a]'), 'job.md', 'job_invalid'],
  ] as const)('%s', async (_name, content, path, code) => {
    const dir = await repository();
    if (content !== null) await writeFile(join(dir, path), content);
    const found = await problemOf(() => read(dir, path));
    expect(found.code).toBe(code);
    expect(found.message).toContain(path);
    if (path === 'job.txt')
      expect(found.message).toBe(
        'job.txt:1: expected a Markdown file (.md or .markdown), received "job.txt"',
      );
  });

  test('a file that goes is there, and is the file itself', async () => {
    const dir = await repository();
    await writeFile(join(dir, 'old.ts'), '');
    await symlink('old.ts', join(dir, 'link.ts'));
    await writeFile(join(dir, 'good.md'), job('delete_files: [old.ts]'));
    expect((await read(dir, 'good.md')).job.deleteFiles).toEqual(['old.ts']);
    await writeFile(join(dir, 'bad.md'), job('delete_files:\n  - gone.ts\n  - link.ts'));
    const error = await read(dir, 'bad.md').catch((thrown: unknown) => thrown);
    expect((error as ProblemsError).problems).toMatchObject([
      { code: 'target_missing', message: expect.stringContaining('bad.md:3: delete_files: ') },
      {
        code: 'target_not_a_file',
        message:
          'bad.md:4: delete_files: expected the file itself, link.ts is a symbolic link to old.ts',
      },
    ]);
  });

  test('of thousands of files that are not there the first are named, and the number of the others', async () => {
    const dir = await repository();
    const names = Array.from({ length: 1_200 }, (_, n) => `  - gone-${n}.ts`);
    await writeFile(join(dir, 'many.md'), job(`target_files:\n${names.join('\n')}`));
    const error = await read(dir, 'many.md').catch((thrown: unknown) => thrown);
    const { problems } = error as ProblemsError;
    expect([problems.length, problems.at(-1)]).toMatchObject([
      51,
      { code: 'target_missing', message: 'and 1150 more.' },
    ]);
  });

  test('a new output file is no missing target', async () => {
    const dir = await repository();
    await writeFile(join(dir, 'job.md'), job('output_dir: src/new\noutput_file: b.ts'));
    expect((await read(dir, 'job.md')).job.outputFiles).toEqual(['src/new/b.ts']);
  });
});
