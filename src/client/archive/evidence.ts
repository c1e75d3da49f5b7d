/** Writes the evidence of a run: an envelope with its statement. The signature says who vouches for it. docs/how-to/evidence.md. */
import { rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { StepKey } from '../../shared/ids.js';
import { parseConfig } from '../../documents/job/index.js';
import { createArchive } from '../../stores/index.js';
import { isBucket, storePaths } from '../../stores/location.js';
import { readSettings } from '../../system/given-file.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { signText } from '../../system/ssh-signature.js';
import { version } from '../../system/version.js';
import type { Emend } from '../types.js';
import {
  PAYLOAD_TYPE,
  SIGNATURE_NAMESPACE,
  signedTextOf,
  toBase64,
  type Envelope,
} from './evidence-envelope.js';
import { EVIDENCE_FILE, INPUTS_FILE, statementOf } from './evidence-statement.js';

const OWNER_ONLY = { mode: 0o600 } as const;

/** Returns the models of the run's calls, and the hashes of requests and responses. The rest of the archive does not have them. */
const inputsOf = async ({ calls }: Pick<Emend, 'calls'>, run: StepKey): Promise<object> => {
  const names = (await calls.names(run)).toSorted();
  const inputs = names.map(async (call) => {
    const [request, response] = await Promise.all([
      calls.get(`${run}/${call}/call`),
      calls.get(`${run}/${call}/answer`),
    ]);
    const { request: sent } = (request ?? {}) as { readonly request?: { readonly model?: string } };
    return {
      call,
      model: sent?.model ?? null,
      request: digestOf(request),
      answer: digestOf(response),
    };
  });
  return { v: 1, emend: version(), calls: await Promise.all(inputs) };
};

const digestOf = (record: object | null | undefined): string | null =>
  record == null ? null : sha256(canonicalJson(record));

/** Returns `evidenceKey` of the workspace's emend.yaml. Null: it is not set. */
export const evidenceKey = async (workspace: string): Promise<string | null> => {
  const config = parseConfig(await readSettings(join(workspace, 'emend.yaml')).catch(() => null));
  return config.ok ? (config.value.evidenceKey?.replace(/^~(?=\/)/, homedir()) ?? null) : null;
};

/** Copies the archive of a run out of the bucket into `archives`, a directory below the home. */
const copyArchive = async (
  { archive }: Pick<Emend, 'archive'>,
  run: StepKey,
  archives: string,
): Promise<void> => {
  await rm(join(archives, run), { recursive: true, force: true });
  const entries = await archive.read(run);
  await createArchive({ dir: archives, isFollowed: false }).append(
    run,
    entries.filter(({ kind }) => kind !== 'newer'),
  );
};

/**
 * Writes the evidence into the archive of the run and returns its path. If the store is a bucket, the evidence is in a copy of the archive
 * below the home. `key`: the key of whoever vouches, as in git's `user.signingkey`; null: the evidence is unsigned.
 */
export const writeEvidence = async (
  { home, store, archive, calls }: Pick<Emend, 'home' | 'store' | 'archive' | 'calls'>,
  run: StepKey,
  repository: string,
  key: string | null,
): Promise<string> => {
  const archives = storePaths(isBucket(store) ? join(home, 'evidence') : store).archive;
  const dir = join(archives, run);
  if (isBucket(store)) await copyArchive({ archive }, run, archives);
  const inputs = canonicalJson(await inputsOf({ calls }, run));
  await writeFile(join(dir, INPUTS_FILE), `${inputs}\n`, OWNER_ONLY);
  const body = canonicalJson(await statementOf(dir, repository));
  const text = signedTextOf(PAYLOAD_TYPE, body);
  const signature = key === null ? null : await signText(text, key, SIGNATURE_NAMESPACE);
  const envelope: Envelope = {
    payloadType: PAYLOAD_TYPE,
    payload: toBase64(body),
    signatures: signature === null ? [] : [{ sig: toBase64(signature) }],
  };
  const path = join(dir, EVIDENCE_FILE);
  await writeFile(path, `${JSON.stringify(envelope)}\n`, OWNER_ONLY);
  return path;
};
