/** Makes and checks OpenSSH signatures with `ssh-keygen -Y`, by the agent or by a key file without a passphrase. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import type { ProcessOutput } from './capture.js';
import { captureOwn } from './own-program.js';
import { withScratch } from './scratch.js';
import { timeFor } from './time-limit.js';

export const KEYGEN_MS = 60_000; // bound: Time of one call of ssh-keygen: a key on a token waits for a touch.
const KEYGEN_OUTPUT_BYTES = 64 * 1024; // bound: A signature has at most some kilobytes.

export type Verified = { readonly signer: string } | { readonly why: string };

const keygen = (args: readonly string[], input: string, dir: string): Promise<ProcessOutput> =>
  captureOwn('ssh-keygen', args, {
    cwd: dir,
    input,
    timeout_ms: timeFor(KEYGEN_MS),
    max_bytes: KEYGEN_OUTPUT_BYTES,
    env: process.env,
    kinds: ['remote'],
    more: { LC_ALL: 'C' },
  });
/** Returns why a call failed, as clauses. */
const failureOf = ({ stderr, failure }: ProcessOutput): string =>
  [
    failure?.replace(/[.]$/, '') ?? '',
    stderr.toString('utf8').slice(-500).trim().replace(/[.]$/, ''),
  ]
    .filter((part) => part !== '')
    .join('; ');

/** Returns the public key that `key` has as text; null: `key` is the path of a file. */
const literalKey = (key: string): string | null => {
  if (key.startsWith('key::')) return key.slice(5);
  return /^(ssh|ecdsa|sk)-\S+ /.test(key) ? key : null;
};

/**
 * Returns the signature of a text. `key` is the path of a key, or a public key as text (`ssh-ed25519 AAAA…`, `key::…`) whose private key the
 * agent has. Throws ProblemError `usage`.
 */
export const signText = (text: string, key: string, namespace: string): Promise<string> =>
  withScratch('sign', async (dir) => {
    const literal = literalKey(key);
    const file = literal === null ? key : join(dir, 'key.pub');
    if (literal !== null) await writeFile(file, `${literal}\n`);
    const byAgent = literal === null ? [] : ['-U'];
    const signing = await keygen(
      ['-Y', 'sign', '-n', namespace, '-f', file, ...byAgent],
      text,
      dir,
    );
    if (signing.code === 0) return signing.stdout.toString('utf8');
    return fail(
      'usage',
      `The decision could not be signed with ${key}: ${failureOf(signing)}.`,
      'Load the key into the agent (`ssh-add`), or set another: git config user.signingkey PATH.',
    );
  });

/**
 * Returns who signed `text` in this namespace, if that signer is allowed to now. `signers` is the text of an OpenSSH `allowed_signers` file.
 * `why` is a clause that completes "the signature does not count: …".
 */
export const verifyText = (
  text: string,
  signature: string,
  signers: string,
  namespace: string,
): Promise<Verified> =>
  withScratch('sign', async (dir) => {
    const allowed = join(dir, 'allowed_signers');
    const signed = join(dir, 'signature');
    await writeFile(allowed, signers);
    await writeFile(signed, signature);
    const found = await keygen(['-Y', 'find-principals', '-s', signed, '-f', allowed], '', dir);
    const signer = found.stdout.toString('utf8').split('\n')[0] ?? '';
    if (found.code !== 0 || signer === '')
      return { why: `its key does not belong to an approver: ${failureOf(found)}` };
    const verification = [
      '-Y',
      'verify',
      '-f',
      allowed,
      '-I',
      signer,
      '-n',
      namespace,
      '-s',
      signed,
    ];
    const checked = await keygen(verification, text, dir);
    return checked.code === 0
      ? { signer }
      : { why: `it is not ${signer}'s for this answer: ${failureOf(checked)}` };
  });
