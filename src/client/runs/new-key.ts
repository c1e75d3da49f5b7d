import { randomBytes } from 'node:crypto';
import type { StepKey } from '../../shared/ids.js';

const KEY_BYTES = 16; // bound: Length of the key of a change without a workflow.

/** Returns a random key, as 32 hex digits, for a change that is made without a workflow (`emend patch`). */
export const newStepKey = (): StepKey => randomBytes(KEY_BYTES).toString('hex');
