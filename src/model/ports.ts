/** The interfaces of a model and of the journal of calls. The journal makes sure that each answer is paid for once. */
import type { CountedTokens, StepUsage } from '../shared/usage.js';
import type { StopReason } from '../edits/index.js';
import type { BlobRef, StepKey } from '../shared/ids.js';
import { isRecord } from '../shared/text.js';

/** The request as it is recorded and sent, with the same bytes at every attempt. It is the body of the Messages API without `stream`. */
export interface ModelRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly system: readonly TextBlock[];
  readonly messages: readonly {
    readonly role: 'user' | 'assistant';
    readonly content: readonly TextBlock[];
  }[];
  readonly thinking?:
    | { readonly type: 'enabled'; readonly budget_tokens: number }
    | { readonly type: 'adaptive' };
  readonly output_config?: { readonly effort: string };
}
export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  readonly cache_control?: { readonly type: 'ephemeral' };
}

export interface ModelAnswer {
  readonly text: string;
  readonly stopReason: StopReason;
  readonly model: string;
  readonly usage: CountedTokens;
}

/** An event of the Messages API's stream. It is appended unchanged to the attempt's log. */
export type StreamEvent = { readonly type: string } & Readonly<Record<string, unknown>>;
export const isEvent = (value: unknown): value is StreamEvent =>
  isRecord(value) && typeof value.type === 'string';

/** Makes one attempt at a model call and streams its events. It never retries. */
export interface ModelPort {
  /** Resolves after the event `message_stop`. Throws a ModelError for every expected failure: a status, a dropped stream, silence. */
  stream(
    request: ModelRequest,
    options: {
      signal: AbortSignal;
      onEvent: (event: StreamEvent) => Promise<void>;
      /** Maximum size of the answer's text. The default is the limit of that name. */
      maxAnswer_bytes?: number;
    },
  ): Promise<void>;
}

/** What a call is for. The role is a part of the call key. */
export type Role = 'brief' | 'pick' | 'edit' | 'audit' | 'score' | 'debug' | 'replan';

/** All values that make the call key, which is the SHA-256 of their canonical JSON. Calls with the same key are paid for once. */
export interface CallKeyParts {
  readonly stepKey: StepKey;
  readonly role: Role;
  /** Path of the target file, or `*` for all files of the step. */
  readonly file: string;
  /** Region of a large file, or `*` for the whole file. */
  readonly region: string;
  /** Number of new answers that the reducer asked for. */
  readonly regeneration: number;
  /** Hashes (hex digits) of the target files in the order of their paths, with `absent` for a new file. */
  readonly bases: readonly string[];
  readonly format: string;
  readonly model: string;
  readonly outputBudget_tokens: number;
  readonly instructions: BlobRef;
  readonly notes: BlobRef | null;
  readonly refusal: BlobRef | null;
}

export type CallOutcome =
  | {
      readonly outcome: 'answered';
      readonly answer: ModelAnswer;
      readonly request: ModelRequest;
      readonly nonce: string;
      readonly usage: StepUsage;
      readonly recorded: boolean;
    }
  /**
   * As many calls as `maxUnknownCalls` allows were cut off, or `message` explains why the call may have been made before. A decision has to
   * allow the next one.
   */
  | { readonly outcome: 'call_lost'; readonly message: string | null; readonly usage: StepUsage }
  | { readonly outcome: 'not_made'; readonly usage: StepUsage };

/** US dollars per million tokens. Null means that the price is not known. */
export type Prices = Readonly<
  Record<`${'input' | 'output' | 'cacheRead' | 'cacheWrite'}_usd`, number | null>
>;

export interface JournalAsk {
  readonly key: CallKeyParts;
  /**
   * Builds the request of a new call, with the nonce in its place. It is not called if the call is already recorded. If it returns null, no
   * call is made and nothing is recorded.
   */
  readonly makeRequest: (
    nonceFor: (requestWithoutNonce: string) => string,
  ) => Promise<{ request: ModelRequest; nonce: string } | null>;
  readonly maxUnknownCalls: number;
  /** Number of times that this process was suspended, such as by a closed laptop. A call cut off by it does not count against `maxUnknownCalls`. */
  readonly stoodStill?: () => number;
  /** A call with a longer answer fails with `too_large`. The default is the limit of that name. */
  readonly maxAnswer_bytes?: number;
  /** A call with a larger log fails with `too_large`. The default is the limit of that name. */
  readonly maxCallLog_bytes?: number;
  /** Prices of the request's model. */
  readonly prices: Prices;
  readonly signal: AbortSignal;
}

/**
 * Records each call once, under its key. Each attempt has one owner, which appends the events when they arrive. An answer counts as recorded
 * when `message_stop` is on disk.
 */
export interface CallJournal {
  /** Returns the recorded answer or makes the call. Throws a ModelError if the call failed and the server said so. */
  ask(input: JournalAsk): Promise<CallOutcome>;
  /** Lists all attempts of a step, for `emend show` and the archive. */
  attempts(stepKey: StepKey): Promise<readonly JournaledAttempt[]>;
}
/** One attempt at a recorded call. It may have been paid for. */
export interface JournaledAttempt {
  /** Key of the recorded call: 64 hex digits, from `callKey(key)`. */
  readonly callKey: string;
  readonly key: CallKeyParts;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly state: 'open' | 'answered' | 'failed' | 'unknown';
  readonly usage: StepUsage;
}
