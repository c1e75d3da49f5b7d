/** A `fetch` that lets us see a response's bytes go by: any byte (pings too) is a sign of life, and too many end the answer. */
import { ModelError } from './errors.js';

export interface Tap {
  /** Response headers came, or a piece of the body. */
  readonly onLife: () => void;
  /** A 200 with an event stream: from here on the server is answering. */
  readonly onAccepted: () => void;
  readonly maxAnswer_bytes: number;
}

/** Wraps the global fetch. A 200 that is no event stream is `malformed`; a body over the bound is `too_large`. */
export const tappedFetch =
  ({ onLife, onAccepted, maxAnswer_bytes }: Tap): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    onLife();
    if (!response.ok || response.body === null) return response;
    onAccepted();
    const type = response.headers.get('content-type') ?? 'no content type';
    if (!type.includes('text/event-stream')) {
      await response.body.cancel();
      throw new ModelError('malformed', `The model server answered without streaming (${type.slice(0, 80)}).`, {
        paid: true,
        retryable: false,
      });
    }
    return new Response(response.body.pipeThrough(counter(onLife, maxAnswer_bytes)), response);
  };

/** Event framing makes a stream longer than its text: about 130 bytes for a delta of a few characters. */
const wireFactor = 64;
/** JSON may write a byte as six (`\u0000`). The client holds a line until it ends, so a line has a bound of its own. */
const lineFactor = 6;
const lineRoom_bytes = 65_536;

const counter = (onLife: () => void, maxAnswer_bytes: number): TransformStream<Uint8Array, Uint8Array> => {
  let seen = 0;
  let line = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onLife();
      seen += chunk.byteLength;
      const lastEnd = chunk.lastIndexOf(0x0a);
      line = lastEnd === -1 ? line + chunk.byteLength : chunk.byteLength - lastEnd - 1;
      if (seen <= maxAnswer_bytes * wireFactor && line <= maxAnswer_bytes * lineFactor + lineRoom_bytes)
        controller.enqueue(chunk);
      else
        controller.error(
          new ModelError(
            'too_large',
            `The model server sent more than an answer of ${maxAnswer_bytes} bytes can need.`,
            { paid: true },
          ),
        );
    },
  });
};
