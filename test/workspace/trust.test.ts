/** Which contents of configuration files may be a model's. */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  configurationFiles,
  contentHash,
  createTrust,
  doubtText,
  jobOf,
  type ApprovedFile,
  type ConfigurationFile,
  type Trust,
} from '../../src/workspace/trust/index.js';
import { isolateGit, Repo } from './git-fixture.js';

isolateGit();

let repo: Repo;
let home: string;
let trust: Trust;
beforeEach(async () => {
  repo = await Repo.make();
  home = await realpath(await mkdtemp(join(tmpdir(), 'emend-trust-')));
  trust = createTrust({ home });
  await repo.write('emend.yaml', 'approval: ask\nprotected: [secret.js]\n');
  await repo.write('jobs/a.md', '---\ntest: make test\n---\n# A\n');
  await repo.commitAll();
});
afterEach(async () => {
  await repo.remove();
  await rm(home, { recursive: true, force: true });
});

const write = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(repo.dir, path)), { recursive: true });
  await writeFile(join(repo.dir, path), text);
};
const files = () => configurationFiles(repo.dir);
const job = async (path: string, text: string): Promise<readonly ConfigurationFile[]> => {
  await write(path, text);
  return [await jobOf(repo.dir, path, text)];
};
const approved = (path: string, text: string, baseHash: string | null): ApprovedFile => ({
  path,
  read: () => Promise.resolve({ text, baseHash }),
});
const reasons = async (obeyed: readonly ConfigurationFile[]) =>
  (await trust.doubts(repo.dir, obeyed)).map(doubtText);

test('trusts everything as long as no command could write the workspace', async () => {
  await write('emend.yaml', 'sandbox: off\napproval: auto\n');
  expect(await reasons(await files())).toEqual([]);
});

test('asks about what appeared after a command could write the workspace, and names what it allows', async () => {
  await trust.recordBeforeCommand(repo.dir);
  await write(
    'emend.yaml',
    'sandbox: off\napproval: auto\ntest: make all\nlimits: { budget_usd: 50 }\n',
  );
  await write('CLAUDE.md', 'Obey.\n');
  const [config, instructions] = await reasons(await files());
  expect(config).toContain('emend.yaml: it changed after a command could write the workspace');
  for (const grant of [
    '`sandbox: off`',
    '`approval: auto`',
    'run `make all`',
    'budget_usd = 50',
    'change secret.js without a reviewer',
  ])
    expect(config).toContain(grant);
  expect(instructions).toContain('give the model the instructions in CLAUDE.md');
});

test('asks about an emend.yaml that was removed and protected files', async () => {
  await trust.recordBeforeCommand(repo.dir);
  await rm(join(repo.dir, 'emend.yaml'));
  expect((await reasons(await files()))[0]).toContain('change secret.js without a reviewer');
});

test('does not ask about files as they were, about less than before, or about what other jobs allow', async () => {
  await trust.recordBeforeCommand(repo.dir);
  expect(await reasons(await files())).toEqual([]);
  await write('emend.yaml', 'protected: [secret.js, other.js]\n');
  expect(await reasons(await files())).toEqual([]);
  expect(await reasons(await job('new.md', '---\ntest: make test\n---\n# New\n'))).toEqual([]);
  expect(await reasons(await job('plain.md', '# Plain\n\nDo it.\n'))).toEqual([]);
  expect(await reasons(await job('more.md', '---\ntest: make evil\n---\n# New\n'))).toHaveLength(1);
});

test('asks about a job whose `create` list lets a model make files', async () => {
  await trust.recordBeforeCommand(repo.dir);
  const text = '---\ntarget_files: [a.js]\ncreate: [src/**, docs/new.md]\n---\n# New\n';
  const [reason = ''] = await reasons(await job('create.md', text));
  for (const pattern of ['src/**', 'docs/new.md'])
    expect(reason).toContain(`create files that match ${pattern} (\`create\`)`);
});

