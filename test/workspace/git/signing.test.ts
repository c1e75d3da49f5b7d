/** Commits are signed as git is configured, by real keys; a key that cannot be used stops the commit, and loses nothing. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createApplyEngine } from '../../../src/workspace/apply/engine.js';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import { mergeInto } from '../../../src/workspace/landing/merge.js';
import type { CommitRequest } from '../../../src/workspace/ports.js';
import { sampled } from '../../support/seeded.js';
import { longOnly, testIf } from '../../support/skipped.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor } from '../git-fixture.js';

isolateGit();

const LIMIT_MS = 60_000;
const has = (tool: string): boolean => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;
const ssh = testIf(has('ssh-keygen') && has('ssh-agent'), 'no OpenSSH');
const sshLong =
  ssh === test
    ? longOnly('an agent that is gone, and comes, shows an agent and a key that cannot be used')
    : ssh;
const gpg = testIf(has('gpg'), 'no gpg');
const gpgsm = testIf(has('gpgsm'), 'no gpgsm');

let dir: string;
let repo: Repo;
let blobs: Blobs;
const at = (...names: readonly string[]): string => join(dir, ...names);
const own = { ...process.env };
const restore = (): void => {
  for (const name of ['SSH_AUTH_SOCK', 'GNUPGHOME', 'GIT_CONFIG_GLOBAL'])
    Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, own);
};

beforeAll(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend-sign-')));
  // Short, as the names of its sockets are bounded.
  fs.mkdirSync(at('g'), { mode: 0o700 });
});
afterAll(() => {
  for (const home of ['g', 'x'])
    if (fs.existsSync(at(home)))
      spawnSync('gpgconf', ['--kill', 'all'], { env: { ...own, GNUPGHOME: at(home) } });
  fs.rmSync(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  repo = await Repo.make();
  blobs = new Blobs();
  await repo.write('f', '1\n');
  await repo.commitAll();
  Reflect.deleteProperty(process.env, 'SSH_AUTH_SOCK');
});
afterEach(async () => {
  restore();
  await repo.remove();
});

const config = async (settings: Readonly<Record<string, string>>): Promise<void> => {
  for (const [name, value] of Object.entries(settings)) await repo.git('config', name, value);
};
const commit = async (more: Partial<CommitRequest> = {}) => {
  await repo.write('f', '2\n');
  const request = await requestFor(repo, [blobs.file('f', '1\n', '2\n')], { sign: null, ...more });
  return createCommitter({ ...hookPorts(), blobs })(request);
};
/** Does git take the signature of HEAD for a good one? */
const verified = async (): Promise<boolean> =>
  repo.git('verify-commit', 'HEAD').then(
    () => true,
    () => false,
  );
const isSigned = async (): Promise<boolean> =>
  (await repo.git('cat-file', 'commit', 'HEAD')).includes('\ngpgsig');

/** An SSH key, and git told to sign with it. */
const sshKey = async (name: string, passphrase = ''): Promise<string> => {
  const key = at(name);
  if (!fs.existsSync(key))
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', 'ada', '-f', key]);
  fs.writeFileSync(at('signers'), `ada@example.org ${fs.readFileSync(`${key}.pub`, 'utf8')}`);
  await config({ 'gpg.ssh.allowedSignersFile': at('signers') });
  return key;
};
const SIGN = { 'commit.gpgsign': 'true', 'gpg.format': 'ssh' };

/** An agent of our own with the key in it. */
const withAgent = async (key: string, act: () => Promise<void>, passphrase = ''): Promise<void> => {
  const socket = at('agent');
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  try {
    while (!fs.existsSync(socket)) await new Promise((go) => setTimeout(go, 10));
    process.env.SSH_AUTH_SOCK = socket;
    fs.writeFileSync(at('ask'), `#!/bin/sh\necho ${passphrase}\n`, { mode: 0o700 });
    const asking = { SSH_ASKPASS: at('ask'), SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':0' };
    execFileSync('ssh-add', ['-q', key], { env: { ...process.env, ...asking }, stdio: 'ignore' });
    await act();
  } finally {
    agent.kill();
    await new Promise((resolve) => agent.once('exit', resolve));
    fs.rmSync(socket, { force: true });
  }
};

