/**
 * ◆ A slot on disk, `<slots>/<stepKey>/<slot key>/`. Every JSON file is written once (put-if-absent) and carries `v`.
 *
 *     slot.json           key parts, the whole request, nonce, prices: made before the first call, sent by every one
 *     call-N.json         who makes call N; creating it is the right to make the call
 *     call-N.events.jsonl the call's stream as it arrived (slot-log.ts); its growth is the owner's sign of life
 *     call-N.end.json     how call N ended without an answer: `failed` (surely not paid) or `unknown` (cut off once it may have been sent, or taken over)
 *     answer.json         the slot's answer, from the first call whose `message_stop` was on disk
 */
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import { type StepKey, isStepKey } from '../shared/refs.js';
import { checkVersion } from '../shared/versions.js';
import { onDisk, orNull, putJsonIfAbsent, readJson } from '../workspace/sys-put.js';
import type { Sys } from '../workspace/sys.js';
import type { PriceTable } from './price.js';
import type { SlotOwner } from './slot-owner.js';
import type { ModelAnswer, ModelRequest, SlotKeyParts, Usage } from './types.js';

export interface SlotRecord {
  readonly v: 1;
  readonly at: string;
  readonly key: SlotKeyParts;
  readonly request: ModelRequest;
  readonly nonce: string;
  /** As they were when the slot was made: a retry reports the same money whatever the configuration is by then. */
  readonly prices: PriceTable[string];
}
export interface CallRecord {
  readonly v: 1;
  readonly at: string;
  readonly owner: SlotOwner;
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
  'slot.json': SlotRecord;
  'answer.json': AnswerRecord;
  [call: `call-${number}.json`]: CallRecord;
  [end: `call-${number}.end.json`]: EndRecord;
}

/** The files of one slot. Failed system calls come out as ProblemError `disk`, records of a newer Emend as `version_unknown`. */
export class SlotFiles {
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
