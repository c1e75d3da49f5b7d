/** The script of a rehearsal: docs/rehearsal.md says it with examples. */
import { z } from 'zod';

const count = z.int().min(0).max(1_000_000_000);
const wait_ms = z.int().min(0).max(3_600_000);
/** Bytes of the response's body; left out: before anything, headers included. */
const after_bytes = count.optional();

const faults = [
  z.strictObject({ kind: z.literal('truncate'), tokens: count.optional(), bytes: count.optional() }),
  z.strictObject({ kind: z.literal('wrong_nonce') }),
  z.strictObject({ kind: z.literal('missing_nonce') }),
  z.strictObject({ kind: z.literal('prose'), before: z.string().optional(), after: z.string().optional() }),
  z.strictObject({ kind: z.literal('refusal'), text: z.string().optional() }),
  z.strictObject({ kind: z.literal('overload') }),
  z.strictObject({
    kind: z.literal('rate_limit'),
    retry_after_s: z.number().min(0).optional(),
    retry_after_ms: z.number().min(0).optional(),
  }),
  z.strictObject({ kind: z.literal('server_error'), status: z.int().min(500).max(599).optional() }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    type: z.string().optional(),
    message: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
  z.strictObject({
    kind: z.literal('error_event'),
    type: z.string().optional(),
    message: z.string().optional(),
    after_chunks: count.optional(),
  }),
  z.strictObject({
    kind: z.literal('malformed'),
    what: z.enum(['json', 'type']).optional(),
    after_chunks: count.optional(),
  }),
  z.strictObject({ kind: z.literal('slow'), chunk_ms: wait_ms, first_ms: wait_ms.optional() }),
  z.strictObject({ kind: z.literal('drop'), after_bytes }),
  z.strictObject({ kind: z.literal('silence'), after_bytes }),
  z.strictObject({ kind: z.literal('hold'), after_bytes, until_file: z.string().min(1).optional() }),
] as const;

/** `fault: overload` is short for `fault: {kind: overload}`. */
const fault = z.preprocess(
  (value) => (typeof value === 'string' ? { kind: value } : value),
  z.discriminatedUnion('kind', faults),
);

const texts = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

const match = z.strictObject({
  contains: texts.optional(),
  regex: z
    .string()
    .refine((text) => isRegex(text), 'expected a regular expression')
    .optional(),
  /** Look only in the texts of this role; else in all. */
  role: z.enum(['system', 'user', 'assistant']).optional(),
  /** Only the nth request that comes to this rule and matches, counted from 1. */
  nth: z.int().min(1).optional(),
  /** Used up after this many answers. */
  times: z.int().min(1).optional(),
});

const reply = {
  answer: z.string().optional(),
  /** Relative to the script. */
  answer_file: z.string().min(1).optional(),
  stop_reason: z.string().min(1).optional(),
  usage: z
    .strictObject({
      input_tokens: count.optional(),
      output_tokens: count.optional(),
      cache_read_input_tokens: count.optional(),
      cache_creation_input_tokens: count.optional(),
    })
    .optional(),
  fault: z.union([fault, z.array(fault)]).optional(),
  /** The answer goes out in pieces of about this many bytes. */
  chunk_bytes: z.int().min(1).max(1_000_000).optional(),
};

export const scriptSchema = z.strictObject({
  v: z.literal(1),
  /** What GET /v1/models lists. */
  models: z.array(z.string().min(1)).optional(),
  /** Cut answers at the request's `max_tokens`, by four bytes a token. */
  enforce_max_tokens: z.boolean().optional(),
  /** A local server's context: of a longer prompt only the end is read, and nobody is told. Four bytes a token. */
  context_tokens: z.int().min(1).max(100_000_000).optional(),
  rules: z.array(z.strictObject({ name: z.string().min(1), match, ...reply })),
  default: z.strictObject(reply).optional(),
});

export type RehearsalScript = z.infer<typeof scriptSchema>;
export type Rule = RehearsalScript['rules'][number];
export type Fault = z.infer<typeof fault>;

const isRegex = (text: string): boolean => {
  try {
    new RegExp(text, 'mu');
    return true;
  } catch {
    return false;
  }
};
