/** Makes and checks signatures with the real ssh-keygen and a real agent. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signText, verifyText } from '../../src/system/ssh-signature.js';

let dir: string;
let pub: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'emend-ssh-test-'));
  execFileSync('ssh-keygen', [
    '-q',
    '-t',
    'ed25519',
    '-N',
    '',
    '-C',
    'ada',
    '-f',
    join(dir, 'key'),
  ]);
  pub = readFileSync(join(dir, 'key.pub'), 'utf8').trim();
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

test('returns the signer, and refuses another text, another purpose, another key and an expired key', async () => {
  const signature = await signText('{"answer":"approve"}', join(dir, 'key'), 'emend-decision');
  const verify = (signers: string, text = '{"answer":"approve"}', what = 'emend-decision') =>
    verifyText(text, signature, signers, what);
  const signers = `# who may\nada ${pub}\n`;
  expect(await verify(signers)).toEqual({ signer: 'ada' });
  const none = { why: expect.any(String) };
  expect(await verify(signers, '{"answer":"skip"}')).toEqual(none);
  expect(await verify(signers, undefined, 'git')).toEqual(none);
  expect(await verify(`ada namespaces="git" ${pub}\n`)).toEqual(none);
  expect(await verify(`ada valid-before="20200101" ${pub}\n`)).toEqual(none);
  expect(await verify('')).toEqual(none);
  expect(await verifyText('x', 'no signature', signers, 'emend-decision')).toEqual(none);
  await expect(signText('x', join(dir, 'nowhere'), 'emend-decision')).rejects.toThrow(
    /could not be signed/,
  );
});

test('a key that only the agent holds signs, named by its public half in words', async () => {
  const socket = join(dir, 'agent');
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  const before = process.env.SSH_AUTH_SOCK;
  try {
    for (let tries = 0; !existsSync(socket) && tries < 100; tries += 1) await sleep(50);
    process.env.SSH_AUTH_SOCK = socket;
    execFileSync('ssh-add', ['-q', join(dir, 'key')], {
      env: { ...process.env, SSH_AUTH_SOCK: socket },
    });
    for (const key of [pub, `key::${pub}`]) {
      const signature = await signText('text', key, 'emend-decision');
      expect(await verifyText('text', signature, `ada ${pub}\n`, 'emend-decision')).toEqual({
        signer: 'ada',
      });
    }
  } finally {
    if (before === undefined) delete process.env.SSH_AUTH_SOCK;
    else process.env.SSH_AUTH_SOCK = before;
    agent.kill();
  }
});
