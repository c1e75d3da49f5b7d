/**
 * A language model of 86,000 weights in a GGUF file, for Ollama itself: one layer of the llama architecture, a token for each byte. What
 * it answers means nothing. Source of the format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 */
import { createHash } from 'node:crypto';
import { randomFrom } from '../../support/seeded.js';

const WIDTH = 64;
const INNER = 128;
const HEADS = 2;
const ALIGNMENT = 32;
const CONTEXT_tokens = 16_384;

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const f32 = (values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const text = (value: string): Buffer =>
  Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const array = (type: number, values: readonly Buffer[]): Buffer =>
  Buffer.concat([u32(9), u32(type), u64(values.length), ...values]);
const asU32 = (value: number): Buffer => Buffer.concat([u32(4), u32(value)]);
const asText = (value: string): Buffer => Buffer.concat([u32(8), text(value)]);

const TOKENS = ['<unk>', '<s>', '</s>'];
for (let byte = 0; byte < 256; byte++)
  TOKENS.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
TOKENS.push('\u2581');
for (let code = 33; code < 127; code++) TOKENS.push(String.fromCharCode(code));
/** 2 unknown, 3 control, 6 byte, 1 normal. */
const kindOf = (at: number): number => (at === 0 ? 2 : at < 3 ? 3 : at < 259 ? 6 : 1);

const METADATA: Readonly<Record<string, Buffer>> = {
  'general.architecture': asText('llama'),
  'general.name': asText('tiny'),
  'llama.context_length': asU32(CONTEXT_tokens),
  'llama.embedding_length': asU32(WIDTH),
  'llama.block_count': asU32(1),
  'llama.feed_forward_length': asU32(INNER),
  'llama.attention.head_count': asU32(HEADS),
  'llama.attention.head_count_kv': asU32(HEADS),
  'llama.attention.layer_norm_rms_epsilon': Buffer.concat([u32(6), f32([1e-5])]),
  'llama.rope.dimension_count': asU32(WIDTH / HEADS),
  'llama.vocab_size': asU32(TOKENS.length),
  'tokenizer.ggml.model': asText('llama'),
  'tokenizer.ggml.tokens': array(8, TOKENS.map(text)),
  'tokenizer.ggml.scores': array(
    6,
    TOKENS.map((_, at) => f32([at < 3 ? 0 : at < 259 ? -1000 : -1])),
  ),
  'tokenizer.ggml.token_type': array(
    5,
    TOKENS.map((_, at) => u32(kindOf(at))),
  ),
  'tokenizer.ggml.bos_token_id': asU32(1),
  'tokenizer.ggml.eos_token_id': asU32(2),
  'tokenizer.ggml.unknown_token_id': asU32(0),
};

/** Sizes, the innermost first; of one size: a norm, all ones. */
const TENSORS: Readonly<Record<string, readonly number[]>> = {
  'token_embd.weight': [WIDTH, TOKENS.length],
  'output_norm.weight': [WIDTH],
  'output.weight': [WIDTH, TOKENS.length],
  'blk.0.attn_norm.weight': [WIDTH],
  'blk.0.ffn_norm.weight': [WIDTH],
  'blk.0.attn_q.weight': [WIDTH, WIDTH],
  'blk.0.attn_k.weight': [WIDTH, WIDTH],
  'blk.0.attn_v.weight': [WIDTH, WIDTH],
  'blk.0.attn_output.weight': [WIDTH, WIDTH],
  'blk.0.ffn_gate.weight': [WIDTH, INNER],
  'blk.0.ffn_up.weight': [WIDTH, INNER],
  'blk.0.ffn_down.weight': [INNER, WIDTH],
};

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc(-bytes.length & (ALIGNMENT - 1))]);

const tinyModel = (): Buffer => {
  const random = randomFrom(1);
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [name, sizes] of Object.entries(TENSORS)) {
    const count = sizes.reduce((product, size) => product * size, 1);
    const values = padded(
      f32(Array.from({ length: count }, () => (sizes.length === 1 ? 1 : random() - 0.5))),
    );
    infos.push(text(name), u32(sizes.length), ...sizes.map(u64), u32(0), u64(offset));
    data.push(values);
    offset += values.length;
  }
  const metadata = Object.entries(METADATA).flatMap(([key, value]) => [text(key), value]);
  const counts = [u64(Object.keys(TENSORS).length), u64(Object.keys(METADATA).length)];
  return Buffer.concat([
    padded(Buffer.concat([Buffer.from('GGUF'), u32(3), ...counts, ...metadata, ...infos])),
    ...data,
  ]);
};

const post = async (url: string, body: object | Buffer): Promise<void> => {
  const sent = Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
  const answer = await fetch(url, { method: 'POST', body: sent });
  const said = await answer.text();
  if (!answer.ok || said.includes('"error"')) throw new Error(`${url}: ${answer.status} ${said}`);
};

/** Makes the model in Ollama at `base` under `name`, not loaded, with a context of `num_ctx` tokens. */
export const makeTinyModel = async (base: string, name: string, num_ctx: number): Promise<void> => {
  const bytes = tinyModel();
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  await post(`${base}/api/blobs/${digest}`, bytes);
  const template = '{{ .System }}{{ range .Messages }}{{ .Content }}{{ end }}';
  await post(`${base}/api/create`, {
    model: name,
    files: { 'tiny.gguf': digest },
    template,
    parameters: { num_ctx },
  });
};
