/** The built page, read once at the start: what is not in this list of files cannot be asked for. */
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { fail } from '../shared/problems.js';

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  /** Null: too small to gain by it. */
  readonly brotli: Buffer | null;
  /** Its name holds a hash of its content. */
  readonly immutable: boolean;
}
export type Assets = ReadonlyMap<string, Asset>;

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const WORTH_bytes = 1_024;

/** `dist/web`, from dist/src/web as from src/web. */
const builtPage = (): string =>
  fileURLToPath(new URL(import.meta.url.includes('/dist/') ? '../../web/' : '../../dist/web/', import.meta.url));

/** By path, `/` being the page itself. Throws ProblemError `internal` where it was not built. */
export const loadAssets = async (dir: string = builtPage()): Promise<Assets> => {
  const entries = await readdir(dir, { recursive: true, encoding: 'utf8' }).catch(() =>
    fail(
      'internal',
      `The review page is not at ${dir}.`,
      'In a checkout run `npm run build`; otherwise install again.',
    ),
  );
  const assets = new Map<string, Asset>();
  for (const name of entries) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = await readFile(join(dir, name));
    const at = `/${name.replaceAll('\\', '/')}`;
    const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
    const brotli = body.length < WORTH_bytes ? null : brotliCompressSync(body, { params });
    assets.set(at === '/index.html' ? '/' : at, { type, body, brotli, immutable: at.startsWith('/assets/') });
  }
  return assets;
};
