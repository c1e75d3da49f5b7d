/**
 * ◆ A recorded call in the store, `<calls>/<stepKey>/<call key>/`. Every JSON file is written once (put-if-absent).
 *
 *     call.json              key parts, the whole request, nonce, prices: written before the first attempt, sent by every attempt
 *     attempt-N.json         who makes attempt N; creating it is the right to make the attempt
 *     attempt-N.events.jsonl the attempt's stream as it arrived (journal/stream-log.ts); its growth is the owner's sign of life
 *     attempt-N.end.json     how attempt N ended without an answer: `failed` (surely not paid) or `unknown` (cut off once it may have been sent, or taken over)
 *     answer.json            the call's answer, from the first attempt whose `message_stop` was on disk
 */
import { randomUUID } from 'node:crypto';
import { fail } from '../../shared/problems.js';
import { type StepKey, isStepKey } from '../../shared/ids.js';
import type { CallLog } from '../../stores/ports.js';
import type { Sys } from '../../system/sys.js';
import type { ModelAnswer, ModelRequest, CallKeyParts, Prices } from '../ports.js';
import type { StepUsage } from '../../shared/usage.js';
import { isAlive, ownProcess, pidNamespace, type ProcessIdentity } from '../../system/process.js';
import { canonicalJson, sha256 } from '../../system/hash.js';

export interface CallRecord {
  readonly at: string;
  readonly key: CallKeyParts;
  readonly request: ModelRequest;
  readonly nonce: string;
  /** As they were when the call was recorded: a retry reports the same money whatever the configuration is by then. */
  readonly prices: Prices;
}
export interface AttemptRecord {
  readonly at: string;
  readonly owner: CallOwner;
}
/** `why` of an attempt whose process stood still. */
export const SLEPT = 'slept';
export interface EndRecord {
  readonly at: string;
  readonly state: 'failed' | 'unknown';
  /** A ModelErrorKind, `disk`, `owner_lost`, or SLEPT. */
  readonly why: string;
}
export interface AnswerRecord {
  readonly at: string;
  readonly attempt: number;
  readonly answer: ModelAnswer;
  /** Of all the call's attempts at that moment. */
  readonly usage: StepUsage;
}

/** The files of one recorded call. What the store fails with comes out of all, records of another version as `version_unknown`. */
export class CallFiles {
  /** `<stepKey>/<call key>` */
  readonly key: string;
  readonly calls: CallLog;
  constructor(calls: CallLog, key: string) {
    this.calls = calls;
    this.key = key;
  }

  call = () => this.calls.get<CallRecord>(`${this.key}/call`, 'CallRecord');
  answer = () => this.calls.get<AnswerRecord>(`${this.key}/answer`, 'AnswerRecord');
  attempt = (n: number) =>
    this.calls.get<AttemptRecord>(`${this.key}/attempt-${n}`, 'AttemptRecord');
  end = (n: number) => this.calls.get<EndRecord>(`${this.key}/attempt-${n}.end`, 'EndRecord');

  /** Returns the record that the store has durably: ours, or an earlier writer's. */
  async put<T extends object>(name: string, record: T) {
    const { value, created } = await this.calls.putIfAbsent(`${this.key}/${name}`, record);
    return { record: value, created };
  }

  /** It has an answer, or this attempt has an end: its own, or that of whoever took it over. */
  async hasEnded(attempt: number): Promise<boolean> {
    return (await this.end(attempt)) !== null || (await this.answer()) !== null;
  }

  stream(attempt: number): string {
    return `${this.key}/attempt-${attempt}.events`;
  }

  /** Numbers of the attempts that were begun, rising. Each file of one says so: one whose claim is lost may be paid for all the same. */
  async attempts(): Promise<readonly number[]> {
    const ofAttempt = /^attempt-([1-9]\d*)\.(?:json|end\.json|events(?:\.jsonl)?)$/;
    const found = (await this.calls.names(this.key)).flatMap(
      (name) => ofAttempt.exec(name)?.[1] ?? [],
    );
    return [...new Set(found.map(Number))].sort((a, b) => a - b);
  }
}

/** stepKeys come from outside: one that is no plain name must not become a path. */
export const knownStep = (stepKey: StepKey): StepKey =>
  isStepKey(stepKey) ? stepKey : fail('internal', 'A call was requested with an invalid stepKey.');

// Which process owns an open attempt. A process that is surely gone loses its attempt at once; where that cannot be known (another
// machine, another container, a process that hangs) ownership ends only when the log has not grown for `callOwner_ms`.

export interface CallOwner {
  /** One per attempt, so that a process tells its running attempts from earlier ones of the same process. */
  readonly id: string;
  readonly process: ProcessIdentity;
  /** Pids mean something only inside their namespace: two containers share a boot, not their processes. Null: not known. */
  readonly pidNamespace: string | null;
}

/** Attempts that run in this process. */
const running = new Set<string>();

export const takeOwnership = async (sys: Sys): Promise<CallOwner> => {
  const owner = {
    id: randomUUID(),
    process: await ownProcess(sys),
    pidNamespace: await pidNamespace(sys),
  };
  running.add(owner.id);
  return owner;
};

export const endOwnership = (owner: CallOwner): void => {
  running.delete(owner.id);
};

/** True only where it is certain that nobody works on the attempt any more. Null: its owner is not known. */
export const isSurelyGone = async (sys: Sys, owner: CallOwner | null): Promise<boolean> => {
  const own = await ownProcess(sys);
  if (owner === null || owner.process.boot !== own.boot || own.boot === '-') return false;
  if (owner.pidNamespace === null || owner.pidNamespace !== (await pidNamespace(sys))) return false;
  if (!(await isAlive(sys, owner.process))) return true;
  return owner.process.pid === own.pid && !running.has(owner.id);
};

// ◆ A call key: sha-256 of the canonical JSON (sorted keys, no white space) of exactly the fields of CallKeyParts.

/** Exactly the agreed fields: what a caller's object carries beside them never enters the key. */
export const keyParts = (parts: CallKeyParts): CallKeyParts => ({
  stepKey: parts.stepKey,
  role: parts.role,
  file: parts.file,
  region: parts.region,
  regeneration: parts.regeneration,
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

// ◆ The nonce of a request's completeness marker: the first 32 bits, as 8 lower-case hex digits, of the sha-256 over these bytes:
//     "emend-nonce" 0x00 <call key, 64 lower-case hex digits> 0x00 <n in decimal, no leading zeros>
// (all ASCII). n counts from 0 and is the first whose nonce stands nowhere in the request, so that nothing quoted from a file can
// pass for the marker. Never change this: a call's retry makes the same nonce in another process and another version.

export const nonceFor = (callKey: string, haystack: string): string => {
  for (let n = 0; ; n++) {
    const nonce = sha256(`emend-nonce\0${callKey}\0${n}`).slice(0, 8);
    if (!haystack.includes(nonce)) return nonce;
  }
};
