/** OpenSSH signatures, as `ssh-keygen -Y` makes and checks them: by the agent, or by a key file without a passphrase. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import type { ProcessOutput } from './capture.js';
import { captureOwn } from './own-program.js';
import { withScratch } from './scratch.js';
import { timeFor } from './turns.js';

export const KEYGEN_MS = 60_000; // bound: One call of ssh-keygen: a key on a token waits for a touch.
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
const whyNot = ({ stderr, failure }: ProcessOutput): string =>
  [
    failure?.replace(/[.]$/, '') ?? '',
    stderr.toString('utf8').slice(-500).trim().replace(/[.]$/, ''),
  ]
    .filter((part) => part !== '')
    .join('; ');

/** `key`: the path of a key, or a public key in words (`ssh-ed25519 AAAA…`, `key::…`) that the agent holds. Throws ProblemError `usage`. */
export const signText = (text: string, key: string, namespace: string): Promise<string> =>
  withScratch('sign', async (dir) => {
    const literal = key.startsWith('key::')
      ? key.slice(5)
      : /^(ssh|ecdsa|sk)-\S+ /.test(key)
        ? key
        : null;
    const file = literal === null ? key : join(dir, 'key.pub');
    if (literal !== null) await writeFile(file, `${literal}\n`);
    const byAgent = literal === null ? [] : ['-U'];
    const made = await keygen(['-Y', 'sign', '-n', namespace, '-f', file, ...byAgent], text, dir);
    if (made.code === 0) return made.stdout.toString('utf8');
    return fail(
      'usage',
      `The decision could not be signed with ${key}: ${whyNot(made)}.`,
      'Load the key into the agent (`ssh-add`), or set another: git config user.signingkey PATH.',
    );
  });

/** `signers`: an OpenSSH `allowed_signers` file. Who of it signed `text`, now allowed to, in this namespace. */
export const verifyText = (
  text: string,
  signature: string,
  signers: string,
  namespace: string,
): Promise<Verified> =>
  withScratch('sign', async (dir) => {
    const [allowed, signed] = [join(dir, 'allowed_signers'), join(dir, 'signature')];
    await writeFile(allowed, signers);
    await writeFile(signed, signature);
    const found = await keygen(['-Y', 'find-principals', '-s', signed, '-f', allowed], '', dir);
    const signer = found.stdout.toString('utf8').split('\n')[0] ?? '';
    if (found.code !== 0 || signer === '')
      return { why: `its key does not belong to an approver: ${whyNot(found)}` };
    const said = ['-Y', 'verify', '-f', allowed, '-I', signer, '-n', namespace, '-s', signed];
    const checked = await keygen(said, text, dir);
    return checked.code === 0
      ? { signer }
      : { why: `it is not ${signer}'s for this answer: ${whyNot(checked)}` };
  });
