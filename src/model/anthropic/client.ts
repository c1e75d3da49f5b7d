/**
 * The model port over `@anthropic-ai/sdk`, for Anthropic, Ollama and every other server of the Messages API (ANTHROPIC_BASE_URL). It streams
 * and never retries. It ends a call after `streamIdle_ms` without a byte, and when the caller cancels it.
 */
import Anthropic from '@anthropic-ai/sdk';
import { LIMITS } from '../../shared/limits.js';
import { Sending } from './sending.js';
import { tappedFetch } from './transport.js';
import { ModelError } from '../errors.js';
import { toModelError } from './errors.js';
import { afterRunning } from '../../system/time-limit.js';
import { isEvent, type ModelPort, type StreamEvent } from '../ports.js';

export interface AnthropicOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Maximum time without a byte from the server. A longer time than 300 s has no effect, because Node's fetch ends the call then. */
  readonly streamIdle_ms: number;
}

const DEFAULT_ANSWER_BYTES = LIMITS.maxAnswer_bytes.default ?? LIMITS.maxAnswer_bytes.max;

// bound: The SDK's own time-out must never end a call, because ours does. This is about 23 days, close to the maximum of a timer.
const SDK_TIMEOUT_MS = 2_000_000_000;

const MISSING_KEY =
  'Neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN nor ANTHROPIC_BASE_URL is set.';

/** Returns the value of a variable without the space around it, or null if it is empty. */
const valueOf = (value: string | undefined): string | null =>
  value === undefined || value.trim() === '' ? null : value.trim();

/** Reads ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL from `env`. With a base URL no key is needed: a placeholder is sent. */
export const createAnthropicModel = ({ env, streamIdle_ms }: AnthropicOptions): ModelPort => {
  const key = valueOf(env.ANTHROPIC_API_KEY);
  const token = valueOf(env.ANTHROPIC_AUTH_TOKEN);
  const baseURL = valueOf(env.ANTHROPIC_BASE_URL);
  const secrets = [key, token].filter((secret) => secret !== null);
  const credential =
    key === null && token !== null ? { authToken: token } : { apiKey: key ?? 'not-needed' };

  const stream: ModelPort['stream'] = async (
    request,
    { signal, onEvent, maxAnswer_bytes = DEFAULT_ANSWER_BYTES },
  ) => {
    if (secrets.length === 0 && baseURL === null) throw new ModelError('auth', MISSING_KEY);
    const idle = new IdleTimer(streamIdle_ms);
    const stopSignal = AbortSignal.any([signal, idle.signal]);
    const sending = new Sending();
    // Each call has its own client, because the counter of bytes in its `fetch` belongs to one call.
    const client = new Anthropic({
      ...credential,
      baseURL: baseURL ?? 'https://api.anthropic.com',
      maxRetries: 0,
      timeout: SDK_TIMEOUT_MS,
      logLevel: 'off',
      fetch: tappedFetch({ onLife: () => idle.restart(), sending, maxAnswer_bytes }),
    });
    try {
      idle.restart();
      const body = { ...request, stream: true as const } as Anthropic.MessageCreateParamsStreaming;
      const events = await client.messages.create(body, { signal: stopSignal });
      if (!(await pump(events, { idle, onEvent, maxAnswer_bytes })))
        throw new ModelError('dropped', "The model's answer ended before its last event.", {
          mayBePaid: true,
        });
    } catch (error) {
      throw failureOf(error);
    } finally {
      idle.stop();
    }

    function failureOf(error: unknown): unknown {
      // The caller gets its own error back unchanged, such as a full disk in onEvent.
      if (error instanceof CallerFailure) return error.cause;
      const { mayBePaid } = sending;
      if (idle.signal.aborted)
        return new ModelError(
          'idle',
          `The model server was silent for ${streamIdle_ms / 1000} s; if it reads prompts slowly, raise EMEND_STREAMIDLE_MS.`,
          { mayBePaid },
        );
      if (signal.aborted)
        return new ModelError('cancelled', 'The model call was cancelled.', { mayBePaid });
      return toModelError(error, { secrets, mayBePaid });
    }
  };

  return { stream };
};

/** Wraps an error of the caller's `onEvent`, so that it is not taken for one of the server. */
class CallerFailure extends Error {}

interface Pump {
  readonly idle: IdleTimer;
  readonly onEvent: (event: StreamEvent) => Promise<void>;
  readonly maxAnswer_bytes: number;
}

/**
 * Passes every event to `onEvent` in order. Returns true after `message_stop`, and false if the stream ended earlier. If the connection is
 * lost after the event with the stop reason, the answer is whole. `message_stop` holds nothing else, so this function makes that event itself.
 */
const pump = async (
  events: AsyncIterable<unknown>,
  { idle, onEvent, maxAnswer_bytes }: Pump,
): Promise<boolean> => {
  let text_bytes = 0;
  let [hasBegun, isWhole] = [false, false];
  const handOn = (event: StreamEvent): Promise<void> => {
    // Time that our own disk takes must not count as silence of the server.
    idle.stop();
    return onEvent(event).catch((cause: unknown) => {
      throw new CallerFailure('onEvent failed', { cause });
    });
  };
  try {
    for await (const event of events) {
      // A proxy that retried would send a second message, and its text would be joined to the first.
      if (!isEvent(event) || (hasBegun && event.type === 'message_start')) {
        const fault = isEvent(event)
          ? 'a second message in one stream'
          : 'a stream event without a type';
        throw new ModelError('malformed', `The model server sent ${fault}.`, { mayBePaid: true });
      }
      hasBegun ||= event.type === 'message_start';
      const delta = Object.entries(event.delta ?? {}).filter(
        ([, value]) => typeof value === 'string',
      );
      text_bytes += delta.reduce((sum, [, value]) => sum + Buffer.byteLength(value as string), 0);
      const tooLarge = `The model's answer is larger than ${maxAnswer_bytes} bytes (maxAnswer_bytes).`;
      if (text_bytes > maxAnswer_bytes)
        throw new ModelError('too_large', tooLarge, { mayBePaid: true });
      await handOn(event);
      if (event.type === 'message_stop') return true;
      isWhole ||= event.type === 'message_delta' && delta.some(([name]) => name === 'stop_reason');
      idle.restart();
    }
  } catch (error) {
    if (!isWhole || error instanceof CallerFailure) throw error;
  }
  if (isWhole) await handOn({ type: 'message_stop' });
  return isWhole;
};

/** Aborts itself `after_ms` after the last call of `restart`. */
class IdleTimer extends AbortController {
  stop: () => void = () => undefined;
  private readonly after_ms: number;
  constructor(after_ms: number) {
    super();
    this.after_ms = after_ms;
  }
  restart(): void {
    this.stop();
    this.stop = afterRunning(this.after_ms, () => this.abort());
  }
}
