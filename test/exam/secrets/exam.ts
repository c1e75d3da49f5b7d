/** What a request shows of secrets, and which files without any are touched: through the functions that build and mask every request. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createEditRunner } from '../../../src/activities/frame/edit-worker.js';
import { maskRequest } from '../../../src/activities/frame/secrets.js';
import { buildEditRequest, NOTHING_ELSE } from '../../../src/model/prompts/index.js';
import type { ModelRequest } from '../../../src/model/ports.js';
import { decodeFile } from '../../../src/edits/index.js';
import { FORMATS, type Format } from '../../../src/shared/formats.js';
import type { BlobRef } from '../../../src/shared/ids.js';
import { sha256 } from '../../../src/system/hash.js';
import { randomFrom } from '../../support/seeded.js';
import { drawn, type Drawn, type Random } from './formats.js';
import { KINDS } from './kinds.js';

/** What has to be hidden at least, and of files without secrets may be touched at most; of what is hidden nothing is left in part. */
export const LEAST_HIDDEN = 0.95;
export const MOST_TOUCHED = 0.005;
const SEEN_CHARS = 6; // bound: As many characters of a secret in a row count as seen.
const PACKAGE_FILE_BYTES = 1024 * 1024; // bound: Larger files of packages are left out.
/** Its digits are drawn anew by each run: once in 2,000 runs of the test six of them stand in a secret, too. */
const PLACEHOLDER = /EMEND_SECRET_[a-f\d]{8}_/g;
const TEXT = /\.(?:[cm]?[jt]sx?|json|md|ya?ml|css|html|sh|py|txt|toml)$/;

/** What activities work with, as far as masking needs it. */
export const ports = () => {
  const stored = new Map<string, Uint8Array>();
  const records = new Map<string, object>();
  return {
    edits: createEditRunner(),
    blobs: {
      put: (bytes: Uint8Array) => {
        const ref: BlobRef = `sha256:${sha256(bytes)}`;
        stored.set(ref, bytes);
        return Promise.resolve(ref);
      },
      get: (ref: BlobRef) => Promise.resolve(stored.get(ref) ?? new Uint8Array()),
    },
    records: {
      putIfAbsent: <T extends object>(key: string, value: T) => {
        const created = !records.has(key);
        if (created) records.set(key, value);
        return Promise.resolve({ value: records.get(key) as T, created });
      },
      get: <T extends object>(key: string) =>
        Promise.resolve((records.get(key) ?? null) as T | null),
      names: () => Promise.resolve([]),
    },
  };
};
const STEP = '0'.repeat(32);

/** The request for an edit of this file, as it is before it is masked and as it is sent. */
async function requestFor(path: string, text: string, format: Format) {
  const own = ports();
  const bytes = Buffer.from(text);
  const decoded = decodeFile(bytes);
  const built = buildEditRequest({
    ...NOTHING_ELSE,
    model: 'exam',
    format,
    outputBudget_tokens: 4000,
    inputBudget_tokens: 1_000_000,
    files: [{ path, text: decoded.ok ? decoded.text : null }],
    instructions: 'Let the server listen on port 9090.',
  });
  const open = built.request('0123456789abcdef0123');
  const shown = { targets: [{ path, base: { ref: await own.blobs.put(bytes) }, encoding: null }] };
  const call = { stepKey: STEP, callKey: sha256(path + text), shown };
  const sent = await maskRequest(
    own,
    call,
    { request: open, secrets: 'mask' },
    new AbortController().signal,
  );
  if ('paths' in sent) throw new Error(sent.message);
  return { open, sent };
}
const textOf = ({ system, messages }: ModelRequest): string =>
  [...system, ...messages.flatMap(({ content }) => content)].map(({ text }) => text).join('\n');

/** Characters of a secret that the text shows in a row, at most `SEEN_CHARS`. */
const isSeen = (secret: Drawn, text: string): boolean =>
  secret.parts.some((part) =>
    Array.from({ length: Math.max(1, part.length - SEEN_CHARS + 1) }, (_, at) =>
      part.slice(at, at + SEEN_CHARS),
    ).some((piece) => text.includes(piece)),
  );

export interface Shown {
  readonly name: string;
  readonly kind: string;
  readonly format: Format;
  /** `whole`: as it is; `part`: six characters of it or more. */
  readonly seen: 'no' | 'part' | 'whole';
}

/** Each secret in each kind of file, `rounds` times; formats take turns. */
export async function hidden(seed: number, rounds: number): Promise<readonly Shown[]> {
  const draw = randomFrom(seed);
  const random: Random = (below) => Math.floor(draw() * below);
  const all: Shown[] = [];
  for (let round = 0; round < rounds; round += 1)
    for (const secret of drawn(random))
      for (const [kind, write] of Object.entries(KINDS)) {
        const format =
          FORMATS[(all.length + Math.floor(all.length / 8)) % FORMATS.length] ?? 'whole-file';
        const { open, sent } = await requestFor(kind, write([[secret.name, secret.text]]), format);
        if (!isSeen(secret, textOf(open)))
          throw new Error(`${secret.name} is not in the request for ${kind}`);
        const text = textOf(sent).replace(PLACEHOLDER, '');
        const isWhole = secret.parts.every((part) => text.includes(part));
        all.push({
          name: secret.name,
          kind,
          format,
          seen: isWhole ? 'whole' : isSeen(secret, text) ? 'part' : 'no',
        });
      }
  return all;
}

export interface Untouched {
  readonly files: number;
  readonly bytes: number;
  readonly ms: number;
  readonly touched: readonly string[];
}

/** Files of packages, spread over all of them: which would be shown otherwise than they are. */
export async function untouched(dir: string, count: number): Promise<Untouched> {
  // Rules and their tests hold what they look for.
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => TEXT.test(name) && !name.includes('secretlint'))
    .sort();
  const files = names.flatMap((name) => {
    const facts = statSync(join(dir, name));
    return facts.isFile() && facts.size <= PACKAGE_FILE_BYTES ? [name] : [];
  });
  const step = Math.max(1, files.length / count);
  const chosen = Array.from(
    { length: Math.min(count, files.length) },
    (_, at) => files[Math.floor(at * step)] ?? '',
  );
  const edits = createEditRunner();
  const touched: string[] = [];
  let bytes = 0;
  let ms = 0;
  for (const name of chosen) {
    const text = readFileSync(join(dir, name), 'utf8');
    bytes += Buffer.byteLength(text);
    const begun = performance.now();
    const secrets = await edits.run('secrets', text, new AbortController().signal);
    ms += performance.now() - begun;
    if (secrets.length > 0) touched.push(name);
  }
  return { files: chosen.length, bytes, ms, touched };
}
