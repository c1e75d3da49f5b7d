/** A `fetch` that lets us see a response's bytes go by: any byte (pings too) is a sign of life, and too many end the answer. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { isRecord } from '../../shared/text.js';
import { ModelError } from '../errors.js';

export interface Transport {
  /** Response headers came, or a piece of the body. */
  readonly onLife: () => void;
  /** Learns how far the request came. */
  readonly sending: Sending;
  readonly maxAnswer_bytes: number;
}

/**
 * Wraps the global fetch. A 200 that is no event stream is `malformed`; a body over the bound is `too_large`. A redirect is a refusal: it
 * would take the request, a person's code, to a server that nobody configured.
 */
export const tappedFetch =
  ({ onLife, sending, maxAnswer_bytes }: Transport): typeof fetch =>
  async (input, init) => {
    const response = await sending.watch(() => fetch(input, { ...init, redirect: 'manual' }));
    onLife();
    if (!response.ok) {
      if (!GATEWAY_TIMEOUTS.has(response.status)) sending.refuse();
      return new Response(response.body?.pipeThrough(beginning()), response);
    }
    const type = response.headers.get('content-type') ?? 'no content type';
    if (response.body === null || !type.toLowerCase().includes('text/event-stream')) {
      await response.body?.cancel();
      throw new ModelError(
        'malformed',
        `The model server answered without streaming (${type.slice(0, 80)}).`,
        {
          mayBePaid: true,
          retryable: false,
        },
      );
    }
    return new Response(response.body.pipeThrough(counter(onLife, maxAnswer_bytes)), response);
  };

/** Nobody answers for the request: a proxy on the way handed it on and stopped waiting (524 is Cloudflare's). */
const GATEWAY_TIMEOUTS: ReadonlySet<number> = new Set([504, 524]);

const REFUSAL_BYTES = 65_536; // bound: So much of what a server says with an error status is read.

const beginning = (): TransformStream<Uint8Array, Uint8Array> => {
  let left = REFUSAL_BYTES;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.byteLength;
      if (left <= 0) controller.terminate();
    },
  });
};

/** Event framing makes a stream longer than its text: about 130 bytes for a delta of a few characters. */
const wireFactor = 64;
/** JSON may write a byte as six (`\u0000`). The client holds a line until it ends, so a line has a bound of its own. */
const lineFactor = 6;
const lineRoom_bytes = 65_536;

const counter = (
  onLife: () => void,
  maxAnswer_bytes: number,
): TransformStream<Uint8Array, Uint8Array> => {
  let seen = 0;
  let line = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onLife();
      seen += chunk.byteLength;
      const lastEnd = chunk.lastIndexOf(0x0a);
      line = lastEnd === -1 ? line + chunk.byteLength : chunk.byteLength - lastEnd - 1;
      if (
        seen <= maxAnswer_bytes * wireFactor &&
        line <= maxAnswer_bytes * lineFactor + lineRoom_bytes
      )
        controller.enqueue(chunk);
      else
        controller.error(
          new ModelError(
            'too_large',
            `The model server sent more than an answer of ${maxAnswer_bytes} bytes can need.`,
            { mayBePaid: true },
          ),
        );
    },
  });
};

// Whether a request may have reached the model's server, so that its call may be on the bill. `fetch` does not tell how far it came before
// it failed or was aborted, but the client under it (undici) announces each request that it makes and the moment when it writes the first
// bytes of one, on a connection that stands (TLS included): before that moment nothing can be billed, after it nobody here knows.

const CREATED = 'undici:request:create';
/** HTTP/2 announces only the body. */
const WRITTEN = ['undici:client:sendHeaders', 'undici:request:bodySent'];

const within = new AsyncLocalStorage<Sending>();
/** A `fetch` that announces nothing (another one than Node's) is never taken for one that has sent nothing. */
let announces = false;

export class Sending {
  private begun = false;
  private request: unknown = null;
  private written = false;
  private refused = false;

  /** Watches one fetch from its start to the response's headers. */
  async watch(fetching: () => Promise<Response>): Promise<Response> {
    subscribe(CREATED, this.onCreated);
    for (const channel of WRITTEN) subscribe(channel, this.onWritten);
    this.begun = true;
    try {
      return await within.run(this, fetching);
    } finally {
      unsubscribe(CREATED, this.onCreated);
      for (const channel of WRITTEN) unsubscribe(channel, this.onWritten);
    }
  }

  /** The server said itself that it does not answer this request. */
  refuse(): void {
    this.refused = true;
  }

  /** An answer may have been begun. */
  get mayBePaid(): boolean {
    return !this.refused && (announces ? this.written : this.begun);
  }

  private readonly onCreated = (message: unknown): void => {
    const request = requestOf(message);
    // A proxy's CONNECT is made on behalf of our request, and carries nothing of it.
    if (within.getStore() !== this || request?.method === 'CONNECT') return;
    announces = true;
    this.request = request;
  };

  private readonly onWritten = (message: unknown): void => {
    if (this.request !== null && requestOf(message) === this.request) this.written = true;
  };
}

const requestOf = (message: unknown): Record<string, unknown> | null =>
  isRecord(message) && isRecord(message.request) ? message.request : null;
