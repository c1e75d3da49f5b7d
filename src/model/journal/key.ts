/** ◆ A slot's name: sha-256 of the canonical JSON (sorted keys, no white space) of exactly the fields of SlotKeyParts. */
import { createHash } from 'node:crypto';
import { canonicalJson, sha256 } from '../../system/hash.js';
import type { SlotKeyParts } from '../ports.js';

/** Exactly the agreed fields: what a caller's object carries beside them never enters the key. */
export const keyParts = (parts: SlotKeyParts): SlotKeyParts => ({
  stepKey: parts.stepKey,
  role: parts.role,
  file: parts.file,
  region: parts.region,
  draw: parts.draw,
  bases: [...parts.bases],
  format: parts.format,
  model: parts.model,
  outputBudget_tokens: parts.outputBudget_tokens,
  instructions: parts.instructions,
  notes: parts.notes,
  refusal: parts.refusal,
});

/** 64 hex digits. */
export const slotKey = (parts: SlotKeyParts): string => sha256(canonicalJson(keyParts(parts)));

// ◆ The nonce of a request's completeness marker: the first 80 bits, as 20 lower-case hex digits, of the sha-256 over these bytes:
//     "emend-nonce" 0x00 <slot key, 64 lower-case hex digits> 0x00 <n in decimal, no leading zeros>
// (all ASCII). n counts from 0 and is the first whose nonce stands nowhere in the request, so that nothing quoted from a file can
// pass for the marker. Never change this: a slot's retry makes the same nonce in another process and another version.

export const nonceFor = (slotKey: string, haystack: string): string => {
  for (let n = 0; ; n++) {
    const nonce = nonceNumber(slotKey, n);
    if (!haystack.includes(nonce)) return nonce;
  }
};

const nonceNumber = (slotKey: string, n: number): string =>
  createHash('sha256').update(`emend-nonce\0${slotKey}\0${n}`, 'ascii').digest('hex').slice(0, 20);
