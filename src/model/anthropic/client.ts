/**
 * The model port over `@anthropic-ai/sdk`: Anthropic, Ollama and any other server of the Messages API (ANTHROPIC_BASE_URL). Streams,
 * never retries by itself, gives up after `streamIdle_ms` without a byte, and carries the caller's cancellation to the request.
 */
import Anthropic from '@anthropic-ai/sdk';
import { LIMITS } from '../../shared/limits.js';
import { tappedFetch, Sending } from './transport.js';
import { ModelError } from '../errors.js';
import { toModelError } from './errors.js';
import { afterRunning } from '../../system/turns.js';
import { isEvent, type ModelPort, type StreamEvent } from '../ports.js';

export interface AnthropicOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Silence before a call is given up. Node's own fetch gives up after 300 s of it whatever is set here. */
  readonly streamIdle_ms: number;
}

const ANSWER_BYTES = LIMITS.maxAnswer_bytes.default ?? LIMITS.maxAnswer_bytes.max;

const NO_KEY = 'Neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN nor ANTHROPIC_BASE_URL is set.';

const set = (value: string | undefined): string | null =>
  value === undefined || value.trim() === '' ? null : value.trim();

/** Reads ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL of `env`; a base URL needs no key (a placeholder is sent). */
export const createAnthropicModel = ({ env, streamIdle_ms }: AnthropicOptions): ModelPort => {
  const key = set(env.ANTHROPIC_API_KEY);
  const token = set(env.ANTHROPIC_AUTH_TOKEN);
  const baseURL = set(env.ANTHROPIC_BASE_URL);
  const secrets = [key, token].filter((secret) => secret !== null);
  const credential =
    key === null && token !== null ? { authToken: token } : { apiKey: key ?? 'not-needed' };

  const stream: ModelPort['stream'] = async (
    request,
    { signal, onEvent, maxAnswer_bytes = ANSWER_BYTES },
  ) => {
    if (secrets.length === 0 && baseURL === null) throw new ModelError('auth', NO_KEY);
    const idle = new IdleTimer(streamIdle_ms);
    const stopped = AbortSignal.any([signal, idle.signal]);
    const sending = new Sending();
    // A client a call: it is cheap, and the tap belongs to this call alone.
    const client = new Anthropic({
      ...credential,
      baseURL: baseURL ?? 'https://api.anthropic.com',
      maxRetries: 0,
      timeout: 2_000_000_000, // its own clock never ends a call; ours does
      logLevel: 'off',
      fetch: tappedFetch({ onLife: () => idle.restart(), sending, maxAnswer_bytes }),
    });
    try {
      idle.restart();
      const body = { ...request, stream: true as const } as Anthropic.MessageCreateParamsStreaming;
      const events = await client.messages.create(body, { signal: stopped });
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
      // What onEvent threw (a full disk) is the caller's own and goes back as it is.
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

class CallerFailure extends Error {}

interface Pump {
  readonly idle: IdleTimer;
  readonly onEvent: (event: StreamEvent) => Promise<void>;
  readonly maxAnswer_bytes: number;
}

/**
 * Hands every event on in order. True once `message_stop` was handed on; false where the stream ended too early. Lost once the model has
 * said why it stopped, the answer is whole: `message_stop`, which says nothing more, is made here.
 */
const pump = async (
  events: AsyncIterable<unknown>,
  { idle, onEvent, maxAnswer_bytes }: Pump,
): Promise<boolean> => {
  let text_bytes = 0;
  let [hasBegun, isWhole] = [false, false];
  const handOn = (event: StreamEvent): Promise<void> => {
    // Our own slowness (a busy disk) is no silence of the server's.
    idle.stop();
    return onEvent(event).catch((cause: unknown) => {
      throw new CallerFailure('onEvent failed', { cause });
    });
  };
  try {
    for await (const event of events) {
      // A second message (of a proxy that asked again) would be joined to the first.
      if (!isEvent(event) || (hasBegun && event.type === 'message_start')) {
        const what = isEvent(event)
          ? 'a second message in one stream'
          : 'a stream event without a type';
        throw new ModelError('malformed', `The model server sent ${what}.`, { mayBePaid: true });
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

/** Aborts `after_ms` after the last restart. */
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
