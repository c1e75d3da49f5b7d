/** `commit.gpgsign` with an SSH key, through whole runs: each commit verifies; a key that is gone is a decision, and `retry` goes on. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { longOnly } from '../support/skipped.js';
import { answerFor, planText, startDemo, TWO_WAVES } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** Tells git in the scene's repository to sign, and gives the path of the key. */
const signing = (s: Scene): string => {
  const key = join(s.repo, '.git', 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', key]);
  writeFileSync(`${key}.signers`, `test@example.org ${readFileSync(`${key}.pub`, 'utf8')}`);
  s.git('config', 'commit.gpgsign', 'true');
  s.git('config', 'gpg.format', 'ssh');
  s.git('config', 'user.signingkey', key);
  s.git('config', 'gpg.ssh.allowedSignersFile', `${key}.signers`);
  return key;
};
/** Of each commit since the base: its subject, and git's word on its signature (G: good). */
const signed = (s: Scene): string[] =>
  s.git('log', '--reverse', '--format=%G? %s', 'HEAD', '--not', 'base').trim().split('\n');

test('a job: the key is not there, so a person is asked and told what to type; with the key `retry` commits, signed', async () => {
  const s = (open = await scene({ 'a.js': 'one\n' }, [
    { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'two\n' }) },
  ]));
  const key = signing(s);
  s.git('tag', 'base');
  renameSync(key, `${key}.away`);
  renameSync(`${key}.pub`, `${key}.pub.away`);
  await s.worker();
  const head = '---\ntarget_files: [a.js]\napproval: auto\ncommit: Change a\n---\n# Grow\n\nTwo.\n';
  const run = await s.start('job.md', head);
  const { decision } = (await s.settle(run)).status;
  expect(decision).toMatchObject({
    reason: 'engine_failed',
    accepts: expect.arrayContaining(['retry', 'abort']),
  });
  expect(decision!.message).toMatch(
    /^Git could not sign the commit, so no commit was made\. Load the key .*ssh-add.*Then answer retry\./,
  );
  expect([s.read('a.js'), s.git('rev-parse', 'HEAD')]).toEqual([
    'two\n',
    s.git('rev-parse', 'base'),
  ]);
  for (const each of [key, `${key}.pub`]) renameSync(`${each}.away`, each);
  await s.answer(run, 'retry');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  expect(signed(s)).toEqual(['G Change a']);
  expect(s.rehearsal.requests()).toHaveLength(1);
});

longOnly('a minute; each kind of commit by itself is in test/workspace/git/signing.test.ts')(
  'a plan: phases, merges and marks are signed; a mark that cannot be is asked about and made by `retry`',
  async () => {
    const s = (open = await scene(
      // The hook moves the key, which lies in the git directory: a sandbox would not let it.
      { 'plans/010_demo.md': planText(TWO_WAVES), 'emend.yaml': 'sandbox: off\ntest: false\n' },
      TWO_WAVES.map((phase) => answerFor(phase)),
    ));
    const key = signing(s);
    s.git('tag', 'base');
    const hook = join(s.repo, '.git', 'hooks', 'commit-msg');
    const once = `[ -e "${key}.used" ] || { touch "${key}.used"; mv "${key}" "${key}.away"; mv "${key}.pub" "${key}.pub.away"; }`;
    writeFileSync(hook, `#!/bin/sh\nif grep -q '^Mark Phase' "$1"; then ${once}; fi\n`);
    chmodSync(hook, 0o755);
    await s.worker();
    const run = await startDemo(s, { approval: 'auto' });
    const { decision } = (await s.settle(run, 200)).status;
    expect(decision).toMatchObject({
      reason: 'engine_failed',
      accepts: expect.arrayContaining(['retry']),
    });
    expect(decision!.message).toMatch(
      /the plan could not be marked: Git could not sign the commit.*ssh-add/,
    );
    expect(existsSync(key)).toBe(false);
    // The mark of Phase 1 is written and waits for that commit.
    expect(s.git('status', '--porcelain')).toContain(' M plans/010_demo.md');
    for (const each of [key, `${key}.pub`]) renameSync(`${each}.away`, each);
    await s.answer(run, 'retry');
    expect(await s.end(run, 200)).toMatchObject({ outcome: 'completed' });
    const kinds = signed(s);
    expect(kinds.filter((line) => !line.startsWith('G '))).toEqual([]);
    for (const kind of [
      /^G Phase 1: One/,
      /^G Phase 2: Two/,
      /^G Merge Phase 1/,
      /^G Merge Phase 2/,
      /^G Mark Phase 2/,
      /^G Mark Phase 3/,
    ])
      expect(kinds.filter((line) => kind.test(line))).toHaveLength(1);
  },
  300_000,
);