describe('signed', () => {
  ssh(
    'by a key file, where git is told so in any of the ways that it knows',
    async () => {
      const key = await sshKey('key');
      const ways: readonly (() => Promise<unknown>)[] = [
        () => config({ ...SIGN, 'user.signingkey': key }),
        () => config({ ...SIGN, 'commit.gpgsign': 'yes', 'user.signingkey': `${key}.pub` }),
        // A name without a value is true, and the last of several counts.
        async () => {
          fs.appendFileSync(
            join(repo.dir, '.git', 'config'),
            '[commit]\n\tgpgsign = false\n[commit]\n\tgpgsign\n',
          );
          await config({ 'gpg.format': 'ssh', 'user.signingkey': key });
        },
        async () => {
          fs.writeFileSync(
            at('work'),
            `[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = ${key}\n`,
          );
          fs.writeFileSync(
            at('global'),
            `[includeIf "gitdir:${repo.dir}/"]\n\tpath = ${at('work')}\n`,
          );
          process.env.GIT_CONFIG_GLOBAL = at('global');
        },
        async () => {
          fs.writeFileSync(
            at('program'),
            `#!/bin/sh\ntouch ${at('called')}\nexec ssh-keygen "$@"\n`,
            { mode: 0o755 },
          );
          await config({ ...SIGN, 'user.signingkey': key, 'gpg.ssh.program': at('program') });
        },
      ];
      for (const way of sampled('ways to sign by a key file', ways, 1, [ways.at(-1)!])) {
        await way();
        expect(await commit()).toMatchObject({ outcome: 'committed' });
        expect(await verified()).toBe(true);
        expect(await repo.status()).toBe('');
        await repo.remove();
        repo = await Repo.make();
        await repo.write('f', '1\n');
        await repo.commitAll();
        await sshKey('key');
      }
      expect(fs.existsSync(at('called'))).toBe(true);
    },
    LIMIT_MS,
  );

  sshLong('by an agent, with a public key in words', async () => {
    const key = await sshKey('key');
    await config({
      ...SIGN,
      'user.signingkey': `key::${fs.readFileSync(`${key}.pub`, 'utf8').trim()}`,
    });
    await withAgent(key, async () => {
      expect(await commit()).toMatchObject({ outcome: 'committed' });
      expect(await verified()).toBe(true);
    });
  });

  gpg(
    'by gpg',
    async () => {
      process.env.GNUPGHOME = at('g');
      const made = [
        '--batch',
        '--passphrase',
        '',
        '--quick-generate-key',
        'Ada Person <ada@example.org>',
        'ed25519',
        'sign',
      ];
      execFileSync('gpg', [...made, 'never'], { stdio: 'ignore', env: process.env });
      await config({ 'commit.gpgsign': 'true' });
      expect(await commit()).toMatchObject({ outcome: 'committed' });
      expect(await verified()).toBe(true);
    },
    LIMIT_MS,
  );

  gpgsm(
    'by gpgsm',
    async () => {
      process.env.GNUPGHOME = at('x');
      fs.mkdirSync(at('x'), { mode: 0o700 });
      const parameters =
        'Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign, cert\nSerial: random\nName-DN: CN=Ada\n';
      fs.writeFileSync(
        at('x', 'wanted'),
        `${parameters}Name-Email: ada@example.org\nNot-After: 2090-01-01\n`,
      );
      fs.writeFileSync(at('x', 'gpg-agent.conf'), 'allow-loopback-pinentry\n');
      fs.writeFileSync(at('x', 'gpgsm.conf'), 'disable-crl-checks\n');
      const sm = (...args: readonly string[]): string =>
        execFileSync('gpgsm', ['--batch', ...args], {
          encoding: 'utf8',
          env: process.env,
          stdio: ['ignore', 'pipe', 'ignore'],
        });
      const make = [
        '--pinentry-mode',
        'loopback',
        '--passphrase-fd',
        '0',
        '-o',
        at('x', 'cert'),
        '--generate-key',
      ];
      sm(...make, at('x', 'wanted'));
      sm('--import', at('x', 'cert'));
      const print = /^fpr:+(\w+):/m.exec(sm('--with-colons', '--list-secret-keys'))![1]!;
      fs.writeFileSync(at('x', 'trustlist.txt'), `${print} S relax\n`);
      execFileSync('gpgconf', ['--kill', 'gpg-agent'], { env: process.env });
      await config({ 'commit.gpgsign': 'true', 'gpg.format': 'x509', 'user.signingkey': print });
      expect(await commit()).toMatchObject({ outcome: 'committed' });
      expect(await verified()).toBe(true);
    },
    LIMIT_MS,
  );

  ssh(
    '`sign` of emend.yaml beats git either way; without both a commit is not signed',
    async () => {
      const key = await sshKey('key');
      expect(await commit()).toMatchObject({ outcome: 'committed' });
      expect(await isSigned()).toBe(false);
      await repo.git('reset', '-q', '--hard', 'HEAD^');
      await config({ 'gpg.format': 'ssh', 'user.signingkey': key });
      expect(await commit({ sign: true })).toMatchObject({ outcome: 'committed' });
      expect(await verified()).toBe(true);
      await repo.git('reset', '-q', '--hard', 'HEAD^');
      await config({ 'commit.gpgsign': 'true' });
      expect(await commit({ sign: false })).toMatchObject({ outcome: 'committed' });
      expect(await isSigned()).toBe(false);
    },
  );
});

