/**
 * ◆ A slot on disk, `<slots>/<stepKey>/<slot key>/`. Every JSON file is written once (put-if-absent) and carries `v`.
 *
 *     slot.json           key parts, the whole request, nonce, prices: made before the first call, sent by every one
 *     call-N.json         who makes call N; creating it is the right to make the call
 *     call-N.events.jsonl the call's stream as it arrived (journal/stream-log.ts); its growth is the owner's sign of life
 *     call-N.end.json     how call N ended without an answer: `failed` (surely not paid) or `unknown` (cut off once it may have been sent, or taken over)
 *     answer.json         the slot's answer, from the first call whose `message_stop` was on disk
 */
import { join } from 'node:path';
import { randomUUID, createHash } from 'node:crypto';
import { fail, checkVersion } from '../../shared/problems.js';
import { type StepKey, isStepKey } from '../../shared/ids.js';
import { onDisk, orNull, putJsonIfAbsent, readJson } from '../../system/durable.js';
import type { Sys } from '../../system/sys.js';
import type { PriceTable } from '../tokens.js';
import type { ModelAnswer, ModelRequest, CallKeyParts, Usage } from '../ports.js';
import { isAlive, ownProcess, pidNamespace, type ProcessIdentity } from '../../system/process.js';
import { canonicalJson, sha256 } from '../../system/hash.js';

export interface CallRecord {
  readonly v: 1;
  readonly at: string;
  readonly key: CallKeyParts;
  readonly request: ModelRequest;
  readonly nonce: string;
  /** As they were when the slot was made: a retry reports the same money whatever the configuration is by then. */
  readonly prices: PriceTable[string];
}
export interface AttemptRecord {
  readonly v: 1;
  readonly at: string;
  readonly owner: CallOwner;
}
/** `why` of a call whose process stood still. */
export const SLEPT = 'slept';
export interface EndRecord {
  readonly v: 1;
  readonly at: string;
  readonly state: 'failed' | 'unknown';
  /** A ModelErrorKind, `disk`, `lease_ended`, or SLEPT. */
  readonly why: string;
}
export interface AnswerRecord {
  readonly v: 1;
  readonly at: string;
  readonly call: number;
  readonly answer: ModelAnswer;
  /** Of all the slot's calls at that moment. */
  readonly usage: Usage;
}

interface Records {
  'slot.json': CallRecord;
  'answer.json': AnswerRecord;
  [call: `call-${number}.json`]: AttemptRecord;
  [end: `call-${number}.end.json`]: EndRecord;
}

/** The files of one slot. Failed system calls come out as ProblemError `disk`, records of a newer Emend as `version_unknown`. */
export class CallFiles {
  readonly dir: string;
  readonly sys: Sys;
  constructor(sys: Sys, dir: string) {
    this.sys = sys;
    this.dir = dir;
  }

  async get<N extends keyof Records>(name: N): Promise<Records[N] | null> {
    const path = join(this.dir, name);
    const value = await onDisk(`Reading the call journal at ${path}`, () => readJson(this.sys, path));
    return value === undefined ? null : (asRecord(value, path) as Records[N]);
  }

  /** What stands there durably afterwards: ours, or an earlier writer's. */
  async put<N extends keyof Records>(name: N, record: Records[N]): Promise<{ record: Records[N]; created: boolean }> {
    const path = join(this.dir, name);
    const put = await onDisk(`Writing the call journal at ${path}`, () => putJsonIfAbsent(this.sys, path, record));
    return { record: asRecord(put.value, path) as Records[N], created: put.created };
  }

  logPath(call: number): string {
    return join(this.dir, `call-${call}.events.jsonl`);
  }

  /** Numbers of the calls that were begun, rising. */
  async calls(): Promise<readonly number[]> {
    const names = await onDisk(`Reading the call journal at ${this.dir}`, () => orNull(this.sys.readdir(this.dir)));
    return (names ?? [])
      .flatMap((name) => /^call-([1-9]\d*)\.json$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }
}

export const asRecord = (value: unknown, path: string): object => {
  if (typeof value !== 'object' || value === null || !('v' in value) || typeof value.v !== 'number')
    return fail('internal', `${path} is no record of the call journal.`);
  checkVersion(value, `The call journal's ${path}`);
  return value;
};

/** stepKeys come from outside: one that is no plain name must not become a path. */
export const stepDir = (slots: string, stepKey: StepKey): string =>
  isStepKey(stepKey) ? join(slots, stepKey) : fail('internal', 'A call was asked for with a stepKey that is none.');

// Which process holds an open call. A process that is surely gone loses its call at once; where that cannot be known (another machine,
// another container, a process that hangs) only the lease decides.

export interface CallOwner {
  /** One per call, so that a process knows its own calls from those of an earlier attempt in the same process. */
  readonly id: string;
  readonly process: ProcessIdentity;
  /** Pids mean something only inside their namespace: two containers share a boot, not their processes. Null: not known. */
  readonly pidNamespace: string | null;
}

/** Calls that run in this process. */
const running = new Set<string>();

export const takeOwnership = async (sys: Sys): Promise<CallOwner> => {
  const owner = { id: randomUUID(), process: await ownProcess(sys), pidNamespace: await pidNamespace(sys) };
  running.add(owner.id);
  return owner;
};

export const endOwnership = (owner: CallOwner): void => {
  running.delete(owner.id);
};

/** True only where it is certain that nobody works on the call any more. */
export const isSurelyGone = async (sys: Sys, owner: CallOwner): Promise<boolean> => {
  const own = await ownProcess(sys);
  const comparable =
    owner.process.boot === own.boot &&
    own.boot !== '-' &&
    owner.pidNamespace !== null &&
    owner.pidNamespace === (await pidNamespace(sys));
  if (!comparable) return false;
  if (!(await isAlive(sys, owner.process))) return true;
  return owner.process.pid === own.pid && !running.has(owner.id);
};

// ◆ A slot's name: sha-256 of the canonical JSON (sorted keys, no white space) of exactly the fields of CallKeyParts.

/** Exactly the agreed fields: what a caller's object carries beside them never enters the key. */
export const keyParts = (parts: CallKeyParts): CallKeyParts => ({
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
export const callKey = (parts: CallKeyParts): string => sha256(canonicalJson(keyParts(parts)));

// ◆ The nonce of a request's completeness marker: the first 80 bits, as 20 lower-case hex digits, of the sha-256 over these bytes:
//     "emend-nonce" 0x00 <slot key, 64 lower-case hex digits> 0x00 <n in decimal, no leading zeros>
// (all ASCII). n counts from 0 and is the first whose nonce stands nowhere in the request, so that nothing quoted from a file can
// pass for the marker. Never change this: a slot's retry makes the same nonce in another process and another version.

export const nonceFor = (callKey: string, haystack: string): string => {
  for (let n = 0; ; n++) {
    const nonce = nonceNumber(callKey, n);
    if (!haystack.includes(nonce)) return nonce;
  }
};

const nonceNumber = (callKey: string, n: number): string =>
  createHash('sha256').update(`emend-nonce\0${callKey}\0${n}`, 'ascii').digest('hex').slice(0, 20);
