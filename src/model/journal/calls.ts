/** All calls of a step as its slots tell them: no running workflow, worker or server is needed to say what was asked and paid. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StepKey } from '../../shared/ids.js';
import { onDisk, orNull } from '../../system/durable.js';
import { realSys, type Sys } from '../../system/sys.js';
import { textDelta, readCalls } from './answer.js';
import { CallFiles, stepDir } from './records.js';
import { eventOfLine } from './stream-log.js';
import type { Role, JournaledCall } from '../ports.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';

const RUNNING_POLL_MS = 200; // bound: Other processes' calls are looked at this often.

/** `dir`: the directory of slots. In the order in which the calls were begun. */
export const callsOfStep = async (sys: Sys, dir: string, stepKey: string): Promise<readonly JournaledCall[]> => {
  const step = stepDir(dir, stepKey);
  const slots = (await onDisk(`Reading the call journal at ${step}`, () => orNull(sys.readdir(step)))) ?? [];
  const found: { readonly at: string; readonly call: JournaledCall }[] = [];
  for (const slot of slots.filter((name) => /^[0-9a-f]{64}$/.test(name))) {
    const files = new CallFiles(sys, join(step, slot));
    const record = await files.get('slot.json');
    if (record === null) continue;
    for (const c of await readCalls(files, record))
      found.push({ at: c.record.at, call: { slot, key: record.key, call: c.call, state: c.state, usage: c.usage } });
  }
  return found.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.call.call - b.call.call)).map(({ call }) => call);
};

/** What the calls of a step that has ended came to: one that nobody ended was cut off. */
export const usageOfEnded = (calls: readonly JournaledCall[]): StepUsage =>
  calls.reduce(
    (sum, { usage, state }) => addUsage(sum, state === 'open' ? { ...usage, unknownCalls: 1 } : usage),
    NO_USAGE,
  );

// The text of a step's running model calls, read from their logs while they grow (journal/records.ts says where). Only calls whose worker
// shares this store are seen; nothing is written, and whoever looks costs the run nothing.

/** What a call is for; `call` counts the calls of one wanted answer from 1. */
export interface RunningCall {
  readonly role: Role;
  /** Target path, or `*` for the whole step. */
  readonly file: string;
  readonly call: number;
}

export type CallNews =
  | { readonly kind: 'begun' | 'ended'; readonly call: RunningCall }
  /** As it came, thinking left out: the model's words, not to be trusted on a terminal. */
  | { readonly kind: 'text'; readonly call: RunningCall; readonly text: string };

export interface FollowCalls {
  /** `storePaths(store).slots`. */
  readonly slots: string;
  readonly stepKey: StepKey;
  readonly signal: AbortSignal;
  readonly onNews: (news: CallNews) => void;
  readonly poll_ms?: number;
}

/**
 * Tells of each call that runs now, from its first word, and of those that begin later; returns when `signal` aborts. Calls that had
 * ended before are left out. Throws ProblemError `disk` where the journal cannot be read.
 */
export const followCalls = async (options: FollowCalls): Promise<void> => {
  const { slots, stepKey, signal, onNews } = options;
  const dir = stepDir(slots, stepKey);
  /** By path of the log; null: not told, since it had ended before we looked. */
  const known = new Map<string, Reader | null>();
  const gone = (): boolean => signal.aborted;
  for (let first = true; ; first = false) {
    // What is on disk when somebody stops looking is still told.
    const last = gone();
    const names = (await onDisk(`Reading the call journal at ${dir}`, () => orNull(realSys.readdir(dir)))) ?? [];
    for (const slot of names.filter((name) => /^[0-9a-f]{64}$/.test(name))) {
      const files = new CallFiles(realSys, join(dir, slot));
      for (const call of await files.calls()) {
        const path = files.logPath(call);
        let reader = known.get(path);
        if (reader === undefined) {
          reader = first && (await hasEnded(files, call)) ? null : await readerOf(files, call, onNews);
          known.set(path, reader);
        }
        await reader?.read();
      }
    }
    if (last) return;
    await sleep(options.poll_ms ?? RUNNING_POLL_MS, undefined, { signal }).catch(() => undefined);
  }
};

const hasEnded = async (files: CallFiles, call: number): Promise<boolean> =>
  (await files.get(`call-${call}.end.json`)) !== null || (await files.get('answer.json')) !== null;

const readerOf = async (files: CallFiles, call: number, onNews: FollowCalls['onNews']): Promise<Reader | null> => {
  const slot = await files.get('slot.json');
  return slot === null ? null : new Reader(files, { role: slot.key.role, file: slot.key.file, call }, onNews);
};

/** One growing log: each line is told once, when it is whole. */
class Reader {
  readonly #files: CallFiles;
  readonly #call: RunningCall;
  readonly #onNews: FollowCalls['onNews'];
  #offset = 0;
  #state: 'new' | 'running' | 'ended' = 'new';

  constructor(files: CallFiles, call: RunningCall, onNews: FollowCalls['onNews']) {
    this.#files = files;
    this.#call = call;
    this.#onNews = onNews;
  }

  async read(): Promise<void> {
    if (this.#state === 'ended') return;
    // Asked before the log is read: what was written before the end is in it by then.
    const over = await hasEnded(this.#files, this.#call.call);
    const lines = await this.#fresh();
    if (this.#state === 'new' && (lines.length > 0 || over)) {
      this.#state = 'running';
      this.#onNews({ kind: 'begun', call: this.#call });
    }
    const text = lines
      .map((line) => eventOfLine(line))
      .map((event) => (event === null ? '' : textDelta(event)))
      .join('');
    if (text !== '') this.#onNews({ kind: 'text', call: this.#call, text });
    if (!over) return;
    this.#state = 'ended';
    this.#onNews({ kind: 'ended', call: this.#call });
  }

  /** Whole lines since the last look. */
  async #fresh(): Promise<readonly string[]> {
    const file = await orNull(open(this.#files.logPath(this.#call.call)));
    if (file === null) return [];
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(Math.max(0, size - this.#offset));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, this.#offset);
      const end = bytes.subarray(0, bytesRead).lastIndexOf('\n') + 1;
      this.#offset += end;
      return end === 0 ? [] : bytes.toString('utf8', 0, end - 1).split('\n');
    } finally {
      await file.close();
    }
  }
}
