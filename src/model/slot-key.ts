/** ◆ A slot's name: sha-256 of the canonical JSON (sorted keys, no white space) of exactly the fields of SlotKeyParts. */
import { canonicalJson, sha256 } from '../workspace/hash.js';
import type { SlotKeyParts } from './types.js';

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
