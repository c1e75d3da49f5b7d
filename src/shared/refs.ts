import { BOUNDS } from './limits.js';

/** A blob in the blob store, named by the sha-256 of its bytes: `sha256:<64 hex digits>`. */
export type BlobRef = `sha256:${string}`;

export const isBlobRef = (value: unknown): value is BlobRef =>
  typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value);

/** 128 random bits made by the client, 32 hex digits; names a step through retries, resets and continue-as-new. */
export type StepKey = string;

export const isStepKey = (value: unknown): value is StepKey =>
  typeof value === 'string' && /^[0-9a-z-]{8,80}$/.test(value);

/** A run as people see and type it: the first 8 digits of its stepKey. */
export const shownKey = (stepKey: StepKey): string => stepKey.slice(0, BOUNDS.shownKey_chars);
