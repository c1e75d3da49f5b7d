/** Names made of bytes: blob references and the id of a proposal. */
import { createHash } from 'node:crypto';
import stringify from 'safe-stable-stringify';
import { fail } from '../shared/problems.js';
import type { BlobRef } from '../shared/ids.js';

/** sha-256 as 64 hex digits. */
export const sha256 = (data: Uint8Array | string): string =>
  createHash('sha256').update(data).digest('hex');

export const refOf = (bytes: Uint8Array): BlobRef => `sha256:${sha256(bytes)}`;

/** JSON with sorted keys and no white space: the same value gives the same bytes. */
export const canonicalJson = (value: unknown): string =>
  stringify(value) ?? fail('internal', 'a value that JSON cannot represent');