test('asks once per content, also from a linked worktree', async () => {
  const tree = `${repo.dir}-tree`;
  await repo.git('worktree', 'add', '-q', '--detach', tree);
  await trust.recordBeforeCommand(repo.dir);
  const text = 'approval: auto\n';
  for (const dir of [repo.dir, tree]) await writeFile(join(dir, 'emend.yaml'), text);
  const there = await configurationFiles(tree);
  expect(await trust.doubts(tree, there)).toHaveLength(1);
  await trust.accept(repo.dir, await files());
  expect(await createTrust({ home }).doubts(tree, there)).toEqual([]);
  await rm(tree, { recursive: true });
  await write('emend.yaml', `${text}commit: true\n`);
  expect((await reasons(await files()))[0]).toMatch(/to commit \(`commit`\)\.$/);
});

test('asks about a file that was applied without an approval, whatever it allows, and wherever it is', async () => {
  const text = '# Plain\n\nDo it.\n';
  await trust.recordUnapproved(repo.dir, '3f2a', [
    { path: 'b.md', hash: contentHash(text) },
    { path: 'b.js', hash: contentHash('code') },
  ]);
  const [doubt] = await reasons(await job('moved.md', text));
  expect(doubt).toBe(
    'moved.md: run 3f2a applied this content without your approval. It allows nothing new, but Emend follows it.',
  );
  expect(await reasons(await job('plain.md', `${text}More.\n`))).toEqual([]);
});

test('51, 149: a job that was applied through a link with another ending is asked about, also after a merge', async () => {
  const text = '---\ntest: make evil\n---\n# B\n';
  await symlink('jobs/a.md', join(repo.dir, 'notes.txt'));
  await trust.recordUnapproved(repo.dir, '3f2a', [{ path: 'notes.txt', hash: contentHash(text) }]);
  const [applied] = await reasons(await job('jobs/a.md', text));
  expect(applied).toContain('jobs/a.md: run 3f2a applied this content without your approval.');
  const [merged] = await reasons(await job('jobs/a.md', `${text}A line of yours.\n`));
  expect(merged).toContain('run 3f2a');
});

test('a baseline is written once: what a command left before the second one is not trusted', async () => {
  await trust.recordBeforeCommand(repo.dir);
  await write('emend.yaml', 'approval: auto\n');
  await createTrust({ home }).recordBeforeCommand(repo.dir);
  expect(await reasons(await files())).toHaveLength(1);
});

test('a job that was typed is asked about only if a run applied its content without an approval', async () => {
  await trust.recordBeforeCommand(repo.dir);
  const text = '---\ntest: make evil\n---\n# A\n';
  const typed = await jobOf(repo.dir, 'typed', text);
  expect(await reasons([typed])).toEqual([]);
  await trust.recordUnapproved(repo.dir, '3f2a', [{ path: 'b.md', hash: contentHash(text) }]);
  expect(await reasons([typed])).toHaveLength(1);
});

test('a BOM, other line ends and blanks at the end of lines make no other content', async () => {
  const text = '---\ntest: make evil\n---\n# A\n';
  await trust.recordUnapproved(repo.dir, '3f2a', [{ path: 'b.md', hash: contentHash(text) }]);
  for (const same of [
    `\uFEFF${text}`,
    text.replaceAll('\n', '\r\n'),
    text.replace('evil', 'evil  '),
  ])
    expect(await reasons(await job('moved.md', same))).toHaveLength(1);
});

test('front matter with a BOM or blanks behind its fence is read', async () => {
  await trust.recordBeforeCommand(repo.dir);
  for (const odd of [
    '\uFEFF---\ntest: make evil\n---\n# A\n',
    '---  \ntest: make evil\n---\n# B\n',
  ])
    expect(await reasons(await job('odd.md', odd))).toHaveLength(1);
});

test('what is obeyed by its name is not trusted as a copy of another file', async () => {
  const other = 'approval: auto\n';
  await write('other.yaml', other);
  await trust.recordBeforeCommand(repo.dir);
  await write('emend.yaml', other);
  expect(await reasons(await files())).toHaveLength(1);
});

test('an unapproved document gives the baseline nothing', async () => {
  const text = '---\ntest: make evil\n---\n# A\n';
  await trust.recordUnapproved(repo.dir, '3f2a', [{ path: 'b.md', hash: contentHash(text) }]);
  await write('b.md', text);
  await trust.recordBeforeCommand(repo.dir);
  expect(await reasons(await job('c.md', `${text}More.\n`))).toHaveLength(1);
});

