/** Reading and checking a rehearsal script (YAML or JSON): every mistake is told with its line and what was expected. */
import { z } from 'zod';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument, type Document } from 'yaml';
import { fail } from '../../shared/problems.js';
import { readGiven, whyUnread } from '../../system/given-file.js';

// The script of a rehearsal: docs/rehearsal.md says it with examples.

const count = z.int().min(0).max(1_000_000_000);
const wait_ms = z.int().min(0).max(3_600_000);
/** Bytes of the response's body; left out: before anything, headers included. */
const after_bytes = count.optional();

const faults = [
  z.strictObject({
    kind: z.literal('truncate'),
    tokens: count.optional(),
    bytes: count.optional(),
  }),
  z.strictObject({ kind: z.literal('wrong_nonce') }),
  z.strictObject({ kind: z.literal('missing_nonce') }),
  z.strictObject({
    kind: z.literal('prose'),
    before: z.string().optional(),
    after: z.string().optional(),
  }),
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
  z.strictObject({
    kind: z.literal('hold'),
    after_bytes,
    until_file: z.string().min(1).optional(),
  }),
] as const;

/** `fault: overload` is short for `fault: {kind: overload}`. */
const fault = z.preprocess(
  (value) => (typeof value === 'string' ? { kind: value } : value),
  z.discriminatedUnion('kind', faults, {
    error: `expected one of ${faults.map(({ shape }) => shape.kind.value).join(', ')}`,
  }),
);
/** Of one fault or several: what is wrong inside says more than that it is neither. */
const FAULTS: z.core.$ZodErrorMap<z.core.$ZodIssueInvalidUnion> = ({ errors }) => {
  const [deepest] = errors.flat().sort((one, two) => two.path.length - one.path.length);
  return deepest && [...deepest.path, deepest.message].join(': ');
};

const texts = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
  error: 'expected a text or a list of texts',
});

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
  fault: z.union([fault, z.array(fault)], { error: FAULTS }).optional(),
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

/** A rule as the server uses it: the answer's text at hand, faults as a list. */
export interface ReadyRule {
  readonly name: string;
  readonly match: Rule['match'];
  readonly answer: string;
  readonly stopReason: string;
  readonly usage: NonNullable<Rule['usage']>;
  readonly faults: readonly Fault[];
  readonly chunk_bytes: number;
}
export interface ReadyScript {
  readonly models: readonly string[];
  readonly enforceMaxTokens: boolean;
  /** Infinity: nothing is cut. */
  readonly context_tokens: number;
  readonly rules: readonly ReadyRule[];
  readonly fallback: ReadyRule | null;
}

const someBytes = 48;

/** Throws ProblemError `usage`: not there, no YAML, or not as the format says. */
export const readScript = async (path: string): Promise<ReadyScript> => {
  const text = String(
    await readGiven(path).catch((error: unknown) => fail('usage', `${whyUnread(path, error)}.`)),
  );
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const broken = document.errors[0];
  if (broken !== undefined)
    return fail(
      'usage',
      `${path}:${lines.linePos(broken.pos[0]).line}: ${broken.message.split('\n')[0] ?? 'no YAML'}`,
    );
  const lineOf = (where: readonly PropertyKey[]): number => lineAt(document, lines, where);
  return makeReady(document.toJS() as unknown, path, lineOf);
};

/** Checks a script given as a value; `answer_file`s are relative to the working directory. */
export const checkScript = (script: RehearsalScript): Promise<ReadyScript> =>
  makeReady(script, 'script', () => 0);

const makeReady = async (
  value: unknown,
  path: string,
  lineOf: (where: readonly PropertyKey[]) => number,
): Promise<ReadyScript> => {
  const checked = scriptSchema.safeParse(value);
  if (!checked.success) {
    const said = checked.error.issues.slice(0, 10).map((issue) => {
      const line = lineOf(issue.path);
      return `${path}${line > 0 ? `:${line}` : ''}: ${issue.path.map(String).join('.') || 'script'}: ${issue.message}`;
    });
    return fail('usage', said.join('\n'), 'docs/rehearsal.md describes scripts.');
  }
  const script = checked.data;
  const ready = async (
    rule: Omit<Rule, 'name' | 'match'>,
    name: string,
    match: Rule['match'],
  ): Promise<ReadyRule> => {
    const faults = rule.fault === undefined ? [] : [rule.fault].flat();
    return {
      name,
      match,
      answer: await answerOf(rule, faults, path, name),
      stopReason: rule.stop_reason ?? 'end_turn',
      usage: rule.usage ?? {},
      faults,
      chunk_bytes: rule.chunk_bytes ?? someBytes,
    };
  };
  return {
    models: script.models ?? ['rehearsal'],
    enforceMaxTokens: script.enforce_max_tokens ?? false,
    context_tokens: script.context_tokens ?? Infinity,
    rules: await Promise.all(script.rules.map((rule) => ready(rule, rule.name, rule.match))),
    fallback: script.default === undefined ? null : await ready(script.default, 'default', {}),
  };
};

const NEEDS_NO_ANSWER: ReadonlySet<Fault['kind']> = new Set([
  'refusal',
  'overload',
  'rate_limit',
  'server_error',
  'status',
  'drop',
  'silence',
]);

const answerOf = async (
  { answer, answer_file }: Pick<Rule, 'answer' | 'answer_file'>,
  faults: readonly Fault[],
  path: string,
  name: string,
): Promise<string> => {
  if (answer !== undefined && answer_file !== undefined)
    return fail('usage', `${path}: rule "${name}" has both answer and answer_file; expected one.`);
  if (answer !== undefined) return answer;
  if (answer_file === undefined)
    return faults.some((fault) => NEEDS_NO_ANSWER.has(fault.kind))
      ? ''
      : fail('usage', `${path}: rule "${name}" has neither answer nor answer_file.`);
  const file = resolve(dirname(path), answer_file);
  return readGiven(file)
    .then(String)
    .catch((error: unknown) =>
      fail('usage', `${path}: rule "${name}": answer_file ${whyUnread(file, error)}.`),
    );
};

/** The line of the place, or of the nearest thing around it that is there; 0 where nothing is. */
const lineAt = (document: Document, lines: LineCounter, where: readonly PropertyKey[]): number => {
  for (let depth = where.length; depth >= 0; depth--) {
    const node: unknown =
      depth === 0 ? document.contents : document.getIn(where.slice(0, depth), true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
      return lines.linePos(Number(node.range[0])).line;
  }
  return 0;
};
