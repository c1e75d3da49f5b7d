/** B1, end to end: a worker with an activated environment on PATH, in which every program leaves a mark. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { describeIf } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

const NAMES = ['git', 'bwrap', 'ssh-keygen', 'gpg', 'gh', 'node', 'mknod'];
const JOB =
  '---\ntarget_files: [a.js]\napproval: auto\ncommit: Change a\ntest: tool\n---\n# Grow\n\nTwo.\n';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const program = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
};

/** A repository that signs its commits. Its environment is ignored by git, as usual. */
async function activated(): Promise<Scene> {
  const s = await scene({ 'a.js': 'one\n', '.gitignore': '.venv\n' }, [
    { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'two\n' }) },
  ]);
  const key = join(s.repo, '.git', 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', key]);
  writeFileSync(`${key}.signers`, `test@example.org ${readFileSync(`${key}.pub`, 'utf8')}`);
  for (const [name, value] of Object.entries({
    'commit.gpgsign': 'true',
    'gpg.format': 'ssh',
    'user.signingkey': key,
    'gpg.ssh.allowedSignersFile': `${key}.signers`,
  }))
    s.git('config', name, value);
  mkdirSync(join(s.repo, '../marks'));
  for (const name of NAMES)
    program(
      join(s.repo, '.venv/bin', name),
      `touch "${join(s.repo, '../marks', name)}"; PATH="\${PATH#*:}" exec ${name} "$@"`,
    );
  program(join(s.repo, '.venv/bin/tool'), 'exit 0');
  return s;
}
const marks = (s: Scene): string[] => readdirSync(join(s.repo, '../marks'));
const bubblewrap = process.env.EMEND_BWRAP;

describeIf(bubblewrap !== undefined, 'there is no sandbox here')('with an activated .venv', () => {
  test('B1: the worker uses git, ssh-keygen and bwrap from elsewhere, and the tests find their tool in it', async () => {
    const s = (open = await activated());
    const system = `${dirname(bubblewrap ?? '')}:${process.env.PATH ?? ''}`;
    await s.worker(undefined, {
      EMEND_BWRAP: '',
      PATH: `${join(s.repo, '.venv/bin')}:${system}`,
      VIRTUAL_ENV: join(s.repo, '.venv'),
    });
    const run = await s.start('job.md', JOB);
    expect((await s.settle(run)).status.decision).toBeNull();
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(s.git('log', '-1', '--format=%G? %s')).toBe('G Change a\n');
    expect(marks(s)).toEqual([]);
  });

  test('B1: without another git the run is refused, with what is not used and why', async () => {
    const s = (open = await activated());
    await s.worker(undefined, { PATH: join(s.repo, '.venv/bin') });
    const run = await s.start('job.md', JOB);
    const { status } = await s.settle(run);
    expect(JSON.stringify(status)).toContain(
      `${join(s.repo, '.venv/bin/git')} is not used: it is inside the workspace ${s.repo}.`,
    );
    expect(s.read('a.js')).toBe('one\n');
    expect(marks(s)).toEqual([]);
  });
});
