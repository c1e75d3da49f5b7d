/** The model port and the call journal: one wanted answer, paid for once. */
import type { CountedTokens, StepUsage } from '../shared/usage.js';
import type { StopReason } from '../edits/index.js';
import type { BlobRef, StepKey } from '../shared/ids.js';
import { isRecord } from '../shared/text.js';

/** The request as it is recorded and sent, byte for byte the same at every attempt: Messages API body without `stream`. */
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

/** A raw stream event, as appended to the attempt's log (the Messages API's own event objects). */
export type StreamEvent = { readonly type: string } & Readonly<Record<string, unknown>>;
export const isEvent = (value: unknown): value is StreamEvent =>
  isRecord(value) && typeof value.type === 'string';

/** One attempt to reach a model. Streams; never retries by itself. */
export interface ModelPort {
  /** Throws ModelError for every expected failure (status, dropped stream, idle). Resolves after `message_stop`. */
  stream(
    request: ModelRequest,
    options: {
      signal: AbortSignal;
      onEvent: (event: StreamEvent) => Promise<void>;
      /** Bound of the answer's text; absent: the port's own. */
      maxAnswer_bytes?: number;
    },
  ): Promise<void>;
}

/** Role of a call; part of the call key. */
export type Role = 'brief' | 'pick' | 'edit' | 'audit' | 'score' | 'debug' | 'replan';

/** ◆ Exactly these make the call key (sha-256 of the canonical JSON); nothing else enters it. */
export interface CallKeyParts {
  readonly stepKey: StepKey;
  readonly role: Role;
  /** Target path, or `*` for the whole step. */
  readonly file: string;
  /** Region, or `*`. */
  readonly region: string;
  /** Counted by the reducer; up only when a new answer is wanted. */
  readonly regeneration: number;
  /** Base hashes (hex) of the target files in path order; `absent` for a new one. */
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
  /** `maxUnknownCalls` calls were cut off; nothing is asked again without a decision. */
  | { readonly outcome: 'call_lost'; readonly usage: StepUsage }
  | { readonly outcome: 'not_made'; readonly usage: StepUsage };

/** US dollars per million tokens; null: not known. */
export type Prices = Readonly<
  Record<`${'input' | 'output' | 'cacheRead' | 'cacheWrite'}_usd`, number | null>
>;

export interface JournalAsk {
  readonly key: CallKeyParts;
  /**
   * Builds the request of a new call; not called when the call is recorded already. The nonce is where it belongs already. Null: there is
   * to be none, and nothing is recorded.
   */
  readonly makeRequest: (
    nonceFor: (requestWithoutNonce: string) => string,
  ) => Promise<{ request: ModelRequest; nonce: string } | null>;
  readonly maxUnknownCalls: number;
  /** How often this process stood still (a laptop's lid). A call that it cut off counts, but not against `maxUnknownCalls`. */
  readonly stoodStill?: () => number;
  /** A longer answer is given up (`too_large`); absent: the port's own bound. */
  readonly maxAnswer_bytes?: number;
  /** A call whose log would grow larger is given up (`too_large`); absent: LIMITS' default. */
  readonly maxCallLog_bytes?: number;
  /** Of the request's model. */
  readonly prices: Prices;
  readonly signal: AbortSignal;
}

/** Put-if-absent calls; each attempt has an owner and raw events appended as they arrive; an answer is recorded once `message_stop` is on disk. */
export interface CallJournal {
  /** Throws ModelError (retryable or not) when a call failed without being lost. */
  ask(input: JournalAsk): Promise<CallOutcome>;
  /** Every attempt of a step, for `show` and the archive. */
  attempts(stepKey: StepKey): Promise<readonly JournaledAttempt[]>;
}
/** One attempt at a recorded call: one model call that may have been paid for. */
export interface JournaledAttempt {
  /** Of the recorded call, 64 hex digits: `callKey(key)`. */
  readonly callKey: string;
  readonly key: CallKeyParts;
  /** From 1. */
  readonly attempt: number;
  readonly state: 'open' | 'answered' | 'failed' | 'unknown';
  readonly usage: StepUsage;
}
