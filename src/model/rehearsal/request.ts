/** A request of the Messages API as the rehearsal sees it: its texts by role. */
import { z } from 'zod';

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))]);
const bodySchema = z.looseObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  stream: z.boolean().optional(),
  system: content.optional(),
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content })).min(1),
});

export interface AskedRequest {
  readonly model: string;
  readonly maxTokens: number;
  readonly stream: boolean;
  readonly texts: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly text: string }[];
}

/** A sentence where the body is no request. */
export const readRequest = (body: string): AskedRequest | string => {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return 'the body is not JSON';
  }
  const checked = bodySchema.safeParse(value);
  if (!checked.success) {
    const issue = checked.error.issues[0];
    return `${issue?.path.map(String).join('.') ?? 'body'}: ${issue?.message ?? 'not as expected'}`;
  }
  const { model, max_tokens, stream, system, messages } = checked.data;
  if (messages.at(-1)?.role !== 'user') return "messages: the last one must be the user's";
  const texts = messages.map(({ role, content: said }) => ({ role, text: textOf(said) }));
  return {
    model,
    maxTokens: max_tokens,
    stream: stream ?? false,
    texts: system === undefined ? texts : [{ role: 'system' as const, text: textOf(system) }, ...texts],
  };
};

const textOf = (said: z.infer<typeof content>): string =>
  typeof said === 'string' ? said : said.map((block) => block.text ?? '').join('\n');

/** About four bytes a token. */
export const bytesPerToken = 4;
export const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);

/** The end of the prompt that a context of so many tokens holds; the beginning is lost, as with servers that say nothing of it. */
export const cutPrompt = (request: AskedRequest, context_tokens: number): AskedRequest => {
  let left_bytes = context_tokens * bytesPerToken;
  const kept = [...request.texts].reverse().flatMap(({ role, text }) => {
    const bytes = Buffer.from(text, 'utf8');
    const from = Math.max(0, bytes.length - left_bytes);
    left_bytes -= bytes.length - from;
    // A character that is cut in two is lost whole.
    return from >= bytes.length
      ? []
      : [
          {
            role,
            text: bytes
              .subarray(from)
              .toString('utf8')
              .replace(/^\uFFFD+/, ''),
          },
        ];
  });
  return { ...request, texts: kept.reverse() };
};
