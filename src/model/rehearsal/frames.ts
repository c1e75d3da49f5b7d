/** An answer as the Messages API's stream: one string per server-sent event. */
import type { AnswerReply } from './reply.js';
import type { Fault } from './schema.js';

/** The message object; `content` and the end are empty at the start of a stream. */
export const messageOf = (id: string, model: string, reply: AnswerReply, whole: boolean) => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content: whole ? [{ type: 'text', text: reply.text }] : [],
  stop_reason: whole ? reply.stopReason : null,
  stop_sequence: null,
  usage: whole ? reply.usage : { ...reply.usage, output_tokens: Math.min(1, reply.usage.output_tokens) },
});

const frame = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

interface FrameOptions {
  readonly id: string;
  readonly model: string;
  readonly chunk_bytes: number;
  readonly faults: readonly Fault[];
}

export const framesOf = (reply: AnswerReply, { id, model, chunk_bytes, faults }: FrameOptions): readonly string[] => {
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
    frame('message_delta', { delta: { stop_reason: reply.stopReason, stop_sequence: null }, usage: reply.usage }),
    frame('message_stop', {}),
  ];
  for (const fault of faults) {
    if (fault.kind === 'error_event') {
      const error = { type: fault.type ?? 'overloaded_error', message: fault.message ?? 'Overloaded' };
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
