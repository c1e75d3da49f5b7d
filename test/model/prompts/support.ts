import type { Text } from '../../../src/edits/text/lines.js';
import { decodeFile } from '../../../src/edits/index.js';
import { NOTHING_ELSE, type EditPromptInput } from '../../../src/model/prompts/edit.js';
import type { ModelRequest } from '../../../src/model/ports.js';

export const NONCE = '01234567';

export const textOf = (content: string): Text => {
  const decoded = decodeFile(Buffer.from(content));
  if (!decoded.ok) throw new Error('not text');
  return decoded.text;
};

export const editInput = (changes: Partial<EditPromptInput> = {}): EditPromptInput => ({
  model: 'claude-sonnet-4-5',
  format: 'whole-file',
  outputBudget_tokens: 16_384,
  inputBudget_tokens: 150_000,
  files: [{ path: 'src/a.ts', text: textOf('one\ntwo\nthree\n') }],
  instructions: '# Say two louder\n\nMake `two` upper case.\n',
  ...NOTHING_ELSE,
  ...changes,
});

export const blocksOf = (request: ModelRequest) =>
  request.messages.flatMap((message) => message.content);
export const allText = (request: ModelRequest): string =>
  [...request.system, ...blocksOf(request)].map((block) => block.text).join('\n');
/** As the rehearsal server finds it. */
export const lastNonceWord = (request: ModelRequest): string | undefined =>
  (request.messages.at(-1)?.content ?? [])
    .map((block) => block.text)
    .join('\n')
    .match(/\b[0-9a-f]{8}\b/g)
    ?.at(-1);
