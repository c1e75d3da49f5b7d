/**
 * A `fetch` that reports the bytes of a response while they arrive. Every byte is a sign of life, also those of a ping. Too many bytes end the
 * call.
 */
import { ModelError } from '../errors.js';
import type { Sending } from './sending.js';

export interface Transport {
  /** Is called when the headers or a piece of the body arrived. */
  readonly onLife: () => void;
  /** Records how far the request came. */
  readonly sending: Sending;
  readonly maxAnswer_bytes: number;
}

/**
 * Wraps the global `fetch`. A response with status 200 that is not an event stream fails with `malformed`, one over the limit with
 * `too_large`. A redirect counts as a refusal, because it would send the user's code to a server that is not configured.
 */
export const tappedFetch =
  ({ onLife, sending, maxAnswer_bytes }: Transport): typeof fetch =>
  async (input, init) => {
    const response = await sending.watch(() => fetch(input, { ...init, redirect: 'manual' }));
    onLife();
    if (!response.ok) {
      if (!GATEWAY_TIMEOUTS.has(response.status)) sending.refuse();
      return new Response(response.body?.pipeThrough(cutRefusal()), response);
    }
    const type = response.headers.get('content-type') ?? 'no content type';
    if (response.body === null || !type.toLowerCase().includes('text/event-stream')) {
      await response.body?.cancel();
      throw new ModelError(
        'malformed',
        `The model server answered without streaming (${type.slice(0, SHOWN_TYPE_CHARS)}).`,
        {
          mayBePaid: true,
          retryable: false,
        },
      );
    }
    return new Response(response.body.pipeThrough(counter(onLife, maxAnswer_bytes)), response);
  };

/** Statuses of a proxy that forwarded the request and stopped waiting (524 is Cloudflare's). They are no refusal of the server. */
const GATEWAY_TIMEOUTS: ReadonlySet<number> = new Set([504, 524]);

const SHOWN_TYPE_CHARS = 80; // bound: Characters of a content type in a message.
const REFUSAL_BYTES = 65_536; // bound: Bytes of a response with an error status that are read.

/** Passes only the first bytes of a response with an error status. */
const cutRefusal = (): TransformStream<Uint8Array, Uint8Array> => {
  let remaining_bytes = REFUSAL_BYTES;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, remaining_bytes));
      remaining_bytes -= chunk.byteLength;
      if (remaining_bytes <= 0) controller.terminate();
    },
  });
};

// bound: Bytes of a stream per byte of its text. An event of a few characters takes about 130 bytes.
const STREAM_FACTOR = 64;
// bound: Bytes of a line per byte of its text. JSON may write one byte as six (`\u0000`), and the client keeps a line until it ends.
const LINE_FACTOR = 6;
const LINE_OVERHEAD_BYTES = 65_536; // bound: Bytes of a line besides its text.

/** Passes the bytes of a stream, reports each piece, and fails if the stream or one of its lines is too large. */
const counter = (
  onLife: () => void,
  maxAnswer_bytes: number,
): TransformStream<Uint8Array, Uint8Array> => {
  let stream_bytes = 0;
  let line_bytes = 0;
  const maxStream_bytes = maxAnswer_bytes * STREAM_FACTOR;
  const maxLine_bytes = maxAnswer_bytes * LINE_FACTOR + LINE_OVERHEAD_BYTES;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onLife();
      stream_bytes += chunk.byteLength;
      const lastEnd = chunk.lastIndexOf(0x0a);
      line_bytes = lastEnd === -1 ? line_bytes + chunk.byteLength : chunk.byteLength - lastEnd - 1;
      if (stream_bytes <= maxStream_bytes && line_bytes <= maxLine_bytes) controller.enqueue(chunk);
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