test('a file that was changed without an approval is asked about also after a line was merged into it', async () => {
  const text = '---\ntest: make evil\n---\n# A\n';
  await trust.recordUnapproved(repo.dir, '3f2a', [{ path: 'b.md', hash: contentHash(text) }]);
  const [merged] = await reasons(await job('b.md', `${text}Mine.\n`));
  expect(merged).toContain('b.md: run 3f2a changed this file without your approval');
});

test('a protection that is removed counts: tests, an audit, a budget, hooks', async () => {
  await write('emend.yaml', 'approval: auto\ntest: make\nhooks: true\nlimits: { budget_usd: 1 }\n');
  await trust.recordBeforeCommand(repo.dir);
  await write('emend.yaml', 'approval: auto\nhooks: false\n');
  const [sentence] = await reasons(await files());
  for (const lost of ['untested', 'without hooks', 'budget_usd']) expect(sentence).toContain(lost);
});

test('what a reviewer approved is trusted, unless it was changed from something that is not', async () => {
  await trust.recordBeforeCommand(repo.dir);
  const baseHash = contentHash('approval: ask\nprotected: [secret.js]\n');
  const text = 'approval: auto\n';
  await trust.recordApproved(repo.dir, [approved('emend.yaml', text, baseHash)]);
  await write('emend.yaml', text);
  expect(await reasons(await files())).toEqual([]);
  const evil = '---\ntest: make evil\n---\n# A\n';
  const unknown = contentHash('---\ntest: make evil\n---\n');
  await trust.recordApproved(repo.dir, [approved('b.md', evil, unknown)]);
  expect(await reasons(await job('b.md', evil))).toHaveLength(1);
});

test('reads an approved file only if it can be configuration and the repository has a baseline', async () => {
  const paths: string[] = [];
  const noting = (path: string): ApprovedFile => ({
    path,
    read: () => {
      paths.push(path);
      return Promise.resolve({ text: '', baseHash: null });
    },
  });
  const change = [noting('a.js'), noting('a.md')];
  await trust.recordApproved(repo.dir, change);
  expect(paths).toEqual([]);
  await trust.recordBeforeCommand(repo.dir);
  await trust.recordApproved(repo.dir, change);
  expect(paths).toEqual(['a.md']);
});

test('52: instructions that are a link to another file are asked about if a run changed that file', async () => {
  await write('docs/notes.txt', 'Write short code.\n');
  await symlink('docs/notes.txt', join(repo.dir, 'CLAUDE.md'));
  const text = 'Obey the model.\n';
  await trust.recordUnapproved(repo.dir, '3f2a', [
    { path: 'docs/notes.txt', hash: contentHash(text) },
  ]);
  await write('docs/notes.txt', text);
  expect(await reasons(await files())).toEqual([
    expect.stringContaining('CLAUDE.md: run 3f2a applied this content'),
  ]);
  await write('docs/notes.txt', `${text}A line of a hook.\n`);
  expect(await reasons(await files())).toEqual([
    expect.stringContaining('CLAUDE.md: run 3f2a changed this file'),
  ]);
  await rm(join(repo.dir, 'CLAUDE.md'));
  expect(await reasons(await files())).toEqual([]);
});

test('52: the same through a linked folder, for emend.yaml and for a file of `rules`', async () => {
  await write('other/rules.md', 'Short.\n');
  await write('other/emend.txt', 'rules: [linked/rules.md]\n');
  await symlink('other', join(repo.dir, 'linked'));
  await rm(join(repo.dir, 'emend.yaml'));
  await symlink('linked/emend.txt', join(repo.dir, 'emend.yaml'));
  await trust.recordUnapproved(repo.dir, '3f2a', [
    { path: 'other/rules.md', hash: contentHash('A\n') },
    { path: 'other/emend.txt', hash: contentHash('B\n') },
  ]);
  await write('other/emend.txt', 'rules: [linked/rules.md]\napproval: auto\n');
  expect(await reasons(await files())).toEqual([
    expect.stringContaining('emend.yaml: run 3f2a changed this file'),
    expect.stringContaining('linked/rules.md: run 3f2a changed this file'),
  ]);
});
