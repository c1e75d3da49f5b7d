/** Sending frames with the faults of the wire: slow, held, silent or dropped at a byte of the body. */
import { existsSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { AnswerReply } from './reply.js';
import type { Fault } from './script.js';

/** Where a held request waits for POST /rehearsal/release. */
export interface Gate {
  /** Resolves at the next release after this call. */
  wait(): Promise<void>;
}

interface SendOptions {
  readonly faults: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly gate: Gate;
  /** Fires when the client has gone or the server closes. */
  readonly gone: AbortSignal;
  readonly onState: (state: 'held' | 'silent' | 'open') => void;
}
type Stop = Extract<Fault, { kind: 'drop' | 'silence' | 'hold' }>;

const fileLook_ms = 25;

/** True where everything was sent; false where a fault cut it off or the client has gone. */
export const sendFrames = async (
  response: ServerResponse,
  frames: readonly string[],
  options: SendOptions,
): Promise<boolean> => {
  const { faults, headers, gone } = options;
  const slow = faults.find((fault) => fault.kind === 'slow');
  const stops = faults
    .filter(
      (fault): fault is Stop =>
        fault.kind === 'drop' || fault.kind === 'silence' || fault.kind === 'hold',
    )
    .sort((a, b) => (a.after_bytes ?? -1) - (b.after_bytes ?? -1));
  let sent = 0;
  /** Performs the stops up to here; false: the response is over. */
  const passed = async (upTo: number): Promise<boolean> => {
    for (
      let stop = stops[0];
      stop !== undefined && (stop.after_bytes ?? -1) <= upTo;
      stop = stops[0]
    ) {
      stops.shift();
      if (!(await perform(response, stop, options))) return false;
    }
    return !gone.aborted;
  };
  try {
    if (!(await passed(-1))) return false;
    response.writeHead(200, headers);
    response.flushHeaders();
    await pause(slow?.first_ms ?? 0, gone);
    for (const frame of frames) {
      let rest = Buffer.from(frame);
      while (rest.length > 0) {
        if (!(await passed(sent))) return false;
        const next = stops[0]?.after_bytes ?? Infinity;
        const part = rest.subarray(0, Math.min(rest.length, next - sent));
        if (!(await written(response, part))) return false;
        sent += part.length;
        rest = rest.subarray(part.length);
      }
      await pause(slow?.chunk_ms ?? 0, gone);
    }
    // A stop behind the last byte still counts: everything was sent, the connection is not closed yet.
    if (!(await passed(Infinity))) return false;
    await new Promise<void>((resolve) => response.end(resolve));
    return true;
  } catch (error) {
    if (gone.aborted) return false;
    throw error;
  }
};

const perform = async (
  response: ServerResponse,
  stop: Stop,
  { gate, gone, onState }: SendOptions,
): Promise<boolean> => {
  if (stop.kind === 'drop') {
    response.destroy();
    return false;
  }
  if (stop.kind === 'silence') {
    onState('silent');
    await until(gone);
    return false;
  }
  onState('held');
  await Promise.race([
    gate.wait(),
    until(gone),
    ...(stop.until_file === undefined ? [] : [fileIsThere(stop.until_file, gone)]),
  ]);
  onState('open');
  return !gone.aborted;
};

const pause = async (ms: number, gone: AbortSignal): Promise<void> => {
  if (ms > 0) await delay(ms, undefined, { signal: gone });
};

const fileIsThere = async (path: string, gone: AbortSignal): Promise<void> => {
  while (!gone.aborted && !existsSync(path)) await delay(fileLook_ms);
};

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * Resolves when the bytes have left for the kernel, so that a drop after them does not take them along. False: the client has gone, which
 * a write may notice before `close` is told.
 */
const written = (response: ServerResponse, bytes: Buffer): Promise<boolean> =>
  new Promise((resolve) => {
    response.write(bytes, (error) => resolve(!error));
  });

// An answer as the Messages API's stream: one string per server-sent event.

/** The message object; `content` and the end are empty at the start of a stream. */
export const messageOf = (id: string, model: string, reply: AnswerReply, whole: boolean) => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content: whole ? [{ type: 'text', text: reply.text }] : [],
  stop_reason: whole ? reply.stopReason : null,
  stop_sequence: null,
  usage: whole
    ? reply.usage
    : { ...reply.usage, output_tokens: Math.min(1, reply.usage.output_tokens) },
});

const frame = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

interface FrameOptions {
  readonly id: string;
  readonly model: string;
  readonly chunk_bytes: number;
  readonly faults: readonly Fault[];
}

export const framesOf = (
  reply: AnswerReply,
  { id, model, chunk_bytes, faults }: FrameOptions,
): readonly string[] => {
  const deltas = pieces(reply.text, chunk_bytes).map((text) =>
    frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  );
  const start = [
    frame('message_start', { message: messageOf(id, model, reply, false) }),
    frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    frame('ping', {}),
  ];
  const end = [
    frame('content_block_stop', { index: 0 }),
    frame('message_delta', {
      delta: { stop_reason: reply.stopReason, stop_sequence: null },
      usage: reply.usage,
    }),
    frame('message_stop', {}),
  ];
  for (const fault of faults) {
    if (fault.kind === 'error_event') {
      const error = {
        type: fault.type ?? 'overloaded_error',
        message: fault.message ?? 'Overloaded',
      };
      return [...start, ...deltas.slice(0, fault.after_chunks ?? 1), frame('error', { error })];
    }
    if (fault.kind === 'malformed') {
      const broken =
        fault.what === 'type'
          ? 'event: content_block_delta\ndata: ["no object with a type"]\n\n'
          : 'event: content_block_delta\ndata: {"type":"content_blo\n\n';
      const at = fault.after_chunks ?? 1;
      return [...start, ...deltas.slice(0, at), broken, ...deltas.slice(at), ...end];
    }
  }
  return [...start, ...deltas, ...end];
};

const pieces = (text: string, chunk_bytes: number): readonly string[] => {
  const out: string[] = [];
  let piece = '';
  let bytes = 0;
  for (const char of text) {
    piece += char;
    bytes += Buffer.byteLength(char);
    if (bytes < chunk_bytes) continue;
    out.push(piece);
    piece = '';
    bytes = 0;
  }
  return piece === '' ? out : [...out, piece];
};
