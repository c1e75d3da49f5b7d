/** The key of a run: the name under which the stores keep everything that belongs to it. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { StepKey } from './ids.js';

const KEY_HEX_DIGITS = 32; // bound: Length of the key of a run.

/** What Temporal knows of a run from its first workflow task on. */
export interface RunOrigin {
  readonly namespace: string;
  readonly workflowId: string;
  /** Run id of the first execution. A reset, a retry of the workflow and continue-as-new keep it. */
  readonly firstRunId: string;
  /** Run id of this execution before any reset, if the workflow has a cron schedule; null otherwise. The runs of one schedule share their first run id. */
  readonly cronRunId: string | null;
}

/**
 * Returns the first 128 bits of SHA-256 over the origin, as 32 hex digits. The same input that is started twice has two keys, so that no
 * run reports the work of another one.
 */
export const runKey = ({ namespace, workflowId, firstRunId, cronRunId }: RunOrigin): StepKey =>
  bytesToHex(
    sha256(utf8ToBytes(JSON.stringify([namespace, workflowId, firstRunId, cronRunId]))),
  ).slice(0, KEY_HEX_DIGITS);