describe('a key that cannot be used', () => {
  const refusal = async (says: readonly RegExp[]): Promise<void> => {
    const before = await repo.line('rev-parse', 'HEAD');
    const outcome = await commit();
    expect(outcome).toMatchObject({ outcome: 'failed', problem: { code: 'sign_failed' } });
    for (const each of says)
      expect(outcome).toMatchObject({ problem: { message: expect.stringMatching(each) } });
    expect(await repo.line('rev-parse', 'HEAD')).toBe(before);
    expect(await repo.read('f')).toBe('2\n');
  };

  ssh('its agent is gone: what to type; once it is there the same request commits', async () => {
    const key = await sshKey('key');
    await config({
      ...SIGN,
      'user.signingkey': `key::${fs.readFileSync(`${key}.pub`, 'utf8').trim()}`,
    });
    await refusal([
      /ssh-add` into the agent .*SSH_AUTH_SOCK, which is not set here/,
      /answer retry/,
      /gpgsign false/,
    ]);
    process.env.SSH_AUTH_SOCK = at('nobody');
    await refusal([
      /gpg\.format ssh, user\.signingkey key::ssh-ed25519/,
      /Git says: .*No private key/s,
    ]);
    await withAgent(key, async () => {
      expect(await commit()).toMatchObject({ outcome: 'committed' });
      expect(await verified()).toBe(true);
    });
  });

  sshLong('it has a passphrase, and nobody is there to type it', async () => {
    const key = await sshKey('locked', 'open sesame');
    await config({ ...SIGN, 'user.signingkey': key });
    await refusal([/ssh-add/, /Git says: .*(passphrase|Load key)/s]);
    await withAgent(
      key,
      async () => {
        expect(await commit()).toMatchObject({ outcome: 'committed' });
        expect(await verified()).toBe(true);
      },
      'open sesame',
    );
  });

  gpg('gpg has none', async () => {
    process.env.GNUPGHOME = at('g');
    await config({ 'commit.gpgsign': 'true', 'user.signingkey': 'nobody@example.org' });
    await refusal([/gpg --sign --local-user 'nobody@example\.org'/, /Git says: .*failed to sign/s]);
    await config({ 'commit.gpgsign': 'false' });
    expect(await commit()).toMatchObject({ outcome: 'committed' });
  });

  test("a value that is neither true nor false is git's failure, not a commit without a signature", async () => {
    await config({ 'commit.gpgsign': 'perhaps' });
    expect(await commit()).toMatchObject({
      outcome: 'failed',
      problem: { code: 'git_failed', message: expect.stringContaining('perhaps') },
    });
  });
});

describe('a merge', () => {
  ssh(
    'is signed; one that cannot be puts the files back and ends its hold, and the next try lands',
    async () => {
      const key = await sshKey('key');
      const home = at('home');
      const engine = createApplyEngine({ home, blobs });
      await repo.git('checkout', '-q', '-b', 'phase');
      await repo.write('g', 'theirs\n');
      const theirs = await repo.commitAll('on phase');
      await repo.git('checkout', '-q', 'main');
      const merge = (n: number) =>
        mergeInto(
          { engine, blobs },
          {
            stepKey: `${n}`.repeat(32),
            workspace: repo.dir,
            theirs,
            message: 'Merge',
            sign: null,
            holder: { workflowId: 'emend-plan-x', namespace: 'default' },
          },
          () => undefined,
        );
      await config({ ...SIGN, 'user.signingkey': at('none') });
      expect(await merge(1)).toMatchObject({ outcome: 'failed', problem: { code: 'sign_failed' } });
      expect(await repo.status()).toBe('');
      expect(await engine.readLock(repo.dir)).toBeNull();
      await config({ 'user.signingkey': key });
      expect(await merge(2)).toMatchObject({ outcome: 'merged' });
      expect(await verified()).toBe(true);
      expect(await repo.status()).toBe('');
    },
  );
});
